"""Which pages go through OCR."""

from __future__ import annotations

from typing import Literal

Reason = Literal["no_text", "text_beside_scan", "unreadable_text"]

FEW_CHARACTERS = 200
"""A stamp, a running head and a page number together seldom have more."""
SCAN_SHARE = 0.5
"""An image over this share of the page may be a scan of it."""
UNREADABLE_SHARE = 0.3


def needs_ocr(*, characters: int, unreadable: int, image_share: float) -> Reason | None:
    """Say why a page should be recognised; None if its text layer serves.

    Args:
        characters: non-blank characters of the text layer on the page.
        unreadable: those of them that are no character: U+FFFD, controls, private use.
        image_share: share of the page that images cover, 0 to 1.
    """
    if characters == 0:
        return "no_text"
    if unreadable > UNREADABLE_SHARE * characters:
        return "unreadable_text"
    if characters < FEW_CHARACTERS and image_share >= SCAN_SHARE:
        return "text_beside_scan"
    return None


def prefer_recognised(reason: Reason, *, characters: int, recognised: int) -> bool:
    """Say whether recognised words replace the text layer.

    Beside a scan they do only where they found much more: on a page that is a picture with a
    caption, the caption's own letters are better than recognised ones.
    """
    if reason == "text_beside_scan":
        return recognised >= 2 * characters
    return recognised > 0
