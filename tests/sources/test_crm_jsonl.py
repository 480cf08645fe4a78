"""Exports with one JSON object a line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from source_kit import Whole, connector, keys, problems

from ingest.errors import ConfigurationError, ItemError, RetriableError
from ingest.extract import extract
from ingest.settings import ExtractionSettings
from schemas.source import Item


def jsonl(folder: Path, data: bytes, **source: Any) -> Whole:
    (folder / "crm.jsonl").write_bytes(data)
    given = {"address": "crm.jsonl", "key": "id", "text": ["note"], **source}
    return connector(folder, connector="jsonl", **given)


def read(source: Whole, item: Item) -> list[tuple[str, str, str]]:
    """Return row, field and text of what extraction makes of an item."""
    fetched = source.fetch(item)
    found = extract(
        fetched.data,
        name=item.source_key,
        media_type=fetched.media_type,
        options=item.options,
        settings=ExtractionSettings(),
    )
    assert found.pages == ()
    return [
        (str(e.row), str(e.field), found.text[e.char_start : e.char_end]) for e in found.elements
    ]


def test_fields_are_found_inside_objects_and_keep_row_and_name(tmp_path: Path) -> None:
    record = {
        "id": 7,
        "properties": {"name": "Årø AS", "tags": ["a", "b"], "sum": 1.5, "won": True},
        "Account Name": "Wexmarch",
        "nothing": None,
    }
    source = jsonl(
        tmp_path,
        json.dumps(record).encode() + b"\r\n",
        text=[
            "properties.name",
            "properties.tags",
            "properties.sum",
            "properties.won",
            "Account Name",
        ],
        title="properties.name",
    )
    (item,) = source.list().items
    assert (item.source_key, item.title) == ("7", "Årø AS")
    assert read(source, item) == [
        ("7", "properties.name", "Årø AS"),
        ("7", "properties.tags", "a\nb"),
        ("7", "properties.sum", "1.5"),
        ("7", "properties.won", "true"),
        ("7", "Account Name", "Wexmarch"),
    ]


def test_bytes_are_the_line_as_it_stands(tmp_path: Path) -> None:
    line = b'{"note":  "zwei \\u00dc" , "id":"a","note2":1}'
    source = jsonl(tmp_path, b"\xef\xbb\xbf" + line + b"\n\n  \n")
    (item,) = source.list().items
    assert source.fetch(item).data == line


def test_what_is_wrong_with_a_line_costs_that_line(tmp_path: Path) -> None:
    source = jsonl(
        tmp_path,
        b'{"id": "a", "note": "x", "on": "2026-01-01"}\n'
        b"{broken}\n"
        b"[1]\n"
        b'{"note": "nameless"}\n'
        b'{"id": "a", "note": "again"}\n'
        b'{"id": "b", "note": "y", "on": "31/01/2026"}\n'
        b'{"id": "c", "note": "z"}\n',
        date="on",
    )
    listing = source.list()
    assert keys(listing) == ["a", "c"]
    assert problems(listing) == [
        ("line 2", "line_unreadable"),
        ("line 3", "line_unreadable"),
        ("line 4", "key_missing"),
        ("line 5", "key_duplicate"),
        ("b", "date_invalid"),
    ]


def test_a_file_that_ends_inside_a_line_is_read_again_later(tmp_path: Path) -> None:
    with pytest.raises(RetriableError) as caught:
        jsonl(tmp_path, b'{"id": "a", "note": "x"}\n{"id": "b", "no').list()
    assert caught.value.code == "export_incomplete"
    assert keys(jsonl(tmp_path, b'{"id": "a", "note": "x"}').list()) == ["a"]


def test_a_field_that_no_record_has_is_a_wrong_configuration(tmp_path: Path) -> None:
    data = b'{"id": "a", "note": "x"}\n{"id": "b"}\n'
    assert keys(jsonl(tmp_path, data).list()) == ["a", "b"]
    with pytest.raises(ConfigurationError, match="'body'"):
        jsonl(tmp_path, data, text=["note", "body"]).list()


def test_an_export_that_was_replaced_still_gives_its_records(tmp_path: Path) -> None:
    rows = [json.dumps({"id": key, "note": f"note {key}"}).encode() + b"\n" for key in "abc"]
    source = jsonl(tmp_path, b"".join(rows))
    items = source.list().items
    (tmp_path / "crm.jsonl").write_bytes(b"".join(reversed(rows[1:])))
    assert [source.fetch(item).data for item in items[1:]] == [row.strip() for row in rows[1:]]
    with pytest.raises(ItemError):
        source.fetch(items[0])


def test_utf_16_is_refused_with_advice(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="UTF-8"):
        jsonl(tmp_path, '{"id": "a"}\n'.encode("utf-16")).list()
