from __future__ import annotations

import io
import struct
import zlib

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
from ingest.extract import extract, images
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


@pytest.mark.parametrize("format_", ["TIFF", "PNG", "JPEG", "BMP"])
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
    with pytest.raises(ItemError) as caught:
        extract(data[:20], name="cut", settings=FAST)
    assert caught.value.code == "damaged"


@pytest.mark.parametrize("format_", ["PNG", "JPEG"])
def test_of_a_truncated_image_the_beginning_is_read(format_: str, picture: Image.Image) -> None:
    data = image_bytes(picture, format_, dpi=(200, 200))
    extraction = read(data[: int(len(data) * 0.6)], f"cut.{format_.lower()}")
    assert "image_truncated" in codes(extraction)
    assert SENTENCE in extraction.text


@pytest.mark.parametrize("compression", ["group4", "jpeg", "tiff_lzw", "tiff_adobe_deflate", "raw"])
@pytest.mark.parametrize("big", [False, True])
def test_tiffs_of_every_kind(compression: str, big: bool, picture: Image.Image) -> None:
    image = picture.convert("1") if compression == "group4" else picture
    data = image_bytes(
        image,
        "TIFF",
        compression=None if compression == "raw" else compression,
        dpi=(200, 200),
        big_tiff=big,
    )
    extraction = read(data, "scan.tif")
    assert SENTENCE in extraction.text
    assert extraction.warnings == ()


def test_in_a_tiff_white_may_be_zero(picture: Image.Image, truth: Extraction) -> None:
    for image in (picture, picture.convert("1")):
        data = image_bytes(image, "TIFF", tiffinfo={262: 0}, dpi=(200, 200))
        with Image.open(io.BytesIO(data)) as stored:
            assert stored.tag_v2[262] == 0
        assert SENTENCE in read(data, "fax.tif").text


@pytest.mark.parametrize("format_", ["JPEG2000", "HEIF", "AVIF", "WEBP", "GIF"])
def test_formats_that_state_no_resolution(format_: str, picture: Image.Image) -> None:
    extraction = read(image_bytes(picture.convert("RGB"), format_), "scan")
    assert SENTENCE in extraction.text
    assert codes(extraction) == ["resolution_assumed"]


def test_frames_of_an_animation_are_no_pages(picture: Image.Image) -> None:
    other = picture.rotate(180)
    data = image_bytes(picture, "GIF", save_all=True, append_images=[other, picture])
    extraction = read(data, "moving.gif")
    assert len(extraction.pages) == 1
    assert sorted(codes(extraction)) == ["frames_left_out", "resolution_assumed"]


def test_reduced_copies_in_a_tiff_are_no_pages(picture: Image.Image) -> None:
    small = picture.resize((picture.width // 8, picture.height // 8))
    small.encoderinfo = {"tiffinfo": {254: 1}}
    data = image_bytes(picture, "TIFF", save_all=True, append_images=[small], dpi=(200, 200))
    assert len(read(data, "pyramid.tif").pages) == 1


def test_a_broken_page_of_a_tiff_keeps_its_number(picture: Image.Image) -> None:
    data = bytearray(
        image_bytes(
            picture,
            "TIFF",
            save_all=True,
            append_images=[picture, picture],
            compression="tiff_adobe_deflate",
            dpi=(200, 200),
        )
    )
    with Image.open(io.BytesIO(data)) as image:
        image.seek(1)
        for start, length in zip(image.tag_v2[273], image.tag_v2[279], strict=True):
            data[start : start + length] = b"\xff" * length
    extraction = read(bytes(data), "fax.tif")
    assert [page.text_source for page in extraction.pages] == ["ocr", "none", "ocr"]
    assert [(w.code, w.page) for w in extraction.warnings] == [
        ("page_unreadable", 2),
        ("page_without_text", 2),
    ]


@pytest.mark.parametrize(
    ("pixels", "dpi", "assumed"),
    [
        ((1654, 2339), (200, 200), False),
        ((2000, 2590), (96, 96), True),  # 53 cm wide: written by software that didn't know
        ((626, 1237), (96, 96), False),  # a receipt, as it is on the screen
        ((794, 1123), (96, 96), False),  # A4 as it is on the screen
        ((3300, 2550), (72, 72), True),
        ((1728, 1100), (204, 98), False),  # a fax
    ],
)
def test_which_resolutions_are_plausible(
    pixels: tuple[int, int], dpi: tuple[int, int], assumed: bool
) -> None:
    frame = Image.new("L", pixels)
    frame.info["dpi"] = dpi
    x, y, told = images._resolution(frame)
    assert told is assumed
    assert (x, y) == (dpi if not assumed else pytest.approx((min(pixels) / 8.27,) * 2))


def test_a_very_wide_image_is_read_smaller(picture: Image.Image) -> None:
    line = picture.crop((100, 130, 1166, 180))
    wide = Image.new("L", (200_000, 400), 255)
    wide.paste(line.resize((line.width * 5, line.height * 5)), (1_000, 60))
    extraction = read(image_bytes(wide, "PNG", compress_level=1), "wide.png")
    assert SENTENCE in extraction.text


@pytest.mark.parametrize("format_", ["PNG", "JPEG2000", "BMP"])
def test_what_claims_to_be_huge_is_refused_before_it_is_decoded(
    format_: str, picture: Image.Image
) -> None:
    data = bytearray(image_bytes(picture.convert("RGB"), format_))
    if format_ == "PNG":
        data[16:24] = struct.pack(">II", 100_000, 100_000)
        data[29:33] = struct.pack(">I", zlib.crc32(data[12:29]))
    elif format_ == "BMP":
        data[18:26] = struct.pack("<ii", 100_000, 100_000)
    else:
        place = data.index(b"ihdr")
        data[place + 4 : place + 12] = struct.pack(">II", 100_000, 100_000)
    with pytest.raises(ItemError) as caught:
        extract(bytes(data), name="bomb", settings=FAST)
    assert caught.value.code == "image_too_large"


def test_a_picture_without_words() -> None:
    with pytest.raises(ItemError) as caught:
        extract(image_bytes(Image.new("L", (300, 300), 255), "PNG"), name="a.png", settings=FAST)
    assert caught.value.code == "no_text"
