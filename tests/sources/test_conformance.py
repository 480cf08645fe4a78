"""What every connector keeps, whatever its source.

A connector gets these tests by its name in `ingest.sources.CONNECTORS`; its cases are in a module
of that name: see `sources.conformance.case`.
"""

from __future__ import annotations

import base64
import builtins
import hashlib
import io
import json
import logging
import os
import subprocess
import sys
import traceback
from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import quote, quote_plus

import pytest
from source_kit import LICENCES, Listing
from sources.conformance.case import LIMIT, Case, Maker

from ingest.errors import ConfigurationError, ItemError, MunimentError, RetriableError
from ingest.sources import CONNECTORS
from ingest.sources.base import state_of
from schemas.source import Item

TESTS = Path(__file__).parents[1]

ELSEWHERE = """
import hashlib, json, sys
from pathlib import Path
from source_kit import connector
from schemas.source import Item

base, source, *items = json.load(sys.stdin)
source = connector(Path(base), **source)
for sent in items:
    fetched = source.fetch(Item.model_validate(sent))
    print(hashlib.sha256(fetched.data).hexdigest(), fetched.fingerprint, fetched.media_type)
"""


def makers(name: str) -> dict[str, Maker]:
    """Return the makers of a connector's cases; none where it has no module."""
    if find_spec(f"sources.conformance.{name}") is None:
        return {}
    found: dict[str, Maker] = import_module(f"sources.conformance.{name}").CASES
    return found


MAKERS = {
    f"{connector}-{name}": maker
    for connector in CONNECTORS
    for name, maker in makers(connector).items()
}


@pytest.fixture(params=MAKERS)
def case(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Case]:
    yield from MAKERS[request.param](tmp_path, monkeypatch)


@pytest.mark.parametrize("name", CONNECTORS)
def test_every_connector_is_put_to_every_test(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It has cases, and between them they offer all that a case can offer of its own accord."""
    found = makers(name)
    assert found, f"write tests/sources/conformance/{name}.py with CASES"
    offered: set[str] = set()
    for number, maker in enumerate(found.values()):
        (tmp_path / str(number)).mkdir()
        for case in maker(tmp_path / str(number), monkeypatch):
            assert case.source["connector"] == name
            offered |= {what for what in ("grow_first", "secrets") if getattr(case, what)}
    assert offered == {"grow_first", "secrets"}


class TestListing:
    def test_two_listings_are_equal_and_in_one_order(self, case: Case) -> None:
        source = case.connect()
        listing = source.list()
        assert len(listing.items) == 3
        assert listing.problems == ()
        assert source.list() == listing
        assert case.connect().list() == listing

    def test_it_yields_one_entry_after_the_other(self, case: Case) -> None:
        entries = case.connect().connector.list()
        assert iter(entries) is entries
        assert isinstance(next(entries), Item)

    def test_keys_are_unique_and_items_can_be_sent(self, case: Case) -> None:
        listing = case.connect().list()
        assert len({item.source_key for item in listing.items}) == 3
        for item in listing.items:
            assert Item.model_validate_json(item.model_dump_json()) == item
            assert item.source_id == "src"
            assert state_of(item)

    def test_it_opens_no_item(self, case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
        opened: list[str] = []
        real = io.open

        def spy(file: Any, *args: Any, **kwargs: Any) -> Any:
            opened.append(str(file))
            return real(file, *args, **kwargs)

        source = case.connect()
        before = len(list(case.asked()))
        monkeypatch.setattr(builtins, "open", spy)
        monkeypatch.setattr(io, "open", spy)
        source.list()
        monkeypatch.undo()
        read = [*opened, *list(case.asked())[before:]]
        assert not [path for path in read if path.endswith(case.bodies or ("\0",))]

    def test_a_source_that_does_not_answer_lists_nothing(self, case: Case) -> None:
        case.connect().list()
        case.break_source()
        with pytest.raises((RetriableError, ConfigurationError)) as caught:
            case.connect().list()
        assert caught.value.code
        assert len(caught.value.message) > 40, "it says what to do next"

    def test_a_source_that_fails_half_way_is_not_a_shorter_one(self, case: Case) -> None:
        if case.cut_source is None:
            pytest.skip("this source answers whole or not at all")
        case.cut_source()
        with pytest.raises((RetriableError, ConfigurationError)):
            case.connect().list()


class TestFingerprints:
    def marks(self, listing: Listing) -> dict[str, str]:
        return {item.source_key: item.fingerprint for item in listing.items}

    def test_they_change_with_the_bytes_of_their_item_alone(self, case: Case) -> None:
        source = case.connect()
        (first, *_) = source.list().items
        before = self.marks(source.list())
        data = source.fetch(first).data
        case.change_first()
        source = case.connect()
        after = self.marks(source.list())
        assert after.keys() == before.keys()
        assert {key for key in before if before[key] != after[key]} == {first.source_key}
        (item,) = (one for one in source.list().items if one.source_key == first.source_key)
        fetched = source.fetch(item)
        assert fetched.fingerprint == item.fingerprint
        assert fetched.data != data

    def test_they_change_with_the_licence_s_terms(self, case: Case) -> None:
        before = self.marks(case.connect().list())
        narrower = LICENCES["open"].model_copy(update={"display_allowed": False})
        after = self.marks(case.connect({**LICENCES, "open": narrower}).list())
        assert after.keys() == before.keys()
        assert not set(before.values()) & set(after.values())

    def test_they_change_with_nothing_else(self, case: Case) -> None:
        other = LICENCES["paid"].model_copy(update={"name": "Paid, renewed"})
        changed = case.connect(
            {**LICENCES, "paid": other},
            **{"max_item_bytes": 100_000_000, "min_listed_share": 0.1, "stale_after_hours": 99},
        )
        assert self.marks(changed.list()) == self.marks(case.connect().list())


class TestFetching:
    def test_an_item_is_fetched_alike_each_time(self, case: Case) -> None:
        source = case.connect()
        for item in source.list().items:
            fetched = source.fetch(item)
            assert fetched.data
            assert fetched.fingerprint == item.fingerprint
            assert source.fetch(item) == fetched

    def test_an_item_is_fetched_alike_by_another_process(self, case: Case) -> None:
        source = case.connect()
        items = source.list().items
        sent = [str(case.base), case.source, *(item.model_dump(mode="json") for item in items)]
        done = subprocess.run(
            [sys.executable, "-c", ELSEWHERE],
            input=json.dumps(sent),
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, "PYTHONPATH": f"{TESTS}{os.pathsep}{TESTS.parent}"},
        )
        assert done.returncode == 0, done.stderr
        here = [source.fetch(item) for item in items]
        assert done.stdout.splitlines() == [
            f"{hashlib.sha256(one.data).hexdigest()} {one.fingerprint} {one.media_type}"
            for one in here
        ]

    def test_an_item_that_left_costs_that_item(self, case: Case) -> None:
        listed = case.connect().list().items
        case.remove_first()
        source = case.connect()
        with pytest.raises((ItemError, RetriableError)) as caught:
            source.fetch(listed[0])
        assert isinstance(caught.value, ItemError)
        assert listed[0].source_key in caught.value.message
        for item in listed[1:]:
            assert source.fetch(item).fingerprint == item.fingerprint

    def test_an_item_that_is_too_large_costs_that_item(self, case: Case) -> None:
        if case.grow_first is None:
            pytest.skip("another case of this connector offers it")
        listed = case.connect().list().items
        case.grow_first()
        source = case.connect(max_item_bytes=LIMIT)
        listing = source.list()
        refused = {problem.source_key: problem.code for problem in listing.problems}
        messages = [problem.message for problem in listing.problems]
        fetched = []
        for item in listing.items:
            try:
                fetched.append(source.fetch(item))
            except ItemError as error:
                refused[item.source_key] = error.code
                messages.append(error.message)
        assert refused == {listed[0].source_key: "too_large"}
        assert "max_item_bytes" in messages[0]
        assert len(fetched) == 2


class TestSecrets:
    def test_they_are_shown_nowhere(self, case: Case, caplog: pytest.LogCaptureFixture) -> None:
        """Not in items, problems, errors and logs, in whichever form they are sent."""
        caplog.set_level(logging.DEBUG)
        said: list[str] = []
        source = case.connect()
        said.append(repr(source))
        listing = source.list()
        said += [entry.model_dump_json() for entry in (*listing.items, *listing.problems)]
        said += [source.fetch(item).fingerprint for item in listing.items]
        case.remove_first()
        said.append(self.failure(case, listing.items[0]))
        case.break_source()
        said.append(self.failure(case, None))
        said += [record.getMessage() for record in caplog.records]
        said.append(caplog.text)
        for secret in case.secrets:
            for form in (
                secret,
                quote(secret, safe=""),
                quote_plus(secret),
                base64.b64encode(secret.encode()).decode().rstrip("="),
            ):
                assert [text for text in said if form in text] == []

    def failure(self, case: Case, item: Item | None) -> str:
        source = case.connect()
        try:
            if item is None:
                source.list()
            else:
                source.fetch(item)
        except MunimentError as error:
            return repr(error) + "".join(traceback.format_exception(error))
        return ""

    def test_without_them_there_is_nothing_to_list(
        self, case: Case, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The server of a case with secrets does ask for them."""
        if not case.secrets:
            pytest.skip("another case of this connector has some")
        variable = f"MUNIMENT_CONNECTION_{case.source['connection'].upper()}"
        monkeypatch.setenv(variable, json.dumps({"login": "nobody", "password": "mistaken"}))
        with pytest.raises((ConfigurationError, RetriableError)):
            case.connect().list()
