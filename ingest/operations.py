"""What the command line does: each function answers one command with data, not with print."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console

from ingest.configuration import load_configuration
from ingest.display import RunDisplay, print_ledger
from ingest.errors import ItemError, MunimentError
from ingest.freshness import freshness
from ingest.pipeline import (
    Pipeline,
    open_artifacts,
    open_catalog,
    open_index,
    open_vault,
    report_folder,
)
from ingest.runner import exit_status, new_run_id, run_all
from ingest.settings import Settings
from schemas.base import utc_now
from schemas.chunk import Chunk
from schemas.document import Extraction
from schemas.licence import Use
from schemas.run import Ledger, SourceHealth

if TYPE_CHECKING:
    from ingest.catalog.records import VersionRecord
    from ingest.index import SearchHit
    from ingest.proof import Proof


def run(
    settings: Settings, *, source_ids: Sequence[str] | None, in_airflow: bool, console: Console
) -> int:
    """Run the pipeline, show it on ``console``, and return the exit status.

    Raises:
        ConfigurationError: the configuration is wrong; nothing was started.
    """
    configuration = load_configuration(settings.sources_file, settings.licences_file)
    wanted = list(source_ids or [source.id for source in configuration.sources])
    for source_id in wanted:
        configuration.source(source_id)
    run_id = new_run_id()
    with RunDisplay(console) as display:
        if in_airflow:
            from ingest.airflow_runner import run_dag

            log_path: Path | None = run_dag(settings, run_id, wanted, display)
            ledger = last_ledger(settings)
        else:
            log_path = None
            ledger = run_all(Pipeline(settings, run_id, display), wanted)
    if ledger is None or ledger.run_id != run_id:
        raise MunimentError(
            "run_not_finished",
            f"Run {run_id} wrote no ledger. Read {log_path} for the reason, then run again.",
        )
    print_ledger(console, ledger, _places(settings, run_id, log_path))
    return exit_status(ledger)


def _places(settings: Settings, run_id: str, log_path: Path | None) -> list[tuple[str, str]]:
    """Return what a person wants to open after a run."""
    home = settings.home.absolute()
    report = report_folder(home, run_id)
    places = [
        ("index", settings.qdrant.url or str(home / "qdrant")),
        ("quality report", str(report / "quality.html")),
    ]
    if (report / "pages").exists():
        places.append(("page pictures", str(report / "pages")))
    if log_path is not None:
        places.append(("Airflow's log", str(log_path)))
    waiting = len(open_catalog(settings).quarantine())
    if waiting:
        places.append(("in quarantine", f"{waiting}; see: muniment quarantine list"))
    return places


def last_ledger(settings: Settings) -> Ledger | None:
    """Return the ledger of the last run that ended."""
    return open_catalog(settings).last_run()


def status(settings: Settings) -> dict[str, Any]:
    """Return the last run as ``muniment status --json`` prints it (docs/cli.md)."""
    ledger = last_ledger(settings)
    listings = {
        health.source_id: health.model_dump(mode="json", exclude={"source_id"})
        for health in source_health(settings)
    }
    if ledger is None:
        return {
            "run_id": None,
            "balanced": None,
            "sources": {},
            "points": {"new": 0, "reused": 0, "retired": 0},
            "alerts": [],
            "errors": {},
            "unprovable": [],
            "listings": listings,
        }
    names = (
        "listed",
        "new",
        "changed",
        "unchanged",
        "forgotten",
        "failed",
        "members",
        "opened",
        "quarantined",
        "retired",
        "erased",
    )
    return {
        "run_id": ledger.run_id,
        "balanced": ledger.balanced,
        "sources": {
            line.source_id: {name: getattr(line, name) for name in names} for line in ledger.lines
        },
        "points": {
            "new": sum(line.points_new for line in ledger.lines),
            "reused": sum(line.points_reused for line in ledger.lines),
            "retired": sum(line.points_retired for line in ledger.lines),
        },
        "alerts": list(ledger.alerts),
        "errors": {line.source_id: line.error for line in ledger.lines if line.error},
        "unprovable": list(ledger.unprovable),
        "listings": listings,
    }


def source_health(settings: Settings) -> list[SourceHealth]:
    """Return when each configured source was last listed, and whether that is too long ago.

    Raises:
        ConfigurationError: the sources file is wrong.
    """
    configuration = load_configuration(settings.sources_file, settings.licences_file)
    return freshness(open_catalog(settings), configuration.sources, utc_now())


def search(
    settings: Settings,
    query: str,
    *,
    at: datetime | None,
    on: datetime | None = None,
    every_version: bool = False,
    client_id: str | None,
    limit: int,
    use: Use = "retrieval",
    territory: str | None = None,
) -> list[SearchHit]:
    """Return the passages nearest to ``query`` that the default filter lets through.

    With ``every_version``, of versions that are not in force as well.
    """
    from qdrant_client import models

    from attribution.filters import all_versions, default_filter, permitted
    from ingest.embedding import Embedder

    embedder = Embedder(settings.embedding_model)
    vector = embedder.embed([query])[0]
    if every_version:
        terms = permitted(client_id=client_id, use=use, territory=territory)
        allowed = models.Filter(must=[all_versions(), terms])
    else:
        allowed = default_filter(at=at, on=on, client_id=client_id, use=use, territory=territory)
    with open_index(settings, embedder) as index:
        return index.search(vector, filter=allowed, limit=limit)


def show(settings: Settings, identifier: str) -> dict[str, Any]:
    """Return a document with its versions, or the payload of a chunk.

    Raises:
        ItemError: neither has this id.
    """
    catalog = open_catalog(settings)
    document = catalog.document(identifier)
    if document is not None:
        return {
            **document.model_dump(mode="json"),
            "versions": [
                version.model_dump(mode="json") for version in catalog.versions(identifier)
            ],
        }
    return _point(settings, identifier)


def _point(settings: Settings, chunk_id: str) -> dict[str, Any]:
    from ingest.embedding import Embedder

    with open_index(settings, Embedder(settings.embedding_model)) as index:
        payload = index.get(chunk_id)
    if payload is None:
        raise ItemError(
            "not_found",
            f"Nothing has the id {chunk_id!r}. Ids are printed by: muniment search --json",
        )
    return payload


def prove(settings: Settings, chunk_id: str, out: Path | None) -> Proof:
    """Follow the chain from the point to the source bytes, and draw the passage on its page.

    Raises:
        ItemError: no point has this id, or the catalogue knows no such version.
    """
    from ingest.proof import prove as prove_point

    payload = _point(settings, chunk_id)
    record = version_of(settings, payload)
    proof, pictures = prove_point(
        payload,
        vault=open_vault(settings),
        extraction=open_artifacts(settings).read(record.extraction_uri, Extraction),
    )
    folder = out or settings.home.absolute() / "pages"
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for picture in pictures:
        path = folder / f"{chunk_id}{picture.suffix}.png"
        path.write_bytes(picture.png)
        paths.append(str(path))
    return proof.model_copy(update={"pictures": tuple(paths)})


def version_of(settings: Settings, payload: dict[str, Any]) -> VersionRecord:
    """Return the catalogue's record of the version that a point belongs to."""
    record = open_catalog(settings).version(payload["doc_id"], payload["version"])
    if record is None:
        raise ItemError(
            "version_unknown",
            f"The catalogue has no version {payload['version']} of document {payload['doc_id']}. "
            "The index belongs to another catalogue: check MUNIMENT_HOME and MUNIMENT_CATALOG_URL.",
        )
    return record


def extract_file(settings: Settings, file: Path) -> Extraction:
    """Extract one file in a child process, as the pipeline does.

    Raises:
        ItemError: the file was refused; the message says why.
    """
    from ingest.extract.sandbox import ExtractJob, extract_all

    job = ExtractJob(key=file.name, path=str(file.absolute()), name=file.name)
    return next(iter(extract_all([job], settings.extraction))).result()


def chunk_file(settings: Settings, file: Path) -> list[Chunk]:
    """Extract and chunk one file.

    Raises:
        ItemError: the file was refused; the message says why.
    """
    from ingest.chunking import Chunker
    from ingest.tokens import TokenCounter

    extraction = extract_file(settings, file)
    return Chunker(TokenCounter(settings.embedding_model), settings.chunking).chunk(extraction)


def check_configuration(settings: Settings) -> dict[str, Any]:
    """Load everything that can be wrong, and return what each source would do.

    Raises:
        ConfigurationError: something is wrong; all of it is named with file and line.
    """
    from ingest.alerts.telling import check_addresses

    configuration = load_configuration(settings.sources_file, settings.licences_file)
    check_addresses(settings.alerts)
    now = utc_now()
    return {
        "sources_file": str(settings.sources_file),
        "licences_file": str(settings.licences_file),
        "home": str(settings.home.absolute()),
        "embedding_model": settings.embedding_model,
        "index": settings.qdrant.url or "embedded",
        "sources": [
            {
                "id": source.id,
                "kind": source.kind,
                "connector": source.connector,
                "address": source.address,
                "licence": source.licence,
                "licence_valid": configuration.licences[source.licence].valid_until > now,
                "confidentiality": source.access.confidentiality,
            }
            for source in configuration.sources
        ],
    }
