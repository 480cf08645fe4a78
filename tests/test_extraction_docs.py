"""docs/extraction.md against the code: every warning, every refusal, every format."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from ingest.extract import _READERS
from ingest.extract.media import _BY_EXTENSION

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "docs/extraction.md").read_text("utf-8")
SOURCES = [
    # The cache of readings warns in the log, of itself.
    *sorted(set((ROOT / "ingest/extract").glob("*.py")) - {ROOT / "ingest/extract/ocr_cache.py"}),
    *sorted((ROOT / "ocr").glob("*.py")),
    ROOT / "ingest/steps/members.py",
]
_CODE = re.compile(r"[a-z]+(?:_[a-z]+)*")
_TAKES_CODE = {
    **dict.fromkeys(("ItemError", "ConfigurationError", "FatalError"), 0),
    **dict.fromkeys(("warn", "_warn", "note"), 0),
    "_problem": 1,
    "add_problem": 2,
}
"""Which argument of what is called is a code."""


def code_of(node: ast.expr | None) -> str | None:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value if _CODE.fullmatch(node.value) else None
    return None


def is_message(node: ast.expr) -> bool:
    """Tell whether an expression is a sentence, or is called by such a name."""
    if isinstance(node, ast.Name | ast.Attribute):
        return ast.unparse(node).rpartition(".")[2] in ("message", "reason", "why")
    return isinstance(node, ast.Constant | ast.JoinedStr | ast.BinOp) and any(
        isinstance(part, ast.Constant) and isinstance(part.value, str) and " " in part.value
        for part in ast.walk(node)
    )


def codes_in(source: str) -> Iterator[str]:
    """Yield the codes that are given by name, by place in a call, or in a pair with a message."""
    for node in ast.walk(ast.parse(source)):
        found: list[ast.expr] = []
        if isinstance(node, ast.Call):
            called = ast.unparse(node.func).rpartition(".")[2]
            place = _TAKES_CODE.get(called)
            if place is not None and len(node.args) > place + 1:
                found.append(node.args[place])
            found += [keyword.value for keyword in node.keywords if keyword.arg == "code"]
        elif isinstance(node, ast.Tuple) and len(node.elts) == 2 and is_message(node.elts[1]):
            found.append(node.elts[0])
        yield from filter(None, map(code_of, found))


def codes_of_the_code() -> set[str]:
    return {code for path in SOURCES for code in codes_in(path.read_text("utf-8"))}


def codes_of_the_docs() -> set[str]:
    start, end = TEXT.index("## Warnings and refusals"), TEXT.index("## How it is measured")
    part = TEXT[start:end]
    first_cells = re.findall(r"^\| (`.*?) \|", part, flags=re.M)
    stops = part[part.index("stop the run:") :]
    return set(re.findall(r"`([a-z_]+)`", "\n".join([*first_cells, stops])))


def test_every_code_is_documented_and_no_other() -> None:
    in_code, in_docs = codes_of_the_code(), codes_of_the_docs()
    assert in_code - in_docs == set(), "not in docs/extraction.md"
    assert in_docs - in_code == set(), "documented, but nowhere in the code"
    assert len(in_code) > 60


@pytest.mark.parametrize(
    "line",
    [
        'raise ItemError("new_code", f"{name}: no.")',
        'raise damaged(ItemError(\n"new_code",\n"no"))',
        'ExtractionWarning(code="new_code", message=said)',
        'self._warn("new_code", said)',
        'mail.add_problem(name, None, "new_code", why)',
        '_problem(name, "new_code", why)',
        'problems.append(("new_code", f"{n} of them."))',
        'def f():\n    yield ("new_code", "One sentence.")',
        'def f():\n    return "new_code", message',
    ],
)
def test_a_code_is_found_however_it_is_written(line: str) -> None:
    assert set(codes_in(line)) == {"new_code"}


def test_every_format_is_in_the_table() -> None:
    """Each media type that is read has an extension, or its family, in the table of formats."""
    table = TEXT[TEXT.index("## What is read") : TEXT.index("The format is told by")].lower()
    names = {
        "jp2": "jpeg 2000",
        "eml": "e-mail",
        "txt": "plain text",
        "md": "markdown",
        "gz": "gzip",
    }
    for media_type in _READERS:
        extensions = [e.strip(".") for e, types in _BY_EXTENSION.items() if types[0] == media_type]
        extensions = extensions or [media_type.rpartition("/")[2]]
        shown = [names.get(extension, extension) for extension in extensions]
        assert any(name in table for name in shown), media_type
