"""The default filter: each of its conditions hides what it should, and nothing else."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from points import BACKENDS, as_points, index_on, payload, utc
from qdrant_client import models

from attribution.filters import default_filter, document_filter, staged_filter
from ingest.index import VectorIndex

NOW = utc(2026, 6, 1)
SECOND = timedelta(seconds=1)


@pytest.fixture(params=BACKENDS)
def index(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[VectorIndex]:
    with index_on(request.param, tmp_path) as opened:
        yield opened


def seen(index: VectorIndex, fields: dict[str, Any], **asked: Any) -> bool:
    """Load one published point with ``fields`` and tell whether the default filter returns it."""
    point = payload(**{"published_at": utc(2024, 2), **fields})
    index.upsert(as_points(point))
    asked.setdefault("now", NOW)
    found = [chunk_id for chunk_id, _ in index.scroll(default_filter(**asked))]
    assert found in ([], [point.chunk_id])
    return bool(found)


@pytest.mark.parametrize(
    ("fields", "asked", "expected"),
    [
        pytest.param({}, {}, True, id="in force, published, licensed, open"),
        pytest.param({"published_at": None}, {}, False, id="staged"),
        pytest.param({"published_at": NOW}, {}, True, id="published just now"),
        pytest.param({"published_at": NOW + SECOND}, {}, False, id="published later"),
        pytest.param({"effective_from": NOW}, {}, True, id="in force from now on"),
        pytest.param({"effective_from": NOW + SECOND}, {}, False, id="not yet in force"),
        pytest.param({"effective_until": NOW + SECOND}, {}, True, id="in force a second longer"),
        pytest.param({"effective_until": NOW}, {}, False, id="superseded now"),
        pytest.param(
            {"effective_until": NOW}, {"at": NOW - SECOND}, True, id="superseded, asked before"
        ),
        pytest.param({}, {"at": utc(2023)}, False, id="asked before it was in force"),
        pytest.param({"retired_at": NOW}, {}, False, id="retired"),
        pytest.param({"retired_at": NOW}, {"at": NOW - SECOND}, True, id="retired, asked before"),
        pytest.param({"licence_valid_until": NOW + SECOND}, {}, True, id="licensed a second more"),
        pytest.param({"licence_valid_until": NOW}, {}, False, id="licence expired"),
        pytest.param(
            {"licence_valid_until": NOW}, {"at": utc(2025)}, False, id="expired, asked of the past"
        ),
        pytest.param({"licence_valid_from": NOW}, {}, True, id="licensed from now on"),
        pytest.param({"licence_valid_from": NOW + SECOND}, {}, False, id="not yet licensed"),
        pytest.param(
            {"allowed_uses": ("retrieval", "generation")},
            {"use": "generation"},
            True,
            id="use allowed",
        ),
        pytest.param({}, {"use": "training"}, False, id="use not allowed"),
        pytest.param({"allowed_uses": ("analysis",)}, {}, False, id="not for retrieval"),
        pytest.param({}, {"territory": "NO"}, True, id="everywhere, from somewhere"),
        pytest.param({"territories": ("DE", "NO")}, {"territory": "NO"}, True, id="in the land"),
        pytest.param({"territories": ("DE", "NO")}, {"territory": "FR"}, False, id="elsewhere"),
        pytest.param({"territories": ("DE",)}, {}, False, id="in one land, reader nowhere"),
        pytest.param({"confidentiality": "public"}, {}, True, id="public"),
        pytest.param(
            {"confidentiality": "client", "client_id": "acme"}, {}, False, id="client's, no client"
        ),
        pytest.param(
            {"confidentiality": "client", "client_id": "acme"},
            {"client_id": "acme"},
            True,
            id="client's, this client",
        ),
        pytest.param(
            {"confidentiality": "client", "client_id": "acme"},
            {"client_id": "globex"},
            False,
            id="client's, another client",
        ),
        pytest.param(
            {"confidentiality": "client", "client_id": "acme"},
            {"client_id": ""},
            False,
            id="client's, empty client",
        ),
        pytest.param({}, {"client_id": "acme"}, True, id="internal, some client"),
        pytest.param(
            {"licence_valid_until": NOW, "confidentiality": "client", "client_id": "acme"},
            {"client_id": "acme"},
            False,
            id="being the client's lifts no other condition",
        ),
    ],
)
def test_a_point_is_seen_when_every_condition_holds(
    index: VectorIndex, fields: dict[str, Any], asked: dict[str, Any], *, expected: bool
) -> None:
    assert seen(index, fields, **asked) is expected


@pytest.mark.parametrize(
    "field",
    [
        "effective_from",
        "effective_until",
        "recorded_at",
        "published_at",
        "retired_at",
        "licence_valid_from",
        "licence_valid_until",
        "allowed_uses",
        "territories",
        "confidentiality",
    ],
)
def test_a_point_that_lacks_a_field_is_not_seen(index: VectorIndex, field: str) -> None:
    point = payload(published_at=utc(2024, 2))
    index.upsert(as_points(point))
    assert index.count(default_filter(now=NOW)) == 1
    index._client.delete_payload(index.collection, [field], points=[point.chunk_id], wait=True)
    assert index.count(default_filter(now=NOW)) == 0


def test_dates_of_another_zone_mean_the_same_instant(index: VectorIndex) -> None:
    east = timezone(timedelta(hours=5))
    start = datetime(2026, 1, 1, 3, tzinfo=east)  # 22:00 in UTC, the day before
    fields = {"effective_from": datetime(2025, 12, 31, 22, tzinfo=UTC)}
    assert seen(index, fields, at=start)
    assert not seen(index, fields, at=start - SECOND)


@pytest.mark.parametrize("name", ["at", "now"])
def test_a_date_without_an_offset_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="no offset from UTC"):
        default_filter(**{name: datetime(2026, 1, 1)})  # noqa: DTZ001  # the point of the test


@pytest.mark.parametrize("asked", [{"use": "sale"}, {"territory": "Norway"}, {"territory": "*"}])
def test_a_use_or_a_territory_that_is_none_is_refused(asked: dict[str, str]) -> None:
    with pytest.raises(ValueError, match=r"Input should|String should"):
        default_filter(**asked)  # type: ignore[arg-type]


def test_now_is_the_default_of_both_dates() -> None:
    dates = default_filter().model_dump_json(exclude_none=True)
    assert str(datetime.now(UTC).year) in dates


def test_document_and_staged_filters_pick_what_they_name(index: VectorIndex) -> None:
    first = payload("one", version=1, published_at=utc(2024, 2))
    second = payload("two", version=2)
    other = payload("three", doc_id="another")
    index.upsert(as_points(first, second, other))

    def ids(chosen: models.Filter) -> set[str]:
        return {chunk_id for chunk_id, _ in index.scroll(chosen)}

    doc_id = first.doc_id
    assert ids(document_filter(doc_id)) == {first.chunk_id, second.chunk_id}
    assert ids(document_filter(doc_id, 2)) == {second.chunk_id}
    assert ids(staged_filter(doc_id, 2)) == {second.chunk_id}
    assert ids(staged_filter(doc_id, 1)) == set()


def test_the_read_side_loads_nothing_heavy() -> None:
    code = (
        "import sys, attribution.filters\n"
        "heavy = {'airflow', 'torch', 'pymupdf', 'great_expectations', 'unstructured', 'ingest'}\n"
        "print(sorted(heavy & {name.split('.')[0] for name in sys.modules}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
