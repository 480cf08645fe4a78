from __future__ import annotations

import contextlib
import random
import string
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pymupdf
import pytest

from ingest.extract import text_page as text_pages
from ingest.extract.bidi import reading_order
from ingest.extract.text_layer import TextLayer, TextLine, read_text_layer
from ingest.extract.text_trust import suspicion

Draw = Callable[[pymupdf.Page], None]


def layer_of(page: pymupdf.Page) -> TextLayer:
    return read_text_layer(page, page.rotation, page.rect.width, page.rect.height)


def layer(draw: Draw, *, rotation: int = 0) -> TextLayer:
    with pymupdf.open() as document:
        page = document.new_page(width=400, height=300)
        draw(page)
        page.set_rotation(rotation)
        data = document.tobytes()
    with pymupdf.open(stream=data, filetype="pdf") as document:
        return layer_of(document[0])


def text(line: TextLine) -> str:
    return " ".join(word.text for word in line.words)


def texts(lines: tuple[TextLine, ...]) -> list[str]:
    return [text(line) for line in lines]


def hidden(found: TextLayer) -> dict[str, Any]:
    return {text(line): line.hidden for line in found.hidden}


# --- what the page does not show --------------------------------------------------------------


def test_text_without_ink_and_without_opacity_is_kept_apart() -> None:
    def draw(page: pymupdf.Page) -> None:
        page.insert_text((50, 50), "seen")
        page.insert_text((100, 50), "inkless", render_mode=3)
        page.insert_text((50, 80), "transparent", fill_opacity=0)
        page.insert_text((50, 110), "faint but there", fill_opacity=0.3)

    found = layer(draw)
    assert texts(found.lines) == ["seen", "faint but there"]
    assert hidden(found) == {"inkless": "invisible", "transparent": "transparent"}
    assert not found.over_image


def test_text_in_the_colour_of_its_background_is_kept_apart() -> None:
    def draw(page: pymupdf.Page) -> None:
        page.insert_text((50, 50), "white on paper", color=(1, 1, 1))
        page.draw_rect((45, 65, 200, 85), color=None, fill=(0, 0, 0.5))
        page.insert_text((50, 80), "white on blue", color=(1, 1, 1))
        page.draw_rect((45, 95, 200, 115), color=None, fill=(0, 0, 0))
        page.insert_text((50, 110), "black on black")
        page.draw_circle((280, 100), 60, color=None, fill=(0.6, 0, 0))
        page.insert_text((240, 100), "white on a disc", color=(1, 1, 1))
        page.insert_text((50, 140), "pale grey", color=(0.9, 0.9, 0.9))

    found = layer(draw)
    assert texts(found.lines) == ["white on blue", "white on a disc", "pale grey"]
    assert hidden(found) == {"white on paper": "unseen", "black on black": "unseen"}


def grey_image(page: pymupdf.Page, box: tuple[float, ...]) -> None:
    pixels = pymupdf.Pixmap(pymupdf.csRGB, pymupdf.IRect(0, 0, 40, 20), False)
    pixels.clear_with(180)
    page.insert_image(box, pixmap=pixels, keep_proportion=False)


def test_text_that_is_painted_over_is_kept_apart() -> None:
    def draw(page: pymupdf.Page) -> None:
        page.insert_text((50, 50), "blacked out")
        page.draw_rect((45, 35, 200, 55), color=None, fill=(0, 0, 0))
        page.insert_text((50, 80), "behind a picture")
        grey_image(page, (45, 65, 200, 85))
        page.insert_text((50, 110), "under glass")
        page.draw_rect((45, 95, 200, 115), color=None, fill=(1, 1, 0), fill_opacity=0.4)
        page.draw_rect((45, 125, 200, 145), color=None, fill=(0.8, 0.9, 1))
        page.insert_text((50, 140), "on a panel")
        page.insert_text((50, 170), "old terms")
        page.draw_rect((45, 155, 200, 175), color=None, fill=(1, 1, 1))
        page.insert_text((50, 170), "new words")

    found = layer(draw)
    assert texts(found.lines) == ["under glass", "on a panel", "new words"]
    assert hidden(found) == {
        "blacked out": "covered",
        "behind a picture": "covered",
        "old terms": "covered",
    }
    assert len(found.images) == 1
    assert found.images[0].opaque
    assert not found.over_image


def test_text_that_is_clipped_away_is_kept_apart() -> None:
    with pymupdf.open() as document:
        page = document.new_page(width=400, height=300)
        page.insert_text((50, 50), "cut here")
        page.insert_text((50, 100), "outside the clip")
        page.clean_contents()
        [xref] = page.get_contents()
        document.update_stream(xref, b"40 240 40 30 re W n " + document.xref_stream(xref))
        found = layer_of(document.reload_page(page))
    assert texts(found.lines) == ["cut here"]
    assert hidden(found) == {"outside the clip": "clipped"}


def test_a_layer_over_a_scan_is_known_for_one() -> None:
    def draw(page: pymupdf.Page) -> None:
        grey_image(page, tuple(page.rect))
        page.insert_text((50, 50), "what software read", render_mode=3)

    found = layer(draw)
    assert found.lines == ()
    assert found.over_image
    assert found.images[0].dpi == pytest.approx(40 / 400 * 72)


# --- glyphs -----------------------------------------------------------------------------------

TRULY_DOUBLE = "bookkeeper aa ll 11 Mississippi -- .. [[x]]"


@pytest.mark.parametrize("rotation", [0, 90])
@pytest.mark.parametrize("offset", [(0.3, 0), (0.6, 0.2), (1.2, 1.2), (0, -0.5)])
def test_words_that_are_drawn_twice_are_there_once(
    offset: tuple[float, float], rotation: int
) -> None:
    def draw(page: pymupdf.Page) -> None:
        for shift in (0, 1):
            point = (50 + shift * offset[0], 50 + shift * offset[1])
            page.insert_text(point, TRULY_DOUBLE, fontsize=14)
        page.insert_text((50, 80), TRULY_DOUBLE, fontsize=14)

    twice, once = layer(draw, rotation=rotation).lines
    assert text(twice) == text(once) == TRULY_DOUBLE
    for a, b in zip(twice.words, once.words, strict=True):
        for axis in (0, 1):
            grown = (a.box[axis + 2] - a.box[axis]) - (b.box[axis + 2] - b.box[axis])
            wanted = abs(offset[axis if rotation == 0 else 1 - axis])
            assert grown == pytest.approx(wanted, abs=0.03), "the box is the hull of both"


def test_letters_that_are_drawn_twice_are_there_once() -> None:
    def draw(page: pymupdf.Page) -> None:
        x = 50.0
        for letter in TRULY_DOUBLE:
            for shift in (0, 0.5):
                page.insert_text((x + shift, 50), letter, fontsize=14)
            x += pymupdf.get_text_length(letter, fontsize=14)

    assert texts(layer(draw).lines) == [TRULY_DOUBLE]


def typeset(text: str) -> TextLayer:
    """Write with fonts that have more than Latin-1."""
    return layer(lambda page: page.insert_htmlbox((40, 40, 390, 90), f"<p>{text}</p>"))


def test_blanks_of_all_kinds_end_words_where_they_stand() -> None:
    [line] = typeset("ten\u00a0thousand\u2009dollars\u2003and").lines
    assert text(line) == "ten thousand dollars and"
    for left, right in zip(line.words, line.words[1:], strict=False):
        assert left.box[2] <= right.box[0] + 0.02


def test_marks_are_composed_but_signs_keep_their_meaning() -> None:
    assert texts(typeset("e\u0301te\u0301 A\u030a \u2126 \u212b").lines) == ["été Å \u2126 \u212b"]


def test_ligatures_are_their_letters() -> None:
    assert texts(typeset("o\ufb03ce \ufb01nance").lines) == ["office finance"]


def test_a_hyphen_at_a_lines_end_can_be_taken_away_from_the_box() -> None:
    def draw(page: pymupdf.Page) -> None:
        page.insert_text((50, 50), "a well-known termi-", fontsize=14)
        page.insert_text((50, 70), "nation -", fontsize=14)
        page.insert_text((50, 90), "well-known termi", fontsize=14)

    first, second, third = layer(draw).lines
    *others, broken = first.words
    assert [word.bare_box for word in (*others, *second.words, *third.words)] == [None] * 6
    assert broken.bare_box is not None
    bare = third.words[-1].box
    hyphen = pymupdf.get_text_length("-", fontsize=14)
    assert broken.box[2] - broken.bare_box[2] == pytest.approx(hyphen, abs=0.05)
    assert broken.bare_box[2] - broken.bare_box[0] == pytest.approx(bare[2] - bare[0], abs=0.05)


def rawdict(line: str, *, size: float = 10.0) -> list[dict[str, Any]]:
    """Return blocks as MuPDF would for ``line``, each letter 5 points wide; "~" has no ink."""
    chars = []
    for number, letter in enumerate(line):
        top = 10.0 if letter == "~" or letter.isspace() else 3.0
        chars.append(
            {
                "c": "\u00ad" if letter in "~¬" else letter,
                "bbox": (5.0 * number, top, 5.0 * number + 5, 10.0),
                "synthetic": False,
            }
        )
    span = {"chars": chars, "size": size}
    return [{"number": 0, "lines": [{"spans": [span], "dir": (1.0, 0.0)}]}]


def test_soft_hyphens_are_hyphens_where_they_have_ink() -> None:
    from ingest.extract.glyphs import glyph_lines

    [(_, _, words)] = glyph_lines(rawdict("co~op re¬sign termi¬"))
    assert [word.text for word in words] == ["coop", "re-sign", "termi\u00ad"]
    assert [word.bare_box is None for word in words] == [True, True, False]
    assert words[-1].bare_box == (70.0, 3.0, 95.0, 10.0)


@pytest.mark.parametrize(
    ("placed", "leftward", "read"),
    [
        ("?םלוכ םולש המ", True, "מה שלום כולם?"),
        ("hello םולש world", False, "hello שלום world"),
        ("15 ףיעס", True, "סעיף 15"),
        ("2.500,75 לש םוכס", True, "סכום של 2.500,75"),
        ("םויהל Python 3.11 בתכנ", True, "נכתב Python 3.11 להיום"),
        ("(א) ףיעס", True, "סעיף (א)"),
        (")א( ףיעס", True, "סעיף (א)"),
        ("price 12 ILS", False, "price 12 ILS"),
    ],
)
def test_the_order_of_reading(placed: str, leftward: bool, read: str) -> None:
    assert "".join(part for _, part in reading_order(placed, leftward=leftward)) == read


def test_text_at_any_angle() -> None:
    def draw(page: pymupdf.Page) -> None:
        for number, angle in enumerate((0, 90, 180, 270)):
            page.insert_text((150 + 30 * number, 150), "turned words", rotate=angle)

    for rotation in (0, 90, 180, 270):
        lines = layer(draw, rotation=rotation).lines
        assert texts(lines) == ["turned words"] * 4
        # /Rotate is clockwise, insert_text turns the other way.
        wanted = [(rotation - angle) % 360 for angle in (0, 90, 180, 270)]
        assert [round(line.angle) % 360 for line in lines] == wanted
        assert [line.horizontal for line in lines] == [angle == 0 for angle in wanted]


def slanted(page: pymupdf.Page, text: str, size: float, opacity: float) -> None:
    writer = pymupdf.TextWriter(page.rect)
    writer.append((70, 160), text, fontsize=size)
    turn = (pymupdf.Point(200, 150), pymupdf.Matrix(30))
    writer.write_text(page, morph=turn, opacity=opacity)


def test_watermarks_are_told_from_titles_and_labels() -> None:
    def draw(page: pymupdf.Page) -> None:
        page.insert_text((40, 40), "Pale Title", fontsize=28, color=(0.8, 0.8, 0.8))
        for number in range(14):
            page.insert_text((40, 70 + 16 * number), "The parties agree to these terms here.")
        slanted(page, "CONFIDENTIAL", 40, 0.4)

    found = layer(draw)
    assert [text(line) for line in found.lines if line.watermark] == ["CONFIDENTIAL"]
    [mark] = [line for line in found.lines if line.watermark]
    assert not mark.horizontal
    assert abs(mark.angle) % 90 == pytest.approx(30, abs=1)

    def chart(page: pymupdf.Page) -> None:
        page.insert_text((40, 40), "Revenue by quarter", fontsize=11)
        slanted(page, "First quarter", 11, 1)

    assert not any(line.watermark for line in layer(chart).lines)


# --- real pages -------------------------------------------------------------------------------

DIGITAL = (
    "pdf_reports/*.pdf",
    "contracts_nda_pdf/0*.pdf",
    "pdf_nasty/issue-*.pdf",
    "pdf_nasty/right_to_left_0*.pdf",
    "pdf_nasty/*rotated*.pdf",
    "pdf_nasty/tracemonkey.pdf",
    "pdf_nasty/ti89*.pdf",
    "pdf_nasty/senate*.pdf",
    "pdf_nasty/noembed*.pdf",
)


def pages(corpus: Path, patterns: tuple[str, ...], each: int = 3) -> Iterator[Any]:
    for pattern in patterns:
        for path in sorted(corpus.glob(pattern)):
            try:
                document = pymupdf.open(path)
            except RuntimeError:
                continue
            with document:
                for number in range(0 if document.needs_pass else min(each, len(document))):
                    with contextlib.suppress(pymupdf.mupdf.FzErrorBase):
                        yield f"{path.name} {number + 1}", document[number]


def bare(text: str) -> Counter[str]:
    """Count the letters, whatever their order; brackets may be mirrored, marks composed."""
    plain = "".join(")" if letter in "()" else letter for letter in text)
    letters = unicodedata.normalize("NFD", plain.replace("\u00ad", "").replace("\u200b", ""))
    return Counter(letter for letter in letters if letter.isprintable())


def test_glyphs_in_the_box_of_a_word_spell_the_word(corpus: Path) -> None:
    words = wrong = 0
    for name, page in pages(corpus, DIGITAL):
        glyphs = [
            (char["c"], char["bbox"])
            for block in text_pages.text_page(page.get_displaylist(annots=0)).extractRAWDICT()[
                "blocks"
            ]
            for line in block["lines"]
            for span in line["spans"]
            for char in span["chars"]
            if not char["c"].isspace()
        ]
        boxes = np.array([box for _, box in glyphs]).reshape(-1, 4)
        x, y = (boxes[:, 0] + boxes[:, 2]) / 2, (boxes[:, 1] + boxes[:, 3]) / 2
        for line in layer_of(page).lines:
            for word in line.words:
                x0, y0, x1, y1 = word.box
                inside = (x0 <= x) & (x <= x1) & (y0 <= y) & (y <= y1)
                found = bare("".join(glyphs[index][0] for index in np.flatnonzero(inside)))
                words += 1
                missing = bare(word.text) - found
                assert not missing or x1 >= page.rect.width or x0 <= 0, (name, word)
                wrong += found != bare(word.text)
    assert words > 25_000
    # What is more than the word's own: letters drawn twice, and indices below exponents.
    assert wrong / words < 0.002


def test_words_and_glyphs_give_the_same_lines(
    corpus: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The fast way and the careful way must not differ where both may be taken."""
    compared = 0
    for name, page in pages(corpus, ("pdf_reports/*.pdf", "contracts_nda_pdf/0*.pdf"), 2):
        size = page.rect.width, page.rect.height
        source = text_pages.text_page(page.get_displaylist(annots=0))
        fast = text_pages.read_lines(source, *size)
        careful = text_pages._by_glyphs(source, *size)
        assert texts(tuple(fast.lines)) == texts(tuple(careful.lines)), name
        for a, b in zip(fast.lines, careful.lines, strict=True):
            assert replace(a, words=()) == replace(b, words=()), name
            for one, other in zip(a.words, b.words, strict=True):
                compared += 1
                assert one.box[1::2] == pytest.approx(other.box[1::2], abs=0.011)
    assert compared > 5_000


# --- trust ------------------------------------------------------------------------------------


def test_only_bad_text_layers_are_suspected(corpus: Path) -> None:
    bad = {
        "TAMReview.pdf 2",
        "TAMReview.pdf 3",
        "non_ascii_text.pdf 1",
        "non_ascii_text.pdf 2",
        "non_ascii_text.pdf 3",
        "truetype_font_nomapping.pdf 1",
        "type3_font_nomapping.pdf 1",
    }
    good = ("[!T]*[!g].pdf", "T*.pdf", "n*.pdf", "t*.pdf")
    suspected = {}
    for name, page in pages(corpus, (*(f"pdf_nasty/{p}" for p in good), "pdf_reports/*.pdf")):
        suspected[name] = layer_of(page).suspicion
    assert {name for name, value in suspected.items() if value >= 0.5} == bad
    assert {name for name, value in suspected.items() if value > 0.31} == bad


def test_a_layer_of_guessed_letters_is_suspected(corpus: Path) -> None:
    with pymupdf.open(corpus / "pdf_nasty/handwriting_bad_ocr.pdf") as document:
        assert suspicion(layer_of(document[0]).hidden) > 0.9


def changed(lines: tuple[TextLine, ...], change: Callable[[str], str]) -> tuple[TextLine, ...]:
    return tuple(
        replace(line, words=tuple(word._replace(text=change(word.text)) for word in line.words))
        for line in lines
    )


def test_codes_ciphers_and_mojibake_are_suspected(corpus: Path) -> None:
    with pymupdf.open(corpus / "pdf_nasty/sample_contract.pdf") as document:
        lines = layer_of(document[0]).lines
    assert suspicion(lines) < 0.05
    codes = changed(lines, lambda word: "".join(chr(33 + ord(c) * 7 % 90) for c in word))
    assert suspicion(codes) > 0.5
    reverse = str.maketrans(string.ascii_lowercase, string.ascii_lowercase[::-1])
    assert suspicion(changed(lines, lambda word: word.translate(reverse))) > 0.5
    german = changed(lines, lambda word: word.replace("e", "ü").encode().decode("cp1252"))
    assert suspicion(german) > 0.5


def test_numbers_code_and_other_scripts_are_not_suspected() -> None:
    rng = random.Random(0)
    table = [
        f"{rng.randint(-999, 9999):,}.{rng.randint(0, 99):02} ({rng.random():.1%})"
        for _ in range(300)
    ]
    code = "for (int i = 0; i < n; ++i) { sum[i] += rate[i] * of->size; } return f(sum, &n); // ok "
    samples = {
        "table": " ".join(table),
        "code": code * 20,
        "Chinese": "合同条款第七条任何一方均可提前九十天书面通知终止本协议" * 10,
        "Thai": "คู่สัญญาฝ่ายใดฝ่ายหนึ่งอาจบอกเลิกสัญญานี้ได้ " * 20,
        "Arabic": "يجوز لأي من الطرفين إنهاء هذه الاتفاقية بإشعار كتابي " * 20,
        "Russian": "Любая из сторон может расторгнуть настоящий договор, уведомив другую. " * 20,
        "Polish": "Każda ze stron może wypowiedzieć niniejszą umowę na piśmie, z zachowaniem. "
        * 20,
        "dashes": "---- .... ____ **** – — • " * 50,
    }
    for name, sample in samples.items():
        [line] = layer(lambda page: page.insert_text((50, 50), "x")).lines
        words = tuple(line.words[0]._replace(text=word) for word in sample.split())
        assert suspicion((replace(line, words=words),)) < 0.2, name
