"""Which code made a point: recorded in its payload, so that a rebuild knows what is stale."""

from __future__ import annotations

from ingest.chunking import CHUNKER_VERSION
from ingest.extract import EXTRACTOR_VERSION

RELEASE = "0.1.0"

PIPELINE_VERSION = f"{RELEASE}+extract.{EXTRACTOR_VERSION}.chunk.{CHUNKER_VERSION}"
