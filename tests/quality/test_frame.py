from __future__ import annotations

import math
from dataclasses import replace
from datetime import datetime
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from quality.batches import PAGE, document, frame_of

from ingest.quality.frame import Evidence, WordCover
from schemas.base import OPEN_END, sha256_text
from schemas.chunk import PageBox
from schemas.document import Word
from schemas.payload import Payload


def test_every_payload_field_and_every_piece_of_evidence_is_a_column() -> None:
    frame = frame_of(document())
    assert list(frame.columns) == [*Payload.model_fields, *Evidence._fields]


def test_no_cell_is_unhashable_and_no_column_is_naive() -> None:
    frame = frame_of(document(), document(1, paged=False))
    for name in frame.columns:
        frame[name].map(hash)
        if str(frame[name].dtype).startswith("datetime"):
            assert str(frame[name].dtype) == "datetime64[us, UTC]", name
    assert frame["retired_at"].iloc[0].to_pydatetime() == OPEN_END


def test_the_slice_is_cut_from_the_version_and_not_taken_from_the_chunk() -> None:
    rows = document()
    rows[1] = replace(rows[1], version_text=rows[1].version_text.replace("Notice", "NOTICE"))
    frame = frame_of(rows)
    assert "NOTICE" in frame["source_slice"][1]
    assert "NOTICE" not in frame["text"][1]


def test_boxes_are_measured_against_their_own_page() -> None:
    (row, *_) = document()
    boxes = (
        PageBox(page=1, x0=-2, y0=10, x1=600, y1=20),
        PageBox(page=2, x0=10, y0=10, x1=20, y1=900),
        PageBox(page=9, x0=10, y0=10, x1=10, y1=12),
    )
    changed = row.payload.model_copy(update={"boxes": boxes})
    sizes = {1: PAGE, 2: (1000.0, 880.0)}
    shown = frame_of([replace(row, payload=changed, page_sizes=sizes)]).iloc[0]
    assert (shown["box_count"], shown["boxes_on_unknown_pages"], shown["page_count"]) == (3, 1, 2)
    assert (shown["box_page_first"], shown["box_page_last"]) == (1, 9)
    assert (shown["box_min_x"], shown["box_min_y"]) == (-2, 10)
    assert (shown["box_min_width"], shown["box_min_height"]) == (0, 2)
    assert (shown["box_overrun_x"], shown["box_overrun_y"]) == (5, 20)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("effective_from", datetime(2024, 1, 31)),  # noqa: DTZ001  # naive is the point
        ("effective_from", "31/01/2024"),
        ("ocr_confidence", math.nan),
        ("page_first", math.nan),
        ("title", 7),
        ("display_allowed", "yes, please"),
    ],
)
def test_a_value_that_its_column_cannot_hold_is_named_and_left_out(
    field: str, value: object
) -> None:
    rows = document()
    bad = rows[2].payload.model_copy(update={field: value})
    rows[2] = replace(rows[2], payload=bad)
    frame = frame_of(rows)
    assert frame[field].isna()[2]
    assert list(frame["contract_problems"] != "") == [False, False, True, False]
    assert frame["contract_problems"][2].startswith(f"{field} is refused: ")


def test_a_lone_surrogate_makes_a_row_and_not_a_crash() -> None:
    rows = document()
    bad = rows[0].payload.model_copy(update={"text": "\ud800" + rows[0].payload.text[1:]})
    frame = frame_of([replace(rows[0], payload=bad), *rows[1:]])
    assert frame["actual_sha256"].isna().tolist() == [True, False, False, False]
    assert frame["text"][0].startswith("\ud800")


@given(st.text(st.sampled_from("ab \n\u00a0½"), min_size=1, max_size=60), st.data())
def test_what_no_chunk_holds_is_counted_to_the_character(text: str, data: st.DataObject) -> None:
    cuts = data.draw(st.sets(st.integers(0, len(text)), min_size=2, max_size=8))
    offsets = sorted({0, len(text), *cuts})
    runs = list(pairwise(offsets))
    kept = data.draw(st.lists(st.sampled_from(runs), min_size=1, unique=True).map(sorted))
    body_end = data.draw(st.integers(0, len(text)))
    (template, *_) = document(paged=False)
    rows = [
        replace(
            template,
            version_text=text,
            body_end=body_end,
            payload=template.payload.model_copy(
                update={"text": text[start:end], "char_start": start, "char_end": end}
            ),
        )
        for start, end in kept
    ]
    covered = {offset for start, end in kept for offset in range(start, end)}
    missing = [o for o in range(body_end) if o not in covered and not text[o].isspace()]
    assert frame_of(rows)["uncovered"].sum() == len(missing)


def test_without_the_body_s_end_only_gaps_between_chunks_are_seen() -> None:
    rows = [replace(row, body_end=None) for row in document()]
    assert frame_of(rows[:1], rows[2:3])["uncovered"].tolist() == [
        0,
        len("".join(rows[1].payload.text.split())),
    ]


def test_the_hash_is_of_the_text_that_the_payload_holds() -> None:
    frame = frame_of(document())
    assert frame["actual_sha256"].tolist() == [sha256_text(text) for text in frame["text"]]


def test_words_cover_a_run_only_if_each_of_its_non_blank_characters_has_one() -> None:
    text = "one two  three"
    words = [
        Word(
            char_start=start,
            char_end=end,
            page=1,
            line=0,
            box=(0, 0, 1, 1),
            confidence=None,
            source="digital",
        )
        for start, end in ((0, 3), (4, 6), (9, 14))
    ]
    cover = WordCover(text, words)
    assert cover.holds(0, 4)
    assert cover.holds(7, 14)
    assert not cover.holds(0, 7)
    assert not cover.holds(6, 7)
    assert not WordCover(text, []).holds(0, 1)
    assert WordCover(text, []).holds(7, 9)
