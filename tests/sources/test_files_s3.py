"""Folders in S3: what is listed and at what cost, and what happens when the server says no."""

from __future__ import annotations

import logging
import traceback
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from source_kit import Whole, connector, keys, problems
from stores import s3_bucket, s3_client, s3_connection, s3_rights, s3_server, s3_user
from workspace import Workspace

from ingest.errors import ConfigurationError, ItemError, RetriableError


@dataclass
class Bucket:
    endpoint: str
    name: str
    store: Any
    base: Path

    def put(self, **objects: str) -> None:
        for key, text in objects.items():
            self.store.put_object(Bucket=self.name, Key=key, Body=text.encode())

    def source(self, folder: str = "/in", **more: Any) -> Whole:
        address = f"s3://{self.name}{folder}"
        return connector(self.base, connector="files", address=address, connection="bucket", **more)


@pytest.fixture
def bucket(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bucket]:
    with s3_server() as endpoint:
        monkeypatch.setenv("MUNIMENT_CONNECTION_BUCKET", s3_connection(endpoint))
        store = s3_client(endpoint)
        yield Bucket(endpoint, s3_bucket(store), store, tmp_path)


@pytest.fixture
def requests(caplog: pytest.LogCaptureFixture) -> Iterator[list[str]]:
    """What the server was asked for: "GET /bucket?list-type=2…"."""
    asked: list[str] = []

    class Keeper(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            asked.append(record.getMessage())

    logger = logging.getLogger("werkzeug")
    keeper = Keeper()
    logger.addHandler(keeper)
    caplog.set_level(logging.INFO, "werkzeug")
    yield asked
    logger.removeHandler(keeper)


def test_2500_keys_are_listed_with_three_requests_and_none_for_a_key(
    bucket: Bucket, requests: list[str]
) -> None:
    bucket.put(**{f"in/{number:04d}.txt": "x" for number in range(2500)})
    source = bucket.source()
    requests.clear()
    assert len(source.list().items) == 2500
    assert len([one for one in requests if "list-type=2" in one]) == 3
    assert len(requests) == 3, requests
    assert not [one for one in requests if ".txt" in one]


def test_any_key_is_listed_and_fetched(bucket: Bucket) -> None:
    names = ["50%25 %.txt", "a#b?c=1.txt", "a+b &=.txt", "x\\y.txt", "ü/日本 é.txt", "é.txt"]
    bucket.put(**{f"in/{name}": f"the text of {name}" for name in names})
    source = bucket.source()
    items = source.list().items
    assert sorted(item.source_key for item in items) == sorted(names)
    for item in items:
        assert source.fetch(item).data.decode() == f"the text of {item.source_key}"


def test_keys_that_only_stand_for_folders_are_no_files(bucket: Bucket) -> None:
    bucket.put(
        **{"in/": "", "in/sub/": "", "in/sub/a.txt": "a", "in/empty/": "", "other/b.txt": ""}
    )
    listing = bucket.source().list()
    assert keys(listing) == ["sub/a.txt"]
    assert listing.problems == ()


def test_names_with_an_empty_part_are_named_and_not_lost(bucket: Bucket) -> None:
    bucket.put(**{"in/a.txt": "a", "in//b.txt": "b", "in/sub//c.txt": "c"})
    listing = bucket.source().list()
    assert keys(listing) == ["a.txt"]
    assert [code for _, code in problems(listing)] == ["name_empty", "name_empty"]


def test_a_whole_bucket_is_a_folder(bucket: Bucket) -> None:
    bucket.put(**{"a.txt": "a", "in/b.txt": "b"})
    assert keys(bucket.source("").list()) == ["a.txt", "in/b.txt"]
    assert keys(bucket.source("/").list()) == ["a.txt", "in/b.txt"]


@pytest.mark.parametrize("folder", ["/in", "/in/a.txt"])
def test_a_prefix_without_keys_is_a_matter_of_configuration(bucket: Bucket, folder: str) -> None:
    if folder != "/in":
        bucket.put(**{"in/a.txt": "a"})
    with pytest.raises(ConfigurationError) as caught:
        bucket.source(folder).list()
    assert caught.value.code == "source_missing"


def test_a_server_that_goes_away_is_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("s3fs.core.S3FileSystem.retries", 1)
    with s3_server() as endpoint:
        monkeypatch.setenv("MUNIMENT_CONNECTION_BUCKET", s3_connection(endpoint))
        store = s3_client(endpoint)
        gone = Bucket(endpoint, s3_bucket(store), store, tmp_path)
        gone.put(**{"in/a.txt": "a"})
        source = gone.source(storage_options={"config_kwargs": {"retries": {"max_attempts": 1}}})
        (item,) = source.list().items
    for again in (source.list, lambda: source.fetch(item)):
        with pytest.raises(RetriableError) as caught:
            again()
        assert caught.value.code == "source_unreachable"


@pytest.fixture
def strict(bucket: Bucket) -> Iterator[dict[str, tuple[str, str]]]:
    """A server that checks signatures and rights, and users: key and secret by name."""
    bucket.put(**{"in/a.txt": "a", "in/b.txt": "b"})
    within = {"GetObject": f"{bucket.name}/in/*"}
    users = {
        "reader": s3_user(bucket.endpoint, "reader", ListBucket=bucket.name, **within),
        "lister": s3_user(bucket.endpoint, "lister", ListBucket=bucket.name),
        "nobody": s3_user(bucket.endpoint, "nobody"),
    }
    with s3_rights(bucket.endpoint):
        yield users


def test_rights_count(
    bucket: Bucket, strict: dict[str, tuple[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    key, secret = strict["reader"]
    variable = "MUNIMENT_CONNECTION_BUCKET"
    monkeypatch.setenv(variable, s3_connection(bucket.endpoint, key, secret))
    source = bucket.source()
    assert keys(source.list()) == ["a.txt", "b.txt"]
    assert source.fetch(source.list().items[0]).data == b"a"
    monkeypatch.setenv(variable, s3_connection(bucket.endpoint, *strict["lister"]))
    source = bucket.source()
    with pytest.raises(ItemError, match=r"a\.txt"):
        source.fetch(source.list().items[0])
    for wrong in ((key, "falsch+geheim/8"), ("AKIAUNKNOWN", secret), strict["nobody"]):
        monkeypatch.setenv(variable, s3_connection(bucket.endpoint, *wrong))
        with pytest.raises(ConfigurationError) as caught:
            bucket.source().list()
        assert caught.value.code == "source_forbidden"
        assert wrong[1] not in "".join(traceback.format_exception(caught.value))


def test_own_terms_beside_a_key_reach_the_points(bucket: Bucket, tmp_path: Path) -> None:
    bucket.put(
        **{"in/a.txt": "The tenant shall keep a register of all visitors."},
        **{"in/a.txt.terms.yaml": "max_quote_chars: 20\nvalid_until: '2030-01-01T00:00:00Z'"},
    )
    ws = Workspace(tmp_path)
    ws.add_source("s3", address=f"s3://{bucket.name}/in", connection="bucket")
    ws.run()
    (point,) = ws.points().values()
    assert point["max_quote_chars"] == 20
    assert point["licence_valid_until"] == "2030-01-01T00:00:00Z"
    bucket.put(**{"in/a.txt.terms.yaml": "max_quote_chars: 10"})
    ledger = ws.run()
    assert (ledger.lines[0].changed, ledger.lines[0].embedded) == (1, 0)
    assert [one["max_quote_chars"] for one in ws.points().values()] == [10]
