from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

import pytest
import zstandard

from ingest.artifacts import Artifacts
from ingest.errors import ConfigurationError, FatalError
from schemas.base import Model
from schemas.run import BatchRef, Ledger, LedgerLine

RUN = "manual__2026-05-01T00:00:00+00:00"


class Line(Model):
    number: int
    text: str = ""


@pytest.fixture(params=["local", "memory"])
def artifacts(request: pytest.FixtureRequest, tmp_path: Path) -> Artifacts:
    if request.param == "local":
        return Artifacts(str(tmp_path / "artifacts"))
    return Artifacts(f"memory://{uuid.uuid4().hex}/artifacts")


@pytest.mark.parametrize("path", [f"runs/{RUN}/plan.json", f"runs/{RUN}/plan.json.zst"])
def test_a_model_comes_back(artifacts: Artifacts, path: str) -> None:
    ref = BatchRef(run_id=RUN, batch_id="b-1", source_id="contracts", counts={"items": 3})
    assert not artifacts.exists(path)
    assert artifacts.write(path, ref) == path
    assert artifacts.exists(path)
    assert artifacts.read(path, BatchRef) == ref
    assert artifacts.read_bytes(path).startswith(b"{") == path.endswith(".json")


def test_computed_fields_do_not_get_in_the_way(artifacts: Artifacts) -> None:
    started_at = datetime(2026, 5, 1, tzinfo=UTC)
    ledger = Ledger(run_id=RUN, started_at=started_at, lines=(LedgerLine(source_id="s"),))
    artifacts.write("ledger.json", ledger)
    assert artifacts.read("ledger.json", Ledger) == ledger


@pytest.mark.parametrize("count", [0, 1, 5_000])
def test_lines_come_back(artifacts: Artifacts, count: int) -> None:
    lines = [
        Line(number=n, text=f"{n}: “é”\n\u2028\r\x85 😀 " + "x" * (n % 700)) for n in range(count)
    ]
    path = artifacts.write_lines("chunks/doc/1.jsonl.zst", iter(lines))
    assert path == "chunks/doc/1.jsonl.zst"
    assert list(artifacts.read_lines(path, Line)) == lines
    data = zstandard.ZstdDecompressor().decompressobj().decompress(artifacts.read_bytes(path))
    assert data.count(b"\n") == count


def test_lines_longer_than_what_is_read_at_once(artifacts: Artifacts) -> None:
    lines = [Line(number=n, text=uuid.uuid4().hex * 100_000) for n in range(3)]
    artifacts.write_lines("big.jsonl.zst", lines)
    assert list(artifacts.read_lines("big.jsonl.zst", Line)) == lines


def test_bytes_come_back(artifacts: Artifacts) -> None:
    assert artifacts.write_bytes("pages/1.png", b"\x89PNG\x00") == "pages/1.png"
    assert artifacts.read_bytes("pages/1.png") == b"\x89PNG\x00"


def test_writing_again_replaces(artifacts: Artifacts) -> None:
    for number in (1, 2):
        artifacts.write("a.json", Line(number=number))
    assert artifacts.read("a.json", Line).number == 2
    assert artifacts.list() == ["a.json"]


@pytest.mark.parametrize("path", ["runs/1/a.json", "runs/1/a.json.zst"])
def test_content_is_read_and_written_whether_compressed_or_not(
    artifacts: Artifacts, path: str
) -> None:
    artifacts.write(path, Line(number=1))
    content = artifacts.read_content(path)
    assert Line.model_validate_json(content).number == 1
    artifacts.write_content(path, content.replace(b"1", b"2"))
    assert artifacts.read(path, Line).number == 2


def test_content_of_a_damaged_file_is_an_error(artifacts: Artifacts) -> None:
    artifacts.write_bytes("a.json.zst", b"no frame")
    with pytest.raises(FatalError, match="cannot be read"):
        artifacts.read_content("a.json.zst")


def test_what_is_removed_is_gone(artifacts: Artifacts) -> None:
    artifacts.write("a.json", Line(number=1))
    artifacts.write("b.json", Line(number=2))
    assert artifacts.remove("a.json")
    assert not artifacts.remove("a.json")
    assert artifacts.list() == ["b.json"]
    assert artifacts.remove_unfinished() == 0


def test_lists_a_folder_at_any_depth(artifacts: Artifacts) -> None:
    assert artifacts.list("runs/1") == []
    for path in ("runs/1/b/x.json", "runs/1/a.json", "runs/10/a.json", "other.json"):
        artifacts.write_bytes(path, b"{}")
    assert (
        artifacts.list("runs/1")
        == artifacts.list("runs/1/")
        == [
            "runs/1/a.json",
            "runs/1/b/x.json",
        ]
    )
    assert artifacts.list() == ["other.json", "runs/1/a.json", "runs/1/b/x.json", "runs/10/a.json"]
    assert not artifacts.exists("runs/1")


def test_a_missing_artifact(artifacts: Artifacts) -> None:
    for read in (
        lambda: artifacts.read("no.json", Line),
        lambda: list(artifacts.read_lines("no.jsonl.zst", Line)),
        lambda: artifacts.read_bytes("no.bin"),
    ):
        with pytest.raises(FatalError, match="again") as caught:
            read()
        assert caught.value.code == "artifact_missing"


@pytest.mark.parametrize("cut", [1, 5, 30])
def test_a_cut_off_artifact(artifacts: Artifacts, cut: int) -> None:
    artifacts.write("a.json.zst", Line(number=1, text="abc" * 500))
    artifacts.write_lines("a.jsonl.zst", [Line(number=n) for n in range(500)])
    for path in ("a.json.zst", "a.jsonl.zst"):
        artifacts.write_bytes(path, artifacts.read_bytes(path)[:-cut])
    with pytest.raises(FatalError) as caught:
        artifacts.read("a.json.zst", Line)
    assert caught.value.code == "artifact_damaged"
    with pytest.raises(FatalError) as caught:
        list(artifacts.read_lines("a.jsonl.zst", Line))
    assert caught.value.code == "artifact_damaged"


def test_a_flipped_bit_is_noticed(artifacts: Artifacts) -> None:
    artifacts.write_lines("a.jsonl.zst", [Line(number=n, text=str(n)) for n in range(50)])
    whole = artifacts.read_bytes("a.jsonl.zst")
    for position in range(len(whole)):
        changed = bytearray(whole)
        changed[position] ^= 0x10
        artifacts.write_bytes("b.jsonl.zst", bytes(changed))
        with suppress(FatalError):
            read = list(artifacts.read_lines("b.jsonl.zst", Line))
            assert [line.number for line in read] == list(range(50))  # a bit without meaning


def test_an_artifact_of_another_kind(artifacts: Artifacts) -> None:
    artifacts.write_bytes("a.json", b'{"other": 1}')
    with pytest.raises(FatalError) as caught:
        artifacts.read("a.json", Line)
    assert caught.value.code == "artifact_damaged"


def test_lines_that_fail_halfway_leave_the_old_ones(artifacts: Artifacts) -> None:
    artifacts.write_lines("a.jsonl.zst", [Line(number=1)])

    def failing() -> Iterator[Line]:
        yield Line(number=2)
        raise RuntimeError("halfway")

    with pytest.raises(RuntimeError, match="halfway"):
        artifacts.write_lines("a.jsonl.zst", failing())
    assert list(artifacts.read_lines("a.jsonl.zst", Line)) == [Line(number=1)]
    assert artifacts._storage._fs.find(artifacts._storage._full(".partial")) == []


@pytest.mark.parametrize(
    "path",
    ["", "/etc/passwd", "../x", "a/../../x", "a/..", "./a", "a//b", "a/", "a\\..\\b", "a\0b", ".."],
)
def test_paths_stay_inside(artifacts: Artifacts, path: str) -> None:
    calls = [
        lambda: artifacts.write(path, Line(number=1)),
        lambda: artifacts.write_lines(path, []),
        lambda: artifacts.write_bytes(path, b""),
        lambda: artifacts.read(path, Line),
        lambda: list(artifacts.read_lines(path, Line)),
        lambda: artifacts.read_bytes(path),
        lambda: artifacts.exists(path),
        lambda: Artifacts("/tmp").local_path(path),  # noqa: S108  # nothing is written
    ]
    for call in calls:
        with pytest.raises(ConfigurationError) as caught:
            call()
        assert caught.value.code == "artifact_path"


def test_listing_stays_inside(artifacts: Artifacts) -> None:
    for path in ("..", "a/../..", "/etc"):
        with pytest.raises(ConfigurationError):
            artifacts.list(path)


def test_a_store_can_be_moved(tmp_path: Path) -> None:
    path = Artifacts(str(tmp_path / "a")).write("runs/1/a.json", Line(number=1))
    (tmp_path / "a").rename(tmp_path / "b")
    assert Artifacts(str(tmp_path / "b")).read(path, Line).number == 1


def test_local_path(tmp_path: Path) -> None:
    artifacts = Artifacts(str(tmp_path))
    artifacts.write_bytes("a/b.bin", b"1")
    assert artifacts.local_path("a/b.bin").read_bytes() == b"1"
    with pytest.raises(ConfigurationError, match="MUNIMENT_ARTIFACTS_URL") as caught:
        Artifacts("memory://x").local_path("a")
    assert caught.value.code == "artifacts_not_local"
