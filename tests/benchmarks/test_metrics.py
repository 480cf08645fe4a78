"""The checker, checked: known differences give known counts."""

from __future__ import annotations

import math
import random

import pytest

from benchmarks.extract.metrics import Boxed, BoxScore, TextScore, iou, score_boxes, score_text


def line(text: str, *, x: float = 50.0, y: float = 100.0, letter: float = 6.0) -> list[Boxed]:
    """Set ``text`` in letters of one width, a box a word."""
    words: list[Boxed] = []
    for word in text.split(" "):
        width = letter * len(word)
        words.append(Boxed(word, (x, y, x + width, y + 10.0)))
        x += width + letter
    return words


def page() -> list[Boxed]:
    return [
        *line("The supplier delivers within", y=100),
        *line("fourteen days of the order -", y=114),
        *line("unless it is 12.5% late.", y=128),
    ]


def test_a_perfect_reading() -> None:
    truth = page()
    shuffled = random.Random(1).sample(truth, len(truth))
    for reading in (truth, shuffled):
        score = score_boxes(truth, reading)
        assert score.distance == score.word_distance == score.missing == score.inserted == 0
        assert score.character_error_rate == score.word_error_rate == 0.0
        assert score.right_share == 1.0
        assert score.iou == pytest.approx(1.0)
        assert score.characters == sum(len(word.text) for word in truth)
        assert score.words == len(truth)


def test_nothing_read_is_all_missing() -> None:
    score = score_boxes(page(), [])
    assert score.character_error_rate == score.missing_share == score.word_error_rate == 1.0
    assert score.right_share == 0.0
    assert score.iou is None


def test_text_where_there_is_none_is_inserted() -> None:
    score = score_boxes(page(), [*page(), *line("phantom", y=400)])
    assert score.inserted == score.distance == len("phantom")
    assert score.word_distance == 1
    assert score_boxes([], line("phantom")).character_error_rate == 1.0
    assert score_boxes([], []).character_error_rate == 0.0


def test_a_wrong_letter_is_one_character_and_one_word() -> None:
    reading = page()
    reading[1] = Boxed("suppIier", reading[1].box)
    score = score_boxes(page(), reading)
    assert (score.distance, score.word_distance) == (1, 1)
    assert score.right == score.words - 1


def test_a_word_that_spans_two_boxes() -> None:
    first, second, *rest = line("notice of ninety days")
    merged = Boxed("noticeof", (first.box[0], first.box[1], second.box[2], second.box[3]))
    score = score_boxes([first, second, *rest], [merged, *rest])
    assert score.distance == 0
    assert score.word_distance == 2
    assert score.right == 2
    assert score.iou is not None
    assert score.iou < 0.9


def test_a_word_in_two_pieces() -> None:
    first, *rest = line("notwithstanding this")
    x0, y0, x1, y1 = first.box
    pieces = [Boxed("standing", (x0 + 36, y0, x1, y1)), Boxed("notwith", (x0, y0, x0 + 35, y1))]
    score = score_boxes([first, *rest], [*pieces, *rest])
    assert score.distance == 0
    assert score.word_distance == 2


def test_boxes_shared_by_length_and_shifted_along_the_line() -> None:
    truth = page()
    shifted = [
        Boxed(word.text, (word.box[0] + 4, word.box[1] + 1, word.box[2] + 4, word.box[3] + 1))
        for word in truth
    ]
    score = score_boxes(truth, shifted)
    assert score.distance == score.word_distance == 0
    assert score.iou is not None
    assert 0.2 < score.iou < 0.8


def test_a_line_read_in_place_of_its_neighbour_is_wrong() -> None:
    truth = page()
    shifted = [
        Boxed(word.text, (word.box[0], word.box[1] + 14, word.box[2], word.box[3] + 14))
        for word in truth
    ]
    assert score_boxes(truth, shifted).character_error_rate > 0.5


def test_a_ruled_line_taken_for_a_letter_joins_no_lines() -> None:
    truth = page()
    bar = Boxed("|", (49.0, 90.0, 60.0, 140.0))
    score = score_boxes(truth, [*truth, bar])
    assert score.distance == 1
    assert score.right >= score.words - 1


def test_lines_as_truth() -> None:
    words = line("TOTAL 12.50") + line("GST 0.71", y=114)
    lines = [
        Boxed("TOTAL 12.50", (50, 100, 116, 110)),
        Boxed("GST 0.71", (50, 114, 98, 124)),
    ]
    score = score_boxes(lines, words)
    assert (score.distance, score.words, score.right) == (0, 4, 4)
    assert score.iou == pytest.approx(1.0)
    both = [Boxed("TOTAL 12.50 GST 0.71", (50, 100, 116, 124))]
    assert score_boxes(both, words).distance == 0
    assert score_boxes(lines, words[:2]).missing == len("GST0.71")


def test_a_tilted_line_as_truth_is_read_from_left_to_right() -> None:
    words = [
        Boxed(word.text, (word.box[0], word.box[1] + 12 * i, word.box[2], word.box[3] + 12 * i))
        for i, word in enumerate(line("one two three"))
    ]
    assert score_boxes([Boxed("one two three", (50, 100, 130, 134))], words).distance == 0


def test_composed_and_decomposed_letters_are_the_same() -> None:
    box = (0.0, 0.0, 50.0, 10.0)
    assert score_boxes([Boxed("co\u0301pia", box)], [Boxed("c\u00f3pia", box)]).distance == 0
    assert score_boxes([Boxed("It’s", box)], [Boxed("It's", box)]).distance == 1


def test_scores_add_up() -> None:
    first, second = score_boxes(page(), page()[:5]), score_boxes(page(), page()[2:])
    both = first + second
    assert both.characters == first.characters + second.characters
    assert both.distance == first.distance + second.distance
    assert both.overlaps == first.overlaps + second.overlaps
    assert first + BoxScore() == first


def test_random_damage_is_counted_in_full() -> None:
    """Each true word is kept, dropped, or has its first letter replaced."""
    numbers = random.Random(7)
    truth = [word for row in range(30) for word in line("any of these words here", y=20.0 * row)]
    reading: list[Boxed] = []
    distance = words = missing = 0
    for word in truth:
        fate = numbers.choice(("kept", "dropped", "wrong"))
        if fate == "kept":
            reading.append(word)
        elif fate == "wrong":
            reading.append(Boxed("#" + word.text[1:], word.box))
            distance += 1
            words += 1
        else:
            distance += len(word.text)
            missing += len(word.text)
            words += 1
    numbers.shuffle(reading)
    score = score_boxes(truth, reading)
    assert (score.distance, score.word_distance, score.missing) == (distance, words, missing)


def test_text_in_order_and_in_any_order() -> None:
    assert score_text("two  words\nhere", "two words here") == TextScore(14, 0, 3, 0)
    moved = score_text("two words here", "here two words")
    assert moved.distance > 0
    assert moved.bag_distance == 0
    assert score_text("one two", "one one two two").bag_distance == 2
    assert score_text("one two", "one tvo").bag_distance == 1
    assert score_text("", "").character_error_rate == 0.0
    assert score_text("", "x").character_error_rate == 1.0


def test_overlap_of_boxes() -> None:
    assert iou((0, 0, 10, 10), (0, 0, 10, 10)) == 1.0
    assert iou((0, 0, 10, 10), (5, 0, 15, 10)) == pytest.approx(1 / 3)
    assert iou((0, 0, 10, 10), (10, 0, 20, 10)) == 0.0
    assert math.isclose(iou((0, 0, 4, 4), (1, 1, 3, 3)), 0.25)
