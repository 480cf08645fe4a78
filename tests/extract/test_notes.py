from __future__ import annotations

from ingest.extract.notes import gathered, page_ranges
from schemas.document import ExtractionWarning


def note(code: str, message: str, page: int | None) -> ExtractionWarning:
    return ExtractionWarning(code=code, message=message, page=page)


def test_page_ranges() -> None:
    assert page_ranges([]) == ""
    assert page_ranges([4]) == "4"
    assert page_ranges([1, 2, 3, 7, 9, 10]) == "1–3, 7, 9–10"


def test_notes_of_one_kind_are_said_once_with_their_sum() -> None:
    low = note("low_ocr_confidence", "60 is low.", 2)
    warnings = [
        note("ocr_layer_used", "1,200 words come from it.", 1),
        low,
        note("ocr_layer_used", "34 words come from it.", 2),
        note("hidden_text", "5 words are hidden.", 2),
        note("ocr_layer_used", "1 words come from it.", 4),
        note("low_ocr_confidence", "50 is low.", 3),
    ]
    assert gathered(warnings) == [
        note("ocr_layer_used", "1,235 words come from it. (Pages 1–2, 4.)", None),
        low,
        warnings[3],
        warnings[5],
    ]
    assert gathered([]) == []
