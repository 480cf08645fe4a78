"""What there is to erase: which documents, and every trace of them."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

from ingest.erasure.extractions import Extractions, images_in
from ingest.erasure.home import HomeFolder
from ingest.erasure.names import Names
from ingest.erasure.points import Points
from ingest.erasure.receipt import Place, Stayed
from ingest.erasure.run_files import look_through, touched_runs
from ingest.errors import FatalError, ItemError
from ingest.extract.ocr_cache import FolderCache
from ingest.pipeline import Pipeline
from ingest.steps.readings import ocr_cache_folder
from schemas.base import Model, Sha256
from schemas.run import ChunkRecord

SHARED = "another document that stays has the same bytes"


class Work(Model):
    """What is found before anything is erased: ids, hashes and counts, but no names.

    It is kept in the catalogue until the erasure is done, so that a killed one goes on with it.
    """

    documents: tuple[str, ...]
    members: int
    sources: tuple[str, ...]
    found: dict[Place, int]
    sha256s: tuple[Sha256, ...]
    """Of the bytes that go."""
    stayed: tuple[Stayed, ...]
    images: tuple[Sha256, ...]
    """Of the pages that were recognised."""
    unread: bool
    """Whether bytes without an extraction are among them, whose pages may have been recognised."""
    chunks: tuple[str, ...]
    texts: tuple[Sha256, ...]
    """Of passages that no other document has."""
    runs: tuple[str, ...]
    """Runs whose files say something of the documents."""


@dataclass
class Scope:
    """Documents, with the names by which their traces are found."""

    doc_ids: set[str] = field(default_factory=set)
    members: set[str] = field(default_factory=set)
    keys: set[tuple[str, str]] = field(default_factory=set)
    uris: set[str] = field(default_factory=set)
    sha256s: set[str] = field(default_factory=set)

    def names(self, sha256s: Collection[str], chunk_ids: Collection[str]) -> Names:
        """Return what to look for in texts; ``sha256s`` are those of bytes that go."""
        return Names(
            doc_ids=self.doc_ids,
            keys=self.keys,
            uris=self.uris,
            sha256s=sha256s,
            chunk_ids=chunk_ids,
        )


def scope_of(pipeline: Pipeline, doc_ids: Collection[str], client_id: str | None = None) -> Scope:
    """Return the documents, or the client's, with all that lie inside them.

    Raises:
        ItemError: ``document_unknown``, ``inside_container`` or ``client_unknown``.
    """
    asked = set(doc_ids)
    if unknown := pipeline.catalog.unknown(asked):
        unknown -= look_through(pipeline.artifacts, unknown).doc_ids
    if unknown:
        raise ItemError(
            "document_unknown",
            f"There is no document {', '.join(sorted(unknown))}. Ids are printed by: muniment "
            "search --json, muniment quarantine list --json. Of one that was erased, `muniment "
            "forget list` has the receipt.",
        )
    if client_id is not None:
        asked |= pipeline.catalog.documents_of_client(client_id)
        asked |= look_through(pipeline.artifacts, (), client_id).doc_ids
        if not asked:
            raise ItemError(
                "client_unknown",
                f"No document of client {client_id!r} is known. Ids of clients stand in "
                "sources.yaml, in manifests, and in the client column of records.",
            )
        asked |= {one.doc_id for one in pipeline.catalog.containers_of(asked).values()}
    scope = Scope(asked | pipeline.catalog.inside(asked))
    for doc_id, container in sorted(pipeline.catalog.containers_of(asked).items()):
        if container.doc_id not in scope.doc_ids:
            raise ItemError(
                "inside_container",
                f"Document {doc_id} lies inside {container.source_key} and cannot be erased from "
                "its bytes. Forget that document too, with all that is inside it: "
                f"--doc {container.doc_id}",
            )
    _complete(pipeline, scope)
    inside = pipeline.catalog.containers_of(scope.doc_ids)
    scope.members = set(inside) | (scope.doc_ids - asked)
    return scope


def names_again(pipeline: Pipeline, doc_ids: Collection[str]) -> Scope:
    """Return the scope of an erasure that was begun, as far as the catalogue still has it."""
    scope = Scope(set(doc_ids))
    _complete(pipeline, scope)
    return scope


def _complete(pipeline: Pipeline, scope: Scope) -> None:
    """Add names and hashes from the catalogue, from files of runs, and from extractions."""
    known = pipeline.catalog.known_of(scope.doc_ids)
    found = look_through(pipeline.artifacts, scope.doc_ids)
    scope.keys |= known.keys | found.keys
    scope.uris |= known.uris | found.uris
    scope.sha256s |= known.sha256s | found.sha256s
    # A container's extraction names the bytes of its files, those that were refused too.
    extractions = Extractions(pipeline.artifacts)
    waiting = set(scope.sha256s)
    while waiting:
        waiting = extractions.attachments(extractions.of(waiting)) - scope.sha256s
        scope.sha256s |= waiting


def work_of(pipeline: Pipeline, scope: Scope) -> Work:
    """Search every place for the documents, and return what is there."""
    others = pipeline.catalog.bytes_of_others(scope.sha256s, scope.doc_ids)
    stored = Extractions(pipeline.artifacts)
    if pipeline.catalog.has_refused_members():
        # They have no version, and their containers are read again when they are retried.
        others |= scope.sha256s & stored.attachments(stored.of_others(scope.sha256s))
    going = scope.sha256s - others
    extractions = stored.of(going)
    images = stored.images(extractions)
    unread = any(not stored.of([digest]) for digest in going)
    chunk_files = chunk_paths(pipeline, scope.doc_ids)
    chunks: dict[str, str | None] = {}
    for path in chunk_files:
        for record in _records(pipeline, path):
            chunks[record.payload.chunk_id] = record.payload.text_sha256
    with pipeline.index() as index:
        indexed = Points(index, pipeline.settings.qdrant.alias)
        points = indexed.chunks_of(scope.doc_ids)
        chunks |= points
        texts = {digest for digest in chunks.values() if digest is not None}
        texts -= indexed.texts_of_others(texts, scope.doc_ids)
    names = scope.names(going, chunks)
    runs = touched_runs(pipeline.artifacts, names)
    sources = sorted({source_id for source_id, _ in scope.keys})
    home = HomeFolder(pipeline.home)
    found: dict[Place, int] = {
        "index": len(points),
        "embeddings": len(pipeline.catalog.embedded_texts(texts)),
        "proofs": len(home.proofs(chunks)),
        "report_pictures": len(home.pictures(chunks, sources)),
        "reports": len(home.reports(runs, names)),
        "progress_and_logs": len(home.lines(names)),
        "ocr_cache": len(recognised(pipeline, images, unread, going)),
        "web_cache": len(home.web_pages(sources)),
        "vault": sum(digest in pipeline.vault for digest in going),
        "extractions": len(extractions),
        "run_files": len(runs),
        "chunks": len(chunk_files),
        "catalogue": pipeline.catalog.known_of(scope.doc_ids).rows,
    }
    return Work(
        documents=tuple(sorted(scope.doc_ids)),
        members=len(scope.members),
        sources=tuple(sources),
        found=found,
        sha256s=tuple(sorted(going)),
        stayed=tuple(
            Stayed(sha256=digest, why=SHARED) for digest in sorted(others & scope.sha256s)
        ),
        images=tuple(sorted(images)),
        unread=unread,
        chunks=tuple(sorted(chunks)),
        texts=tuple(sorted(texts)),
        runs=tuple(runs),
    )


def chunk_paths(pipeline: Pipeline, doc_ids: Collection[str]) -> list[str]:
    """Return the files with the passages of these documents, of all versions and runs."""
    return [
        path for doc_id in sorted(doc_ids) for path in pipeline.artifacts.list(f"chunks/{doc_id}")
    ]


def recognised(
    pipeline: Pipeline, images: Collection[str], unread: bool, sha256s: Collection[str]
) -> list[str]:
    """Return the keys of the OCR cache's entries that were made from these images.

    Where a document's pages may have been recognised although it was never read to its end, also
    the entries that no extraction of other bytes than ``sha256s`` names. Damaged ones are among
    them, for nobody can tell what they hold.
    """
    wanted = set(images)
    cache = FolderCache(ocr_cache_folder(pipeline))
    by_key = {key: None if data is None else images_in(data) for key, data in cache.entries()}
    if unread and by_key:
        stored = Extractions(pipeline.artifacts)
        named = stored.images(stored.of_others(sha256s))
        wanted |= {digest for found in by_key.values() for digest in found or ()} - named
    return [key for key, found in by_key.items() if found is None or not found.isdisjoint(wanted)]


def _records(pipeline: Pipeline, path: str) -> list[ChunkRecord]:
    try:
        return list(pipeline.artifacts.read_lines(path, ChunkRecord))
    except FatalError as error:
        if error.code != "artifact_damaged":
            raise
        return []
