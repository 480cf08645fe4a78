"""muniment forget, from the shell."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from forgetting import HERON, LYNX, OTTER, copy_of, doc, holders, make
from workspace import Workspace

DEED = doc("reports", "heron-deed.pdf")
MAIL = doc("mails", "lynx-mail.eml")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    return make(tmp_path_factory.mktemp("made"))


@pytest.fixture
def ws(made: Workspace, tmp_path: Path) -> Workspace:
    return copy_of(made, tmp_path)


def test_a_document_is_forgotten_and_its_receipt_kept(ws: Workspace) -> None:
    asked = ("forget", "--doc", MAIL, "--reason", "asked for")
    would = ws.cli_json(*asked, "--dry-run", "--json")
    assert (would["number"], would["finished_at"], would["left"]) == (None, None, None)
    done = ws.cli(*asked, "--yes", "--json")
    assert done.returncode == 0, done.stderr
    receipt = json.loads(done.stdout)
    assert receipt["complete"]
    assert receipt["erased"] == would["erased"]
    assert receipt["number"] == 1
    (listed,) = ws.cli_json("forget", "list", "--json")
    assert listed == ws.cli_json("forget", "show", "1", "--json")
    assert listed["receipt"]["documents"] == receipt["documents"]
    shown = ws.cli("forget", "show", "1")
    assert "3 documents, 2 of them inside others" in shown.stdout
    assert "It is not pulled in again." in shown.stdout
    assert holders(ws.settings.home, LYNX, "lynx") == set()
    assert ws.cli_json("forget", "resume", "--json") == []
    lifted = ws.cli("forget", "lift", "1")
    assert lifted.returncode == 0
    assert not ws.cli_json("forget", "show", "1", "--json")["lasting"]


def test_it_asks_first(ws: Workspace) -> None:
    def answer(text: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "ingest", "forget", "--client", "acme", "--reason", "ended"],
            env=ws.environment(),
            cwd=ws.folder,
            input=text,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    no = answer("n\n")
    assert no.returncode == 1
    assert "Would be erased" in no.stdout
    assert holders(ws.settings.home, OTTER)
    yes = answer("y\n")
    assert yes.returncode == 0, yes.stderr
    assert "Erasure 1" in yes.stdout
    assert holders(ws.settings.home, OTTER, "ada-bellweather") == set()


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("--doc", DEED),
        ("--reason", "x"),
        ("--doc", DEED, "--client", "acme", "--reason", "x"),
        ("--doc", DEED, "--reason", "x", "--json"),
    ],
)
def test_wrong_usage_erases_nothing(arguments: tuple[str, ...], made: Workspace) -> None:
    done = made.cli("forget", *arguments)
    assert done.returncode == 2, done.stdout
    assert made.cli_json("forget", "list", "--json") == []


def test_what_is_not_there_is_refused(made: Workspace) -> None:
    done = made.cli("forget", "--doc", "nothing", "--reason", "x", "--yes", "--json")
    assert done.returncode == 4
    assert json.loads(done.stdout)["error"]["code"] == "document_unknown"
    done = made.cli("forget", "--client", "nobody", "--reason", "x", "--yes")
    assert done.returncode == 4
    assert "client_unknown" in done.stderr
    assert made.cli("forget", "show", "7").returncode == 4
    assert holders(made.settings.home, HERON)
