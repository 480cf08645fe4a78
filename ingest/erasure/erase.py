"""Forgetting documents and clients, so that a killed erasure goes on where it was.

What there is to do is written into the catalogue first, in ids and hashes. Then each step clears
one place: the index first, so that no search returns what is half gone; the catalogue's rows after
all that is found through them. Every step may be done twice.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import dataclass

from ingest.catalog.records import ErasureKind, ErasureRecord
from ingest.erasure.extractions import Extractions
from ingest.erasure.home import HomeFolder
from ingest.erasure.names import Names
from ingest.erasure.points import Points, compact_embedded
from ingest.erasure.receipt import Place, Receipt, Stayed
from ingest.erasure.run_files import clear, files_with
from ingest.erasure.scope import (
    SHARED,
    Scope,
    Work,
    chunk_paths,
    names_again,
    recognised,
    scope_of,
    work_of,
)
from ingest.errors import FatalError, RetriableError
from ingest.extract.ocr_cache import FolderCache
from ingest.extract.scratch import remove_abandoned
from ingest.pipeline import Pipeline
from ingest.steps.readings import ocr_cache_folder
from ingest.version import PIPELINE_VERSION
from schemas.base import sha256_text, utc_now


def erase_documents(
    pipeline: Pipeline, doc_ids: Collection[str], reason: str, *, lasting: bool = True
) -> Receipt:
    """Erase documents, all their versions, and all that lies inside them.

    Args:
        pipeline: the installation. A step of a run passes its own; that run may be open.
        doc_ids: the documents, one or more.
        reason: why; it stands in the receipt.
        lasting: whether they stay out although their source lists them again.

    Raises:
        ItemError: ``document_unknown``, or ``inside_container`` where one lies in a document that
            stays.
        RetriableError: ``run_open``; or the index or the catalogue is in use.
        FatalError: ``not_erased`` where something was found again afterwards.
    """
    _refuse_open_runs(pipeline)
    scope = scope_of(pipeline, doc_ids)
    return _erase(pipeline, "document", min(doc_ids), scope, reason, lasting)


def erase_client(pipeline: Pipeline, client_id: str, reason: str) -> Receipt:
    """Erase every document that has a version for the client, whole.

    Raises:
        ItemError: ``client_unknown``.
        RetriableError: ``run_open``; or the index or the catalogue is in use.
        FatalError: ``not_erased`` where something was found again afterwards.
    """
    _refuse_open_runs(pipeline)
    scope = scope_of(pipeline, (), client_id)
    return _erase(pipeline, "client", sha256_text(client_id), scope, reason, lasting=True)


def preview(
    pipeline: Pipeline, doc_ids: Collection[str], client_id: str | None, reason: str
) -> Receipt:
    """Return the receipt that an erasure would begin with; nothing is written.

    Raises:
        ItemError: ``document_unknown``, ``inside_container`` or ``client_unknown``.
    """
    scope = scope_of(pipeline, doc_ids, client_id)
    kind: ErasureKind = "document" if client_id is None else "client"
    subject = min(doc_ids) if client_id is None else sha256_text(client_id)
    record = ErasureRecord(
        id=0,
        kind=kind,
        subject=subject,
        reason=reason,
        requested_at=utc_now(),
        finished_at=None,
        lasting=True,
        receipt=None,
    )
    return _receipt(record, work_of(pipeline, scope)).model_copy(update={"number": None})


def resume(pipeline: Pipeline, *, in_run: bool = False) -> list[Receipt]:
    """Take every erasure that is under way to its end.

    Args:
        pipeline: the installation.
        in_run: whether a run calls, for which runs that were killed are over.

    Raises:
        RetriableError: ``run_open``; or the index or the catalogue is in use.
        FatalError: ``not_erased`` where something was found again afterwards.
    """
    waiting = [one for one in pipeline.catalog.erasures() if one.finished_at is None]
    if waiting and not in_run:
        _refuse_open_runs(pipeline)
    return [_go_on(pipeline, record) for record in waiting]


def _erase(
    pipeline: Pipeline, kind: ErasureKind, subject: str, scope: Scope, reason: str, lasting: bool
) -> Receipt:
    work = work_of(pipeline, scope)
    tombstones: set[str] = set()
    if lasting:
        roots = scope.doc_ids - scope.members
        tombstones = (roots | pipeline.catalog.alias_ids(roots)) - {subject}
    number = pipeline.catalog.begin_erasure(
        kind,
        subject,
        reason,
        tombstones=tombstones,
        lasting=lasting,
        work=work.model_dump(mode="json"),
    )
    return _go_on(pipeline, pipeline.catalog.erasure(number))


def _go_on(pipeline: Pipeline, record: ErasureRecord) -> Receipt:
    work = Work.model_validate((record.receipt or {})["work"])
    scope = names_again(pipeline, work.documents)
    shared = pipeline.catalog.bytes_of_others(work.sha256s, work.documents)
    going = frozenset(work.sha256s) - shared
    job = _Job(pipeline, work, scope.names(going, work.chunks), going)
    for step in STEPS:
        step(job)
    left = _search_again(job)
    finished_at = utc_now()
    since = tuple(Stayed(sha256=digest, why=SHARED) for digest in sorted(shared))
    receipt = _receipt(record, work).model_copy(
        update={
            "finished_at": finished_at,
            "left": left,
            "sha256s": tuple(sorted(going)),
            "stayed": work.stayed + since,
        }
    )
    if not receipt.complete:
        places = ", ".join(f"{count} in {place}" for place, count in left.items() if count)
        raise FatalError(
            "not_erased",
            f"Erasure {record.id} found something again afterwards: {places}. Stop what writes "
            "there, then: muniment forget resume",
        )
    pipeline.catalog.finish_erasure(
        record.id, receipt.model_dump(mode="json", round_trip=True), finished_at
    )
    with suppress(RetriableError):  # ids of passages that are no more; the next erasure does it too
        pipeline.catalog.compact_erasures()
    return receipt


def _receipt(record: ErasureRecord, work: Work) -> Receipt:
    return Receipt(
        number=record.id,
        kind=record.kind,
        subject=record.subject,
        reason=record.reason,
        lasting=record.lasting,
        requested_at=record.requested_at,
        program=PIPELINE_VERSION,
        documents=work.documents,
        members=work.members,
        erased=work.found,
        sha256s=work.sha256s,
        stayed=work.stayed,
    )


def _refuse_open_runs(pipeline: Pipeline) -> None:
    """Refuse to erase under a run that may be reading it.

    Raises:
        RetriableError: ``run_open``.
    """
    open_runs = pipeline.catalog.open_runs()
    own = open_runs.pop(pipeline.run_id, None)
    if own is not None:
        # Runs come one after another: what began before this one and has no ledger was killed.
        open_runs = {run_id: began for run_id, began in open_runs.items() if began > own}
    if open_runs:
        run_id, started_at = max(open_runs.items(), key=lambda run: run[1])
        raise RetriableError(
            "run_open",
            f"Run {run_id} began at {started_at.isoformat()} and has no ledger yet, so it may be "
            "reading what is to be erased. Wait until it has ended; if it was killed, finish the "
            "work with: muniment run",
        )


# --- the steps --------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Job:
    pipeline: Pipeline
    work: Work
    names: Names
    going: frozenset[str]
    """SHA-256 of the bytes to erase: none that another document got in the meantime."""

    @property
    def home(self) -> HomeFolder:
        return HomeFolder(self.pipeline.home)


def _index(job: _Job) -> None:
    with job.pipeline.index() as index:
        points = Points(index, job.pipeline.settings.qdrant.alias)
        points.erase(job.work.documents)
        in_use = points.texts_of_others(job.work.texts, job.work.documents)
    compact_embedded(job.pipeline)
    job.pipeline.catalog.erase_embeddings(set(job.work.texts) - in_use)


def _home(job: _Job) -> None:
    home, work = job.home, job.work
    for path in (
        *home.proofs(work.chunks),
        *home.pictures(work.chunks, work.sources),
        *home.reports(work.runs, job.names),
    ):
        path.unlink()
    home.mask(job.names)
    home.forget_web(work.sources)
    remove_abandoned()


def _ocr_cache(job: _Job) -> None:
    work = job.work
    cache = FolderCache(ocr_cache_folder(job.pipeline))
    cache.remove(recognised(job.pipeline, work.images, work.unread, job.going))
    cache.remove_unfinished()


def _vault(job: _Job) -> None:
    for digest in sorted(job.going):
        job.pipeline.vault.erase(digest)
    job.pipeline.vault.erase_unfinished()


def _artifacts(job: _Job) -> None:
    artifacts = job.pipeline.artifacts
    extractions = Extractions(artifacts).of(job.going)
    for path in (*extractions, *chunk_paths(job.pipeline, job.work.documents)):
        artifacts.remove(path)
    clear(artifacts, job.names)
    artifacts.remove_unfinished()


def _catalogue(job: _Job) -> None:
    catalog, names = job.pipeline.catalog, job.names
    catalog.erase_rows(job.work.documents, names.keys, names.cleaned)
    catalog.compact()


STEPS: tuple[Callable[[_Job], None], ...] = (
    _index,
    _home,
    _ocr_cache,
    _vault,
    _artifacts,
    _catalogue,
)


def _search_again(job: _Job) -> dict[Place, int]:
    """Search every place for the ids and hashes, and return what is there."""
    pipeline, work, home = job.pipeline, job.work, job.home
    with pipeline.index() as index:
        points = Points(index, pipeline.settings.qdrant.alias)
        left = len(points.chunks_of(work.documents))
        unused = set(work.texts) - points.texts_of_others(work.texts, work.documents)
    return {
        "index": left,
        "embeddings": len(pipeline.catalog.embedded_texts(unused)),
        "proofs": len(home.proofs(work.chunks)),
        "report_pictures": len(home.pictures(work.chunks, work.sources)),
        "reports": len(home.reports((), job.names)),
        "progress_and_logs": len(home.lines(job.names)),
        "ocr_cache": len(recognised(pipeline, work.images, work.unread, job.going)),
        "web_cache": len(home.web_pages(work.sources)),
        "vault": sum(digest in pipeline.vault for digest in job.going),
        "extractions": len(Extractions(pipeline.artifacts).of(job.going)),
        "run_files": files_with(pipeline.artifacts, job.names),
        "chunks": len(chunk_paths(pipeline, work.documents)),
        "catalogue": pipeline.catalog.rows_of(work.documents),
    }
