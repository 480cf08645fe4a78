"""The lock file: pip can install it, and it names every dependency that the project declares."""

from __future__ import annotations

import itertools
import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
LOCKED = (ROOT / "requirements.lock").read_text(encoding="utf-8").splitlines()
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def name_of(requirement: str) -> str:
    return re.split(r"[^A-Za-z0-9._-]", requirement)[0].lower().replace("_", "-").replace(".", "-")


def test_every_line_pins_one_version_and_names_no_host() -> None:
    for line in LOCKED:
        assert re.match(r"^[A-Za-z0-9._\[\]-]+==\S+( ;.*)?$", line), line
    assert not any("nvidia" in line for line in LOCKED)


def test_every_declared_dependency_is_locked() -> None:
    locked = {name_of(line) for line in LOCKED}
    extras = PROJECT["optional-dependencies"]
    own = re.compile(rf"{PROJECT['name']}\[(.*)\]")
    installed = {"dev"}
    for line in extras["dev"]:
        if match := own.fullmatch(line):
            installed |= set(match[1].split(","))
    lists = (extras[name] for name in installed)
    declared = {name_of(line) for line in itertools.chain(PROJECT["dependencies"], *lists)}
    assert {"ocr", "s3", "sftp"} <= installed
    assert declared - {PROJECT["name"]} <= locked
