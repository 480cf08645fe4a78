"""The sample sources: made by one script, whole, and what examples/sources.yaml says they are."""

from __future__ import annotations

import csv
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import feedparser
import numpy as np
import pymupdf
import pytesseract
import pytest
import yaml
from PIL import Image
from pydantic import TypeAdapter

from ingest.configuration import load_configuration
from schemas.licence import Licence
from schemas.source import FeedSource, FilesSource, Source

EXAMPLES = Path(__file__).parents[1] / "examples"
MADE = ("contracts", "crm", "news", "reports")
MAX_BYTES = 4 * 1024**2


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return _make(tmp_path_factory.mktemp("examples"))


def _make(folder: Path) -> Path:
    script = EXAMPLES / "make_examples.py"
    subprocess.run([sys.executable, script, "--out", folder], check=True, cwd=folder)
    return folder


def _files(root: Path) -> dict[str, Path]:
    found = (path for name in MADE for path in (root / name).rglob("*") if path.is_file())
    return {path.relative_to(root).as_posix(): path for path in found}


def _rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def _sources() -> dict[str, Source]:
    data = yaml.safe_load((EXAMPLES / "sources.yaml").read_text("utf-8"))
    sources = TypeAdapter(list[Source]).validate_python(data["sources"])
    return {source.id: source for source in sources}


def _manifests() -> Iterator[tuple[Path, list[dict[str, str]]]]:
    for source in _sources().values():
        if isinstance(source, FilesSource) and source.manifest:
            folder = EXAMPLES / source.address
            yield folder, _rows(folder / source.manifest)


def _read(path: Path, page: int) -> dict[str, list[Any]]:
    """Recognise one page of a scan, counted from 0."""
    pixmap = pymupdf.open(path)[page].get_pixmap(dpi=200, colorspace=pymupdf.csGRAY)
    image = Image.frombytes("L", (pixmap.width, pixmap.height), pixmap.samples)
    return pytesseract.image_to_data(
        image, config="--psm 3 --dpi 200", output_type=pytesseract.Output.DICT
    )


# --- how they are made ---------------------------------------------------------------------------


def test_same_bytes_on_each_run(made: Path, tmp_path: Path) -> None:
    again = _files(_make(tmp_path))
    first = _files(made)
    assert again.keys() == first.keys()
    assert [name for name in first if first[name].read_bytes() != again[name].read_bytes()] == []


def test_committed_files_are_what_the_script_makes(made: Path) -> None:
    """Bytes where they can be: another processor may round a glyph's place or a pixel otherwise.

    For PDF and TIFF files that differ in bytes, the words and the pictures of the pages count.
    """
    committed, fresh = _files(EXAMPLES), _files(made)
    assert committed.keys() == fresh.keys()
    for name, path in committed.items():
        if path.read_bytes() == fresh[name].read_bytes():
            continue
        assert path.suffix in (".pdf", ".tif"), f"{name} is not what make_examples.py makes"
        old, new = pymupdf.open(path), pymupdf.open(fresh[name])
        assert old.page_count == new.page_count, name
        for a, b in zip(old, new, strict=True):
            assert a.get_text() == b.get_text(), f"{name}, page {a.number + 1}"
            before, after = (
                np.frombuffer(page.get_pixmap(dpi=72).samples, np.uint8).astype(int)
                for page in (a, b)
            )
            assert abs(before - after).mean() < 2, f"{name}, page {a.number + 1}"


def test_folder_stays_small() -> None:
    assert sum(p.stat().st_size for p in EXAMPLES.rglob("*") if p.is_file()) < MAX_BYTES


# --- configuration -------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["sources", "licences"])
def test_yaml_names_its_schema(name: str) -> None:
    first = (EXAMPLES / f"{name}.yaml").read_text("utf-8").splitlines()[0]
    assert first == f"# yaml-language-server: $schema=../schemas/json/{name}.schema.json"


def test_sources_are_valid() -> None:
    kinds = {id_: source.kind for id_, source in _sources().items()}
    assert kinds == {
        "market-reports": "report",
        "crm-notes": "crm",
        "erp-news": "news",
        "vendor-contracts": "contract",
    }


def test_licences_are_valid() -> None:
    data = yaml.safe_load((EXAMPLES / "licences.yaml").read_text("utf-8"))
    licences = {li.id: li for li in TypeAdapter(list[Licence]).validate_python(data["licences"])}
    assert licences["norvale-2026"].max_quote_chars == 400
    assert licences["norvale-2026"].valid_until.isoformat() == "2027-06-30T00:00:00+00:00"
    assert licences["erpwire-news"].max_quote_chars == 250
    assert {source.licence for source in _sources().values()} == licences.keys()


def test_the_pipeline_accepts_the_configuration() -> None:
    load_configuration(EXAMPLES / "sources.yaml", EXAMPLES / "licences.yaml")


# --- sources -------------------------------------------------------------------------------------


def test_manifests_name_every_file_and_no_other() -> None:
    for folder, rows in _manifests():
        files = {p.name for p in folder.iterdir() if p.suffix in (".pdf", ".tif")}
        assert sorted(row["file"] for row in rows) == sorted(files)


def test_every_feed_link_is_mirrored() -> None:
    source = _sources()["erp-news"]
    assert isinstance(source, FeedSource)
    ((prefix, folder),) = source.mirror.items()
    feed = feedparser.parse((EXAMPLES / source.address).read_bytes())
    assert not feed.bozo
    assert len(feed.entries) == 6
    for entry in feed.entries:
        assert entry.published_parsed is not None
        page = EXAMPLES / folder / entry.link.removeprefix(prefix)
        assert f'<link rel="canonical" href="{entry.link}">' in page.read_text("utf-8")


def test_crm_notes_have_keys_clients_and_awkward_text() -> None:
    rows = _rows(EXAMPLES / "crm" / "notes.csv")
    assert len({row["note_id"] for row in rows}) == len(rows) >= 25
    assert len({row["client_id"] for row in rows}) >= 4
    assert all(all(row.values()) for row in rows)
    notes = "".join(row["note"] for row in rows)
    assert all(piece in notes for piece in ("\n", '"', "ü", "„", "🐟"))


def test_reports_are_typeset() -> None:
    for path in sorted((EXAMPLES / "reports").glob("*.pdf")):
        document = pymupdf.open(path)
        assert 4 <= document.page_count <= 7
        assert len(document.get_toc()) >= 4
        text = [page.get_text() for page in document]
        assert all("Licensed to Wexmarch Advisory Ltd" in page for page in text)
        assert all("Page " in page for page in text[1:])
        assert "Table 1:" in "".join(text)
        assert "Figure 1:" in "".join(text)


def test_contracts_are_pictures_only() -> None:
    for row in _rows(EXAMPLES / "contracts" / "manifest.csv"):
        document = pymupdf.open(EXAMPLES / "contracts" / row["file"])
        assert document.page_count >= 2
        for page in document:
            assert page.get_text() == ""
            assert page.rect.width == pytest.approx(595, abs=1)  # A4 at the 200 dpi it was scanned


def test_contracts_read_well() -> None:
    for row in _rows(EXAMPLES / "contracts" / "manifest.csv"):
        words = _read(EXAMPLES / "contracts" / row["file"], 0)
        read = [
            (float(confidence), len(text))
            for confidence, text in zip(words["conf"], words["text"], strict=True)
            if text.strip()
        ]
        mean = sum(confidence * n for confidence, n in read) / sum(n for _, n in read)
        assert mean > 90, row["file"]


def test_versions_of_the_halvorsen_agreement_differ_in_notice_and_liability() -> None:
    rows = _rows(EXAMPLES / "contracts" / "manifest.csv")
    versions = [row for row in rows if row["document"] == "halvorsen-msa"]
    assert [(row["version_label"], row["effective_from"][:10]) for row in versions] == [
        ("1.0", "2024-04-01"),
        ("2.0", "2026-02-01"),
    ]
    read = [
        " ".join(" ".join(_read(EXAMPLES / "contracts" / row["file"], 2)["text"]).split())
        for row in versions
    ]
    assert "not less than 90 days" in read[0]
    assert "EUR 250,000" in read[0]
    assert "not less than 30 days" in read[1]
    assert "EUR 1,000,000" in read[1]
