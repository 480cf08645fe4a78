"""Readings as bytes, for the cache."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

from pydantic import TypeAdapter, ValidationError

from ocr.engine import OcrWord
from schemas.document import BoxTuple, Recognition

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ocr.engine import OcrEngine

_WORDS = TypeAdapter(tuple[OcrWord, ...])


def cache_key(image_sha256: str, dpi: float, engines: Sequence[OcrEngine], rules: str) -> str:
    """Return the SHA-256 of all that decides what a reading will be.

    Args:
        image_sha256: of the image's size and pixels.
        dpi: its resolution.
        engines: that may read it, in order, with the version and languages of each.
        rules: version of the rules by which readings are made and chosen.

    Raises:
        EngineUnavailableError: the first engine or a language of it is not installed.
    """
    named = [[e.name, e.version, getattr(e, "languages", None)] for e in engines]
    return hashlib.sha256(json.dumps([image_sha256, dpi, named, rules]).encode()).hexdigest()


def encode_reading(words: tuple[OcrWord, ...], record: Recognition) -> bytes:
    """Return a reading as JSON in UTF-8."""
    parts: dict[str, Any] = {
        "words": _WORDS.dump_python(words),
        "record": record.model_dump(mode="json"),
    }
    return json.dumps(parts, ensure_ascii=False, separators=(",", ":")).encode()


def decode_reading(data: bytes, box: BoxTuple) -> tuple[tuple[OcrWord, ...], Recognition] | None:
    """Return the words and the record, of the area ``box``; None where the bytes hold no reading.

    The same picture can stand in several places, so the area is not part of what is stored.
    """
    try:
        parts = json.loads(data)
        words = _WORDS.validate_python(parts["words"])
        record = Recognition.model_validate({**parts["record"], "box": box})
    except (ValueError, KeyError, TypeError, ValidationError):
        return None
    return words, record
