"""sweep: take back what no licence covers any more, and bring back what one covers again.

The default filter hides a passage at the very instant at which its licence ends. The nightly sweep
then does what the licence says is to be done: nothing more, retire its documents, or erase them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from datetime import datetime

from ingest.catalog.records import LicensedDocument
from ingest.erasure.erase import erase_documents
from ingest.ledger import sweep_path
from ingest.licensing import REFUSALS, usable
from ingest.pipeline import Pipeline
from ingest.steps.retire import restore_documents, retire_documents
from schemas.licence import ExpiryAction
from schemas.run import SweepResult, SweptSource


def sweep(pipeline: Pipeline, now: datetime) -> SweepResult:
    """Retire or erase documents without a valid licence, and restore those that have one again.

    A document stays while any of its versions has a valid licence; the filter hides the others. A
    licence that left the registry, that no longer allows retrieval, or that an item named wrongly
    in its newest state is none: such documents are retired.

    Raises:
        RetriableError: the index or the catalogue is locked or does not answer.
        FatalError: something that was erased was found again afterwards.
    """
    licences = pipeline.configuration.licences
    allowed = usable(licences)
    by_action: dict[ExpiryAction, list[LicensedDocument]] = defaultdict(list)
    for document in pipeline.catalog.unlicensed_documents(now, allowed, REFUSALS):
        licence = licences.get(document.licence_id)
        expired = licence is not None and licence.id in allowed
        action = licence.on_expiry if licence is not None and expired else "retire"
        by_action[action].append(document)
    again = pipeline.catalog.relicensed_documents(now, allowed)
    points: dict[str, int] = defaultdict(int)
    if by_action["retire"] or again:
        with pipeline.index() as qdrant:
            qdrant.ensure()
            for document in by_action["retire"]:
                taken = retire_documents(pipeline, qdrant, [document.doc_id], now)
                points[document.source_id] += taken
            restore_documents(pipeline, qdrant, [document.doc_id for document in again])
    if by_action["erase"]:
        erase_documents(
            pipeline,
            [document.doc_id for document in by_action["erase"]],
            "its licence has ended",
            lasting=False,
        )
    retired, erased, restored = map(_ids, (by_action["retire"], by_action["erase"], again))
    result = SweepResult(
        sources={
            source_id: SweptSource(
                retired=tuple(retired[source_id]),
                restored=tuple(restored[source_id]),
                erased=len(erased[source_id]),
                points_retired=points[source_id],
            )
            for source_id in sorted({*retired, *erased, *restored})
        }
    )
    pipeline.artifacts.write(sweep_path(pipeline.run_id), result)
    return result


def _ids(documents: Iterable[LicensedDocument]) -> dict[str, list[str]]:
    ids: dict[str, list[str]] = defaultdict(list)
    for document in documents:
        ids[document.source_id].append(document.doc_id)
    return ids
