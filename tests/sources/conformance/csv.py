from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from sources.conformance.case import LIMIT, Case, Maker
from stores import PASSWORD, sftp_connection, sftp_server

ROWS = [b"id,note\r\n", b'a,"one\r\nline"\r\n', "b,zwei Ü\r\n".encode(), b"c,three\r\n"]


def _local(base: Path, environment: pytest.MonkeyPatch) -> Iterator[Case]:
    export = base / "crm.csv"

    def write(first: bytes) -> None:
        export.write_bytes(b"".join([ROWS[0], first, *ROWS[2:]]))

    write(ROWS[1])
    yield Case(
        base,
        {"connector": "csv", "address": "crm.csv", "key": "id", "text": ["note"]},
        remove_first=lambda: write(b""),
        change_first=lambda: write(b"a,another line\r\n"),
        break_source=export.unlink,
        grow_first=lambda: write(b"a," + b"x" * LIMIT + b"\r\n"),
    )


def _sftp(base: Path, environment: pytest.MonkeyPatch) -> Iterator[Case]:
    folder = base / "served"
    folder.mkdir()
    export = folder / "crm.csv"

    def write(first: bytes) -> None:
        export.write_bytes(b"".join([ROWS[0], first, *ROWS[2:]]))

    write(ROWS[1])
    with sftp_server(folder) as (url, host_key):
        environment.setenv("MUNIMENT_CONNECTION_DROP", sftp_connection(host_key))
        yield Case(
            base,
            {
                **{"connector": "csv", "address": f"{url}/crm.csv", "connection": "drop"},
                **{"key": "id", "text": ["note"]},
            },
            remove_first=lambda: write(b""),
            change_first=lambda: write(b"a,quite another line\r\n"),
            break_source=export.unlink,
            secrets=(PASSWORD,),
        )


CASES: dict[str, Maker] = {"local": _local, "sftp": _sftp}
