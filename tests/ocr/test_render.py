from __future__ import annotations

import numpy as np
import pymupdf
import pytest
from PIL import Image

from ocr.render import MAX_SIDE, PixelMap, RenderedPage, render, rendering_dpi

MANY = 10**9


def test_the_resolution_is_never_below_the_scans_own_nor_above_the_limits() -> None:
    assert rendering_dpi(612, 792, wanted=300, embedded=0, max_pixels=MANY) == 300
    assert rendering_dpi(612, 792, wanted=300, embedded=150, max_pixels=MANY) == 300
    assert rendering_dpi(612, 792, wanted=300, embedded=400, max_pixels=MANY) == 400
    capped = rendering_dpi(612, 792, wanted=300, embedded=1200, max_pixels=1_000_000)
    assert (612 * capped / 72) * (792 * capped / 72) == pytest.approx(1_000_000)
    skinny = rendering_dpi(234, 14_295, wanted=300, embedded=0, max_pixels=MANY)
    assert 14_295 * skinny / 72 == pytest.approx(MAX_SIDE)


def turned_page(document: pymupdf.Document, rotation: int) -> tuple[pymupdf.Page, list[float]]:
    """Make a cropped, turned page, and say where its black box stands as displayed."""
    page = document.new_page(width=400, height=300)
    page.draw_rect(pymupdf.Rect(60, 50, 120, 70), color=None, fill=(0, 0, 0))
    page.set_cropbox(pymupdf.Rect(50, 40, 350, 240))
    page.set_rotation(rotation)
    corners = {
        0: [10, 10, 70, 30],
        90: [170, 10, 190, 70],
        180: [230, 170, 290, 190],
        270: [10, 230, 30, 290],
    }
    return page, corners[rotation]


def ink(rendered: RenderedPage) -> tuple[float, float, float, float]:
    ys, xs = np.nonzero(np.asarray(rendered.image) < 128)
    return rendered.pixel_map.to_points((xs.min(), ys.min(), xs.max() + 1, ys.max() + 1))


@pytest.mark.parametrize("rotation", [0, 90, 180, 270])
def test_pages_are_rendered_as_displayed(rotation: int) -> None:
    with pymupdf.open() as document:
        page, box = turned_page(document, rotation)
        rendered = render(page, wanted_dpi=150, max_pixels=MANY)
    assert rendered.image.mode == "L"
    assert not rendered.blank
    expected = (300, 200) if rotation in (0, 180) else (200, 300)
    assert rendered.pixel_map.to_points((0, 0, *rendered.image.size)) == pytest.approx(
        (0, 0, *expected), abs=0.5
    )
    assert ink(rendered) == pytest.approx(box, abs=1)


@pytest.mark.parametrize("rotation", [0, 90, 180, 270])
def test_a_part_of_a_page_knows_where_it_lies(rotation: int) -> None:
    with pymupdf.open() as document:
        page, (x0, y0, x1, y1) = turned_page(document, rotation)
        area = (x0 - 6.3, y0 - 4.7, x1 + 5, y1 + 5)
        rendered = render(page, area, wanted_dpi=200, max_pixels=MANY)
    shown = rendered.pixel_map.to_points((0, 0, *rendered.image.size))
    assert shown == pytest.approx(area, abs=0.4)
    assert ink(rendered) == pytest.approx((x0, y0, x1, y1), abs=0.5)


def test_pixels_and_points_are_inverse() -> None:
    pixel_map = PixelMap((0.24, 0.48), (10.0, 20.0))
    assert pixel_map.to_points((0, 0, 100, 100)) == (10, 20, 34, 68)
    assert pixel_map.to_pixels((10, 20, 34, 68)) == pytest.approx((0, 0, 100, 100))


def test_a_blank_page_is_known_by_its_pixels() -> None:
    white = Image.new("L", (50, 50), 255)
    assert RenderedPage(white, 72, PixelMap((1, 1))).blank
    white.putpixel((3, 3), 254)
    assert not RenderedPage(white, 72, PixelMap((1, 1))).blank


def test_known_words_are_painted_over_in_the_colour_around_them() -> None:
    paper = Image.new("L", (100, 60), 200)
    paper.paste(20, (10, 10, 40, 22))
    paper.paste(20, (60, 40, 90, 52))
    paper.paste(120, (0, 30, 100, 60))
    paper.paste(20, (60, 40, 90, 52))
    rendered = RenderedPage(paper, 72, PixelMap((1, 1)))
    left = rendered.without([(9, 9, 41, 23), (-20, -20, -5, -5), (95, 55, 200, 200)])
    assert left.image.getpixel((20, 15)) == 200
    assert left.image.getpixel((70, 45)) == 20
    both = left.without([(59, 39, 91, 53)])
    assert set(np.unique(np.asarray(both.image))) == {120, 200}
    assert rendered.image.getpixel((20, 15)) == 20, "the image itself stays as it was"


def test_contrast_inside_a_box() -> None:
    paper = Image.new("L", (100, 60), 250)
    paper.paste(0, (10, 10, 40, 22))
    rendered = RenderedPage(paper, 72, PixelMap((1, 1)))
    assert rendered.contrast((12, 12, 38, 20)) == 0, "blacked out"
    assert rendered.contrast((60, 30, 80, 40)) == 0, "empty"
    assert rendered.contrast((5, 5, 45, 25)) == 250
    assert rendered.contrast((200, 200, 220, 220)) == 0, "outside"
