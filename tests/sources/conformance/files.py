from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from sources.conformance.case import LIMIT, Case, Maker
from stores import (
    PASSWORD,
    index_pages,
    s3_bucket,
    s3_client,
    s3_connection,
    s3_rights,
    s3_server,
    s3_user,
    sftp_connection,
    sftp_server,
)


def _local(base: Path, environment: pytest.MonkeyPatch) -> Iterator[Case]:
    folder = base / "in"
    for name in ("a.txt", "b ü.txt", "sub/c.txt"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(f"the text of {name}", "utf-8")
    (folder / "m.csv").write_text("file,title,effective_from\na.txt,A,2026-01-01\n")
    yield Case(
        base,
        {"connector": "files", "address": "in", "manifest": "m.csv"},
        remove_first=(folder / "a.txt").unlink,
        change_first=lambda: (folder / "a.txt").write_text("another text"),
        break_source=lambda: folder.rename(base / "away"),
        grow_first=lambda: (folder / "a.txt").write_text("x" * (LIMIT + 1)),
        bodies=("a.txt", "b ü.txt", "c.txt"),
    )


def _sftp(base: Path, environment: pytest.MonkeyPatch) -> Iterator[Case]:
    folder = base / "served" / "in"
    for name in ("a.txt", "b ü.txt", "sub/c.txt"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(f"the text of {name}", "utf-8")
    with sftp_server(base / "served") as (url, host_key):
        environment.setenv("MUNIMENT_CONNECTION_DROP", sftp_connection(host_key))
        yield Case(
            base,
            {"connector": "files", "address": f"{url}/in", "connection": "drop"},
            remove_first=(folder / "a.txt").unlink,
            change_first=lambda: (folder / "a.txt").write_text("quite another text"),
            break_source=lambda: folder.rename(base / "away"),
            secrets=(PASSWORD,),
        )


def _s3(base: Path, environment: pytest.MonkeyPatch) -> Iterator[Case]:
    with s3_server() as endpoint:
        bucket = s3_bucket(s3_client(endpoint))
        key, secret = s3_user(endpoint, bucket, ListBucket=bucket, GetObject=f"{bucket}/*")
        environment.setenv("MUNIMENT_CONNECTION_BUCKET", s3_connection(endpoint, key, secret))
        store = s3_client(endpoint, *s3_user(endpoint, f"{bucket}-owner", **{"*": "*"}))

        def put(name: str, text: str) -> None:
            store.put_object(Bucket=bucket, Key=f"in/{name}", Body=text.encode())

        for name in ("a.txt", "b ü.txt", "sub/c.txt"):
            put(name, f"the text of {name}")
        put("", "")  # what consoles leave for a folder
        put("sub/", "")

        def remove_all() -> None:
            for entry in store.list_objects_v2(Bucket=bucket)["Contents"]:
                store.delete_object(Bucket=bucket, Key=entry["Key"])
            store.delete_bucket(Bucket=bucket)

        with s3_rights(endpoint):
            yield Case(
                base,
                {"connector": "files", "address": f"s3://{bucket}/in", "connection": "bucket"},
                remove_first=lambda: store.delete_object(Bucket=bucket, Key="in/a.txt"),
                change_first=lambda: put("a.txt", "another text"),
                break_source=remove_all,
                secrets=(secret,),
            )


def _http(base: Path, environment: pytest.MonkeyPatch) -> Iterator[Case]:
    folder = base / "served" / "in"
    for name in ("a.txt", "b ü.txt", "sub/c.txt"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(f"the text of {name}", "utf-8")
    password = "Verzeichnis:9?x"
    environment.setenv(
        "MUNIMENT_CONNECTION_INDEX", json.dumps({"login": "reader", "password": password})
    )
    with index_pages(base / "served", "reader", password) as url:
        yield Case(
            base,
            {"connector": "files", "address": f"{url}/in", "connection": "index"},
            remove_first=(folder / "a.txt").unlink,
            change_first=lambda: (folder / "a.txt").write_text("quite another text"),
            break_source=lambda: folder.rename(base / "away"),
            secrets=(password,),
        )


CASES: dict[str, Maker] = {"local": _local, "sftp": _sftp, "s3": _s3, "http": _http}
