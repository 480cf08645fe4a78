"""Which code made a point: recorded in its payload, so that a rebuild knows what is stale."""

from __future__ import annotations

from ingest.chunking import CHUNKER_VERSION
from ingest.extract import EXTRACTOR_VERSION

RELEASE = "0.1.0"


def pipeline_version(extractor_version: str = EXTRACTOR_VERSION) -> str:
    """Return the version of the code that makes chunks now of what that extractor read."""
    return f"{RELEASE}+extract.{extractor_version}.chunk.{CHUNKER_VERSION}"


PIPELINE_VERSION = pipeline_version()
