"""What a connector offers to the tests that all connectors have in common.

Each connector of `ingest.sources.CONNECTORS` has a module ``conformance/<connector>.py`` with
``CASES``: makers of cases by name, such as one for each kind of server that it reads. A maker gets
an empty folder and the environment, starts what it needs, and yields one `Case`::

    def _local(base: Path, environment: pytest.MonkeyPatch) -> Iterator[Case]:
        write_three_items(base)
        yield Case(base, {"connector": "files", "address": "in"}, …)

    CASES = {"local": _local}

Servers run on the loopback address and stop after the ``yield``. A case that needs credentials sets
``MUNIMENT_CONNECTION_…`` in the environment, names the connection in its source, and its secrets in
``secrets``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from source_kit import LICENCES, Whole, connector

from schemas.licence import Licence

LIMIT = 10_000
"""The max_item_bytes that the first item is over, once it has grown."""


@dataclass
class Case:
    """A source of three items, and what can happen to it.

    The first is the first that is listed. Each change is made at most once to a source, and no two
    of them to the same one.
    """

    base: Path
    source: dict[str, Any]
    """As in sources.yaml, without id, kind and licence, which the tests give it."""
    remove_first: Callable[[], object]
    """Takes the first item away. It may still be listed; the others are as they were."""
    change_first: Callable[[], object]
    """Gives the first item other bytes, so that its listing tells."""
    break_source: Callable[[], object]
    """Makes the source go away, fail, or no longer be what it was."""
    cut_source: Callable[[], object] | None = None
    """Makes the source fail after it has named some of its items, if it can: on its second page,
    in a folder inside it."""
    grow_first: Callable[[], object] | None = None
    """Makes the first item larger than `LIMIT`, and leaves the others below it. One case of each
    connector offers it."""
    secrets: tuple[str, ...] = ()
    """What the connection hides, in each form that it is sent in: it is shown nowhere. One case of
    each connector has some, and its server refuses whoever does not know them."""
    bodies: tuple[str, ...] = ()
    """How the names of files and addresses end that hold the items' bytes: listing reads none of
    them. None where the items are inside the listing itself."""
    asked: Callable[[], Iterable[str]] = tuple
    """Addresses whose bytes a server was asked for so far."""

    def connect(self, licences: dict[str, Licence] = LICENCES, **changed: Any) -> Whole:
        """Return a new connector, with some of the source's keys changed."""
        return connector(self.base, licences, **{**self.source, **changed})


Maker = Callable[[Path, pytest.MonkeyPatch], Iterator[Case]]
