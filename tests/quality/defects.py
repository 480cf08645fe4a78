"""Sources with planted defects of all kinds, each with its reason code and with what mends it."""

from __future__ import annotations

import importlib
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any
from unittest import mock

import hostile
import pymupdf
import yaml
from workspace import Workspace, pdf, scan

from ingest.pipeline import Pipeline
from schemas.base import BEGINNING
from schemas.chunk import PageBox
from schemas.payload import Payload
from schemas.run import BatchRef, ChunkedVersion, ChunkRecord, ChunkResult

TEXT = "Planning systems for mid-sized companies are growing, says the report. " * 4
GOOD = TEXT.encode()
NO_PAGES = (
    b"%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n"
    b"2 0 obj<</Type/Pages/Kids[]/Count 0>>endobj\n"
    b"trailer<</Root 1 0 R/Size 3>>\n%%EOF\n"
)
# Less than what is set by default, so that retrying without these reaches deeper.
LIMITS = {"pages": 20, "characters": 20_000, "members": 4, "nesting": 2}
THRESHOLDS = {
    "expectations": {
        "text_damaged": {"severity": "critical"},
        "ocr_confidence_low": {"severity": "critical", "owner": "scanning desk"},
        "licence_expired": {"severity": "critical"},
    }
}


LICENCE = {"name": "For tests", "attribution_required": False}
RECORDS = {"kind": "crm", "key": "id", "text": ["note"]}


def zipped(**members: bytes) -> bytes:
    return hostile.zipped(members)


@dataclass(frozen=True)
class File:
    """A file with a defect, and why it is refused; one without data is not there."""

    name: str
    data: bytes | None
    code: str
    stage: str = "extract"
    inside: str = ""
    """The file in it that is refused, if it is not the file itself."""
    mended: bytes | None = None

    @property
    def key(self) -> str:
        return f"{self.name}!/{self.inside}" if self.inside else self.name

    @property
    def repaired(self) -> bytes:
        """What its owner sends instead."""
        if self.mended is not None:
            return self.mended
        whole = f"Mended: {self.name}. ".encode() + GOOD
        if self.name.endswith(".pdf"):
            return pdf(whole.decode())
        if self.name.endswith(".docx"):
            return hostile.word_document(b"", whole)
        return zipped(**{self.inside or "a.txt": whole}) if self.name.endswith(".zip") else whole


def encrypted(password: str) -> bytes:
    document = pymupdf.open(stream=pdf(TEXT), filetype="pdf")
    data: bytes = document.tobytes(
        encryption=pymupdf.PDF_ENCRYPT_AES_256, owner_pw="owner", user_pw=password
    )
    return data


NOISE = random.Random(7).randbytes(4_000)

FILES = (
    File("empty.pdf", b"", "empty_file"),
    File("cut.pdf", pdf(TEXT)[:300], "damaged"),
    File("locked.pdf", encrypted("secret"), "password_needed"),
    File("no-pages.pdf", NO_PAGES, "no_pages"),
    File("many-pages.pdf", hostile.pdf_of_pages(30), "too_many_pages"),
    File("blank.pdf", pdf(""), "no_text"),
    File("blank.txt", b" \n\n ", "no_text"),
    File("endless.txt", TEXT.encode() * 200, "too_many_characters"),
    File("broken.zip", b"PK\x03\x04" + b"\x00" * 60, "damaged"),
    File("bomb.docx", hostile.entity_bomb(), "damaged"),
    File("outside.docx", hostile.outside_entity(), "unsafe_xml"),
    File("noise.bin", NOISE, "unsupported_format"),
    File("large.txt", b"Too large. " * 60_000, "too_large", "fetch"),
    File("zeros.zip", zipped(**{"zeros.txt": b"\0" * 50_000_000}), "too_large", inside="zeros.txt"),
    File("crowd.zip", zipped(**{f"{n}.txt": GOOD for n in range(9)}), "too_many_members"),
    File(
        "nested.zip",
        hostile.nested_archives(4, GOOD),
        "nesting_too_deep",
        inside="inner.zip!/inner.zip!/inner.zip",
        mended=zipped(**{"inner.zip": zipped(**{"inner.zip": zipped(**{"inner.zip": GOOD})})}),
    ),
    File(
        "climbing.zip", zipped(**{"../../escaped.txt": GOOD}), "unsafe_name", inside="escaped.txt"
    ),
    File("rooted.zip", zipped(**{"/srv/a.txt": GOOD}), "unsafe_name", inside="srv/a.txt"),
    File("odd-licence.txt", GOOD, "licence_unknown", "plan"),
    File("no-use.txt", GOOD, "use_not_allowed", "chunk"),
    File("day-first.txt", GOOD, "date_invalid", "plan"),
    File("no-client.txt", GOOD, "client_missing", "plan"),
    File("twice.txt", GOOD, "manifest_duplicate", "plan"),
    File("absent.txt", None, "manifest_file_missing", "plan"),
    File("replaced.txt", "The fee is \ufffd\ufffd a month.".encode(), "text_damaged", "gate"),
)
MANIFEST = """file,licence,effective_from,confidentiality,client_id
odd-licence.txt,gone-2019,,,
no-use.txt,closed,,,
day-first.txt,,31/03/2026,,
no-client.txt,,,client,
twice.txt,,2026-01-01,,
twice.txt,,2026-02-01,,
absent.txt,,,,
"""
MENDED_MANIFEST = """file,licence,effective_from,confidentiality,client_id
day-first.txt,,2026-03-31,,
no-client.txt,,,client,wexmarch
twice.txt,,2026-02-01,,
"""

TABLE = """id,note,since
n1,fine,2026-01-01
n2,too,many,cells
,no key,2026-01-01
n1,again,2026-01-01
n5,day first,31/03/2026
n6,not a number,NaN
n7,no such day,2026-02-30
n8,,2026-01-01
"""
IN_TABLE = {
    "n2": "ragged_row",
    "row 3": "key_missing",
    "row 4": "key_duplicate",
    "n5": "date_invalid",
    "n6": "date_invalid",
    "n7": "date_invalid",
    "n8": "no_text",
}
MENDED_TABLE = """id,note,since
n1,fine,2026-01-01
n2,"too, many",2026-01-01
n5,day first,2026-03-31
n6,not a number,2026-01-01
n7,no such day,2026-02-28
n8,not empty,2026-01-01
"""
LINES = """{"id": "j1", "note": "fine"}
{"id": "j2", "note":
{"id": null, "note": "no key"}
[1]
"""
IN_LINES = {"line 2": "line_unreadable", "line 3": "key_missing", "line 4": "line_unreadable"}
MENDED_LINES = '{"id": "j1", "note": "fine"}\n'

Change = Callable[[list[ChunkRecord]], list[ChunkRecord]]


def changing(**fields: Any) -> Change:
    """Return what sets fields of the first chunk's payload; a function is given the payload."""

    def change(records: list[ChunkRecord]) -> list[ChunkRecord]:
        payload = records[0].payload
        values = {
            name: given(payload) if callable(given) else given for name, given in fields.items()
        }
        changed = payload.model_copy(update=values)
        return [records[0].model_copy(update={"payload": changed}), *records[1:]]

    return change


def _far_right(payload: Payload) -> tuple[PageBox, ...]:
    return tuple(
        box.model_copy(update={"x0": box.x0 + 900, "x1": box.x1 + 900}) for box in payload.boxes
    )


CHUNKS: dict[str, Change] = {
    "offsets_inexact": changing(
        char_start=lambda payload: payload.char_start + 1,
        char_end=lambda payload: payload.char_end + 1,
    ),
    "boxes_outside_page": changing(boxes=_far_right),
    "page_past_end": changing(page_last=9),
    "text_sha256_wrong": changing(text_sha256="0" * 64),
    "published_before_gate": changing(published_at=BEGINNING),
    "effective_from_out_of_range": changing(effective_from=BEGINNING - timedelta(days=400)),
    "text_uncovered": lambda records: records[:-1],
    "tokens_over_limit": lambda records: [
        one.model_copy(update={"tokens": 9_999}) for one in records
    ],
    "starts_not_increasing": lambda records: [records[0], records[0], *records[1:]],
}
"""What a faulty build would make of chunks, by the expectation that finds it."""


@contextmanager
def faulty_build() -> Iterator[None]:
    """Let the chunk step spoil the documents of the source contracts that are named in `CHUNKS`."""
    module = importlib.import_module("ingest.steps.chunk")
    sound = module.chunk

    def chunk(pipeline: Pipeline, ref: BatchRef) -> BatchRef:
        done: BatchRef = sound(pipeline, ref)
        result = pipeline.stage_result(ref, "chunk", ChunkResult)
        spoilt = tuple(_spoil(pipeline, version) for version in result.chunked)
        path = pipeline.stage_path(ref.batch_id, "chunk")
        pipeline.artifacts.write(path, result.model_copy(update={"chunked": spoilt}))
        return done

    with mock.patch.object(module, "chunk", chunk):
        yield


def _spoil(pipeline: Pipeline, version: ChunkedVersion) -> ChunkedVersion:
    change = CHUNKS.get(Path(version.extracted.fetched.planned.item.source_key).stem)
    if change is None:
        return version
    records = change(list(pipeline.artifacts.read_lines(version.payloads_uri, ChunkRecord)))
    pipeline.artifacts.write_lines(version.payloads_uri, records)
    return version.model_copy(update={"chunks": len(records)})


def plant(folder: Path) -> Workspace:
    """Return an installation whose sources hold all the defects, and a few sound documents."""
    folder.joinpath("thresholds.yaml").write_text(yaml.safe_dump(THRESHOLDS))
    site = Workspace(
        folder,
        extraction={"layout": False, "workers": 2, "limits": LIMITS},
        gate={
            "thresholds_file": folder / "thresholds.yaml",
            "stop_min_documents": 100,
            "min_ocr_confidence": 99.9,
        },
    )
    site.licences += [
        {**LICENCE, "id": "closed", "allowed_uses": ["analysis"]},
        {**LICENCE, "id": "ended", "valid_until": "2020-01-01T00:00:00Z"},
    ]
    site.add_source("reports", manifest="terms.csv", max_item_bytes=600_000)
    site.add_source("crm", **RECORDS, connector="csv", address="crm.csv", date="since")
    site.add_source("notes", **RECORDS, connector="jsonl", address="notes.jsonl")
    site.add_source("contracts", kind="contract")
    site.add_source("old", licence="ended")
    site.write("reports/good.txt", GOOD)
    for file in FILES:
        if file.data is not None:
            site.write(f"reports/{file.name}", file.data)
    site.write("reports/terms.csv", MANIFEST)
    site.write("crm.csv", TABLE)
    site.write("notes.jsonl", LINES)
    for code in CHUNKS:
        site.write(f"contracts/{code}.pdf", pdf(f"Contract of {code}. {TEXT * 4}", TEXT * 4))
    site.write("contracts/sound.pdf", pdf(f"A sound contract. {TEXT}"))
    site.write("contracts/faint.pdf", scan("The term may be ended by either party.", dpi=50))
    site.write("old/report.txt", b"An old report. " + GOOD)
    return site


def mend(site: Workspace) -> None:
    """Take the cause of every defect away."""
    for file in FILES:
        if file.data is not None:
            site.write(f"reports/{file.name}", file.repaired)
    site.write("reports/terms.csv", MENDED_MANIFEST)
    site.write("crm.csv", MENDED_TABLE)
    site.write("notes.jsonl", MENDED_LINES)
    site.write("contracts/faint.pdf", pdf("The term may be ended by either party."))
    site.licences[-1].pop("valid_until")
    site.save()
