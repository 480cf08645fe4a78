"""Views for tools that draw figures: Superset, Metabase, Grafana.

A later migration that changes one of these tables has to drop its views first, and make them again.
"""

from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None

_VIEWS = {
    # One row for each figure of each run; an empty source is all of them together.
    "view_metrics": """
        SELECT m.run_id, r.started_at, r.finished_at, m.source_id, m.name, m.value, m.low, m.high,
               m.state
        FROM run_metrics m JOIN runs r ON r.run_id = m.run_id
    """,
    # What waits for a person, by source, step and reason.
    "view_quarantine": """
        SELECT source_id, stage, code, COUNT(*) AS entries, MIN(first_seen) AS since
        FROM quarantine WHERE state = 'open' GROUP BY source_id, stage, code
    """,
    # What readers may find of each source, and when it was last listed.
    "view_sources": """
        SELECT s.source_id, s.listed_at, s.entries, s.failed_at, s.error,
               COALESCE(h.documents, 0) AS documents, COALESCE(h.versions, 0) AS versions,
               COALESCE(h.points, 0) AS points
        FROM sources s LEFT JOIN (
            SELECT d.source_id, COUNT(DISTINCT v.doc_id) AS documents, COUNT(*) AS versions,
                   SUM(v.chunk_count) AS points
            FROM versions v JOIN documents d ON d.doc_id = v.doc_id
            WHERE v.state = 'published' GROUP BY d.source_id
        ) h ON h.source_id = s.source_id
    """,
    # What is published under which licence, and until when that holds.
    "view_licences": """
        SELECT v.licence_id, v.licence_valid_until, d.source_id,
               COUNT(DISTINCT v.doc_id) AS documents, COUNT(*) AS versions,
               SUM(v.chunk_count) AS points
        FROM versions v JOIN documents d ON d.doc_id = v.doc_id
        WHERE v.state = 'published'
        GROUP BY v.licence_id, v.licence_valid_until, d.source_id
    """,
    # What a person should know of now.
    "view_incidents": """
        SELECT kind, subject, message, opened_at, told_at FROM incidents WHERE closed_at IS NULL
    """,
}


def upgrade() -> None:
    """Add the views."""
    for name, query in _VIEWS.items():
        op.execute(f"CREATE VIEW {name} AS {query}")


def downgrade() -> None:
    """Drop them again."""
    for name in _VIEWS:
        op.execute(f"DROP VIEW {name}")
