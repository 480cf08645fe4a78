"""Documents: finding one, and its versions on both time axes."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from dashboard.queries import PAGE, After
from dashboard.queries import documents as find
from dashboard.site import Site
from dashboard.tables import Column, Table
from dashboard.timeline import timeline
from ingest.versions_report import report
from schemas.base import utc_now

TITLE = "Documents"


def documents(
    site: Site, q: str = "", source: str = "", after_source: str = "", after_key: str = ""
) -> dict[str, Any]:
    """Return what the page shows."""
    after = After(after_source, after_key) if after_source else None
    found = find(site.catalog, q, source or None, after, utc_now())
    rows = found[:PAGE]
    more = None
    if len(found) > PAGE:
        asked = {"q": q, "source": source}
        last = {"after_source": rows[-1]["source_id"], "after_key": rows[-1]["document_key"]}
        more = f"/documents?{urlencode(asked | last)}"
    table = Table(
        "documents",
        "Documents",
        (
            Column("title", "Title"),
            Column("source_id", "Source"),
            Column("document_key", "Key"),
            Column("versions", "Versions", "number"),
            Column("in_force", "In force now", "number"),
            Column("licence_id", "Licence"),
        ),
        [{**row, "title_href": f"/documents/{row['doc_id']}"} for row in rows],
        none="No document is like that.",
        more=more,
        wide=frozenset({"title", "document_key"}),
    )
    sources = sorted(one.id for one in site.configuration.sources)
    return {"q": q, "source": source, "sources": sources, "tables": [table]}


def document(site: Site, doc_id: str) -> dict[str, Any]:
    """Return what the page of one document shows.

    Raises:
        ItemError: ``document_unknown``.
    """
    found = report(site.settings, doc_id)
    now = utc_now()
    rows = []
    for one in found.versions:
        in_force = one.state == "published" and one.effective_from <= now < one.effective_until
        rows.append(
            {
                **one.model_dump(),
                "version_href": f"/documents/{doc_id}/versions/{one.version}",
                "now": "in force" if in_force and one.retired_at > now else one.state,
                "quote": one.evidence.quote if one.evidence else None,
            }
        )
    table = Table(
        "versions",
        "Versions",
        (
            Column("version", "Version", "number"),
            Column("version_label", "Label"),
            Column("now", "State", "state"),
            Column("effective_from", "In force from", "instant"),
            Column("effective_until", "Until", "instant"),
            Column("effective_basis", "Known by"),
            Column("published_at", "Published", "instant"),
            Column("retired_at", "Retired", "instant"),
            Column("chunk_count", "Passages", "number"),
            Column("source_key", "Item"),
            Column("doc_sha256", "SHA-256", "hash"),
        ),
        rows,
        none="No version was published.",
        wide=frozenset({"source_key"}),
    )
    return {"document": found, "timeline": timeline(found.versions, now), "tables": [table]}
