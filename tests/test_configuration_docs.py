"""docs/configuration.md against what it documents: every key, every variable, every default."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import pytest
import yaml
from pydantic import BaseModel, TypeAdapter

from ingest.settings import Settings
from schemas.licence import Licence
from schemas.source import PortalFields, Source

DOCS = Path(__file__).parents[1] / "docs"
TEXT = (DOCS / "configuration.md").read_text("utf-8")


def _variables(model: type[BaseModel], prefix: str) -> Iterator[tuple[str, Any]]:
    for name, field in model.model_fields.items():
        kind = field.annotation
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            yield from _variables(kind, f"{prefix}{name.upper()}__")
        else:
            yield prefix + name.upper(), field.default


def test_every_variable_is_documented_with_its_default() -> None:
    documented = dict(re.findall(r"^\| `(MUNIMENT_\w+)` \| (.*?) \|", TEXT, flags=re.M))
    settings = dict(_variables(Settings, "MUNIMENT_"))
    assert documented.keys() == settings.keys()
    for name, default in settings.items():
        said = documented[name]
        if said.startswith("`") and said.endswith("`"):
            plain = f"{default:g}" if isinstance(default, float) else str(default)
            assert said.strip("`") == (plain.lower() if isinstance(default, bool) else plain), name
        else:
            assert default in (None, ()) or name.endswith("WORKERS"), name


@pytest.mark.parametrize("model", [*get_args(get_args(Source)[0]), Licence])
def test_every_key_is_documented(model: type[BaseModel]) -> None:
    assert [key for key in model.model_fields if f"| `{key}` |" not in TEXT] == []


def test_every_key_of_a_portal_s_fields_is_documented() -> None:
    rows = TEXT.partition("These are the keys of `fields`.")[2].partition("\n## ")[0]
    documented = dict(re.findall(r"^\| `(\w+)` \| (.*?) \|", rows, flags=re.M))
    assert documented.keys() == PortalFields.model_fields.keys()


def test_every_yaml_example_is_valid() -> None:
    blocks = re.findall(r"```yaml\n(.*?)```", TEXT, flags=re.S)
    whole = [
        yaml.safe_load(block) for block in blocks if re.match(r"(sources|licences|  - )", block)
    ]
    assert len(whole) == 6
    for data in whole:
        if isinstance(data, dict) and "licences" in data:
            TypeAdapter(list[Licence]).validate_python(data["licences"])
        else:
            entries = data["sources"] if isinstance(data, dict) else data
            TypeAdapter(list[Source]).validate_python(entries)


def test_every_source_in_the_pages_of_connectors_is_valid() -> None:
    text = (DOCS / "sources.md").read_text("utf-8")
    blocks = re.findall(r"```yaml\n(  - .*?)```", text, flags=re.S)
    found = [
        one for b in blocks for one in TypeAdapter(list[Source]).validate_python(yaml.safe_load(b))
    ]
    assert {"feed", "portal"} <= {one.connector for one in found}
