"""Lineage: what each run read and wrote, as OpenLineage events, with where each field comes from.

Events are sent at the end of a run, one pair for each source, where OpenLineage's own variables say
where to (https://openlineage.io/docs/client/python). Nothing is sent otherwise.
"""

from __future__ import annotations

import logging
import os
import uuid
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from ingest.pipeline import Pipeline
from ingest.quality.results import GateResult
from ingest.version import RELEASE
from schemas.payload import Payload
from schemas.run import Ledger, LedgerLine

if TYPE_CHECKING:
    from openlineage.client.event_v2 import InputDataset, OutputDataset, RunEvent

log = logging.getLogger(__name__)

PRODUCER = f"urn:muniment:{RELEASE}"
_NAMESPACE = "muniment"
_RUNS = uuid.UUID("0b7f6c0e-9a3f-5a0e-8f5e-4f1f6f9b2a10")
_VARIABLES = ("OPENLINEAGE_URL", "OPENLINEAGE_CONFIG", "OPENLINEAGE__TRANSPORT__TYPE")

FROM_BYTES = frozenset(
    {
        "text", "page_first", "page_last", "page_label", "boxes", "char_start", "char_end",
        "section", "element_kinds", "locator", "text_source", "ocr_confidence", "language",
        "doc_sha256", "text_sha256",
    }
)  # fmt: skip
"""Fields that are read from a source's bytes: extraction, recognition, cutting."""
FROM_LISTING = frozenset(
    {
        "title", "source_uri", "source_key", "version_label", "effective_from", "effective_until",
        "effective_basis", "effective_evidence", "retired_at",
    }
)  # fmt: skip
"""Fields that a source's listing, manifest or file metadata say, the intervals worked out of them
among those."""
FROM_REGISTRY = frozenset(
    {
        "licence_id", "attribution_required", "attribution_text", "display_allowed",
        "max_quote_chars", "redistribution_allowed", "allowed_uses", "territories",
        "licence_valid_from", "licence_valid_until",
    }
)  # fmt: skip
"""Fields of the licence registry, as an item's own terms narrow them."""
MADE_HERE = frozenset(
    {
        "chunk_id", "doc_id", "source_id", "source_kind", "version", "recorded_at",
        "interval_history", "published_at", "confidentiality", "client_id", "pipeline_version",
        "embedding_model", "run_id",
    }
)  # fmt: skip
"""Fields that the pipeline and its configuration give; no data set has them."""

_HOW = {
    FROM_BYTES: ("bytes", "read from the source's bytes and carried to the point"),
    FROM_LISTING: ("listing", "said by the source's listing or the file itself"),
}


def is_wanted() -> bool:
    """Tell whether OpenLineage's variables say where events go."""
    if os.environ.get("OPENLINEAGE_DISABLED", "").lower() == "true":
        return False
    return any(os.environ.get(name) for name in _VARIABLES)


def emit(pipeline: Pipeline, ledger: Ledger) -> None:
    """Send the events of a run that has ended. A run does not fail because nobody took them."""
    if not is_wanted():
        return
    from openlineage.client import OpenLineageClient

    client = OpenLineageClient()
    try:
        for event in events(pipeline, ledger):
            client.emit(event)
    # Its transports raise errors of many unrelated libraries.
    except Exception as error:  # noqa: BLE001
        log.error("Lineage could not be sent: %s: %s", type(error).__name__, error)


def events(pipeline: Pipeline, ledger: Ledger) -> Iterator[RunEvent]:
    """Yield a beginning and an end for each source of a run."""
    from openlineage.client.event_v2 import Job, Run, RunEvent, RunState
    from openlineage.client.facet_v2 import RunFacet, error_message_run, job_type_job

    for line in ledger.lines:
        facets: dict[str, RunFacet] = {}
        if line.error:
            facets["errorMessage"] = error_message_run.ErrorMessageRunFacet(
                message=line.error, programmingLanguage="Python", producer=PRODUCER
            )
        kind = job_type_job.JobTypeJobFacet(
            processingType="BATCH", integration="MUNIMENT", jobType="RUN", producer=PRODUCER
        )
        run_id = str(uuid.uuid5(_RUNS, f"{ledger.run_id} {line.source_id}"))
        job = Job(_NAMESPACE, f"ingest.{line.source_id}", {"jobType": kind})
        yield RunEvent(
            eventTime=ledger.started_at.isoformat(),
            eventType=RunState.START,
            run=Run(run_id),
            job=job,
            producer=PRODUCER,
        )
        yield RunEvent(
            eventTime=_ended(ledger).isoformat(),
            eventType=RunState.FAIL if line.error else RunState.COMPLETE,
            run=Run(run_id, facets),
            job=job,
            producer=PRODUCER,
            inputs=_inputs(pipeline, line),
            outputs=_outputs(pipeline, line),
        )


def _ended(ledger: Ledger) -> datetime:
    return ledger.finished_at or ledger.started_at


def _inputs(pipeline: Pipeline, line: LedgerLine) -> list[InputDataset]:
    from openlineage.client.event_v2 import InputDataset
    from openlineage.client.facet_v2 import InputDatasetFacet, data_quality_assertions_dataset
    from openlineage.client.facet_v2 import data_quality_metrics_input_dataset as metrics

    facets: dict[str, InputDatasetFacet] = {
        "dataQualityMetrics": metrics.DataQualityMetricsInputDatasetFacet(
            columnMetrics={}, rowCount=line.listed, producer=PRODUCER
        )
    }
    checked = [
        data_quality_assertions_dataset.Assertion(code, success, severity=severity)
        for code, severity, success in _assertions(pipeline, line.source_id)
    ]
    if checked:
        facets["dataQualityAssertions"] = (
            data_quality_assertions_dataset.DataQualityAssertionsDatasetFacet(
                checked, producer=PRODUCER
            )
        )
    registry = pipeline.settings.licences_file.absolute()
    return [
        InputDataset(*_source(pipeline, line.source_id), facets),
        InputDataset("file", str(registry)),
    ]


def _outputs(pipeline: Pipeline, line: LedgerLine) -> list[OutputDataset]:
    from openlineage.client.event_v2 import OutputDataset
    from openlineage.client.facet_v2 import (
        column_lineage_dataset,
        output_statistics_output_dataset,
        schema_dataset,
    )

    source = _source(pipeline, line.source_id)
    registry = ("file", str(pipeline.settings.licences_file.absolute()))

    def from_(place: tuple[str, str], field: str, how: str) -> column_lineage_dataset.Fields:
        step = column_lineage_dataset.Transformation("DIRECT", "TRANSFORMATION", how)
        return column_lineage_dataset.Fields(
            [column_lineage_dataset.InputField(*place, field, [step])]
        )

    fields = {
        name: from_(source, field, how)
        for names, (field, how) in _HOW.items()
        for name in sorted(names)
    }
    fields |= {
        name: from_(registry, name, "as the licence says, narrowed by the item's own terms")
        for name in sorted(FROM_REGISTRY)
    }
    described = Payload.model_json_schema(mode="serialization")["properties"]
    facets = {
        "schema": schema_dataset.SchemaDatasetFacet(
            [
                schema_dataset.SchemaDatasetFacetFields(
                    name,
                    str(about.get("type", "object")),
                    " ".join(about.get("description", "").split()) or None,
                )
                for name, about in described.items()
            ],
            producer=PRODUCER,
        ),
        "columnLineage": column_lineage_dataset.ColumnLineageDatasetFacet(
            fields, producer=PRODUCER
        ),
    }
    written = output_statistics_output_dataset.OutputStatisticsOutputDatasetFacet(
        rowCount=line.points_new, producer=PRODUCER
    )
    vault = _place(pipeline.settings.vault_url or str(pipeline.home / "vault"))
    return [
        OutputDataset(*vault),
        OutputDataset(*_collection(pipeline), {"outputStatistics": written}, facets=facets),
    ]


def _assertions(pipeline: Pipeline, source_id: str) -> Iterable[tuple[str, str, bool]]:
    """Return code and severity of each expectation of the run, and whether it held everywhere."""
    held: dict[tuple[str, str], bool] = {}
    for plan in pipeline.plans():
        if plan.source_id != source_id:
            continue
        for batch_id in plan.batches:
            path = pipeline.stage_path(batch_id, "gate-result")
            if pipeline.artifacts.exists(path):
                for check in pipeline.artifacts.read(path, GateResult).checks:
                    key = (check.code, check.severity)
                    held[key] = held.get(key, True) and not check.failed_rows
    return [(code, severity, held[code, severity]) for code, severity in sorted(held)]


def _source(pipeline: Pipeline, source_id: str) -> tuple[str, str]:
    return _place(pipeline.configuration.source(source_id).address)


def _collection(pipeline: Pipeline) -> tuple[str, str]:
    from ingest.collections import collection_name

    settings = pipeline.settings
    current = pipeline.catalog.current_rebuild(settings.qdrant.alias)
    name = collection_name(settings.qdrant.alias, settings.embedding_model)
    if settings.qdrant.url is None:
        place = str(pipeline.home / "qdrant")
    else:
        place = f"qdrant://{urlsplit(settings.qdrant.url).netloc.rpartition('@')[2]}"
    return place, current.collection if current is not None else name


def _place(address: str) -> tuple[str, str]:
    """Return an address as OpenLineage names data sets: its scheme and host, and the path.

    Without what an address may hold of secrets (OpenLineage, Naming Conventions).
    """
    parts = urlsplit(address)
    if not parts.scheme or not parts.netloc:
        return "file", address
    host = parts.netloc.rpartition("@")[2]
    return f"{parts.scheme}://{host}", parts.path or "/"
