"""The filters for time give what the catalogue holds, whatever was believed when."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from points import BACKENDS, as_points, index_on, payload, utc

from attribution.filters import all_versions, as_published, default_filter, in_force, permitted
from ingest.index import VectorIndex, delete_points
from ingest.versions import VersionDate, held, revised, timeline
from ingest.versions import in_force as version_in_force
from schemas.base import OPEN_END
from schemas.payload import Payload
from schemas.version import HeldInterval

VERSIONS = (1, 2, 3)
HISTORIES = 40
DAY = timedelta(days=1)


@pytest.fixture(params=BACKENDS)
def index(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[VectorIndex]:
    with index_on(request.param, tmp_path) as opened:
        yield opened


def day(number: int) -> datetime:
    return utc(2026) + number * DAY


def told(chance: random.Random) -> dict[int, tuple[HeldInterval, ...]]:
    """Return what readers were told of three versions on some days, each time something else."""
    histories: dict[int, tuple[HeldInterval, ...]] = dict.fromkeys(VERSIONS, ())
    for since in sorted(chance.sample(range(20), k=chance.randint(1, 5))):
        some = [number for number in VERSIONS if chance.random() < 0.7]
        held_now = timeline(VersionDate(number, day(chance.randrange(30))) for number in some)
        for number in VERSIONS:
            histories[number] = revised(histories[number], held_now.get(number), day(since))
    return histories


def point(number: int, history: Sequence[HeldInterval]) -> Payload:
    """Return a version's point as it is written once the last of its history is settled."""
    if not history:
        return payload(version=number)  # staged: nobody was ever told of it
    last = history[-1]
    shown = last.superseded_at == OPEN_END
    return payload(
        version=number,
        published_at=history[0].recorded_at,
        recorded_at=last.recorded_at if shown else last.superseded_at,
        effective_from=last.effective_from,
        effective_until=last.effective_until if shown else last.effective_from,
        interval_history=tuple(history),
    )


def found(index: VectorIndex, chosen: object) -> list[int]:
    return sorted(p["version"] for _, p in index.scroll(chosen, fields=["version"]))  # type: ignore[arg-type]


@pytest.mark.parametrize("seed", range(HISTORIES))
def test_readers_find_what_they_were_told(index: VectorIndex, seed: int) -> None:
    chance = random.Random(seed)
    histories = told(chance)
    points = [point(number, history) for number, history in histories.items()]
    index.change(delete_points([one.chunk_id for one in points]))
    index.upsert(as_points(*points))
    last = max(one.recorded_at for history in histories.values() for one in history)
    for _ in range(25):
        at, on = day(chance.randrange(-2, 32)), day(chance.randrange(-2, 25))
        was = version_in_force(histories, at, on)
        assert found(index, as_published(on, at=at)) == ([] if was is None else [was]), (at, on)
        assert found(index, default_filter(at=at, on=on, now=day(40))) == found(
            index, as_published(on, at=at)
        )
        shown = [number for number, history in histories.items() if held(history, on)]
        assert found(index, as_published(on)) == shown
        # What is held now; also while the last change is written, but not yet to be told.
        now = max(on, last - DAY)
        is_now = version_in_force(histories, at, now)
        assert found(index, in_force(at, now=now)) == ([] if is_now is None else [is_now])
        begun = [n for n, history in histories.items() if history and history[0].recorded_at <= on]
        assert found(index, all_versions(now=on)) == begun


def test_terms_say_nothing_of_time(index: VectorIndex) -> None:
    old = payload("old", version=1, effective_until=utc(2025), published_at=utc(2024))
    staged = payload("staged", version=2)
    paid = payload("ended", version=3, licence_valid_until=utc(2025), published_at=utc(2024))
    theirs = payload(
        "theirs", version=4, confidentiality="client", client_id="acme", published_at=utc(2024)
    )
    index.upsert(as_points(old, staged, paid, theirs))
    now = utc(2026)
    assert found(index, permitted(now=now)) == [1, 2]
    assert found(index, permitted(now=now, client_id="acme")) == [1, 2, 4]
    assert found(index, permitted(now=utc(2024, 6))) == [1, 2, 3]


@pytest.mark.parametrize(
    "filter_for",
    [
        lambda instant: in_force(instant),
        lambda instant: in_force(now=instant),
        lambda instant: as_published(instant),
        lambda instant: as_published(utc(2026), at=instant),
        lambda instant: all_versions(now=instant),
        lambda instant: permitted(now=instant),
    ],
)
def test_a_date_without_an_offset_is_refused(filter_for: object) -> None:
    with pytest.raises(ValueError, match="no offset from UTC"):
        filter_for(datetime(2026, 1, 1))  # type: ignore[operator]  # noqa: DTZ001
