from __future__ import annotations

import numpy as np
import pytest

from ocr.routing import (
    PictureArea,
    covered_share,
    holds_text,
    merged,
    trusts_layer,
    untrusted,
    word_share,
)

PROSE = "Either party may terminate this Agreement (as amended) on 90 days' notice to McKinsey Inc."


@pytest.mark.parametrize(
    ("characters", "unreadable", "suspicion", "expected"),
    [
        (0, 0, 0.0, False),
        (2000, 0, 0.0, False),
        (2000, 100, 0.0, False),
        (2000, 500, 0.0, True),
        (30, 20, 0.0, True),
        (2000, 0, 1.0, True),
    ],
)
def test_a_text_layer_of_what_is_no_text_is_not_trusted(
    characters: int, unreadable: int, suspicion: float, expected: bool
) -> None:
    found = untrusted(characters=characters, unreadable=unreadable, suspicion=suspicion)
    assert found is expected


def test_strips_and_tiles_make_one_picture_and_decorations_none() -> None:
    strips = [PictureArea((0, y, 400, y + 50), 200.0 + y) for y in (100, 0, 200, 50, 150)]
    bullet, logo = PictureArea((0, 300, 9, 309), 96), PictureArea((350, 300, 420, 330), 96)
    photo = PictureArea((20, 400, 200, 600), 150)
    areas = merged([bullet, *strips, logo, photo], 400, 800)
    assert sorted(area.box for area in areas) == [(0, 0, 400, 250), (20, 400, 200, 600)]
    assert {area.dpi for area in areas} == {400.0, 150}


def test_pictures_are_cut_to_the_page() -> None:
    beside = PictureArea((900, 0, 990, 99), 9)
    areas = merged([PictureArea((-50, -50, 300, 900), 100), beside], 200, 300)
    assert areas == [PictureArea((0, 0, 200, 300), 100)]


def letters(rows: int, columns: int, upright: bool = True) -> np.ndarray:
    boxes = [
        (10 + 9 * column, 10 + 20 * row, 16 + 9 * column, 20 + 20 * row)
        for row in range(rows)
        for column in range(columns)
    ]
    array = np.array(boxes, dtype=float).reshape(-1, 4)
    return array if upright else array[:, [1, 0, 3, 2]]


@pytest.mark.parametrize("upright", [True, False])
def test_letters_stand_in_lines(upright: bool) -> None:
    assert holds_text(letters(2, 6, upright))
    assert holds_text(letters(1, 9, upright))
    assert not holds_text(letters(1, 5, upright))
    assert not holds_text(letters(0, 0, upright))


def test_leaves_do_not() -> None:
    random = np.random.default_rng(7)
    corners = random.uniform(0, 1000, (120, 2))
    leaves = np.hstack([corners, corners + random.uniform(4, 40, (120, 2))])
    assert not holds_text(leaves)


@pytest.mark.parametrize(
    ("text", "low", "high"),
    [
        (PROSE, 1.0, 1.0),
        ("Die Kündigungsfrist beträgt 3 Monate – §§ 5, 7 bleiben unberührt.", 1.0, 1.0),
        ("契約 は 平成 30年 に", 1.0, 1.0),
        ("14:30 $1,200.50 12/31/2024 3rd (b) 4.2.1", 1.0, 1.0),
        ("9 N o r t h B u o n a V i s t a D r i v e", 0.0, 0.3),
        (".A.:01.6e.e. 0-e-el-k- 1/1.e_atinc24451a.y, WI.GL,41.44-gta*Air. 4A144:44.", 0.0, 0.5),
        ("البيانات، تحليلية، أيضًا بناءً", 1.0, 1.0),
        ("– • & §", 1.0, 1.0),
        ("&»“«■' .■. ; * ‘", 0.0, 0.0),
    ],
)
def test_words_are_told_from_bad_ocr_by_their_shape(text: str, low: float, high: float) -> None:
    assert low <= word_share(text.split()) <= high


def test_the_share_of_letters_under_words() -> None:
    components = letters(2, 10)
    first_line = np.array([[10.0, 10, 97, 20]])
    assert covered_share(first_line, components) == 0.5
    assert covered_share(np.array([[0.0, 0, 200, 60]]), components) == 1.0
    assert covered_share(np.empty((0, 4)), components) == 0.0


def test_an_ocr_layer_must_read_well_and_lie_on_all_of_the_ink() -> None:
    words = PROSE.split()
    assert trusts_layer(words, covered=0.95, inked=1.0)
    assert not trusts_layer(words, covered=0.5, inked=1.0)
    assert not trusts_layer(words, covered=0.95, inked=0.5)
    assert not trusts_layer([*"9North"], covered=0.95, inked=1.0)
