"""What could not be listed is in quarantine for as long as that is so."""

from __future__ import annotations

from pathlib import Path

from workspace import Workspace


def test_a_problem_of_a_listing_closes_when_it_is_over(tmp_path: Path) -> None:
    ws = Workspace(tmp_path)
    ws.add_source("in", manifest="m.csv")
    ws.write("in/a.txt", "The tenant shall keep a register.")
    ws.write("in/b.txt", "The landlord shall read it.")
    ws.write("in/m.csv", "file,effective_from\na.txt,2026-01-01\n")
    ws.run()
    ws.write("in/m.csv", "file,effective_from\na.txt,31/01/2026\nlost.txt,2026-01-01\n")
    ws.run()
    assert ws.quarantine() == [("a.txt", "date_invalid"), ("lost.txt", "manifest_file_missing")]
    # Back in the very state that is indexed, so that nothing is published anew.
    ws.write("in/m.csv", "file,effective_from\na.txt,2026-01-01\nlost.txt,2026-01-01\n")
    ledger = ws.run()
    assert ledger.lines[0].unchanged == 2
    assert ws.quarantine() == [("lost.txt", "manifest_file_missing")]
    ws.write("in/m.csv", "file,effective_from\na.txt,2026-01-01\n")
    ws.run()
    assert ws.quarantine() == []


def test_a_listing_that_is_not_believed_closes_nothing(tmp_path: Path) -> None:
    ws = Workspace(tmp_path)
    ws.add_source("in", manifest="m.csv")
    for name in "abcd":
        ws.write(f"in/{name}.txt", f"The tenant shall keep register {name}.")
    ws.write("in/m.csv", "file\nlost.txt\n")
    ws.run()
    assert ws.quarantine() == [("lost.txt", "manifest_file_missing")]
    ws.write("in/m.csv", "file\n")
    for name in "abc":
        (tmp_path / f"in/{name}.txt").unlink()
    assert ws.run().alerts
    assert ws.quarantine() == [("lost.txt", "manifest_file_missing")]
