"""CSV: every cell is a field of the text, exact, with its row and column.

The text is cell values alone, joined by a newline inside a row and by an empty line between rows.
Column names are in each element's ``field``, never in the text.
"""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Iterator, Sequence

from ingest.errors import ItemError
from ingest.extract.decode import decode
from ingest.extract.draft import Draft, SourceBytes, TextBuilder, damaged
from ingest.extract.media import TSV
from schemas.document import Element, ExtractionWarning

_DELIMITERS = ",;\t|"
_SAMPLE_RECORDS = 50
_SAMPLE_CHARACTERS = 100_000


def read_csv(source: SourceBytes) -> Draft:
    """Read delimited text whose first record names the columns.

    Options: ``text`` (columns that make the text, in this order; all of them by default), ``key``
    (column that names a row), ``title`` (column that titles the document), ``delimiter``,
    ``encoding``. The delimiter is found among comma, semicolon, tab and bar where none is given.

    Raises:
        ItemError: column_missing, damaged.
    """
    options = source.options
    text, warnings = decode(source.data, options.get("encoding"))
    delimiter = options.get("delimiter") or (
        "\t" if source.media_type == TSV else find_delimiter(text)
    )
    # The csv module's own limit of 128 KiB a cell would refuse long notes.
    csv.field_size_limit(source.settings.limits.characters)
    try:
        records = list(_records(text, delimiter))
    except csv.Error as error:
        raise damaged(source.name, f"as CSV: {error}") from error
    columns = column_names(records[0]) if records else []
    wanted = _wanted(source, columns)
    key = _index(source, columns, options.get("key"))
    title_column = _index(source, columns, options.get("title"))

    builder = TextBuilder()
    elements: list[Element] = []
    title = None
    ragged: list[int] = []
    for number, cells in enumerate(records[1:], start=1):
        if len(cells) != len(columns):
            ragged.append(number)
        # A key that is missing or blank cannot name the row; its number always can.
        name = _cell(cells, key).strip() or str(number)
        if title is None:
            title = _cell(cells, title_column).strip() or None
        surplus = range(len(columns), len(cells)) if "text" not in options else ()
        first = True
        for column in (*wanted, *surplus):
            cell = _cell(cells, column)
            if not cell.strip():
                continue
            builder.separate("\n\n" if first else "\n")
            first = False
            start, end = builder.add(cell)
            field = columns[column] if column < len(columns) else f"column {column + 1}"
            elements.append(
                Element(kind="field", char_start=start, char_end=end, row=name, field=field)
            )
    if ragged:
        warnings.append(_ragged_warning(ragged, len(columns)))
    return Draft(
        text=builder.text,
        body_end=builder.length,
        elements=elements,
        warnings=warnings,
        title=title,
    )


def find_delimiter(text: str) -> str:
    """Return the delimiter that gives the first records the same number of cells, and the most."""

    def fit(delimiter: str) -> tuple[float, int]:
        widths: list[int] = []
        try:
            for cells in _records(text[:_SAMPLE_CHARACTERS], delimiter):
                widths.append(len(cells))
                if len(widths) == _SAMPLE_RECORDS:
                    break
        except csv.Error:
            return 0.0, 0
        if not widths or widths[0] < 2:
            return 0.0, 0
        return widths.count(widths[0]) / len(widths), widths[0]

    # max() keeps the first of equals, so a single column is read with a comma.
    return max(_DELIMITERS, key=fit)


def column_names(header: Sequence[str]) -> list[str]:
    """Name the columns: blank headers by position, repeated ones with a number behind."""
    names: list[str] = []
    seen: Counter[str] = Counter()
    for position, cell in enumerate(header, start=1):
        name = cell.strip() or f"column {position}"
        seen[name] += 1
        unique = name if seen[name] == 1 else f"{name} ({seen[name]})"
        while unique in names:
            seen[name] += 1
            unique = f"{name} ({seen[name]})"
        names.append(unique)
    return names


def _records(text: str, delimiter: str) -> Iterator[list[str]]:
    """Yield the records that are not empty lines; newlines inside cells stay as they are."""
    for cells in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter):
        if cells:
            yield cells


def _wanted(source: SourceBytes, columns: list[str]) -> list[int]:
    names = source.options.get("text")
    if names is None:
        return list(range(len(columns)))
    return [index for name in names if (index := _index(source, columns, name)) is not None]


def _index(source: SourceBytes, columns: list[str], name: str | None) -> int | None:
    if name is None:
        return None
    if name not in columns:
        raise ItemError(
            "column_missing",
            f"{source.name}: there is no column {name!r}; it has {', '.join(columns) or 'none'}. "
            "Correct the source's columns or its delimiter in sources.yaml, then retry the item.",
        )
    return columns.index(name)


def _cell(cells: list[str], column: int | None) -> str:
    return cells[column] if column is not None and column < len(cells) else ""


def _ragged_warning(rows: list[int], columns: int) -> ExtractionWarning:
    named = ", ".join(map(str, rows[:10])) + ", …" * (len(rows) > 10)
    return ExtractionWarning(
        code="ragged_row",
        message=f"{len(rows)} rows do not have the header's {columns} cells: {named}.",
    )
