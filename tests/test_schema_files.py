from __future__ import annotations

import json

import pytest
from jsonschema import Draft202012Validator

from ingest.schema_files import FOLDER, schema_texts


@pytest.mark.parametrize("name", sorted(schema_texts()))
def test_committed_schemas_are_what_the_models_give(name: str) -> None:
    path = FOLDER / name
    assert path.is_file(), "run: python -m ingest.schema_files"
    assert path.read_text("utf-8") == schema_texts()[name], "run: python -m ingest.schema_files"


def test_there_are_no_other_files() -> None:
    assert {path.name for path in FOLDER.iterdir()} == schema_texts().keys()


@pytest.mark.parametrize("text", schema_texts().values(), ids=schema_texts().keys())
def test_they_are_schemas_that_describe_every_field(text: str) -> None:
    schema = json.loads(text)
    Draft202012Validator.check_schema(schema)
    assert schema["additionalProperties"] is False
