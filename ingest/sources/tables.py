"""CSV files read record by record, each with its exact text and its place in the file."""

from __future__ import annotations

import codecs
import csv
import io
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import BinaryIO

from ingest.errors import ConfigurationError, RetriableError

DELIMITERS = ",;\t|"
_SAMPLE_BYTES = 1 << 20
_BOMS = (  # UTF-32 first: its little-endian mark starts with that of UTF-16
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)


@dataclass(frozen=True, slots=True)
class Row:
    """One record. ``fault`` says why its cells cannot be trusted, if they can't."""

    number: int
    """From 1, the header not counted."""
    line: int
    """Line of the file at which it starts, from 1."""
    cells: tuple[str, ...]
    fault: str | None
    text: str
    """Its own lines, exactly as they stand in the file."""
    offset: int
    size: int
    """Where those lines are in the file, in bytes."""

    def __str__(self) -> str:
        return f"row {self.number} (line {self.line})"


@dataclass(frozen=True, slots=True)
class Table:
    """An open CSV file: its header, and its records for one pass."""

    name: str
    encoding: str
    delimiter: str
    header: Row
    rows: Iterator[Row]

    def column(self, name: str) -> int:
        """Return the index of the column called ``name``.

        Raises:
            ConfigurationError: there is none, or several.
        """
        found = [index for index, cell in enumerate(self.header.cells) if cell == name]
        if len(found) == 1:
            return found[0]
        if found:
            numbers = ", ".join(str(index + 1) for index in found)
            raise ConfigurationError(
                "column_ambiguous",
                f"{self.name}: the column {name!r} is there {len(found)} times (columns {numbers})."
                " Rename all but one in the export.",
            )
        raise ConfigurationError(
            "column_missing",
            f"{self.name}: there is no column {name!r}. Its columns are "
            f"{', '.join(map(repr, self.header.cells))}. Correct the source's configuration, or "
            "its delimiter and encoding if these look wrong.",
        )


@contextmanager
def open_table(
    name: str,
    open_stream: Callable[[], BinaryIO],
    *,
    wanted: Collection[str],
    encoding: str | None = None,
    delimiter: str | None = None,
    max_chars: int = 1 << 29,
) -> Iterator[Table]:
    """Open a CSV file (RFC 4180, with any of the usual delimiters and newlines).

    The encoding is UTF-8 with or without BOM, UTF-16 or UTF-32 by BOM, else Latin-1, if none is
    given. The delimiter is the one that finds most of the ``wanted`` columns, if none is given.
    Cells may be at most ``max_chars`` long. Records are read as they are asked for.

    Raises:
        ConfigurationError: there is no header, or the encoding is wrong, also during the pass.
        RetriableError: the file ends inside a cell, so it may still be being written.
    """
    # The csv module has one limit for the whole process, so it is only ever raised.
    csv.field_size_limit(max(csv.field_size_limit(), max_chars))
    with open_stream() as stream:
        codec, start = find_encoding(stream, encoding)
        if delimiter is None:
            stream.seek(start)
            sample = stream.read(_SAMPLE_BYTES)
            try:
                decoded = codecs.getincrementaldecoder(codec)().decode(sample)
            except UnicodeDecodeError as error:
                raise _wrong_encoding(name, codec, error) from error
            delimiter = _find_delimiter(decoded, wanted)
        stream.seek(start)
        with io.TextIOWrapper(stream, encoding=codec, newline="") as text:
            yield _table(name, text, codec, delimiter, start)


def find_encoding(stream: BinaryIO, declared: str | None) -> tuple[str, int]:
    """Return the codec of ``stream`` and the number of bytes of its byte order mark."""
    head = stream.read(4)
    marked = next(((codec, len(bom)) for bom, codec in _BOMS if head.startswith(bom)), None)
    if declared is None:
        return marked or ("utf-8" if _is_utf8(head, stream) else "latin-1", 0)
    codec = codecs.lookup(declared).name.removesuffix("-sig")
    if marked and marked[0].startswith(codec):
        return marked
    return (f"{codec}-le" if codec in ("utf-16", "utf-32") else codec), 0


def _is_utf8(head: bytes, stream: BinaryIO) -> bool:
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        decoder.decode(head)
        while piece := stream.read(1 << 20):
            decoder.decode(piece)
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return False
    return True


def _find_delimiter(sample: str, wanted: Collection[str]) -> str:
    def score(delimiter: str) -> tuple[int, int]:
        reader = csv.reader(io.StringIO(sample, newline=""), delimiter=delimiter)
        try:
            header = next((cells for cells in reader if cells), [])
        except csv.Error:
            return 0, 0
        return len(set(wanted) & set(header)), len(header)

    return max(DELIMITERS, key=score)


def _wrong_encoding(name: str, codec: str, error: UnicodeDecodeError) -> ConfigurationError:
    return ConfigurationError(
        "encoding_wrong",
        f"{name}: it is not in {codec}: {error.reason}. Set the source's encoding to the one that "
        "the export is written in, or leave it out to have it found.",
    )


def _table(name: str, text: io.TextIOWrapper, codec: str, delimiter: str, start: int) -> Table:
    records = _records(name, text, codec, delimiter, start)
    header = next(records, None)
    if header is None:
        raise ConfigurationError(
            "header_missing",
            f"{name}: there is no header row, since it is empty. Export it again with its header.",
        )
    if header.fault:
        raise ConfigurationError(
            "header_unreadable",
            f"{name}: its header row cannot be read: {header.fault}. Correct the export.",
        )
    return Table(name, codec, delimiter, header, _checked(records, len(header.cells)))


def _checked(records: Iterator[Row], columns: int) -> Iterator[Row]:
    for row in records:
        if row.fault is None and len(row.cells) != columns:
            fault = f"it has {len(row.cells)} cells where the header has {columns}"
            yield replace(row, fault=fault)
        else:
            yield row


def _records(
    name: str, text: io.TextIOWrapper, codec: str, delimiter: str, start: int
) -> Iterator[Row]:
    """Yield the records that are not blank, the header as number 0."""
    taken: list[str] = []

    def lines() -> Iterator[str]:
        for line in text:
            taken.append(line)
            yield line

    reader = csv.reader(lines(), delimiter=delimiter, strict=True)
    number, line, offset = 0, 1, start
    while True:
        taken.clear()
        cells: list[str] = []
        fault = None
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            if "unexpected end of data" in str(error):
                raise RetriableError(
                    "export_incomplete",
                    f"{name}: it ends inside a quoted cell of row {number} (line {line}). If it is "
                    "still being written, it is read again later; otherwise close the quote.",
                ) from error
            fault = f"{error}, in lines {line} to {line + len(taken) - 1}"
        except UnicodeDecodeError as error:
            raise _wrong_encoding(name, codec, error) from error
        own = "".join(taken)
        size = len(own.encode(codec, "replace"))
        if cells or fault:
            yield Row(number, line, tuple(cells), fault, own, offset, size)
            number += 1
        line += len(taken)
        offset += size
