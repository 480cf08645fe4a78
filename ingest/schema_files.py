"""The JSON Schema files in schemas/json: made from the models, for editors and for other tools.

``python -m ingest.schema_files`` writes them anew.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ingest.configuration import json_schemas
from schemas.document import Extraction
from schemas.payload import Payload

FOLDER = Path(__file__).parents[1] / "schemas" / "json"
_DIALECT = "https://json-schema.org/draft/2020-12/schema"


def schema_texts() -> dict[str, str]:
    """Return the files' contents by name."""
    schemas: dict[str, dict[str, Any]] = {
        **json_schemas(),
        # As they are written, with every field there.
        "payload.schema.json": Payload.model_json_schema(mode="serialization"),
        "extraction.schema.json": Extraction.model_json_schema(mode="serialization"),
    }
    return {
        name: json.dumps({"$schema": _DIALECT, **schema}, indent=2, ensure_ascii=False) + "\n"
        for name, schema in schemas.items()
    }


def main() -> None:
    """Write the files."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, text in schema_texts().items():
        (FOLDER / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
