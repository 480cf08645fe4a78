from __future__ import annotations

import pytest

from ocr.routing import needs_ocr, prefer_recognised


@pytest.mark.parametrize(
    ("characters", "unreadable", "image_share", "reason"),
    [
        (0, 0, 0.0, "no_text"),
        (0, 0, 1.0, "no_text"),
        (30, 0, 1.0, "text_beside_scan"),
        (30, 0, 0.1, None),
        (2000, 0, 1.0, None),
        (2000, 100, 0.0, None),
        (2000, 1500, 0.0, "unreadable_text"),
        (30, 20, 1.0, "unreadable_text"),
    ],
)
def test_which_pages_go_through_ocr(
    characters: int, unreadable: int, image_share: float, reason: str | None
) -> None:
    found = needs_ocr(characters=characters, unreadable=unreadable, image_share=image_share)
    assert found == reason


def test_the_text_layer_stays_unless_ocr_found_much_more() -> None:
    assert prefer_recognised("no_text", characters=0, recognised=1)
    assert not prefer_recognised("no_text", characters=0, recognised=0)
    assert prefer_recognised("unreadable_text", characters=100, recognised=20)
    assert not prefer_recognised("text_beside_scan", characters=100, recognised=120)
    assert prefer_recognised("text_beside_scan", characters=100, recognised=200)
