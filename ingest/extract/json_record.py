"""A record as a JSON object: every field is a run of the text, with its record and its name.

The text is the values as `json_values.text_of` shows them, joined by a newline. Names are in each
element's ``field``, never in the text.
"""

from __future__ import annotations

import json
from typing import Any

from ingest.errors import ItemError
from ingest.extract.decode import decode
from ingest.extract.draft import Draft, SourceBytes, TextBuilder, damaged
from ingest.json_values import text_of, value_at
from schemas.document import Element


def read_json_record(source: SourceBytes) -> Draft:
    """Read one JSON object.

    Options: ``text`` (fields that make the text, in this order, as `json_values.value_at` takes
    them; by default all that the object has), ``key`` (field that names the record), ``title``
    (field that titles the document).

    Raises:
        ItemError: damaged; unsupported_format where it is JSON, but no object.
    """
    options = source.options
    text, warnings = decode(source.data)
    try:
        record: Any = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise damaged(source.name, f"as JSON: {error}") from error
    if not isinstance(record, dict):
        raise ItemError(
            "unsupported_format",
            f"{source.name}: it is JSON, but no object with fields. Export one object a record, "
            "or convert it to text in its source, then retry the item.",
        )
    row = text_of(value_at(record, options["key"])).strip() if options.get("key") else ""
    builder = TextBuilder()
    elements: list[Element] = []
    for name in options.get("text", record):
        value = text_of(value_at(record, name))
        if not value.strip():
            continue
        builder.separate("\n")
        start, end = builder.add(value)
        elements.append(
            Element(kind="field", char_start=start, char_end=end, row=row or "1", field=name)
        )
    title = text_of(value_at(record, options["title"])).strip() if options.get("title") else ""
    return Draft(
        text=builder.text,
        body_end=builder.length,
        elements=elements,
        warnings=warnings,
        title=title or None,
    )
