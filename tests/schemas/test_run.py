"""The ledger: when it balances, and when it must not."""

from __future__ import annotations

from typing import Any

import pytest

from schemas.base import utc_now
from schemas.run import Ledger, LedgerLine

WHOLE: dict[str, Any] = {
    "source_id": "s",
    "listed": 7,
    "new": 3,
    "changed": 1,
    "unchanged": 2,
    "failed": 1,
    "members": 5,
    "opened": 2,
    "quarantined": 2,
    "published": 6,
    "chunks": 12,
    "points_new": 8,
    "points_reused": 2,
    "chunks_quarantined": 2,
}


def test_a_line_in_which_all_is_accounted_for_balances() -> None:
    assert LedgerLine(**WHOLE).balanced


@pytest.mark.parametrize(
    "field",
    [
        *("listed", "new", "unchanged", "members", "opened", "published"),
        *("chunks", "points_new", "chunks_quarantined"),
    ],
)
def test_one_thing_too_many_unbalances_it(field: str) -> None:
    assert not LedgerLine(**{**WHOLE, field: WHOLE[field] + 1}).balanced


def test_a_source_that_could_not_be_listed_does_not_balance() -> None:
    assert not LedgerLine(source_id="s", error="no answer", stopped_in=("plan",)).balanced


def test_a_run_without_sources_does_not_balance() -> None:
    assert not Ledger(run_id="r", started_at=utc_now()).balanced
    assert Ledger(run_id="r", started_at=utc_now(), lines=(LedgerLine(**WHOLE),)).balanced
