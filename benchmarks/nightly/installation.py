"""An installation that has seen every file of a folder, made without indexing any of them.

The catalogue's rows are those that a first run would leave: written into its tables at once, with
the fingerprints that the connector gives. Points, extractions and vault stay empty, which a night
without a change never looks at.
"""

from __future__ import annotations

from pathlib import Path

import yaml
from more_itertools import chunked
from sqlalchemy.orm import Session

from ingest.catalog.models import DocumentRow, ItemRow, VersionRow
from ingest.pipeline import Pipeline, open_catalog
from ingest.runner import new_run_id
from ingest.settings import Settings
from ingest.version import PIPELINE_VERSION
from schemas.base import sha256_text, utc_now
from schemas.identity import document_id
from schemas.source import Item

SOURCE = "reports"
_FILES_A_FOLDER = 100
_RECHECK_NIGHTS = 10**9
"""The share that is read back each night is not part of what is measured."""


class Silent:
    """Takes progress and shows it to nobody."""

    def emit(self, event: object) -> None:
        """Do nothing."""


def make(folder: Path, files: int) -> Settings:
    """Write the files and the configuration, and a catalogue that knows them all."""
    for number in range(files):
        path = folder / "in" / f"{number // _FILES_A_FOLDER:04}" / f"report {number:06}.txt"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"Report {number} on planning systems for the mid-market.\n")
    source = {"id": SOURCE, "kind": "report", "connector": "files", "licence": "own"}
    licence = {"id": "own", "name": "Own", "attribution_required": False}
    for name, content in (
        ("sources", [{**source, "address": str(folder / "in")}]),
        ("licences", [licence]),
    ):
        (folder / f"{name}.yaml").write_text(yaml.safe_dump({name: content}))
    settings = Settings(
        home=folder / "home",
        sources_file=folder / "sources.yaml",
        licences_file=folder / "licences.yaml",
        recheck_nights=_RECHECK_NIGHTS,
    )
    _know_all(settings)
    return settings


def pipeline_of(settings: Settings) -> Pipeline:
    """Return a pipeline for one run."""
    return Pipeline(settings, new_run_id(), Silent())


def _know_all(settings: Settings) -> None:
    items = (entry for entry in pipeline_of(settings).connector(SOURCE).list())
    catalog = open_catalog(settings)
    with Session(catalog.engine) as session, session.begin():
        for part in chunked((item for item in items if isinstance(item, Item)), 1_000):
            session.add_all(_document(item) for item in part)
            session.flush()
            session.add_all(row for item in part for row in (_version(item), _item(item)))
            session.flush()
            session.expunge_all()
    catalog.close()


def _document(item: Item) -> DocumentRow:
    return DocumentRow(
        doc_id=document_id(SOURCE, item.document_key),
        source_id=SOURCE,
        document_key=item.document_key,
        title=item.source_key,
        created_at=utc_now(),
    )


def _version(item: Item) -> VersionRow:
    return VersionRow(
        doc_id=document_id(SOURCE, item.document_key),
        version=1,
        doc_sha256=sha256_text(item.source_key),
        text_sha256=sha256_text(item.source_key),
        title=item.source_key,
        source_key=item.source_key,
        source_uri=item.uri,
        media_type="text/plain",
        licence_id=item.licence_id,
        confidentiality=item.confidentiality,
        effective_from=utc_now(),
        effective_basis="receipt",
        withdrawn=False,
        received_at=utc_now(),
        state="published",
        published_at=utc_now(),
        extraction_uri="none",
        run_id="first",
    )


def _item(item: Item) -> ItemRow:
    return ItemRow(
        source_id=SOURCE,
        source_key=item.source_key,
        doc_id=document_id(SOURCE, item.document_key),
        fingerprint=item.fingerprint,
        state="indexed",
        listed=True,
        doc_sha256=sha256_text(item.source_key),
        version=1,
        pipeline_version=PIPELINE_VERSION,
        first_seen=utc_now(),
        last_seen=utc_now(),
        run_id="first",
    )
