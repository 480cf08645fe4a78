from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from sources.conformance.case import LIMIT, Case, Maker
from stores import PASSWORD, sftp_connection, sftp_server

LINES = [
    b'{"id": "a", "note": "one\\nline"}\n',
    '{"id": "b", "note": "zwei Ü"}\n'.encode(),
    b'{"id": "c", "note": "three"}\n',
]
SOURCE = {"connector": "jsonl", "address": "crm.jsonl", "key": "id", "text": ["note"]}


def _writer(export: Path) -> Callable[[bytes], int]:
    return lambda first: export.write_bytes(b"".join([first, *LINES[1:]]))


def _local(base: Path, environment: pytest.MonkeyPatch) -> Iterator[Case]:
    export = base / "crm.jsonl"
    write = _writer(export)
    write(LINES[0])
    yield Case(
        base,
        SOURCE,
        remove_first=lambda: write(b""),
        change_first=lambda: write(b'{"id": "a", "note": "another"}\n'),
        break_source=export.unlink,
        cut_source=lambda: export.write_bytes(b"".join(LINES) + b'{"id": "d", "no'),
        grow_first=lambda: write(b'{"id": "a", "note": "' + b"x" * LIMIT + b'"}\n'),
    )


def _sftp(base: Path, environment: pytest.MonkeyPatch) -> Iterator[Case]:
    folder = base / "served"
    folder.mkdir()
    export = folder / "crm.jsonl"
    write = _writer(export)
    write(LINES[0])
    with sftp_server(folder) as (url, host_key):
        environment.setenv("MUNIMENT_CONNECTION_DROP", sftp_connection(host_key))
        yield Case(
            base,
            {**SOURCE, "address": f"{url}/crm.jsonl", "connection": "drop"},
            remove_first=lambda: write(b""),
            change_first=lambda: write(b'{"id": "a", "note": "quite another"}\n'),
            break_source=export.unlink,
            secrets=(PASSWORD,),
        )


CASES: dict[str, Maker] = {"local": _local, "sftp": _sftp}
