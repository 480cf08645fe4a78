r"""Rich Text Format, version 1.9.1.

The control words are followed here: striprtf leaves out notes, headers and comments, joins cells
with bars, and knows neither hidden nor deleted text. A place is the number of a paragraph.

Numbers of lists are in the file as text (\listtext, \pntext) and stay; bullets do not.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field, replace

from ingest.extract.composing import Composer, tidy
from ingest.extract.draft import Draft, SourceBytes
from ingest.extract.headings import clause_level
from ingest.extract.rtf_syntax import (
    CHARACTERS,
    CHARSETS,
    KEPT_STARRED,
    LAYOUT_FIELDS,
    SKIPPED,
    STORIES,
    TOKEN,
    character,
    known_encoding,
)
from ingest.extract.rtf_table import Table
from schemas.document import ElementKind

_HEADING_STYLE = re.compile(r"heading\s*([1-9])", re.IGNORECASE)
_SUPERSCRIPT = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
_BODY_TEXT = 9
_LONG_HEADING = 200
_MAX_GROUPS = 10_000


@dataclass
class _Story:
    """Text that runs by itself: the body, a note, a header."""

    kind: ElementKind
    lines: list[str] = field(default_factory=list)
    parts: list[str] = field(default_factory=list)
    label: str = ""
    listed: bool = False
    """True where the paragraph belongs to a list, with a number or with a bullet."""


@dataclass(slots=True)
class _State:
    """What a group inherits and gives back at its end."""

    story: _Story
    target: str = "text"
    """Where text goes: text, skip, or the name of a destination that is collected."""
    encoding: str = "cp1252"
    skip_after_unicode: int = 1
    hidden: bool = False
    deleted: bool = False
    starred: bool = False
    opens_story: bool = False
    style: int = 0


def read_rtf(source: SourceBytes) -> Draft:
    """Read a rich text file. Never refuses one that begins like one.

    Raises:
        ItemError: too_many_characters.
    """
    return _Reader(source).draft()


class _Reader:
    """Follows the control words."""

    def __init__(self, source: SourceBytes) -> None:
        self._text = source.data.decode("latin-1")
        self._composer = Composer(source)
        self._body = _Story("paragraph")
        self._state = _State(self._body)
        self._stack: list[_State] = []
        self._bytes = bytearray()
        self._skip = 0
        self._default = "cp1252"
        self._fonts: dict[int, str] = {}
        self._font = 0
        self._styles: dict[int, int] = {}
        self._collected: dict[str, str] = {}
        self._layout_field = False
        self._hidden: list[str] = []
        self._table = Table()
        self._in_table = False
        self._style = 0
        self._outline = _BODY_TEXT
        self._notes = 0
        self._footnotes: list[_Story] = []
        self._counts: Counter[str] = Counter()

    def draft(self) -> Draft:
        """Return the document as a draft."""
        position = 0
        while match := TOKEN.match(self._text, position):
            position = match.end()
            if match["byte"]:
                self._byte(int(match["byte"], 16))
                continue
            if match["text"]:
                self._add(self._after_skip(match["text"]))
            elif match["brace"]:
                self._brace(match["brace"])
            elif match["symbol"]:
                self._symbol(match["symbol"])
            elif match["word"]:
                number = int(match["number"]) if match["number"] else None
                if match["word"] == "bin":
                    position += max(number or 0, 0)
                self._word(match["word"], number)
        self._flush_bytes()
        self._end_paragraph()
        self._end_table()
        for note in self._footnotes:
            self._composer.add("footnote", "\n".join(note.lines))
        self._warn()
        self._composer.title = _info(self._collected, "title")
        self._composer.author = _info(self._collected, "author")
        return self._composer.draft()

    # --- tokens ------------------------------------------------------------------------------

    def _brace(self, brace: str) -> None:
        self._flush_bytes()
        self._skip = 0
        if brace == "{":
            if len(self._stack) < _MAX_GROUPS:
                self._stack.append(self._state)
                self._state = replace(self._state, starred=False, opens_story=False)
            return
        ended = self._state
        if self._stack:
            self._state = self._stack.pop()
        if ended.opens_story:
            self._end_story(ended.story)
        if ended.target == "fldinst" != self._state.target:
            words = self._collected.pop("fldinst", "").split(maxsplit=1)
            self._layout_field = bool(words) and words[0].upper() in LAYOUT_FIELDS
        if ended.target == "stylesheet":
            self._name_style(ended.style)
        if ended.target == "listtext" != self._state.target:
            self._state.story.label = _label(self._collected.pop("listtext", ""))
            self._state.story.listed = True

    def _symbol(self, symbol: str) -> None:
        self._flush_bytes()
        if symbol == "*":
            self._state.starred = True
        elif symbol in "\r\n":
            self._end_paragraph()
        elif symbol in CHARACTERS:
            self._add(self._after_skip(CHARACTERS[symbol]))

    def _byte(self, value: int) -> None:
        if self._skip:
            self._skip -= 1
        else:
            self._bytes.append(value)

    def _word(self, word: str, number: int | None) -> None:
        self._flush_bytes()
        state = self._state
        starred, state.starred = state.starred, False
        if word == "u" and number is not None:
            self._add(character(number))
            self._skip = state.skip_after_unicode
        elif word in CHARACTERS:
            self._add(self._after_skip(CHARACTERS[word]))
        elif word in SKIPPED or (starred and word not in KEPT_STARRED):
            self._counts["pictures"] += word == "pict" and state.target != "skip"
            state.target = "skip"
        elif state.target == "skip":
            return
        elif word in ("fonttbl", "stylesheet", "info") or (
            word in ("title", "author") and state.target == "info"
        ):
            state.target = word
        elif word in ("listtext", "pntext"):
            state.target = "listtext"
        elif word == "fldinst":
            state.target = "fldinst"
        elif word == "fldrslt":
            state.target = "skip" if self._layout_field else state.target
            self._layout_field = False
        elif word in STORIES:
            state.story, state.opens_story = _Story(STORIES[word]), True
        elif word == "chftn":
            # The mark stands before the note in the body, and again inside the note.
            self._notes += state.story is self._body
            self._add(str(max(self._notes, 1)).translate(_SUPERSCRIPT))
            if state.story is not self._body:
                self._add(" ")
        else:
            self._format(word, number, state)

    def _format(self, word: str, number: int | None, state: _State) -> None:
        match word:
            case "ansicpg" if number is not None:
                self._default = state.encoding = known_encoding(f"cp{number}")
            case "mac" | "pc" | "pca":
                coding = {"mac": "mac_roman", "pc": "cp437", "pca": "cp850"}[word]
                self._default = state.encoding = coding
            case "uc":
                state.skip_after_unicode = max(number or 0, 0)
            case "f" if number is not None:
                self._font = number
                state.encoding = self._fonts.get(number, self._default)
            case "fcharset" if state.target == "fonttbl" and number in CHARSETS:
                self._fonts[self._font] = CHARSETS[number]
            case "plain":
                state.hidden = state.deleted = False
                state.encoding = self._default
            case "v":
                state.hidden = number != 0
            case "deleted":
                state.deleted = number != 0
                self._counts["deletions"] += state.deleted
            case "revised":
                self._counts["insertions"] += number != 0
            case "pard":
                self._in_table, self._style, self._outline = False, 0, _BODY_TEXT
            case "s" if number is not None:
                state.style = self._style = number
            case "outlinelevel" if number is not None:
                if state.target == "stylesheet":
                    self._styles[state.style] = number
                else:
                    self._outline = number
            case "intbl":
                self._in_table = True
            case "par" | "sect":
                self._end_paragraph()
            case _:
                self._table_word(word, number or 0, state)

    def _table_word(self, word: str, number: int, state: _State) -> None:
        in_body = state.story is self._body
        match word:
            case "nestcell":
                self._add(" ")
            case "nestrow":
                self._add("\n")
            case "cell" if in_body:
                self._table.add_cell(self._take(self._body))
            case "cell":
                self._add(" ")
            case "row" if in_body:
                self._table.end_row()
            case "row":
                self._end_paragraph()
            case _:
                self._table.define(word, number)

    # --- text --------------------------------------------------------------------------------

    def _after_skip(self, text: str) -> str:
        """Drop the characters that stand in for a Unicode one in old readers."""
        taken = min(self._skip, len(text))
        self._skip -= taken
        return text[taken:]

    def _flush_bytes(self) -> None:
        if self._bytes:
            text = self._bytes.decode(self._state.encoding, errors="replace")
            self._bytes.clear()
            self._add(text)

    def _add(self, text: str) -> None:
        if self._bytes:
            self._flush_bytes()
        state = self._state
        if not text or state.target == "skip":
            return
        if state.target != "text":
            self._collected[state.target] = self._collected.get(state.target, "") + text
        elif state.hidden:
            self._hidden.append(text)
        elif not state.deleted:
            state.story.parts.append(text)

    def _take(self, story: _Story) -> str:
        """Return the paragraph that ends here, with its number."""
        text = tidy("".join(story.parts))
        label, story.label = story.label, ""
        story.parts = []
        lines, story.lines = story.lines, []
        own = f"{label} {text}" if label and text else text
        return "\n".join([*lines, own]) if lines else own

    def _end_paragraph(self) -> None:
        self._flush_bytes()
        story = self._state.story
        if story is not self._body or self._in_table:
            if text := tidy("".join(story.parts)):
                story.lines.append(f"{story.label} {text}" if story.label else text)
            story.parts, story.label = [], ""
            return
        self._end_table()
        listed, story.listed = story.listed, False
        text = self._take(story)
        outline = self._outline
        if outline >= _BODY_TEXT:
            outline = self._styles.get(self._style, _BODY_TEXT)
        if outline < _BODY_TEXT and len(text) <= _LONG_HEADING:
            self._composer.add("heading", text, outline + 1)
        elif (level := clause_level(text)) is not None:
            self._composer.add("heading", text, level)
        else:
            self._composer.add("list_item" if listed else "paragraph", text)
        self._composer.add("hidden", "".join(self._hidden))
        self._counts["hidden"] += len("".join(self._hidden).strip())
        self._hidden = []

    def _end_story(self, story: _Story) -> None:
        if text := tidy("".join(story.parts)):
            story.lines.append(text)
        if story.kind == "footnote":
            self._footnotes.append(story)
        else:
            self._composer.add(story.kind, "\n".join(story.lines))

    def _end_table(self) -> None:
        self._composer.add_table(self._table.take())

    def _name_style(self, style: int) -> None:
        name = self._collected.pop("stylesheet", "").strip(" ;")
        if match := _HEADING_STYLE.fullmatch(name):
            self._styles.setdefault(style, int(match[1]) - 1)

    def _warn(self) -> None:
        counts = self._counts
        self._composer.warn_tracked_changes(counts["insertions"], counts["deletions"])
        self._composer.warn_hidden_text(counts["hidden"])
        self._composer.warn_pictures(counts["pictures"])


def _label(text: str) -> str:
    """Return the number that is shown before an item; empty for a bullet."""
    label = tidy(text)
    return label if any(map(str.isalnum, label)) and label != "o" else ""


def _info(collected: dict[str, str], name: str) -> str | None:
    return " ".join(collected.get(name, "").split()) or None
