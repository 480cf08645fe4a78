"""Whether a text layer says what its page shows, told from the text alone."""

from __future__ import annotations

from collections.abc import Sequence

from ingest.extract.text_line import TextLine


def is_unreadable(character: str) -> bool:
    """Say whether ``character`` is none: a control, private use, or U+FFFD."""
    code = ord(character)
    return code < 0x20 or 0x7F <= code < 0xA0 or 0xE000 <= code < 0xF900 or code == 0xFFFD


def suspicion(lines: Sequence[TextLine]) -> float:
    """Return how likely it is, 0 to 1, that the text is not what the page says."""
    text = "".join(word.text for line in lines for word in line.words)
    return sum(map(is_unreadable, text)) / len(text) if text else 0.0
