"""How credentials become what each store's library takes, and how its refusals are told."""

from __future__ import annotations

import base64
from typing import Any

import pytest
from fsspec.implementations.memory import MemoryFileSystem  # type: ignore[import-untyped]
from source_kit import connector

from ingest.sources.credentials import Credentials
from ingest.sources.stores import refuses_access, store_arguments


@pytest.mark.parametrize(
    ("protocol", "credentials", "expected"),
    [
        (
            "s3",
            Credentials(
                "AKIA1",
                "geheim-1",
                extra={
                    "session_token": "marke-1",
                    "endpoint_url": "https://s3.example",
                    "region_name": "eu-central-1",
                },
            ),
            {
                "key": "AKIA1",
                "secret": "geheim-1",
                "token": "marke-1",
                "client_kwargs": {
                    "endpoint_url": "https://s3.example",
                    "region_name": "eu-central-1",
                },
            },
        ),
        ("s3", Credentials("AKIA1", "geheim-1"), {"key": "AKIA1", "secret": "geheim-1"}),
        (
            "gs",
            Credentials(extra={"type": "service_account", "private_key": "geheim-2"}),
            {"token": {"type": "service_account", "private_key": "geheim-2"}},
        ),
        (
            "abfss",
            Credentials("account", "geheim-3"),
            {"account_name": "account", "account_key": "geheim-3"},
        ),
        (
            "az",
            Credentials(extra={"connection_string": "AccountKey=geheim-4"}),
            {"connection_string": "AccountKey=geheim-4"},
        ),
        (
            "ftp",
            Credentials("ann", "geheim-5", extra={"tls": True}),
            {"username": "ann", "password": "geheim-5", "tls": True},
        ),
        ("s3", None, {}),
        ("gs", None, {}),
    ],
)
def test_each_store_gets_what_it_takes(
    protocol: str, credentials: Credentials | None, expected: dict[str, Any]
) -> None:
    arguments = store_arguments(protocol, credentials, {})
    assert arguments == {"skip_instance_cache": True, **expected}


def test_options_are_added_and_do_not_displace_the_credentials() -> None:
    shown = Credentials("ann", "geheim-6 ü", extra={"region_name": "eu-central-1"})
    arguments = store_arguments("s3", shown, {"client_kwargs": {"use_ssl": False}, "anon": False})
    assert arguments["client_kwargs"] == {"region_name": "eu-central-1", "use_ssl": False}
    assert arguments["secret"] == "geheim-6 ü"
    options = {"client_kwargs": {"headers": {"User-Agent": "x"}}}
    headers = store_arguments("https", shown, options)["client_kwargs"]["headers"]
    pair = base64.b64encode("ann:geheim-6 ü".encode()).decode()
    assert headers == {"Authorization": f"Basic {pair}", "User-Agent": "x"}


def test_two_sources_share_no_file_system(tmp_path: Any) -> None:
    sources = [connector(tmp_path, connector="files", address="memory://x") for _ in range(2)]
    stores = [source.connector._folder.fs for source in sources]  # type: ignore[attr-defined]
    assert isinstance(stores[0], MemoryFileSystem)
    assert stores[0] is not stores[1]


@pytest.mark.parametrize("name", ["status", "status_code", "code"])
def test_refusals_are_told_by_their_status(name: str) -> None:
    for status, refused in ((401, True), (403, True), (404, False), (500, False)):
        error = RuntimeError("said no")
        setattr(error, name, status)
        assert refuses_access(error) is refused
