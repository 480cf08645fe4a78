"""erase: forget what sources no longer list, where their policy says so."""

from __future__ import annotations

from ingest.erasure.erase import erase_documents, resume
from ingest.ledger import erase_path
from ingest.pipeline import Pipeline
from schemas.run import EraseResult


def erase(pipeline: Pipeline) -> EraseResult:
    """Erase the documents that are gone from sources with ``when_gone: erase``.

    Erasures that were begun and not finished come first. A file that is gone from a container that
    stays is only retired: its bytes stand in the container's earlier ones. What a source lists
    again later is pulled in as new.

    Raises:
        RetriableError: the index or the catalogue is in use.
        FatalError: something was found again afterwards.
    """
    resumed = resume(pipeline, in_run=True)
    counts: dict[str, int] = {}
    for source in pipeline.configuration.sources:
        if source.when_gone != "erase":
            continue
        gone = pipeline.catalog.gone_documents(source.id)
        inside = pipeline.catalog.containers_of(gone)
        erasable = {
            doc_id for doc_id in gone if doc_id not in inside or inside[doc_id].doc_id in gone
        }
        if erasable:
            reason = f"no longer listed by source {source.id}"
            receipt = erase_documents(pipeline, erasable, reason, lasting=False)
            counts[source.id] = len(receipt.documents)
    result = EraseResult(documents=counts, resumed=len(resumed))
    pipeline.artifacts.write(erase_path(pipeline.run_id), result)
    return result
