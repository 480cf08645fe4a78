"""What was measured of runs, kept so that later runs can be compared with them."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import delete, func, select

from ingest.catalog.models import MetricRow, RunRow
from ingest.catalog.transactions import Transactions, change, to_record
from schemas.quality import Metric

History = dict[str, dict[str, float]]
"""Values by metric, and in each by run, the latest run first."""


class Metrics(Transactions):
    """The catalogue's methods on run metrics."""

    def store_metrics(self, run_id: str, metrics: Sequence[Metric]) -> None:
        """Keep what was measured of a run; what was kept of it before is replaced."""
        with self._writing() as session:
            change(session, delete(MetricRow).where(MetricRow.run_id == run_id))
            session.add_all(MetricRow(run_id=run_id, **metric.model_dump()) for metric in metrics)

    def metrics(self, run_id: str) -> list[Metric]:
        """Return what was measured of a run, in the order of source and name."""
        query = (
            select(MetricRow)
            .where(MetricRow.run_id == run_id)
            .order_by(MetricRow.source_id, MetricRow.name)
        )
        with self._reading() as session:
            return [to_record(Metric, row) for row in session.scalars(query)]

    def metric_history(self, source_id: str, run_id: str, runs: int) -> History:
        """Return each metric's last ``runs`` values from before the run ``run_id``.

        Values that stopped their source are left out: nothing that came with them was published, so
        they don't say what is usual. A run that the catalogue does not know has everything before
        it.
        """
        began = select(RunRow.started_at).where(RunRow.run_id == run_id).scalar_subquery()
        latest_first = (RunRow.started_at.desc(), RunRow.run_id.desc())
        ranked = (
            select(
                MetricRow.name,
                MetricRow.run_id,
                MetricRow.value,
                func.row_number()
                .over(partition_by=MetricRow.name, order_by=latest_first)
                .label("rank"),
            )
            .join(RunRow, RunRow.run_id == MetricRow.run_id)
            .where(
                MetricRow.source_id == source_id,
                MetricRow.run_id != run_id,
                MetricRow.state != "stop",
                RunRow.started_at <= func.coalesce(began, RunRow.started_at),
            )
            .subquery()
        )
        query = (
            select(ranked.c.name, ranked.c.run_id, ranked.c.value)
            .where(ranked.c.rank <= runs)
            .order_by(ranked.c.name, ranked.c.rank)
        )
        history: History = {}
        with self._reading() as session:
            for name, earlier, value in session.execute(query):
                history.setdefault(name, {})[earlier] = value
        return history
