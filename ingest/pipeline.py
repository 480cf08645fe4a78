"""Everything a step needs: settings, configuration, stores, and the engines, opened when used."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from pydantic import BaseModel

from ingest.artifacts import Artifacts
from ingest.catalog import Catalog
from ingest.configuration import Configuration, load_configuration
from ingest.progress import ProgressEvent, ProgressFile, ProgressSink
from ingest.settings import Settings
from ingest.sources.credentials import CredentialLookup, from_environment
from ingest.vault import Vault
from schemas.payload import Payload
from schemas.run import Batch, BatchRef, ChunkedVersion, ChunkRecord, SourcePlan, Stage

if TYPE_CHECKING:
    from ingest.chunking import Chunker
    from ingest.embedding import Embedder
    from ingest.index import VectorIndex
    from ingest.sources.base import Connector
    from ingest.tokens import TokenCounter

ModelT = TypeVar("ModelT", bound=BaseModel)


class Pipeline:
    """One installation at work on one run.

    Steps take a pipeline and a reference and return a reference, so that they run the same from
    the shell, in an Airflow task, or on another machine.
    """

    def __init__(
        self,
        settings: Settings,
        run_id: str,
        progress: ProgressSink | None = None,
        credentials: CredentialLookup = from_environment,
    ) -> None:
        self.settings = settings
        self.run_id = run_id
        self.home = settings.home.absolute()
        self.progress = progress or ProgressFile(progress_path(self.home, run_id))
        self._credentials = credentials
        self._connectors: dict[str, Connector] = {}

    @cached_property
    def configuration(self) -> Configuration:
        """The sources and the licence registry, checked."""
        return load_configuration(self.settings.sources_file, self.settings.licences_file)

    @cached_property
    def catalog(self) -> Catalog:
        """The catalogue, migrated to this release's tables."""
        return open_catalog(self.settings)

    @cached_property
    def vault(self) -> Vault:
        """The store of source bytes."""
        return open_vault(self.settings)

    @cached_property
    def artifacts(self) -> Artifacts:
        """The store of what steps hand to each other and of extracted versions."""
        return open_artifacts(self.settings)

    @cached_property
    def tokens(self) -> TokenCounter:
        """The embedding model's own tokenizer."""
        from ingest.tokens import TokenCounter

        return TokenCounter(self.settings.embedding_model)

    @cached_property
    def chunker(self) -> Chunker:
        """The chunker, counting with the embedding model's tokenizer."""
        from ingest.chunking import Chunker

        return Chunker(self.tokens, self.settings.chunking)

    @cached_property
    def embedder(self) -> Embedder:
        """The embedding model; loaded only when a text needs it."""
        from ingest.embedding import Embedder

        return Embedder(self.settings.embedding_model)

    def connector(self, source_id: str) -> Connector:
        """Return the connector of a source, one for the life of the pipeline."""
        from ingest.sources import connect

        if source_id not in self._connectors:
            source = self.configuration.source(source_id)
            self._connectors[source_id] = connect(
                source,
                self.configuration,
                credentials=self._credentials,
                cache=self.home / "cache" / "web" / source_id,
            )
        return self._connectors[source_id]

    @contextmanager
    def index(self) -> Iterator[VectorIndex]:
        """Open the index; the embedded one admits a single process, so it's closed again soon."""
        current = self.catalog.current_rebuild(self.settings.qdrant.alias)
        with open_index(
            self.settings,
            self.embedder,
            collection=current.collection if current else None,
            former=current.former if current else None,
        ) as index:
            yield index

    @contextmanager
    def writing(self, index: VectorIndex, doc_id: str) -> Iterator[None]:
        """Keep others from changing a document's points, and change them where readers look.

        A rebuild may have turned readers to another collection since the index was opened; it does
        so while nobody holds a document.

        Raises:
            RetriableError: the document is locked.
            ConfigurationError: readers use the collection of another model or schema by now.
        """
        with self.catalog.document_lock(doc_id):
            current = self.catalog.current_rebuild(self.settings.qdrant.alias)
            if current is not None:
                index.follow(current.collection, current.former)
            yield

    # --- what steps leave for each other ---------------------------------------------------

    def plan_path(self, source_id: str) -> str:
        """Path of what listing a source found."""
        return f"runs/{self.run_id}/plans/{source_id}.json"

    def stage_path(self, batch_id: str, stage: str) -> str:
        """Path of what a step made of a batch."""
        return f"runs/{self.run_id}/batches/{batch_id}/{stage}.json.zst"

    def batch(self, ref: BatchRef) -> Batch:
        """Read the batch that ``ref`` names."""
        return self.artifacts.read(self.stage_path(ref.batch_id, "plan"), Batch)

    def plans(self) -> list[SourcePlan]:
        """Read the plans of all sources that could be listed in this run."""
        paths = self.artifacts.list(f"runs/{self.run_id}/plans")
        return [self.artifacts.read(path, SourcePlan) for path in paths]

    def stage_result(self, ref: BatchRef, stage: Stage, kind: type[ModelT]) -> ModelT:
        """Read what ``stage`` made of the batch."""
        return self.artifacts.read(self.stage_path(ref.batch_id, stage), kind)

    def payloads(self, version: ChunkedVersion) -> list[Payload]:
        """Read the payloads that the chunk step wrote for a version."""
        records = self.artifacts.read_lines(version.payloads_uri, ChunkRecord)
        return [record.payload for record in records]

    def finish(self, ref: BatchRef, stage: Stage, result: BaseModel, **counts: int) -> BatchRef:
        """Write a step's result and return the reference for the next one."""
        self.artifacts.write(self.stage_path(ref.batch_id, stage), result)
        return ref.model_copy(update={"counts": counts})

    def advance(self, ref: BatchRef, stage: Stage, done: int, total: int, detail: str = "") -> None:
        """Tell whoever watches how far a step is."""
        self.progress.emit(
            ProgressEvent(
                run_id=self.run_id,
                stage=stage,
                source_id=ref.source_id,
                batch_id=ref.batch_id,
                state="advanced",
                done=done,
                total=total,
                detail=detail,
            )
        )


def progress_path(home: Path, run_id: str) -> Path:
    """Return where the events of a run are written."""
    return home / "progress" / f"{run_id}.jsonl"


def report_folder(home: Path, run_id: str) -> Path:
    """Return the folder of a run's report and page pictures."""
    return home / "reports" / run_id


def open_catalog(settings: Settings) -> Catalog:
    """Open the catalogue and bring its tables up to date."""
    if settings.catalog_url is not None:
        url = settings.catalog_url.get_secret_value()
    else:
        home = settings.home.absolute()
        home.mkdir(parents=True, exist_ok=True)
        url = f"sqlite:///{home / 'catalog.db'}"
    catalog = Catalog(url)
    catalog.migrate()
    return catalog


def open_vault(settings: Settings) -> Vault:
    """Open the store of source bytes."""
    return Vault(settings.vault_url or os.fspath(settings.home.absolute() / "vault"))


def open_artifacts(settings: Settings) -> Artifacts:
    """Open the artifact store."""
    return Artifacts(settings.artifacts_url or os.fspath(settings.home.absolute() / "artifacts"))


def open_index(
    settings: Settings,
    embedder: Embedder,
    *,
    collection: str | None = None,
    former: str | None = None,
) -> VectorIndex:
    """Open the index for the embedding model; see `VectorIndex` for the collections."""
    from ingest.index import VectorIndex

    return VectorIndex(
        settings.qdrant,
        settings.home.absolute(),
        model_name=embedder.name,
        dimension=embedder.dimension,
        collection=collection,
        former=former,
    )
