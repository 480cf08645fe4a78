"""What steps left for each other: finding in it what the catalogue does not hold, and clearing it.

Past runs are kept, with their counts; only what they say of the forgotten documents goes.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any

from ingest.artifacts import Artifacts
from ingest.erasure.names import UUID, Names
from ingest.errors import FatalError

_FOLDER = "runs"


@dataclass
class Found:
    """What run files say of some documents, or of those of a client."""

    doc_ids: set[str] = field(default_factory=set)
    keys: set[tuple[str, str]] = field(default_factory=set)
    uris: set[str] = field(default_factory=set)
    sha256s: set[str] = field(default_factory=set)


def look_through(
    artifacts: Artifacts, doc_ids: Collection[str], client_id: str | None = None
) -> Found:
    """Return what the files of all runs say of these documents, and of the client's.

    A document that was refused has no version: only the run that fetched it knows its bytes.
    """
    found = Found()
    wanted = frozenset(doc_ids)
    for _, content in _contents(artifacts):
        text = content.decode("utf-8", "replace")
        if wanted.isdisjoint(UUID.findall(text)) and (
            client_id is None or json.dumps(client_id, ensure_ascii=False) not in text
        ):
            continue
        for value in _values(text):
            for planned, around in _planned(value, {}):
                item = planned["item"]
                if planned["doc_id"] not in wanted and (
                    client_id is None or item.get("client_id") != client_id
                ):
                    continue
                found.doc_ids.add(planned["doc_id"])
                found.keys.add((item["source_id"], item["source_key"]))
                found.keys.add((item["source_id"], item["document_key"]))
                found.uris |= {item["uri"], item["fetch_uri"]}
                if digest := around.get("doc_sha256"):
                    found.sha256s.add(digest)
    return found


def touched_runs(artifacts: Artifacts, names: Names) -> list[str]:
    """Return the runs whose files say anything of the documents."""
    return sorted({_run_of(path) for path, _, _ in _changes(artifacts, names)})


def clear(artifacts: Artifacts, names: Names) -> int:
    """Take what is said of the documents out of the files of all runs; return how many changed.

    Files that cannot be read are removed: what they hold cannot be told.
    """
    changed = 0
    for path, _, after in _changes(artifacts, names):
        if after is None:
            artifacts.remove(path)
        else:
            artifacts.write_content(path, after)
        changed += 1
    return changed


def files_with(artifacts: Artifacts, names: Names) -> int:
    """Return how many files of runs still have to change."""
    return sum(1 for _ in _changes(artifacts, names))


def _changes(artifacts: Artifacts, names: Names) -> Iterator[tuple[str, bytes, bytes | None]]:
    """Yield path, content and new content of each file that has to change; None to remove it."""
    for path in artifacts.list(_FOLDER):
        try:
            content = artifacts.read_content(path)
            text = content.decode()
            if not names.may_be_in(text):
                continue
            before = list(_values(text))
        except FatalError as error:
            if error.code != "artifact_damaged":
                raise
            yield path, b"", None
            continue
        except ValueError:
            yield path, b"", None
            continue
        after = [names.cleaned(value) for value in before]
        if after != before:
            ends = "\n" if ".jsonl" in path else ""
            lines = (
                json.dumps(value, ensure_ascii=False, separators=(",", ":")) for value in after
            )
            yield path, content, "".join(line + ends for line in lines).encode()


def _contents(artifacts: Artifacts) -> Iterator[tuple[str, bytes]]:
    for path in artifacts.list(_FOLDER):
        try:
            yield path, artifacts.read_content(path)
        except FatalError as error:
            if error.code != "artifact_damaged":
                raise


def _values(text: str) -> Iterator[Any]:
    """Yield the JSON value, or each of the lines."""
    try:
        yield json.loads(text)
    except json.JSONDecodeError:
        for line in text.split("\n"):
            if line:
                yield json.loads(line)


def _planned(value: Any, around: dict[str, Any]) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Yield each planned item in a JSON value, with the object that it stands in."""
    if isinstance(value, list):
        for one in value:
            yield from _planned(one, {})
    elif isinstance(value, dict):
        if "item" in value and "doc_id" in value:
            yield value, around
        for one in value.values():
            yield from _planned(one, value)


def _run_of(path: str) -> str:
    return PurePosixPath(path).parts[1]
