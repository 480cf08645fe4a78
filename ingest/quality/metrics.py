"""Metrics of runs: measured at the end of a run, and as far as they are known at the gate."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping

from ingest.catalog.metrics import History
from ingest.pipeline import Pipeline
from ingest.quality.bands import band_of, in_words, state_of
from ingest.quality.metric_rules import METRICS, OF_PLAN, family
from ingest.quality.profile import figures, merge
from ingest.quality.thresholds import Rules, Thresholds
from schemas.quality import WHOLE_RUN, Band, BatchProfile, Metric
from schemas.run import Batch, BatchRef, Ledger, LedgerLine, SourcePlan

MOST_RUNS = 365
"""As many earlier runs as a rule can ask for."""


def profile_path(pipeline: Pipeline, batch_id: str) -> str:
    """Return where the profile of a batch is kept."""
    return pipeline.stage_path(batch_id, "gate-profile")


def retry_path(run_id: str) -> str:
    """Return where it is kept which quarantine entries a run tries again, if it does only that."""
    return f"runs/{run_id}/retry.json"


def measure(pipeline: Pipeline, ledger: Ledger, thresholds: Thresholds) -> list[Metric]:
    """Return what is to be kept of a run: figures of each source, and of all where all ran.

    A source of which versions are worked on again, from what is stored, is left out: that says
    nothing of the source. So is one that could not be listed. Nothing is kept of a run that only
    tries quarantine entries again.
    """
    if pipeline.artifacts.exists(retry_path(pipeline.run_id)):
        return []
    plans = {plan.source_id: plan for plan in pipeline.plans() if not _is_again(pipeline, plan)}
    metrics: list[Metric] = []
    profiles: list[BatchProfile] = []
    lines: list[LedgerLine] = []
    for line in ledger.lines:
        if (plan := plans.get(line.source_id)) is None:
            continue
        profile = merge(_of_batches(pipeline, plan.batches))
        metrics += _measure(pipeline, line.source_id, [line], profile, thresholds)
        profiles.append(profile)
        lines.append(line)
    configured = {source.id for source in pipeline.configuration.sources}
    if {line.source_id for line in lines} == configured:
        metrics += _measure(pipeline, WHOLE_RUN, lines, merge(profiles), thresholds)
    return metrics


def alerts(metrics: Iterable[Metric]) -> list[str]:
    """Return a sentence on each metric that is outside its band."""
    return [
        _sentence(metric.source_id, metric.name, metric.value, metric)
        for metric in metrics
        if metric.state in ("warn", "stop")
    ]


def unlike_history(
    pipeline: Pipeline, ref: BatchRef, profile: BatchProfile, thresholds: Thresholds
) -> tuple[str, ...]:
    """Return why a source must be stopped, as far as that can be told when ``ref`` is at the gate.

    Known are the listing, whole, and the batches of the source that were at the gate before, whose
    profiles are added to ``profile``.
    """
    rules = thresholds.of(ref.source_id)
    path = pipeline.plan_path(ref.source_id)
    if not rules.may_stop or not pipeline.artifacts.exists(path):
        return ()
    if pipeline.artifacts.exists(retry_path(pipeline.run_id)):
        return ()
    plan = pipeline.artifacts.read(path, SourcePlan)
    if _is_again(pipeline, plan):
        return ()
    others = (one for one in plan.batches if one != ref.batch_id)
    so_far = merge([profile, *_of_batches(pipeline, others)])
    history = pipeline.catalog.metric_history(ref.source_id, pipeline.run_id, MOST_RUNS)
    values = {"listed": float(plan.listed), "changed": float(plan.new + plan.changed)}
    values.update(figures(so_far, mix_of(history)))
    if so_far.items:
        values["quarantined_share"] = so_far.refused / so_far.items
    reasons = []
    for name, value in values.items():
        rule = rules.metric(name)
        band = band_of(list(history.get(name, {}).values()), rule)
        is_early = name not in OF_PLAN and so_far.chunks < rule.min_chunks
        if not is_early and band is not None and state_of(value, band, rule) == "stop":
            reasons.append(_sentence(ref.source_id, name, value, band))
    return tuple(reasons)


def judge(
    source_id: str, values: Mapping[str, float], history: History, rules: Rules
) -> Iterator[Metric]:
    """Yield each value with its band and what that makes of it."""
    for name, value in values.items():
        rule = rules.metric(name)
        band = band_of(list(history.get(name, {}).values()), rule)
        yield Metric(
            source_id=source_id,
            name=name,
            value=value,
            low=None if band is None else band.low,
            high=None if band is None else band.high,
            state=state_of(value, band, rule),
        )


def mix_of(history: History) -> dict[str, float]:
    """Return the mean share of each language in earlier runs that had any."""
    shares: defaultdict[str, float] = defaultdict(float)
    runs: set[str] = set()
    for name, by_run in history.items():
        if family(name) == "language":
            shares[name.partition(".")[2]] += sum(by_run.values())
            runs |= by_run.keys()
    return {language: total / len(runs) for language, total in shares.items()}


def _measure(
    pipeline: Pipeline,
    source_id: str,
    lines: list[LedgerLine],
    profile: BatchProfile,
    thresholds: Thresholds,
) -> Iterator[Metric]:
    history = pipeline.catalog.metric_history(source_id, pipeline.run_id, MOST_RUNS)
    values = {"listed": float(sum(line.listed for line in lines))}
    worked_on = sum(line.new + line.changed + line.members for line in lines)
    failed = sum(line.failed for line in lines)
    if worked_on + failed:
        refused = sum(line.quarantined for line in lines)
        values["changed"] = float(worked_on)
        values["quarantined_share"] = refused / (worked_on + failed)
    if profile.chunks:
        values["chunks"] = float(profile.chunks)
    values.update(figures(profile, mix_of(history)))
    yield from judge(source_id, values, history, thresholds.of(source_id))


def _of_batches(pipeline: Pipeline, batch_ids: Iterable[str]) -> Iterator[BatchProfile]:
    for batch_id in batch_ids:
        path = profile_path(pipeline, batch_id)
        if pipeline.artifacts.exists(path):
            yield pipeline.artifacts.read(path, BatchProfile)


def _is_again(pipeline: Pipeline, plan: SourcePlan) -> bool:
    """Tell whether the source's batches are of stored versions: all of a run's are, or none."""
    if not plan.batches:
        return False
    path = pipeline.stage_path(plan.batches[0], "plan")
    return pipeline.artifacts.read(path, Batch).items[0].stored is not None


def _sentence(source_id: str, name: str, value: float, band: Metric | Band) -> str:
    whose = f"source {source_id}" if source_id else "all sources together"
    owner = METRICS[family(name)].owner
    limits = in_words(band.low, band.high)
    return (
        f"{name} of {whose} is {value:.4g}; in earlier runs it was {limits}. The {owner} should "
        "look at what changed: muniment quality metrics"
    )
