from __future__ import annotations

import io

import numpy as np
import pymupdf
import pytest
from PIL import Image

from ocr.render import (
    MAX_SIDE,
    RenderedPage,
    embedded_dpi,
    image_coverage,
    render_page,
    rendering_dpi,
)

MANY = 10**9


def png(width: int, height: int) -> bytes:
    buffer = io.BytesIO()
    Image.new("L", (width, height), 90).save(buffer, "PNG")
    return buffer.getvalue()


def test_the_resolution_is_never_below_the_scans_own_nor_above_the_limits() -> None:
    assert rendering_dpi(612, 792, wanted=300, embedded=0, max_pixels=MANY) == 300
    assert rendering_dpi(612, 792, wanted=300, embedded=150, max_pixels=MANY) == 300
    assert rendering_dpi(612, 792, wanted=300, embedded=400, max_pixels=MANY) == 400
    capped = rendering_dpi(612, 792, wanted=300, embedded=1200, max_pixels=1_000_000)
    assert (612 * capped / 72) * (792 * capped / 72) == pytest.approx(1_000_000)
    skinny = rendering_dpi(234, 14_295, wanted=300, embedded=0, max_pixels=MANY)
    assert 14_295 * skinny / 72 == pytest.approx(MAX_SIDE)


@pytest.mark.parametrize("rotation", [0, 90, 180, 270])
def test_images_on_a_page(rotation: int) -> None:
    with pymupdf.open() as document:
        page = document.new_page(width=400, height=800)
        assert (image_coverage(page), embedded_dpi(page)) == (0, 0)
        page.insert_image(pymupdf.Rect(0, 0, 30, 30), stream=png(300, 300))
        assert embedded_dpi(page) == 0, "a logo says nothing about the page"
        page.insert_image(pymupdf.Rect(0, 400, 400, 800), stream=png(800, 800), keep_proportion=0)
        page.set_rotation(rotation)
        assert image_coverage(page) == pytest.approx(0.5, abs=0.01)
        assert embedded_dpi(page) == pytest.approx(144)


@pytest.mark.parametrize("rotation", [0, 90, 180, 270])
def test_pages_are_rendered_as_displayed(rotation: int) -> None:
    with pymupdf.open() as document:
        page = document.new_page(width=400, height=300)
        page.draw_rect(pymupdf.Rect(60, 50, 120, 70), fill=(0, 0, 0))
        page.set_cropbox(pymupdf.Rect(50, 40, 350, 240))
        page.set_rotation(rotation)
        rendered = render_page(page, wanted_dpi=150, max_pixels=MANY)
    assert rendered.image.mode == "L"
    assert not rendered.blank
    expected = (300, 200) if rotation in (0, 180) else (200, 300)
    assert rendered.to_points((0, 0, *rendered.image.size)) == pytest.approx(
        (0, 0, *expected), abs=0.5
    )
    ys, xs = np.nonzero(np.asarray(rendered.image) < 128)
    ink = rendered.to_points((xs.min(), ys.min(), xs.max() + 1, ys.max() + 1))
    corners = {
        0: (10, 10, 70, 30),
        90: (170, 10, 190, 70),
        180: (230, 170, 290, 190),
        270: (10, 230, 30, 290),
    }
    assert ink == pytest.approx(corners[rotation], abs=1)


def test_a_blank_page_is_known_by_its_pixels() -> None:
    white = Image.new("L", (50, 50), 255)
    assert RenderedPage(white, 72, (1, 1)).blank
    white.putpixel((3, 3), 254)
    assert not RenderedPage(white, 72, (1, 1)).blank
