from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sources.conformance.case import LIMIT, Case, Maker
from stores import PASSWORD, sftp_connection, sftp_server

SOURCE = {"connector": "parquet", "address": "crm.parquet", "key": "id", "text": ["note"]}


def _writer(export: Path) -> Callable[[str | None], object]:
    def write(first: str | None) -> None:
        notes = {"a": first, "b": "zwei Ü", "c": "three"}
        rows = [{"id": key, "note": note} for key, note in notes.items() if note is not None]
        pq.write_table(pa.Table.from_pylist(rows), export, row_group_size=2)

    return write


def _local(base: Path, environment: pytest.MonkeyPatch) -> Iterator[Case]:
    export = base / "crm.parquet"
    write = _writer(export)
    write("one\nline")
    yield Case(
        base,
        SOURCE,
        remove_first=lambda: write(None),
        change_first=lambda: write("another"),
        break_source=export.unlink,
        cut_source=lambda: export.write_bytes(export.read_bytes()[:-20]),
        grow_first=lambda: write("x" * LIMIT),
    )


def _sftp(base: Path, environment: pytest.MonkeyPatch) -> Iterator[Case]:
    folder = base / "served"
    folder.mkdir()
    export = folder / "crm.parquet"
    write = _writer(export)
    write("one\nline")
    with sftp_server(folder) as (url, host_key):
        environment.setenv("MUNIMENT_CONNECTION_DROP", sftp_connection(host_key))
        yield Case(
            base,
            {**SOURCE, "address": f"{url}/crm.parquet", "connection": "drop"},
            remove_first=lambda: write(None),
            change_first=lambda: write("quite another note"),
            break_source=export.unlink,
            secrets=(PASSWORD,),
        )


CASES: dict[str, Maker] = {"local": _local, "sftp": _sftp}
