"""Versions in time against a small model of the truth, through kills and repeats.

The model knows nothing of intervals: it keeps what happened, and works out from that alone what
readers have to be shown.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, ClassVar

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from points import index_on, payload, vector
from sqlalchemy import event

from attribution.filters import all_versions, as_published, in_force
from ingest.catalog import Catalog
from ingest.catalog.models import Base
from ingest.catalog.records import VersionDraft
from ingest.index import VectorIndex
from ingest.pipeline import Pipeline
from ingest.settings import Settings
from ingest.settling import settle_all
from schemas.base import sha256_text
from schemas.identity import document_id
from schemas.payload import Payload
from schemas.run import ChunkRecord

EXAMPLES = int(os.environ.get("MUNIMENT_TEST_EXAMPLES", "8"))
DOC = document_id("contracts", "msa")
START = datetime(2026, 1, 1, tzinfo=UTC)
KEYS = ("a", "b", "c")
DAYS = [datetime(2020 + year, 1, 1, tzinfo=UTC) for year in range(9)]
"""Effective dates; the clock starts among them, so that some lie ahead."""


class Killed(BaseException):
    """Like a kill: nobody handles it."""


@dataclass
class Version:
    """What is true of one version."""

    number: int
    key: str
    label: str | None
    said: datetime
    """The date that its source gives."""
    by_hand: datetime | None = None
    withdrawn: bool = False
    discarded: bool = False

    @property
    def date(self) -> datetime:
        return self.by_hand or self.said

    @property
    def rank(self) -> tuple[Any, ...]:
        return (self.date, int(self.label or -1), self.key, self.number)


@dataclass
class Truth:
    """The published versions of a document, and when it was retired."""

    versions: dict[int, Version] = field(default_factory=dict)
    retired: datetime | None = None

    def shown(self, at: datetime) -> int | None:
        """Return the version that readers are shown at ``at``; None where there is none."""
        if self.retired is not None and at >= self.retired:
            return None
        begun = [one for one in self.versions.values() if not one.withdrawn and one.date <= at]
        return max(begun, key=lambda one: one.rank).number if begun else None

    def copy(self) -> Truth:
        versions = {number: Version(**vars(one)) for number, one in self.versions.items()}
        return Truth(versions, self.retired)


class Machine(RuleBasedStateMachine):
    """One document in a catalogue and an index."""

    url: ClassVar[str]
    folder: ClassVar[Path]

    def __init__(self) -> None:
        super().__init__()
        self.now = START
        self.truth = Truth()
        self.told: list[tuple[datetime, Truth]] = []
        self.patch = pytest.MonkeyPatch()
        for module in ("ingest.settling", "ingest.catalog.documents", "ingest.catalog.items"):
            self.patch.setattr(f"{module}.utc_now", lambda: self.now)
        self.catalog = Catalog(self.url)
        self.catalog.migrate()
        with self.catalog.engine.begin() as connection:
            for table in reversed(Base.metadata.sorted_tables):
                connection.execute(table.delete())
        home = self.folder / uuid.uuid4().hex
        self.opened = index_on("embedded", home)
        self.index: VectorIndex = self.opened.__enter__()
        self.pipeline = Pipeline(Settings(home=home), "run")
        self.pipeline.catalog = self.catalog
        self.parts: dict[int, int] = {}

    def teardown(self) -> None:
        self.opened.__exit__(None, None, None)
        self.catalog.close()
        self.patch.undo()

    @initialize()
    def register(self) -> None:
        self.catalog.register_document(DOC, "contracts", "msa", "Agreement")

    # --- what happens ---------------------------------------------------------------------------

    @rule(
        key=st.sampled_from(KEYS),
        date=st.sampled_from(DAYS),
        label=st.sampled_from([None, "1", "2", "10"]),
        parts=st.integers(1, 3),
        kill=st.integers(0, 40),
    )
    def arrive(self, key: str, date: datetime, label: str | None, parts: int, kill: int) -> None:
        """New bytes of an item."""
        self._tick()
        draft = self._draft(key, date, label, bytes_of=uuid.uuid4().hex)
        number = self.catalog.reserve_version(DOC, draft).version
        self._publish(number, parts, draft, kill)
        self.truth.versions[number] = Version(number, key, label, date)
        self._restored()

    @rule(
        date=st.sampled_from(DAYS), parts=st.integers(1, 3), kill=st.integers(0, 40), data=st.data()
    )
    def arrive_again(self, date: datetime, parts: int, kill: int, data: st.DataObject) -> None:
        """The same bytes of an item's newest version, with another date or in other chunks."""
        newest: dict[str, Version] = {}
        for one in self.truth.versions.values():
            newest[one.key] = one
        if not newest:
            return
        self._tick()
        chosen = data.draw(st.sampled_from(list(newest.values())))
        record = self.catalog.version(DOC, chosen.number)
        assert record is not None
        draft = self._draft(chosen.key, date, chosen.label, sha256=record.doc_sha256)
        number = self.catalog.reserve_version(DOC, draft).version
        assert number == chosen.number
        self._publish(number, parts, draft, kill)
        chosen.said = date
        chosen.discarded = False
        self._restored()

    @rule(date=st.sampled_from(DAYS), kill=st.integers(0, 12), data=st.data())
    def correct(self, date: datetime, kill: int, data: st.DataObject) -> None:
        if (one := self._any(data)) is not None:
            self._change(
                lambda: self.catalog.correct(DOC, one.number, date, reason="r", at=self.now), kill
            )
            one.by_hand = date
            self._tell()

    @rule(kill=st.integers(0, 12), data=st.data())
    def uncorrect(self, kill: int, data: st.DataObject) -> None:
        if (one := self._any(data)) is not None:
            self._change(lambda: self.catalog.uncorrect(DOC, one.number, at=self.now), kill)
            one.by_hand = None
            self._tell()

    @rule(kill=st.integers(0, 12), back=st.booleans(), data=st.data())
    def withdraw(self, kill: int, back: bool, data: st.DataObject) -> None:
        one = self._any(data)
        if one is None or one.discarded:
            return
        if back:
            self._change(lambda: self.catalog.reinstate(DOC, one.number, at=self.now), kill)
        else:
            self._change(
                lambda: self.catalog.withdraw(DOC, one.number, reason="r", at=self.now), kill
            )
        one.withdrawn = not back
        self._tell()

    @rule(kill=st.integers(0, 12), back=st.booleans())
    def retire(self, kill: int, back: bool) -> None:
        if back:
            self._change(lambda: self.catalog.restore(DOC), kill)
            self.truth.retired = None
        else:
            at = self.now + timedelta(hours=1)
            self._change(lambda: self.catalog.retire(DOC, self.now), kill)
            if self.truth.versions and self.truth.retired is None:
                self.truth.retired = at
        self._tell()

    @rule(kill=st.integers(0, 12), data=st.data())
    def discard(self, kill: int, data: st.DataObject) -> None:
        one = self._any(data)
        if one is not None and not one.withdrawn:
            self._change(lambda: self.catalog.discard(DOC, one.number, at=self.now), kill)
            one.discarded = True

    @rule(days=st.integers(1, 500))
    def wait(self, days: int) -> None:
        self.now += timedelta(days=days)

    # --- what has to hold -----------------------------------------------------------------------

    @invariant()
    def readers_are_shown_the_truth(self) -> None:
        moments = [START - timedelta(days=1), *(day for day, _ in self.told[-6:])]
        for at in [*DAYS, DAYS[-1] + timedelta(days=1), self.now]:
            self._holds(in_force(at, now=self.now), self.truth, at)
            for on in moments:
                self._holds(as_published(on, at=at), self._truth_on(on), at)

    @invariant()
    def nothing_is_left_to_settle(self) -> None:
        assert self.catalog.unsettled_documents() == []

    @invariant()
    def the_index_has_each_version_whole(self) -> None:
        found: dict[int, int] = {}
        for _, point in self.index.scroll(all_versions(now=self.now)):
            found[point["version"]] = found.get(point["version"], 0) + 1
        there = {n: self.parts[n] for n, one in self.truth.versions.items() if not one.discarded}
        assert found == there
        assert self.index.count() == sum(there.values())

    @invariant()
    def catalogue_and_index_tell_the_same_history(self) -> None:
        histories = self.catalog.interval_history(DOC)
        for _, point in self.index.scroll():
            told = Payload.model_validate(point).interval_history
            assert told == histories.get(point["version"], ())

    # --- how it is done -------------------------------------------------------------------------

    def _holds(self, chosen: Any, truth: Truth, at: datetime) -> None:
        seen = {point["version"] for _, point in self.index.scroll(chosen)}
        number = truth.shown(at)
        gone = number is None or self.truth.versions[number].discarded
        assert seen == (set() if gone else {number}), (at, truth)

    def _truth_on(self, on: datetime) -> Truth:
        known = Truth()
        for moment, truth in self.told:
            if moment <= on:
                known = truth
        return known

    def _any(self, data: st.DataObject) -> Version | None:
        there = list(self.truth.versions.values())
        return data.draw(st.sampled_from(there)) if there else None

    def _tick(self) -> None:
        self.now += timedelta(hours=1)

    def _tell(self) -> None:
        self.told.append((self.now, self.truth.copy()))

    def _restored(self) -> None:
        """What arrives is listed, so that its document is back."""
        self._change(lambda: self.catalog.restore(DOC), 0)
        self.truth.retired = None
        self._tell()

    def _draft(self, key: str, date: datetime, label: str | None, **how: str) -> VersionDraft:
        return VersionDraft(
            doc_sha256=how.get("sha256") or sha256_text(how["bytes_of"]),
            text_sha256="0" * 64,
            version_label=label,
            title="Agreement",
            source_key=key,
            source_uri=f"file:///{key}",
            media_type="text/plain",
            licence_id="own",
            confidentiality="internal",
            client_id=None,
            effective_from=date,
            effective_basis="source",
            received_at=self.now,
            extraction_uri="none",
            run_id="run-1",
        )

    def _publish(self, number: int, parts: int, draft: VersionDraft, kill: int) -> None:
        size = 10 + parts  # other chunks for another number of parts
        payloads = [
            payload("x" * size, doc_id=DOC, version=number, char_start=size * part)
            for part in range(parts)
        ]
        uri = f"chunks/{number}-{parts}.jsonl.zst"
        records = [ChunkRecord(payload=one, tokens=1, context=None) for one in payloads]
        self.pipeline.artifacts.write_lines(uri, records)
        known = self.index.existing([one.chunk_id for one in payloads])
        self.index.upsert(
            (one.chunk_id, vector(), one) for one in payloads if one.chunk_id not in known
        )
        self.parts[number] = parts

        def publish() -> None:
            self.catalog.publish(
                DOC,
                number,
                published_at=self.now,
                payloads_uri=uri,
                chunk_count=parts,
                run_id="run-1",
                source_key=draft.source_key,
                fingerprint="f",
                pipeline_version="p",
            )

        self._change(publish, kill, tick=False)

    def _change(self, change: Callable[[], object], kill: int, *, tick: bool = True) -> None:
        """Make a change and settle it; where a kill comes between, the next run goes on."""
        if tick:
            self._tick()
        try:
            with self._killed_after(kill):
                change()
                settle_all(self.pipeline, self.index, [DOC])
        except Killed:
            change()
            settle_all(self.pipeline, self.index, self.catalog.unsettled_documents())

    @contextmanager
    def _killed_after(self, moments: int) -> Iterator[None]:
        """Kill before the so-manyth statement of a writing transaction or request; 0 for never."""
        left = moments

        def moment(*_: object, **__: object) -> None:
            nonlocal left
            left -= 1
            if left == 0:
                raise Killed

        requested = self.index._client.batch_update_points

        def request(*arguments: Any, **named: Any) -> Any:
            moment()
            done = requested(*arguments, **named)
            moment()
            return done

        event.listen(self.catalog._writer, "before_cursor_execute", moment)
        self.index._client.batch_update_points = request  # type: ignore[method-assign]
        try:
            yield
        finally:
            event.remove(self.catalog._writer, "before_cursor_execute", moment)
            self.index._client.batch_update_points = requested  # type: ignore[method-assign]


@pytest.mark.parametrize("database", ["sqlite", "postgresql"])
def test_versions_in_time(database: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    class On(Machine):
        folder = tmp_path
        url = (
            f"sqlite:///{tmp_path / 'catalog.db'}"
            if database == "sqlite"
            else request.getfixturevalue("postgres_url")
        )

    from hypothesis.stateful import run_state_machine_as_test

    run_state_machine_as_test(
        On,
        settings=settings(
            max_examples=EXAMPLES,
            stateful_step_count=12,
            deadline=None,
            # A failure comes with all its steps; to shrink it would take minutes.
            phases=[Phase.explicit, Phase.generate],
            suppress_health_check=list(HealthCheck),
        ),
    )
