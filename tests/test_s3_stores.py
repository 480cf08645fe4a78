"""Vault and artifacts in an object store."""

from __future__ import annotations

import uuid
from pathlib import Path

import pytest
from stores import S3_KEY, S3_SECRET, s3_client, s3_server
from workspace import Workspace

from ingest.operations import prove


def test_a_run_keeps_everything_in_s3_and_proves_it_from_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with s3_server() as endpoint:
        for name, value in {
            "AWS_ACCESS_KEY_ID": S3_KEY,
            "AWS_SECRET_ACCESS_KEY": S3_SECRET,
            "AWS_ENDPOINT_URL": endpoint,
            "AWS_DEFAULT_REGION": "eu-central-1",
        }.items():
            monkeypatch.setenv(name, value)
        bucket = f"muniment-{uuid.uuid4().hex[:12]}"
        store = s3_client(endpoint)
        store.create_bucket(
            Bucket=bucket, CreateBucketConfiguration={"LocationConstraint": "eu-central-1"}
        )
        ws = Workspace(
            tmp_path, vault_url=f"s3://{bucket}/vault", artifacts_url=f"s3://{bucket}/artifacts"
        )
        ws.add_source("in")
        ws.write("in/a.txt", "The tenant shall keep a register of all visitors.")
        ledger = ws.run()
        assert ledger.balanced
        assert ledger.lines[0].published == 1
        again = ws.run()
        assert (again.lines[0].unchanged, again.lines[0].points_new) == (1, 0)
        (chunk_id,) = ws.points()
        assert prove(ws.settings, chunk_id, tmp_path / "proof").proved
        keys = {entry["Key"] for entry in store.list_objects_v2(Bucket=bucket)["Contents"]}
        assert {key.split("/")[0] for key in keys} == {"vault", "artifacts"}
        assert not [key for key in keys if ".partial" in key]
        assert not (ws.settings.home / "vault").exists()
        assert not (ws.settings.home / "artifacts").exists()
