"""YAML files read with the line of every value, so that errors can name it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

Place = tuple[str | int, ...]
"""Keys and indexes from the top of the file down to a value."""


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that is wrong in a file."""

    file: Path
    line: int | None
    place: Place
    message: str

    def __str__(self) -> str:
        start = f"{self.file}:{self.line}" if self.line else str(self.file)
        where = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in self.place)
        return ": ".join(filter(None, (start, where.lstrip("."), self.message)))


class YamlFileError(Exception):
    """The file cannot be read as YAML at all."""

    def __init__(self, faults: Sequence[Fault]) -> None:
        super().__init__(tuple(faults))
        self.faults = tuple(faults)


class _Loader(yaml.SafeLoader):
    """Leaves dates as they are written: YAML's own reading of them accepts ones without a zone."""


_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def load_yaml(data: bytes) -> Any:
    """Return what a YAML text says, its dates as they are written.

    Raises:
        yaml.YAMLError: it is none.
    """
    return yaml.load(data, Loader=_Loader)  # noqa: S506  # a safe loader of our own


class YamlFile:
    """The data of a file, and where in it each value stands."""

    def __init__(self, path: Path, node: yaml.Node, data: Any) -> None:
        self.path = path
        self.data = data
        self._node = node

    def fault(self, place: Place, message: str) -> Fault:
        """Return the fault of the value at ``place``, with its line."""
        return Fault(self.path, self._line(place), place, message)

    def _line(self, place: Place) -> int:
        """Return the line of the value, or of what encloses it where it is not there."""
        node, line = self._node, self._node.start_mark.line
        for part in place:
            if isinstance(node, yaml.MappingNode):
                # The last one: the keys that "<<" brings in stand before the mapping's own.
                pair = next((p for p in reversed(node.value) if p[0].value == str(part)), None)
                if pair is None:
                    break
                line, node = pair[0].start_mark.line, pair[1]
            elif isinstance(node, yaml.SequenceNode) and isinstance(part, int):
                node = node.value[part]
                line = node.start_mark.line
            else:
                break
        return line + 1


def read_yaml(path: Path) -> YamlFile:
    """Read a file with one YAML document.

    Raises:
        YamlFileError: it is not there, no YAML, empty, or names a key twice in one mapping.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        reason = f"cannot be read from {path.absolute()}: {error.strerror or error}"
        raise YamlFileError([Fault(path, None, (), reason)]) from error
    try:
        loader = _Loader(content)
        try:
            node = loader.get_single_node()
            if node is None:
                raise YamlFileError([Fault(path, None, (), "the file is empty")])
            duplicates = [
                Fault(path, mark.line + 1, (), f"the key {name!r} is there twice")
                for name, mark in _duplicate_keys(node, set())
            ]
            if duplicates:
                raise YamlFileError(duplicates)
            return YamlFile(path, node, loader.construct_document(node))
        finally:
            loader.dispose()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        reason = ", ".join(filter(None, (error.context, error.problem)))
        raise YamlFileError([Fault(path, mark.line + 1 if mark else None, (), reason)]) from error
    except yaml.reader.ReaderError as error:
        line = content[: error.position].count(b"\n") + 1
        raise YamlFileError([Fault(path, line, (), f"no text: {error.reason}")]) from error


def _duplicate_keys(node: yaml.Node, visited: set[int]) -> Iterator[tuple[str, yaml.Mark]]:
    if id(node) in visited:
        return
    visited.add(id(node))
    if isinstance(node, yaml.MappingNode):
        names: set[Any] = set()
        for key, value in node.value:
            if isinstance(key, yaml.ScalarNode):
                if key.value in names and key.tag != "tag:yaml.org,2002:merge":
                    yield key.value, key.start_mark
                names.add(key.value)
            yield from _duplicate_keys(value, visited)
    elif isinstance(node, yaml.SequenceNode):
        for child in node.value:
            yield from _duplicate_keys(child, visited)
