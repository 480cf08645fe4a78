"""Forgetting with the catalogue in PostgreSQL: down to the files of its tables."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from forgetting import HERON, LYNX, OTTER, doc, holders, make
from pydantic import SecretStr
from sqlalchemy import Engine, text

from ingest.erasure.erase import erase_client, erase_documents
from ingest.pipeline import open_catalog

WORDS = ("heron", "lynx", "ada-bellweather", "acme", HERON, LYNX, OTTER)

RELATIONS = """
SELECT c.relname, pg_read_binary_file(pg_relation_filepath(c.oid))
FROM pg_class c
JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'i', 't') AND n.nspname IN ('public', 'pg_toast')
  AND pg_relation_size(c.oid) > 0
"""


def relations_with(engine: Engine, *words: str) -> set[str]:
    """Return the tables and indexes whose files hold one of the words."""
    with engine.connect() as connection:
        connection.execution_options(isolation_level="AUTOCOMMIT").execute(text("CHECKPOINT"))
        files = connection.execute(text(RELATIONS)).all()
    return {name for name, data in files if any(word.encode() in bytes(data) for word in words)}


def test_what_was_planted_is_in_no_file_of_the_database(
    make_database: Callable[[], str], tmp_path: Path
) -> None:
    ws = make(tmp_path, catalog_url=SecretStr(make_database()))
    pipeline = ws.pipeline()
    engine = pipeline.catalog.engine
    assert {"items", "documents", "versions", "quarantine"} <= relations_with(engine, *WORDS)
    points = ws.points()
    documents = [doc("reports", "heron-deed.pdf"), doc("reports", "heron-torn.pdf")]
    documents += [doc("contracts", "heron-scan.pdf"), doc("mails", "lynx-mail.eml")]
    receipts = [
        erase_documents(pipeline, documents, "asked for"),
        erase_client(pipeline, "acme", "contract ended"),
    ]
    assert all(receipt.complete for receipt in receipts)
    assert relations_with(engine, *WORDS) == set()
    assert holders(ws.settings.home, *WORDS) == set()
    gone = {doc_id for receipt in receipts for doc_id in receipt.documents}
    assert ws.points() == {key: one for key, one in points.items() if one["doc_id"] not in gone}
    found = open_catalog(ws.settings).forgotten(documents, ["acme", "bolt"])
    assert found.doc_ids == set(documents)
    assert found.client_ids == {"acme"}
