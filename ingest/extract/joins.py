"""Where one line goes on in the next without a space: words broken at a hyphen.

A hyphen at the end of a line was either set to break a word ("agree-", "ment") or belongs to the
word ("long-", "term"). Nothing on the page tells which, so the rules go from what is sure to what
is likely:

1. A soft hyphen (U+00AD) always breaks a word.
2. No letter or digit on either side, a dash ("--", "–"), or a hyphen that stands for what the next
   words share ("pre- and post-closing"): no join at all.
3. Digits, a capital after the hyphen ("Anglo-", "American"), addresses with "@", "/" or "_": the
   hyphen is the word's own, and stays. Words in capitals are judged like those in small letters.
4. The document itself: if the word occurs elsewhere, in one piece or with a hyphen, the form that
   occurs more often is right.
5. Compounds of law and of time ("thereof", "notwithstanding") are one word.
6. A prefix or number that takes a hyphen ("non-", "self-", "twenty-") keeps it, and so does a part
   before a word that compounds end with ("-based", "-term").
7. Both parts are words of the document, and the first is none that other words begin with ("in",
   "pre"): the hyphen stays.
8. Otherwise it broke the word.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from enum import Enum
from functools import cached_property


def word_set(words: str) -> frozenset[str]:
    """Return the words of a line or more as a set."""
    return frozenset(words.split())


SOFT_HYPHEN = "\u00ad"
HYPHENS = ("-", "\u2010", "\u2011", SOFT_HYPHEN)
"""Hyphen-minus, hyphen, non-breaking hyphen, soft hyphen (Unicode Standard §6.2, table 6-3)."""
_LAST_PART = re.compile(r"[^\W\d_]+$")
_FIRST_PART = re.compile(r"[^\W\d_]+")
_WORD = re.compile(r"[^\W\d_]+(?:[-\u2010\u2011'’][^\W\d_]+)*")
_ADDRESS = re.compile(r"[@/\\_]|^www\.|\.\w{2,4}-$")
_SUSPENDED = frozenset({"and", "or", "to", "nor", "but", "und", "oder", "bis", "et", "ou"})
_ONE_WORD_STARTS = frozenset({"here", "there", "where"})
_ONE_WORD_ENDS = word_set(
    "about after against as at before by fore from in into of on over to under until unto upon "
    "with within without"
)
_ONE_WORDS = word_set(
    "notwithstanding nonetheless nevertheless inasmuch insofar whatsoever whosoever whomsoever "
    "howsoever wheresoever whichever whatever whenever wherever hereinafter hereinabove "
    "hereinbefore hereinbelow heretofore theretofore aforesaid aforementioned forthwith "
    "hereinunder anyone anything everyone everything someone something nothing nowhere anywhere "
    "everywhere somewhere somebody anybody everybody cannot within without into onto upon "
    "throughout overall undersigned undertake undertaken undertaking understand understanding "
    "understood withhold withheld withholding outstanding overdue otherwise likewise therefore "
    "moreover furthermore meanwhile knowledge copyright copyrights goodwill harmless"
)
_PREFIXES = word_set(
    "non self quasi well ill long short high low half cross third twenty thirty forty fifty sixty "
    "seventy eighty ninety one two three four five six seven eight nine arm's multi"
)
_BOUND = word_set(
    "a ad al an be con co de dis en ex for im in inter mis out over par per pre pro re so sub ten "
    "to trans un under up"
)
"""Beginnings of words that are words themselves, but seldom the first part of a compound."""
_SUFFIXES = word_set(
    "based term party parties related free wide owned like specific compete solicit solicitation "
    "disclosure exclusive transferable refundable day days year years month months week hour "
    "date out off up in by down house site line level time old size sized fifth held "
    "assessable current compliance performance infringement "
    "built driven neutral ready rated minded perceivable readable generated certified how"
)


class Join(Enum):
    """How the last word of a line and the first of the next go together."""

    NONE = "none"
    """They are two words."""
    BROKEN = "broken"
    """They are one word; the hyphen was set to break it and is no part of the text."""
    HYPHENATED = "hyphenated"
    """They are one word with its own hyphen."""


class Joiner:
    """Decides by the rules above, with the words of one document."""

    def __init__(self, texts: Iterable[str]) -> None:
        """Take the words of the document; those that end in a hyphen tell nothing.

        Args:
            texts: words as they stand in their lines, with punctuation.
        """
        self._texts = texts

    @cached_property
    def _words(self) -> Counter[str]:
        # Many a document breaks no word.
        words: Counter[str] = Counter()
        for text, count in Counter(self._texts).items():
            # Most words are letters alone, or letters and the mark that ends a clause.
            bare = text if text.isalpha() else text.rstrip(",.;:)")
            if bare.isalpha():
                words[bare.casefold()] += count
            elif text[-1] not in HYPHENS:
                for match in _WORD.finditer(text):
                    word = _plain(match[0])
                    words[word] += count
                    if "-" in word:
                        words.update(dict.fromkeys(word.split("-"), count))
        return words

    def join(self, last: str, first: str) -> Join:
        """Return how ``last``, at the end of a line, goes together with ``first`` in the next."""
        if len(last) < 2 or last[-1] not in HYPHENS:
            return Join.NONE
        if last[-1] == SOFT_HYPHEN:
            return Join.BROKEN if last[-2].isalnum() and first[0].isalnum() else Join.NONE
        before, after = last[:-1], first
        if not before[-1].isalnum() or not (after[0].isalnum() or after[0] in "$€£¥"):
            return Join.NONE
        following = _FIRST_PART.match(after)
        preceding = _LAST_PART.search(before)
        if following and following[0].casefold() in _SUSPENDED and following[0] == after.rstrip():
            return Join.NONE
        if not following or not preceding or _ADDRESS.search(last) or _ADDRESS.search(first):
            return Join.HYPHENATED
        head, tail = preceding[0], following[0]
        capitals = head.isupper() and tail.isupper() and len(head) > 1
        if len(last) == 2 or (tail[0].isupper() and not capitals):
            return Join.HYPHENATED
        return Join.BROKEN if self._is_broken(before, head, tail) else Join.HYPHENATED

    def _is_broken(self, before: str, head: str, tail: str) -> bool:
        left, right = head.casefold(), tail.casefold()
        joined = self._words[left + right]
        hyphenated = self._words[f"{left}-{right}"]
        if joined != hyphenated:
            return joined > hyphenated
        whole = left + right
        if whole in _ONE_WORDS or (left in _ONE_WORD_STARTS and right in _ONE_WORD_ENDS):
            return True
        if left in _PREFIXES or right in _SUFFIXES:
            return False
        chained = before[: -len(head)].endswith(HYPHENS[:3])
        if self._words[right] <= 0 or len(right) < 2:
            return True
        return not chained and (left in _BOUND or self._words[left] <= 0)


def _plain(word: str) -> str:
    return word.casefold().replace("\u2010", "-").replace("\u2011", "-")
