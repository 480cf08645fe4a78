"""What was forgotten for good is not pulled in again, and the ledger balances without its name."""

from __future__ import annotations

from pathlib import Path

import pytest
from forgetting import CRM, HERON, LYNX, OTTER, copy_of, doc, holders, make, rows
from workspace import Workspace

from ingest.erasure.erase import erase_client, erase_documents
from ingest.pipeline import open_catalog
from schemas.run import Ledger, LedgerLine

DEED = doc("reports", "heron-deed.pdf")
TORN = doc("reports", "heron-torn.pdf")
MAIL = doc("mails", "lynx-mail.eml")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    return make(tmp_path_factory.mktemp("made"))


@pytest.fixture
def ws(made: Workspace, tmp_path: Path) -> Workspace:
    return copy_of(made, tmp_path)


def line(ledger: Ledger, source_id: str) -> LedgerLine:
    return next(one for one in ledger.lines if one.source_id == source_id)


def test_a_document_that_is_still_listed_stays_out(ws: Workspace) -> None:
    erase_documents(ws.pipeline(), [DEED, TORN, MAIL], "asked for")
    ledger = ws.run()
    assert ledger.balanced
    reports, mails = line(ledger, "reports"), line(ledger, "mails")
    assert (reports.listed, reports.forgotten, reports.unchanged) == (5, 2, 3)
    assert (mails.listed, mails.forgotten, mails.unchanged) == (2, 1, 1)
    assert not {DEED, TORN, MAIL} & rows(ws)
    words = (LYNX, "lynx", "heron-deed", "heron-torn")
    assert holders(ws.settings.home, *words) == set()


def test_new_bytes_under_the_same_key_stay_out_too(tmp_path: Path) -> None:
    ws = Workspace(tmp_path)
    ws.write("reports/heron.txt", f"{HERON}.")
    ws.write("reports/other.txt", "Another report on planning systems for the order.")
    ws.add_source("reports")
    ws.run()
    erase_documents(ws.pipeline(), [doc("reports", "heron.txt")], "asked for")
    ws.write("reports/heron.txt", f"{HERON}, as it now says.")
    reports = ws.run().lines[0]
    assert (reports.listed, reports.forgotten, reports.new) == (2, 1, 0)
    assert holders(ws.settings.home, HERON, "heron") == set()


def test_new_records_of_a_client_stay_out(ws: Workspace, tmp_path: Path) -> None:
    erase_client(ws.pipeline(), "acme", "contract ended")
    export = ws.folder / "crm.csv"
    try:
        export.write_text(CRM + f"ada-bellweather-3,{OTTER} for ever.,acme\n")
        ledger = ws.run()
    finally:
        export.write_text(CRM)
    crm = line(ledger, "crm")
    assert (crm.listed, crm.forgotten) == (4, 3)
    assert ledger.balanced
    assert holders(ws.settings.home, OTTER, "ada-bellweather", "acme") == set()


def test_a_record_that_no_longer_names_its_client_stays_out(ws: Workspace) -> None:
    erase_client(ws.pipeline(), "acme", "contract ended")
    export = ws.folder / "crm.csv"
    try:
        export.write_text(CRM.replace(",acme", ","))
        crm = line(ws.run(), "crm")
    finally:
        export.write_text(CRM)
    assert crm.forgotten == 2
    assert holders(ws.settings.home, OTTER, "ada-bellweather") == set()


def test_what_is_lifted_is_pulled_in_again(ws: Workspace) -> None:
    receipt = erase_documents(ws.pipeline(), [DEED], "asked for")
    assert receipt.number is not None
    assert line(ws.run(), "reports").forgotten == 1
    open_catalog(ws.settings).lift_erasure(receipt.number)
    reports = line(ws.run(), "reports")
    assert (reports.forgotten, reports.new, reports.published) == (0, 1, 1)
    assert DEED in rows(ws)
