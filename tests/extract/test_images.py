from __future__ import annotations

import pytest
from extract.checks import (
    FAST,
    codes,
    image_bytes,
    iou,
    limited,
    page_image,
    read,
    text_pdf,
    word_text,
)
from PIL import ExifTags, Image

from ingest.errors import ItemError
from ingest.extract import extract
from schemas.document import Extraction

SENTENCE = "This Agreement is made between the Supplier"


@pytest.fixture(scope="module")
def truth() -> Extraction:
    return read(text_pdf(), "digital.pdf")


@pytest.fixture(scope="module")
def picture() -> Image.Image:
    return page_image(text_pdf(), 200).convert("L")


def overlap(scan: Extraction, truth: Extraction) -> float:
    assert [word_text(scan, w) for w in scan.words] == [word_text(truth, w) for w in truth.words]
    overlaps = [iou(a.box, b.box) for a, b in zip(truth.words, scan.words, strict=True)]
    return sum(overlaps) / len(overlaps)


@pytest.mark.parametrize("format_", ["TIFF", "PNG", "JPEG"])
def test_words_stand_where_they_do_on_the_digital_page(
    format_: str, picture: Image.Image, truth: Extraction
) -> None:
    scan = read(image_bytes(picture, format_, dpi=(200, 200)), f"scan.{format_.lower()}")
    [page] = scan.pages
    assert (page.width, page.height) == pytest.approx((420, 300), abs=0.5)
    assert (page.text_source, page.rotation) == ("ocr", 0)
    assert overlap(scan, truth) > 0.75
    assert scan.warnings == ()


def test_every_frame_of_a_tiff_is_a_page(picture: Image.Image) -> None:
    blank = Image.new("L", picture.size, 255)
    data = image_bytes(
        picture, "TIFF", save_all=True, append_images=[blank, picture], dpi=(200, 200)
    )
    extraction = read(data, "fax.tif")
    assert [page.text_source for page in extraction.pages] == ["ocr", "none", "ocr"]
    assert {word.page for word in extraction.words} == {1, 3}
    with pytest.raises(ItemError) as caught:
        extract(data, name="fax.tif", settings=limited(pages=2))
    assert caught.value.code == "too_many_pages"


def test_pixels_that_are_not_square(picture: Image.Image, truth: Extraction) -> None:
    squeezed = picture.resize((picture.width, picture.height // 2), Image.Resampling.LANCZOS)
    scan = read(image_bytes(squeezed, "TIFF", dpi=(200, 100)), "fax.tif")
    assert (scan.pages[0].width, scan.pages[0].height) == pytest.approx((420, 300), abs=1)
    assert overlap(scan, truth) > 0.6


@pytest.mark.parametrize(("orientation", "turn"), [(3, 180), (6, 90), (8, 270)])
def test_exif_orientation(
    orientation: int, turn: int, picture: Image.Image, truth: Extraction
) -> None:
    exif = Image.Exif()
    exif[ExifTags.Base.Orientation] = orientation
    stored = picture.rotate(turn, expand=True)
    scan = read(image_bytes(stored, "JPEG", dpi=(200, 200), exif=exif), "photo.jpg")
    assert scan.pages[0].rotation == turn
    assert (scan.pages[0].width, scan.pages[0].height) == pytest.approx((420, 300), abs=0.5)
    assert overlap(scan, truth) > 0.75


@pytest.mark.parametrize("dpi", [None, (1, 1), (72, 72)])
def test_a_missing_or_implausible_resolution_is_assumed_from_a4(
    dpi: tuple[int, int] | None,
) -> None:
    page = page_image(text_pdf(size=(595, 842)), 300).convert("L")
    extraction = read(image_bytes(page, "PNG", **({"dpi": dpi} if dpi else {})), "scan.png")
    assert codes(extraction) == ["resolution_assumed"]
    assert (extraction.pages[0].width, extraction.pages[0].height) == pytest.approx(
        (595, 842), abs=2
    )
    assert SENTENCE in extraction.text


@pytest.mark.parametrize("mode", ["1", "P", "RGBA", "LA", "CMYK", "I;16"])
def test_modes_of_pixels(mode: str, picture: Image.Image) -> None:
    if mode in ("RGBA", "LA"):  # ink on nothing: what is transparent is paper
        ink = Image.eval(picture, lambda value: 255 - value)
        image = Image.new("L", picture.size, 0).convert(mode)
        image.putalpha(ink)
    elif mode == "I;16":
        image = Image.frombytes(
            "I;16",
            picture.size,
            b"".join(bytes((0, value)) for value in picture.tobytes()),
        )
    else:
        image = picture.convert(mode)
    format_ = "TIFF" if mode in ("CMYK", "I;16") else "PNG"
    extraction = read(image_bytes(image, format_, dpi=(200, 200)), f"scan.{format_.lower()}")
    assert SENTENCE in extraction.text


def test_over_the_limit_of_pixels_pages_are_read_smaller_and_bombs_refused(
    picture: Image.Image, truth: Extraction
) -> None:
    data = image_bytes(picture, "PNG", dpi=(200, 200))
    pixels = picture.width * picture.height
    scan = read(data, "scan.png", limited(pixels_per_page=pixels // 2))
    assert overlap(scan, truth) > 0.6
    with pytest.raises(ItemError) as caught:
        extract(data, name="bomb.png", settings=limited(pixels_per_page=pixels // 9))
    assert caught.value.code == "image_too_large"


@pytest.mark.parametrize("format_", ["TIFF", "PNG", "JPEG"])
def test_damaged_images(format_: str, picture: Image.Image) -> None:
    data = image_bytes(picture, format_)
    for cut in (20, len(data) // 2):
        with pytest.raises(ItemError) as caught:
            extract(data[:cut], name="cut", settings=FAST)
        assert caught.value.code == "damaged"


def test_a_picture_without_words() -> None:
    with pytest.raises(ItemError) as caught:
        extract(image_bytes(Image.new("L", (300, 300), 255), "PNG"), name="a.png", settings=FAST)
    assert caught.value.code == "no_text"
