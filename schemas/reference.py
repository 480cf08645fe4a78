"""Reference pages of the documentation, derived from the models so that they cannot disagree."""

from __future__ import annotations

from typing import Any

from schemas.payload import Payload, payload_indexes


def payload_table() -> str:
    """Return the fields of a point's payload as a Markdown table: name, type, index, meaning."""
    schema = Payload.model_json_schema(mode="serialization")
    indexes = payload_indexes()
    lines = ["| field | type | index | meaning |", "|---|---|---|---|"]
    for name, field in schema["properties"].items():
        meaning = " ".join(field.get("description", "").split())
        parts = {kind for key, kind in indexes.items() if key.startswith(f"{name}[].")}
        index = indexes.get(name) or "".join(f"{kind}, of each part" for kind in parts)
        lines.append(f"| `{name}` | {_type(field, schema['$defs'])} | {index} | {meaning} |")
    return "\n".join(lines) + "\n"


def _type(field: dict[str, Any], definitions: dict[str, Any]) -> str:
    """Name a field's JSON type in a word or two."""
    if "$ref" in field:
        name = field["$ref"].rpartition("/")[2]
        return "object: " + ", ".join(definitions[name]["properties"])
    if "enum" in field:
        return " or ".join(f'"{value}"' for value in field["enum"])
    if "anyOf" in field:
        return " or ".join(_type(option, definitions) for option in field["anyOf"])
    if field.get("type") == "array":
        return f"list of {_type(field['items'], definitions)}"
    if field.get("format") == "date-time":
        return "date-time"
    return str(field["type"])
