"""Files inside documents, through the whole pipeline: each is an item with its own fate."""

from __future__ import annotations

import io
import random
import shutil
import zipfile
from collections.abc import Iterator, Sequence
from email.message import EmailMessage
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from workspace import Workspace, pdf

from ingest.catalog import Catalog
from ingest.display import ledger_table
from ingest.errors import ItemError, RetriableError
from ingest.extract import extract_with_members
from ingest.extract.sandbox import ExtractJob, ExtractOutcome, MemberFile
from ingest.operations import status
from ingest.pipeline import open_catalog
from ingest.runner import changed_documents, plan_source, run_all, run_stage
from ingest.settings import ExtractionSettings
from schemas.run import Ledger, LedgerLine, Stage

STAGES: tuple[Stage, ...] = ("fetch", "extract", "chunk", "gate", "index", "audit", "publish")
SENTENCE = "The supplier of file {} delivers planning systems within ninety days of the order."


def text(name: object) -> str:
    return SENTENCE.format(name)


def zipped(files: dict[str, bytes | str]) -> bytes:
    """Return an archive that is the same each time."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in files.items():
            info = zipfile.ZipInfo(name, (2026, 1, 1, 0, 0, 0))
            info.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(info, content)
    return buffer.getvalue()


def mail(subject: str, body: str, **files: bytes) -> bytes:
    message = EmailMessage()
    message["From"] = "Ada <ada@example.com>"
    message["To"] = "bob@example.com"
    message["Subject"] = subject
    message.set_content(body)
    for name, data in files.items():
        stem, _, suffix = name.rpartition("_")
        message.add_attachment(
            data, maintype="application", subtype="octet-stream", filename=f"{stem}.{suffix}"
        )
    message.set_boundary("=boundary=")
    return message.as_bytes()


def read_here(jobs: Sequence[ExtractJob], settings: ExtractionSettings) -> Iterator[ExtractOutcome]:
    """Read the documents as the child processes do, without the seconds that starting one takes."""
    for job in jobs:
        try:
            extraction, members = extract_with_members(
                Path(job.path).read_bytes(),
                name=job.name,
                media_type=job.media_type,
                options=job.options,
                settings=settings,
            )
        except ItemError as error:
            yield ExtractOutcome(key=job.key, error_code=error.code, error_message=error.message)
            continue
        with TemporaryDirectory() as folder:
            files = []
            for index, member in enumerate(members):
                path = Path(folder) / str(index)
                path.write_bytes(member.data)
                files.append(MemberFile(name=member.name, path=str(path), size=len(member.data)))
            yield ExtractOutcome(key=job.key, extraction=extraction, members=tuple(files))


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Read in this process; what the sandbox does with members is tested without."""
    monkeypatch.setattr("ingest.steps.readings.extract_all", read_here)


@pytest.fixture
def ws(tmp_path: Path) -> Workspace:
    workspace = Workspace(tmp_path)
    workspace.add_source("reports")
    return workspace


def line_of(ledger: Ledger) -> LedgerLine:
    assert ledger.balanced, ledger
    (line,) = ledger.lines
    return line


def run(ws: Workspace) -> LedgerLine:
    return line_of(ws.run())


def counts(line: LedgerLine) -> dict[str, int]:
    names = ("new", "changed", "members", "opened", "published", "quarantined", "retired")
    return {name: count for name in names if (count := getattr(line, name))}


def nothing_is_done(ws: Workspace) -> bool:
    line = run(ws)
    return not any((counts(line), line.points_new, line.points_reused, line.embedded, line.chunks))


TOLD = ("recorded_at", "interval_history")
"""Since when readers are told of it: what went and came back has another history."""


def live(ws: Workspace) -> dict[str, list[dict[str, Any]]]:
    """Return the published points that are not retired, by source key."""
    found: dict[str, list[dict[str, Any]]] = {}
    for point in ws.points().values():
        assert point["published_at"] is not None
        if point["retired_at"].startswith("9999") and point["effective_until"].startswith("9999"):
            known = {name: value for name, value in point.items() if name not in TOLD}
            found.setdefault(point["source_key"], []).append(known)
    return found


def states(ws: Workspace) -> dict[str, str]:
    known = open_catalog(ws.settings).known_items("reports")
    return {key: item.state for key, item in known.items()}


def test_an_archive_with_a_pdf_a_mail_and_an_archive(ws: Workspace) -> None:
    ws.write(
        "reports/all.zip",
        zipped(
            {
                "contracts/a.pdf": pdf(text("a.pdf"), text("its second page")),
                "mail.eml": mail("Offer", text("mail"), offer_txt=text("offer").encode()),
                "inner.zip": zipped({"deep.txt": text("deep")}),
                "plain.txt": text("plain"),
            }
        ),
    )
    line = run(ws)
    assert counts(line) == {"new": 1, "members": 6, "opened": 2, "published": 5}
    points = live(ws)
    assert set(points) == {
        "all.zip!/contracts/a.pdf",
        "all.zip!/mail.eml",
        "all.zip!/mail.eml!/offer.txt",
        "all.zip!/inner.zip!/deep.txt",
        "all.zip!/plain.txt",
    }
    (first,) = [p for p in points["all.zip!/contracts/a.pdf"] if p["page_first"] == 1]
    assert first["boxes"]
    assert first["source_uri"].endswith("/reports/all.zip!/contracts/a.pdf")
    assert points["all.zip!/mail.eml"][0]["title"] == "Offer"
    assert points["all.zip!/inner.zip!/deep.txt"][0]["title"] == "deep"
    assert states(ws)["all.zip"] == states(ws)["all.zip!/inner.zip"] == "opened"
    assert nothing_is_done(ws)


def test_a_member_has_the_terms_of_its_container_and_can_be_proved(tmp_path: Path) -> None:
    ws = Workspace(tmp_path)
    ws.add_source("reports", manifest="terms.csv")
    ws.write(
        "reports/terms.csv",
        "file,document,title,version_label,effective_from,client_id\n"
        "mail.eml,offer,Our offer,draft 2,2024-04-01,acme\n",
    )
    ws.write("reports/mail.eml", mail("x", text("mail"), terms_pdf=pdf(text("terms"))))
    line = run(ws)
    assert counts(line) == {"new": 1, "members": 1, "published": 2}
    points = live(ws)
    (container,), (member,) = points["mail.eml"], points["mail.eml!/terms.pdf"]
    assert container["title"] == "Our offer"
    assert member["title"] == "terms"
    same = (
        "version_label",
        "effective_from",
        "confidentiality",
        "client_id",
        "licence_id",
    )
    assert [member[name] for name in same] == [container[name] for name in same]
    assert member["client_id"] == "acme"
    proved = ws.cli("prove", member["chunk_id"])
    assert proved.returncode == 0, proved.stdout + proved.stderr
    assert "FAILED" not in proved.stdout


@pytest.mark.usefixtures("quick")
def test_a_changed_container_with_one_member_changed_one_gone_and_one_the_same(
    ws: Workspace,
) -> None:
    ws.write("reports/a.zip", zipped({n: text(n) for n in ("same.txt", "edited.txt", "gone.txt")}))
    assert counts(run(ws)) == {"new": 1, "members": 3, "opened": 1, "published": 3}
    before = live(ws)
    ws.write(
        "reports/a.zip",
        zipped({"same.txt": text("same.txt"), "edited.txt": text("edited"), "new.txt": text("n")}),
    )
    line = run(ws)
    assert counts(line) == {
        "changed": 1,
        "members": 2,
        "opened": 1,
        "published": 2,
        "retired": 1,
    }
    assert (line.points_new, line.points_reused, line.points_retired) == (2, 0, 1)
    after = live(ws)
    assert set(after) == {"a.zip!/same.txt", "a.zip!/edited.txt", "a.zip!/new.txt"}
    assert after["a.zip!/same.txt"] == before["a.zip!/same.txt"]
    assert [p["version"] for p in after["a.zip!/edited.txt"]] == [2]
    assert states(ws)["a.zip!/gone.txt"] == "gone"
    assert nothing_is_done(ws)


@pytest.mark.usefixtures("quick")
def test_a_container_that_was_only_packed_again_publishes_nothing_anew(ws: Workspace) -> None:
    files = {"b.txt": text("b"), "a.txt": text("a")}
    ws.write("reports/a.zip", zipped(files))
    run(ws)
    before = ws.points()
    ws.write("reports/a.zip", zipped(dict(sorted(files.items()))))
    line = run(ws)
    assert counts(line) == {"changed": 1, "opened": 1}
    assert (line.points_new, line.points_reused, line.embedded) == (0, 0, 0)
    assert ws.points() == before


@pytest.mark.usefixtures("quick")
def test_a_damaged_new_container_retires_nothing(ws: Workspace) -> None:
    whole = zipped({"a.txt": text("a"), "b.txt": text("b")})
    ws.write("reports/a.zip", whole)
    run(ws)
    before = ws.points()
    ws.write("reports/a.zip", whole[: len(whole) // 2])
    assert counts(run(ws)) == {"changed": 1, "quarantined": 1}
    assert ws.quarantine() == [("a.zip", "damaged")]
    assert ws.points() == before
    assert nothing_is_done(ws)
    ws.write("reports/a.zip", zipped({"a.txt": text("a")}))
    assert counts(run(ws)) == {"changed": 1, "opened": 1, "retired": 1}
    assert ws.quarantine() == []
    assert set(live(ws)) == {"a.zip!/a.txt"}


@pytest.mark.usefixtures("quick")
def test_a_damaged_container_inside_another_retires_nothing_of_its_own(ws: Workspace) -> None:
    inner = zipped({"deep.txt": text("deep")})
    ws.write("reports/a.zip", zipped({"inner.zip": inner, "b.txt": text("b")}))
    run(ws)
    ws.write("reports/a.zip", zipped({"inner.zip": inner[:60]}))
    assert counts(run(ws)) == {
        "changed": 1,
        "members": 1,
        "opened": 1,
        "quarantined": 1,
        "retired": 1,
    }
    assert set(live(ws)) == {"a.zip!/inner.zip!/deep.txt"}
    assert nothing_is_done(ws)


@pytest.mark.usefixtures("quick")
def test_members_leave_with_their_container_and_come_back_with_it(ws: Workspace) -> None:
    packed = zipped({"a.txt": text("a"), "inner.zip": zipped({"b.txt": text("b")})})
    ws.write("reports/a.zip", packed)
    ws.write("reports/other.txt", text("other"))
    ws.write("reports/third.txt", text("third"))
    run(ws)
    before = live(ws)
    container = ws.folder / "reports/a.zip"
    stat = container.stat()
    container.rename(ws.folder / "a.zip")
    line = run(ws)
    assert counts(line) == {"retired": 2}
    assert set(live(ws)) == {"other.txt", "third.txt"}
    assert nothing_is_done(ws)
    (ws.folder / "a.zip").rename(container)
    assert container.stat().st_mtime_ns == stat.st_mtime_ns
    assert counts(run(ws)) == {}
    assert live(ws) == before
    assert set(states(ws).values()) == {"indexed", "opened"}
    assert nothing_is_done(ws)


@pytest.mark.usefixtures("quick")
def test_a_member_that_had_left_its_container_does_not_come_back_with_it(ws: Workspace) -> None:
    ws.write("reports/other.txt", text("other"))
    ws.write("reports/a.zip", zipped({"a.txt": text("a"), "b.txt": text("b")}))
    run(ws)
    ws.write("reports/a.zip", zipped({"a.txt": text("a")}))
    run(ws)
    container = ws.folder / "reports/a.zip"
    container.rename(ws.folder / "a.zip")
    run(ws)
    (ws.folder / "a.zip").rename(container)
    run(ws)
    assert set(live(ws)) == {"other.txt", "a.zip!/a.txt"}


@pytest.mark.usefixtures("quick")
def test_a_returned_and_changed_container_restores_what_it_still_has(ws: Workspace) -> None:
    ws.write("reports/other.txt", text("other"))
    ws.write("reports/a.zip", zipped({n: text(n) for n in ("same.txt", "edited.txt", "gone.txt")}))
    run(ws)
    (ws.folder / "reports/a.zip").unlink()
    run(ws)
    ws.write("reports/a.zip", zipped({"same.txt": text("same.txt"), "edited.txt": text("e")}))
    line = run(ws)
    assert counts(line) == {"changed": 1, "members": 1, "opened": 1, "published": 1}
    assert set(live(ws)) == {"other.txt", "a.zip!/same.txt", "a.zip!/edited.txt"}
    assert line.points_new == 1
    assert nothing_is_done(ws)


@pytest.mark.usefixtures("quick")
def test_how_many_files_an_archive_holds_says_nothing_about_the_listing(ws: Workspace) -> None:
    """One archive of twenty files that leaves two others behind is a third of the listing."""
    ws.write("reports/a.zip", zipped({f"{n}.txt": text(n) for n in range(20)}))
    ws.write("reports/b.txt", text("b"))
    ws.write("reports/c.txt", text("c"))
    run(ws)
    (ws.folder / "reports/a.zip").unlink()
    ledger = ws.run()
    assert ledger.alerts == ()
    assert line_of(ledger).retired == 20


@pytest.mark.usefixtures("quick")
def test_members_of_archives_of_one_document_are_versions_of_one_document(tmp_path: Path) -> None:
    ws = Workspace(tmp_path)
    ws.add_source("reports", manifest="terms.csv")
    header = "file,document,version_label,effective_from\n"
    first, second = "v1.zip,msa,1,2024-01-01\n", "v2.zip,msa,2,2026-01-01\n"
    ws.write("reports/v1.zip", zipped({"a.txt": text("a, first"), "annex.txt": text("annex")}))
    ws.write("reports/v2.zip", zipped({"a.txt": text("a, second")}))
    ws.write("reports/other.txt", text("other"))
    ws.write("reports/terms.csv", header + first + second)
    run(ws)
    points = [p for p in ws.points().values() if p["source_key"].endswith("a.txt")]
    assert {(p["version"], p["effective_from"][:4], p["effective_until"][:4]) for p in points} == {
        (1, "2024", "2026"),
        (2, "2026", "9999"),
    }
    assert len({p["doc_id"] for p in points}) == 1
    (ws.folder / "reports/v1.zip").unlink()
    ws.write("reports/terms.csv", header + second)
    assert counts(run(ws)) == {"retired": 1}
    assert set(live(ws)) == {"other.txt", "v2.zip!/a.txt"}
    assert nothing_is_done(ws)


@pytest.mark.usefixtures("quick")
def test_an_archive_that_takes_the_place_of_another_keeps_their_common_documents(
    tmp_path: Path,
) -> None:
    ws = Workspace(tmp_path)
    ws.add_source("reports", manifest="terms.csv")
    header = "file,document,effective_from\nother.txt,other,2024-01-01\n"
    ws.write("reports/other.txt", text("other"))
    ws.write("reports/v1.zip", zipped({"a.txt": text("a, first"), "annex.txt": text("annex")}))
    ws.write("reports/terms.csv", header + "v1.zip,msa,2024-01-01\n")
    run(ws)
    (ws.folder / "reports/v1.zip").unlink()
    ws.write("reports/v2.zip", zipped({"a.txt": text("a, second")}))
    ws.write("reports/terms.csv", header + "v2.zip,msa,2026-01-01\n")
    assert counts(run(ws)) == {"new": 1, "members": 1, "opened": 1, "published": 1, "retired": 1}
    assert set(live(ws)) == {"other.txt", "v2.zip!/a.txt"}
    points = [p for p in ws.points().values() if p["source_key"].endswith("a.txt")]
    assert {(p["version"], p["retired_at"][:4]) for p in points} == {(1, "9999"), (2, "9999")}
    assert nothing_is_done(ws)


@pytest.mark.usefixtures("quick")
def test_a_refused_member_costs_one_entry_and_not_its_container(ws: Workspace) -> None:
    ws.write(
        "reports/a.zip",
        zipped(
            {
                "good.txt": text("good"),
                "broken.pdf": pdf("cut short")[:200],
                "../../etc/passwd.txt": text("traversal"),
                "/absolute.txt": text("absolute"),
                "bomb.txt": bytes(80 * 1024**2),
                "__MACOSX/._good.txt": "left out",
            }
        ),
    )
    line = run(ws)
    assert counts(line) == {"new": 1, "members": 5, "opened": 1, "published": 1, "quarantined": 4}
    assert ws.quarantine() == [
        ("a.zip!/absolute.txt", "unsafe_name"),
        ("a.zip!/bomb.txt", "archive_bomb"),
        ("a.zip!/broken.pdf", "damaged"),
        ("a.zip!/etc/passwd.txt", "unsafe_name"),
    ]
    for entry in open_catalog(ws.settings).quarantine():
        assert entry.message.startswith((entry.source_key, "broken.pdf")), entry.message
    assert nothing_is_done(ws)


@pytest.mark.usefixtures("quick")
def test_a_refusal_names_each_item_with_the_same_bytes(ws: Workspace) -> None:
    broken = pdf("cut short")[:200]
    ws.write("reports/a.zip", zipped({"one.pdf": broken, "two.pdf": broken}))
    run(ws)
    entries = open_catalog(ws.settings).quarantine()
    named = sorted(entry.message.partition(": ")[0] for entry in entries)
    assert named == ["one.pdf", "two.pdf"]


@pytest.mark.usefixtures("quick")
def test_what_lies_too_deep_is_refused_by_itself(tmp_path: Path) -> None:
    ws = Workspace(tmp_path, extraction={"layout": False, "workers": 1, "limits": {"nesting": 2}})
    ws.add_source("reports")
    third = zipped({"three.txt": text("three")})
    second = zipped({"third.zip": third, "two.txt": text("two")})
    ws.write("reports/a.zip", zipped({"second.zip": second, "one.txt": text("one")}))
    line = run(ws)
    # third.zip lies in two documents and is opened; what it holds would lie in three.
    assert counts(line) == {"new": 1, "members": 5, "opened": 3, "published": 2, "quarantined": 1}
    assert ws.quarantine() == [
        ("a.zip!/second.zip!/third.zip!/three.txt", "nesting_too_deep"),
    ]
    assert nothing_is_done(ws)


@pytest.mark.usefixtures("quick")
def test_limits_hold_over_all_levels_together(tmp_path: Path) -> None:
    ws = Workspace(tmp_path, extraction={"layout": False, "workers": 1, "limits": {"members": 6}})
    ws.add_source("reports")
    inner = {f"{n}.zip": zipped({f"{m}.txt": text(f"{n}-{m}") for m in range(2)}) for n in range(3)}
    ws.write("reports/a.zip", zipped({**inner, "a.txt": text("a")}))
    line = run(ws)
    # Four files, and two more of the first archive, are six; the others are not opened.
    assert counts(line) == {"new": 1, "members": 6, "opened": 2, "published": 3, "quarantined": 2}
    assert [code for _, code in ws.quarantine()] == ["too_many_members"] * 2
    assert nothing_is_done(ws)


@pytest.mark.usefixtures("quick")
def test_a_member_is_tried_again_through_its_container(
    ws: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    packed = zipped({"x.zip": zipped({"broken.pdf": pdf("cut short")[:200]}), "b.txt": text("b")})
    ws.write("reports/a.zip", packed)
    run(ws)
    assert nothing_is_done(ws)
    (entry,) = open_catalog(ws.settings).quarantine()
    open_catalog(ws.settings).retry_quarantine(entry.id)
    line = run(ws)
    assert counts(line) == {"changed": 1, "members": 2, "opened": 2, "quarantined": 1}
    assert line.points_new == 0
    (entry,) = open_catalog(ws.settings).quarantine()
    assert entry.times_seen == 2
    assert nothing_is_done(ws)
    for module in ("listing", "members", "extract", "refusals", "publish"):
        monkeypatch.setattr(f"ingest.steps.{module}.PIPELINE_VERSION", "a newer one")
    line = run(ws)
    assert counts(line) == {"changed": 1, "members": 2, "opened": 2, "quarantined": 1}
    assert nothing_is_done(ws)


@pytest.mark.usefixtures("quick")
def test_a_retry_of_a_member_whose_container_cannot_be_read_ends(ws: Workspace) -> None:
    """Otherwise every night would read the broken container again."""
    packed = zipped({"broken.pdf": pdf("cut short")[:200], "b.txt": text("b")})
    ws.write("reports/a.zip", packed)
    run(ws)
    (entry,) = open_catalog(ws.settings).quarantine()
    open_catalog(ws.settings).retry_quarantine(entry.id)
    ws.write("reports/a.zip", packed[:70])
    assert counts(run(ws)) == {"changed": 1, "quarantined": 1}
    assert nothing_is_done(ws)
    ws.write("reports/a.zip", packed)
    assert counts(run(ws)) == {"changed": 1, "members": 1, "opened": 1, "quarantined": 1}


@pytest.mark.usefixtures("quick")
def test_a_document_that_becomes_an_archive_keeps_its_text_until_someone_decides(
    ws: Workspace,
) -> None:
    ws.write("reports/thing", text("thing"))
    run(ws)
    ws.write("reports/thing", zipped({"a.txt": text("a")}))
    line = run(ws)
    assert counts(line) == {"changed": 1, "members": 1, "published": 1, "quarantined": 1}
    assert ws.quarantine() == [("thing", "text_missing")]
    assert set(live(ws)) == {"thing", "thing!/a.txt"}
    assert nothing_is_done(ws)


@pytest.mark.usefixtures("quick")
def test_an_item_with_the_key_of_a_member_comes_first(ws: Workspace) -> None:
    ws.write("reports/a.zip!/b.txt", text("listed"))
    run(ws)
    ws.write("reports/a.zip", zipped({"b.txt": text("inside"), "c.txt": text("c")}))
    line = run(ws)
    assert counts(line) == {"new": 1, "members": 2, "opened": 1, "published": 2}
    assert nothing_is_done(ws)
    assert "listed" in live(ws)["a.zip!/b.txt"][0]["text"]
    assert "inside" in live(ws)["a.zip!/b (2).txt"][0]["text"]


@pytest.mark.usefixtures("quick")
def test_new_terms_reach_the_members(ws: Workspace) -> None:
    ws.write("reports/a.zip", zipped({"a.txt": text("a")}))
    run(ws)
    ws.licences[0] = {**ws.licences[0], "max_quote_chars": 40}
    ws.save()
    line = run(ws)
    assert counts(line) == {"changed": 1, "members": 1, "opened": 1, "published": 1}
    assert {p["max_quote_chars"] for p in ws.points().values()} == {40}
    assert line.embedded == 0


@pytest.mark.usefixtures("quick")
def test_a_step_that_is_tried_again_counts_the_same(
    ws: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tenacity.nap.time.sleep", lambda _: None)
    ws.write(
        "reports/a.zip", zipped({"broken.pdf": pdf("x")[:200], "a.txt": text("a"), "../b": "b"})
    )
    real = Catalog.reserve_version
    failed: list[int] = []

    def once(self: Catalog, *args: Any, **options: Any) -> Any:
        if not failed:
            failed.append(1)
            raise RetriableError("catalog_locked", "The catalogue is in use by others.")
        return real(self, *args, **options)

    monkeypatch.setattr(Catalog, "reserve_version", once)
    line = run(ws)
    assert failed
    assert counts(line) == {"new": 1, "members": 3, "opened": 1, "published": 1, "quarantined": 2}


def workspace_for_crashes(folder: Path) -> Workspace:
    ws = Workspace(folder)
    ws.add_source("reports", manifest="terms.csv")
    ws.write("reports/terms.csv", "file,effective_from\na.zip,2026-01-01\nm.eml,2026-01-01\n")
    files: dict[str, bytes | str] = {f"{n}.txt": text(n) for n in ("same", "edited", "gone")}
    files["inner.zip"] = zipped({"deep.txt": text("deep"), "left.txt": text("left")})
    ws.write("reports/a.zip", zipped(files))
    ws.write("reports/m.eml", mail("Offer", text("mail"), offer_txt=text("offer").encode()))
    return ws


def change_for_crashes(ws: Workspace) -> None:
    files: dict[str, bytes | str] = {"same.txt": text("same"), "edited.txt": text("edited again")}
    files["broken.pdf"] = pdf("cut short")[:200]
    files["inner.zip"] = zipped({"deep.txt": text("deep"), "added.txt": text("added")})
    ws.write("reports/a.zip", zipped(files))
    ws.write("reports/m.eml", mail("Offer", text("mail, revised"), other_txt=text("o").encode()))


def comparable(ws: Workspace) -> dict[str, dict[str, Any]]:
    varying = ("run_id", "published_at", "retired_at", "source_uri", *TOLD)
    return {
        chunk_id: {
            **{name: value for name, value in point.items() if name not in varying},
            "retired": not point["retired_at"].startswith("9999"),
        }
        for chunk_id, point in ws.points().items()
    }


class Crash(BaseException):
    """Nothing that the pipeline could catch."""


CALLS = (
    "ingest.vault.Vault.put",
    "ingest.catalog.Catalog.note_members",
    "ingest.catalog.Catalog.record_refused",
    "ingest.catalog.Catalog.reserve_version",
    "ingest.catalog.Catalog.record_opened",
    "ingest.catalog.Catalog.publish",
    "ingest.catalog.Catalog.retire",
    "ingest.catalog.Catalog.mark_gone",
    "ingest.index.VectorIndex.upsert",
)
FIRST_CALLS = CALLS[1], CALLS[4], CALLS[5]


@pytest.mark.usefixtures("quick")
def test_a_crash_at_any_change_leaves_the_next_run_the_same_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = workspace_for_crashes(tmp_path / "before")
    run(before)
    undisturbed = copied(before, "undisturbed")
    change_for_crashes(undisturbed)
    line = run(undisturbed)
    # Retired are gone.txt, left.txt and the offer; the mail and the nested archive are changed.
    assert (line.retired, line.members) == (3, 5)
    expected = comparable(undisturbed)
    quarantine = undisturbed.quarantine()

    chance = random.Random(20260301)
    for call in CALLS:
        ws = copied(before, call)
        change_for_crashes(ws)
        crash_in(ws, call, chance, monkeypatch)
        run(ws)
        assert comparable(ws) == expected, call
        assert ws.quarantine() == quarantine, call
        assert nothing_is_done(ws), call


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("call", FIRST_CALLS)
def test_a_crash_in_the_first_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    ws = workspace_for_crashes(tmp_path)
    crash_in(ws, call, random.Random(call), monkeypatch)
    run(ws)
    assert len(live(ws)) == 7
    assert set(states(ws).values()) == {"indexed", "opened"}
    assert nothing_is_done(ws)


def copied(ws: Workspace, name: str) -> Workspace:
    """Return a copy of a workspace in the state it is in."""
    shutil.copytree(ws.folder, ws.folder.with_name(name))
    copy = Workspace(ws.folder.with_name(name))
    copy.sources = ws.sources
    return copy


def crash_in(
    ws: Workspace, call: str, chance: random.Random, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Run until the call is made the first or second time, and end it there, before or after."""
    path, _, name = call.rpartition(".")
    module, _, owner = path.rpartition(".")
    kind = getattr(import_module(module), owner)
    real = getattr(kind, name)
    left = chance.randrange(2) if name not in ("mark_gone", "record_refused", "upsert") else 0
    after = chance.random() < 0.5

    def crashing(self: Any, *args: Any, **more: Any) -> Any:
        nonlocal left
        left -= 1
        if left >= 0:
            return real(self, *args, **more)
        if after:
            real(self, *args, **more)
        raise Crash

    with monkeypatch.context() as patch:
        patch.setattr(kind, name, crashing)
        with pytest.raises(Crash):
            ws.run()


@pytest.mark.usefixtures("quick")
def test_a_gate_that_stops_the_batch_leaves_members_to_the_next_run(tmp_path: Path) -> None:
    ws = Workspace(tmp_path, gate={"stop_min_documents": 1, "stop_share": 0.1})
    ws.add_source("reports")
    ws.write("reports/a.zip", zipped({"bad.txt": "x", "good.txt": text("good")}))
    pipeline = ws.pipeline()
    (ref,) = plan_source(pipeline, "reports")
    for stage in STAGES[:2]:
        run_stage(pipeline, stage, ref)
    # Whatever stops a batch after its members were noted: they are worked on again.
    assert states(ws) == {"a.zip!/bad.txt": "found", "a.zip!/good.txt": "found"}
    line = run(ws)
    assert counts(line) == {"new": 1, "members": 2, "opened": 1, "published": 2}


@pytest.mark.usefixtures("quick")
def test_the_documents_of_members_are_named_as_changed(ws: Workspace) -> None:
    ws.write("reports/a.zip", zipped({"a.txt": text("a"), "b.txt": text("b")}))
    run(ws)
    documents = {p["source_key"]: p["doc_id"] for p in ws.points().values()}
    ws.write("reports/a.zip", zipped({"a.txt": text("a")}))
    pipeline = ws.pipeline()
    line_of(run_all(pipeline, ["reports"]))
    assert changed_documents(pipeline) == [documents["a.zip!/b.txt"]]


@pytest.mark.usefixtures("quick")
def test_the_table_of_a_run_shows_members_where_there_are_any(ws: Workspace) -> None:
    ws.write("reports/a.txt", text("a"))
    headings = {"members", "opened"}
    assert headings.isdisjoint(column.header for column in ledger_table(ws.run()).columns)
    ws.write("reports/a.zip", zipped({"b.txt": text("b")}))
    assert headings <= {column.header for column in ledger_table(ws.run()).columns}
    counted = status(ws.settings)["sources"]["reports"]
    assert (counted["members"], counted["opened"]) == (1, 1)
