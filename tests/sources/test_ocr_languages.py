"""Languages of scans: from the source's declaration to what reads its documents."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from extract.checks import FAST, scanned_pdf, text_pdf
from pydantic import ValidationError
from source_kit import connector

from ingest.errors import ConfigurationError
from ingest.extract import extract, of_source
from ingest.settings import ExtractionSettings
from schemas.source import Item

FEED = """<?xml version="1.0"?><rss version="2.0"><channel>
<item><guid>1</guid><title>Preise</title><link>https://wire.example/1.pdf</link></item>
</channel></rss>"""


def listed(tmp_path: Path, kind: str, **source: Any) -> Item:
    (tmp_path / "in").mkdir(exist_ok=True)
    (tmp_path / "in" / "a.pdf").write_bytes(b"%PDF-")
    (tmp_path / "feed.xml").write_text(FEED, "utf-8")
    address = "in" if kind == "files" else "feed.xml"
    (item,) = connector(tmp_path, connector=kind, address=address, **source).list().items
    return item


@pytest.mark.parametrize("kind", ["files", "feed"])
def test_a_source_hands_its_languages_to_its_items(kind: str, tmp_path: Path) -> None:
    plain = listed(tmp_path, kind)
    german = listed(tmp_path, kind, ocr_languages="deu+chi_sim_vert")
    assert plain.options == {}
    assert german.options == {"ocr_languages": "deu+chi_sim_vert"}
    assert german.fingerprint != plain.fingerprint, "the next run reads it anew"


@pytest.mark.parametrize(
    "languages", ["", "eng+", "+eng", "eng,deu", "eng deu", "../eng", "eng;ls"]
)
@pytest.mark.parametrize("kind", ["files", "feed"])
def test_what_is_no_list_of_codes_is_refused(kind: str, languages: str, tmp_path: Path) -> None:
    with pytest.raises(ValidationError, match="ocr_languages"):
        connector(tmp_path, connector=kind, address="in", ocr_languages=languages)


def test_languages_of_the_source_come_before_the_settings() -> None:
    settings = ExtractionSettings(ocr_languages="eng", ocr_dpi=150)
    assert of_source(settings, {}) == settings
    changed = of_source(settings, {"ocr_languages": "deu", "key": "column"})
    assert (changed.ocr_languages, changed.ocr_dpi) == ("deu", 150)


def test_a_scan_is_read_in_the_languages_of_its_source() -> None:
    """The machine of no test has data for a language of this name, so the engine asks for it."""
    with pytest.raises(ConfigurationError, match="tesseract-ocr-qqx"):
        extract(
            scanned_pdf(text_pdf(), dpi=100),
            name="scan.pdf",
            options={"ocr_languages": "qqx"},
            settings=FAST,
        )
