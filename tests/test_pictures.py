"""Pictures of passages: their marks are where the ink is, and it stays readable."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pymupdf
import pytest
from paged import PASSAGE, Case, extraction_of, lines_of, make_case, make_pdf, point_at
from PIL import Image
from points import payload

from ingest.errors import ItemError
from ingest.pictures import draw_page, draw_text
from ingest.proof import draw_passage
from schemas.base import sha256_bytes
from schemas.chunk import PageBox
from schemas.document import Extraction, Page
from schemas.payload import Payload

Pixels = np.ndarray
SCALE = 110 / 72
LINE = 16 * SCALE
"""Pixels from one line of a made page to the next."""


@pytest.fixture
def case(tmp_path: Path) -> Case:
    return make_case(tmp_path)


def pixels(png: bytes) -> Pixels:
    assert png.startswith(b"\x89PNG")
    return np.asarray(Image.open(io.BytesIO(png)).convert("RGB")).astype(int)


def yellow(image: Pixels) -> Pixels:
    """Return where paper was marked."""
    red, green, blue = image[..., 0], image[..., 1], image[..., 2]
    return (red > 240) & (green > 200) & (blue < 160)


def red_ink(image: Pixels) -> Pixels:
    """Return where the passage is printed, by its colour."""
    red, green, blue = image[..., 0], image[..., 1], image[..., 2]
    return (red > 190) & (green < 90) & (blue < 90)


def black_ink(image: Pixels) -> Pixels:
    return image.max(axis=-1) < 90


def hull(where: Pixels) -> tuple[int, int, int, int]:
    rows, columns = np.where(where)
    return columns.min(), rows.min(), columns.max(), rows.max()


def assert_mark_is_on_the_red_ink(png: bytes) -> None:
    """The mark covers the red passage closely, leaves it readable, and leaves the rest alone."""
    image = pixels(png)
    ink, mark = hull(red_ink(image)), hull(yellow(image))
    assert red_ink(image).sum() > 300
    # Around the ink on every side, and by less than half a line's height.
    for near, far, outwards in zip(ink, mark, (-1, -1, 1, 1), strict=True):
        assert 0 <= (far - near) * outwards <= LINE / 2, (ink, mark)
    left, top, right, bottom = mark
    inside = np.zeros(image.shape[:2], dtype=bool)
    inside[top - 2 : bottom + 3, left - 2 : right + 3] = True
    assert black_ink(image)[~inside].sum() > 100
    assert not black_ink(image)[inside].any()
    assert (image[~inside].max(axis=-1) - image[~inside].min(axis=-1)).max() < 12, "grey outside"


def passage_of(extraction: Extraction) -> Payload:
    start = extraction.text.index(PASSAGE[0])
    end = extraction.text.index(PASSAGE[1]) + len(PASSAGE[1])
    return point_at(extraction, start, end)


# --- pages ----------------------------------------------------------------------------------


@pytest.mark.parametrize("crop", [None, (40, 60, 400, 280)])
@pytest.mark.parametrize("rotation", [0, 90, 180, 270])
def test_the_mark_is_on_the_words_however_the_page_is_turned(
    rotation: int, crop: tuple[float, float, float, float] | None
) -> None:
    data = make_pdf(lines_of("Above it", "Below it"), rotation=rotation, crop=crop)
    extraction = extraction_of(data)
    point = passage_of(extraction)
    (picture,) = draw_passage(data, extraction, point)
    assert picture.suffix == "-p1"
    assert_mark_is_on_the_red_ink(picture.png)
    height, width = pixels(picture.png).shape[:2]
    page = extraction.pages[0]
    assert (width, height) == pytest.approx((page.width * SCALE, page.height * SCALE), abs=1)
    assert (width < height) == (rotation in (90, 270))


def test_a_passage_over_two_pages_gets_a_picture_of_each(case: Case) -> None:
    pictures = draw_passage(case.data, case.extraction, case.passage)
    assert [picture.suffix for picture in pictures] == ["-p1", "-p2"]
    for picture in pictures:
        assert yellow(pixels(picture.png)).sum() > 2_000
    first, second = (pixels(picture.png) for picture in pictures)
    # On the first page the passage starts below the heading, on the second it ends above the last
    # line: there the paper stays white.
    assert not yellow(first)[: round(110 * SCALE)].any()
    assert not yellow(second)[round(168 * SCALE) :].any()


def test_a_point_drawn_twice_is_the_same_picture(case: Case) -> None:
    assert draw_passage(case.data, case.extraction, case.passage) == draw_passage(
        case.data, case.extraction, case.passage
    )


def test_dpi_sets_the_size(case: Case) -> None:
    (page, *_) = case.extraction.pages
    for dpi in (72, 144):
        png = draw_page(case.data, "application/pdf", page, case.passage.boxes, dpi=dpi)
        assert Image.open(io.BytesIO(png)).size == (420 * dpi // 72, 300 * dpi // 72)


def test_a_poster_is_drawn_small_enough() -> None:
    document = pymupdf.open()
    page = document.new_page(width=14_000, height=9_000)
    page.insert_text((1000, 4000), "Poster", fontsize=800)
    data = document.tobytes()
    extraction = extraction_of(data)
    (picture,) = draw_passage(data, extraction, point_at(extraction, 0, 6))
    width, height = Image.open(io.BytesIO(picture.png)).size
    assert width * height <= 8_100_000
    assert width / height == pytest.approx(14 / 9, rel=0.01)
    assert yellow(pixels(picture.png)).any()


def test_a_mark_shows_on_dark_ground_and_the_text_stays_light() -> None:
    document = pymupdf.open()
    page = document.new_page(width=300, height=100)
    page.draw_rect(page.rect, fill=(0.05, 0.1, 0.25), color=None)
    page.insert_text((30, 60), "White on dark", fontsize=20, color=(1, 1, 1))
    data = document.tobytes()
    extraction = extraction_of(data)
    (picture,) = draw_passage(data, extraction, point_at(extraction, 0, 8))
    image = pixels(picture.png)
    box = extraction.words[0].box
    inside = image[round(box[1] * SCALE) : round(box[3] * SCALE), round(box[0] * SCALE) : 100]
    assert inside.max() > 230
    ground, plain = np.median(inside.reshape(-1, 3), axis=0), image[5, 5]
    assert ground[0] > plain[0] + 15, "the mark lightens dark ground towards yellow"


# --- images ---------------------------------------------------------------------------------

DISPLAYED = {
    1: None,
    3: Image.Transpose.ROTATE_180,
    6: Image.Transpose.ROTATE_90,
    8: Image.Transpose.ROTATE_270,
}
"""EXIF orientation, and the turn that makes stored pixels of displayed ones."""


def scanned(rotation: int = 0) -> tuple[Image.Image, Extraction]:
    """Return a page as pixels at 144 dpi, and its extraction in points of the displayed page."""
    data = make_pdf(lines_of("Above it", "Below it"), rotation=rotation)
    with pymupdf.open(stream=data, filetype="pdf") as document:
        pixmap = document[0].get_pixmap(dpi=144)
    frame = Image.frombytes("RGB", (pixmap.width, pixmap.height), pixmap.samples)
    return frame, extraction_of(data)


def saved(frame: Image.Image, kind: str, **options: Any) -> bytes:
    stream = io.BytesIO()
    frame.save(stream, kind, **options)
    return stream.getvalue()


@pytest.mark.parametrize("orientation", sorted(DISPLAYED))
@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("JPEG", {"quality": 95, "subsampling": 0}),
        ("PNG", {}),
        ("TIFF", {"compression": "tiff_lzw"}),
    ],
)
def test_an_image_is_drawn_as_displayed(
    orientation: int, kind: str, options: dict[str, Any]
) -> None:
    frame, extraction = scanned()
    turn = DISPLAYED[orientation]
    stored = frame if turn is None else frame.transpose(turn)
    exif = Image.Exif()
    exif[0x0112] = orientation
    data = saved(stored, kind, exif=exif, **options)
    extraction = extraction.model_copy(update={"media_type": f"image/{kind.lower()}"})
    (picture,) = draw_passage(data, extraction, passage_of(extraction))
    assert_mark_is_on_the_red_ink(picture.png)


def test_the_right_frame_of_a_tiff_is_drawn() -> None:
    frame, extraction = scanned()
    blank = Image.new("RGB", frame.size, "white")
    data = saved(blank, "TIFF", save_all=True, append_images=[frame])
    page = extraction.pages[0].model_copy(update={"number": 2})
    boxes = [box.model_copy(update={"page": 2}) for box in passage_of(extraction).boxes]
    assert_mark_is_on_the_red_ink(draw_page(data, "image/tiff", page, boxes))


def test_a_fax_with_pixels_that_are_not_square_gets_its_shape_back() -> None:
    frame, extraction = scanned()
    squeezed = frame.resize((frame.width, frame.height // 2))
    png = draw_page(
        saved(squeezed, "PNG"), "image/png", extraction.pages[0], passage_of(extraction).boxes
    )
    assert Image.open(io.BytesIO(png)).size == (round(420 * SCALE), round(300 * SCALE))
    assert hull(yellow(pixels(png)))[1] == pytest.approx(118 * SCALE, abs=6)


def test_an_image_is_never_blown_up() -> None:
    page = Page(number=1, width=2000, height=1000, rotation=0, text_source="ocr")
    data = saved(Image.new("RGB", (400, 200), "white"), "PNG")
    assert Image.open(io.BytesIO(draw_page(data, "image/png", page, []))).size == (400, 200)


@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "RGBA", "CMYK", "I;16"])
def test_every_kind_of_pixel_is_drawn(mode: str) -> None:
    white = {"LA": (255, 0), "RGBA": (0, 0, 0, 0), "CMYK": (0, 0, 0, 0), "I;16": 65535}
    frame = Image.new(mode, (60, 40), white.get(mode, 255 if mode != "1" else 1))
    if mode == "P":
        frame = Image.new("RGB", frame.size, "white").convert("P")
    kind = "TIFF" if mode == "CMYK" else "PNG"
    page = Page(number=1, width=60, height=40, rotation=0, text_source="ocr")
    box = PageBox(page=1, x0=10, y0=10, x1=30, y1=20)
    image = pixels(draw_page(saved(frame, kind), f"image/{kind.lower()}", page, [box]))
    assert yellow(image)[12:18, 12:28].all()
    assert (image[30:, 40:] > 250).all()


def test_sixteen_bit_grey_is_scaled_and_not_clipped() -> None:
    page = Page(number=1, width=40, height=40, rotation=0, text_source="ocr")
    data = saved(Image.new("I;16", (40, 40), 0x4000), "PNG")
    assert pixels(draw_page(data, "image/png", page, [])).mean() == pytest.approx(0x40, abs=2)


@pytest.mark.parametrize(
    ("data", "media_type"),
    [
        (b"not a PDF", "application/pdf"),
        (b"not an image", "image/png"),
        (b"", "image/tiff"),
    ],
)
def test_bytes_that_cannot_be_drawn_say_so(data: bytes, media_type: str) -> None:
    page = Page(number=1, width=600, height=800, rotation=0, text_source="digital")
    with pytest.raises(ItemError) as caught:
        draw_page(data, media_type, page, [])
    assert caught.value.code == "picture_failed"


# --- text without pages ----------------------------------------------------------------------

LETTER = "Dear Sir,\n\nwe confirm <b>the order</b> & await delivery.\n\nYours\n"


def test_text_is_drawn_with_the_passage_marked_and_context_around_it() -> None:
    start = LETTER.index("we confirm")
    image = pixels(draw_text(LETTER, start, start + 20))
    left, top, right, bottom = hull(yellow(image))
    assert right - left > 80
    assert image[top:bottom, left:right].min() < 60, "ink on the mark"
    assert (image[:top] < 200).any(), "context before"
    assert (image[bottom + 1 :] < 200).any(), "context after"


def test_markup_in_the_text_is_text() -> None:
    plain = pixels(draw_text("x" * 30, 0, 30)).shape
    text = "<h1>big</h1><img src='x'/></p>"
    assert len(text) == 30
    assert pixels(draw_text(text, 0, 30)).shape == plain
    assert yellow(pixels(draw_text(text, 0, 30))).sum() > 2_000


@pytest.mark.parametrize(
    "text",
    [
        "Ελληνικά Русский 中文 日本語 한국어 العربية עברית हिन्दी ไทย 😀 ½ é",
        "control \x00\x01\x0b\x0c\x1f\x7f\x85\u2028 characters \ufffe\uffff",
        "\r\nlines\rof every\nkind\r\n\r\n",
        "   \t indented\ttabbed   ",
        "one-unbroken-word" * 200,
        "\n" * 500,
        "x",
    ],
)
def test_any_text_can_be_drawn(text: str) -> None:
    image = pixels(draw_text(text, 0, len(text)))
    assert image.shape[1] == pytest.approx(540 * SCALE, abs=1)
    assert image.shape[0] < 6_200
    if text.strip():
        left, _, right, _ = hull(yellow(image))
        assert 20 < left < right < image.shape[1] - 20, "wrapped inside the margins"


def test_long_context_is_cut() -> None:
    around = "word " * 5_000
    height = pixels(draw_text(around + "HERE" + around, len(around), len(around) + 4)).shape[0]
    assert height < 800


def test_a_passage_of_a_format_without_pages_has_one_picture() -> None:
    extraction = Extraction(
        media_type="text/csv",
        extractor_version="1",
        doc_sha256=sha256_bytes(LETTER.encode()),
        text=LETTER,
        body_end=len(LETTER),
    )
    point = payload(LETTER[:9])
    (picture,) = draw_passage(LETTER.encode(), extraction, point)
    assert picture.suffix == ""
    assert yellow(pixels(picture.png)).any()
