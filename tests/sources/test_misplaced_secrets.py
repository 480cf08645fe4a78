"""Secrets in the sources file are refused, and are not shown while that is said."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from ingest.configuration import load_configuration
from ingest.errors import ConfigurationError

SECRET = "hunter22"


def check(folder: Path, source: dict[str, Any]) -> None:
    given = {"id": "drop", "kind": "report", "licence": "open", "connector": "files", **source}
    licence = {"id": "open", "name": "Open", "attribution_required": False}
    (folder / "s.yaml").write_text(yaml.safe_dump({"sources": [given]}))
    (folder / "l.yaml").write_text(yaml.safe_dump({"licences": [licence]}))
    load_configuration(folder / "s.yaml", folder / "l.yaml")


RECORDS = {"key": "id", "text": ["note"]}


@pytest.mark.parametrize(
    "source",
    [
        {"address": f"sftp://ann:{SECRET}@drop.example/in"},
        {"address": f"s3a+x.y://{SECRET}@bucket/in"},
        {"address": f"abfss://box:{SECRET}@account.dfs.core.windows.net/in"},
        {"address": f"az://box/in?sv=1&sig={SECRET}"},
        {"address": f"s3://box/in?X-Amz-Security-Token={SECRET}"},
        {"address": f"https://files.example/in/?access%5Ftoken={SECRET}"},
        {"address": "s3://box", "storage_options": {"secret": SECRET}},
        {"address": "s3://box", "storage_options": {"key": SECRET}},
        {"address": "s3://box", "storage_options": {"client_kwargs": {"api_token": SECRET}}},
        {"address": "s3://box", "storage_options": {"a": [{"aws_secret_access_key": SECRET}]}},
        {"address": "s3://box", "storage_options": {"proxy": f"http://ann:{SECRET}@proxy:80"}},
        {"address": "s3://box", "storage_options": {"proxies": [f"http://{SECRET}@proxy"]}},
        {"address": "az://box", "storage_options": {"connection_string": f"AccountKey={SECRET}"}},
        {"address": "az://box", "storage_options": {"sas": SECRET}},
        {"address": "sftp://h/in", "storage_options": {"passphrase": SECRET}},
        {"address": "sftp://h/in", "storage_options": {"pkey": SECRET}},
        {"address": "https://h/in", "storage_options": {"headers": {"Authorization": SECRET}}},
        {"address": "https://h/in", "storage_options": {"cookies": {"session": SECRET}}},
        {"connector": "csv", "address": f"https://h/x.csv?token={SECRET}", **RECORDS},
        {
            "connector": "sql",
            "address": f"postgresql+psycopg://h/crm?password={SECRET}",
            "table": "notes",
            **RECORDS,
        },
    ],
)
def test_they_are_refused(tmp_path: Path, source: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError) as caught:
        check(tmp_path, source)
    assert "connection" in caught.value.message
    assert SECRET not in caught.value.message


@pytest.mark.parametrize(
    "source",
    [
        {"address": "folder with ?token=x in its name"},
        {"address": "abfss://box@account.dfs.core.windows.net/in"},
        {"address": "s3://box/in", "storage_options": {"client_kwargs": {"region_name": "x"}}},
        {"address": "s3://box/in", "storage_options": {"anon": True, "proxies": ["http://p:80"]}},
        {"address": "sftp://drop.example:2222/in", "storage_options": {"key_filename": "id"}},
    ],
)
def test_what_is_none_is_taken(tmp_path: Path, source: dict[str, Any]) -> None:
    check(tmp_path, source)


def test_an_index_page_has_no_query(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="without a query"):
        check(tmp_path, {"address": "https://files.example/in/?C=M"})
