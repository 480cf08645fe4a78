"""What mails of all formats have in common: fields on top, a body, and files that become items.

The text is as a mail program shows it: a line for each of the fields that tell who wrote what to
whom and when, and then the body. Which way a mail travelled is in its bytes, not in its text.
"""

from __future__ import annotations

import mimetypes
from collections.abc import Sequence
from dataclasses import replace
from email.utils import parsedate_to_datetime
from io import BytesIO
from typing import Literal

from PIL import Image

from ingest.errors import ItemError
from ingest.extract.composing import Composer, count_of
from ingest.extract.draft import Draft, Member, SourceBytes
from ingest.extract.file_dates import in_utc
from ingest.extract.html import add_block, parse_html
from ingest.extract.html_blocks import HtmlBlock, blocks_of_page
from ingest.extract.media import PLAIN
from ingest.extract.member_names import UniqueNames, attached_name
from ingest.extract.plain import read_text
from schemas.document import FileDates, MemberProblem

FieldName = Literal["From", "Sender", "To", "Cc", "Bcc", "Date", "Subject"]
STUB_SHARE = 4
"""A plain form with fewer words than the HTML form by this factor only says that it is none."""
_DECORATION_PIXELS = 150
"""Pictures in the body with a side shorter than this are logos, signs and markers."""


class Mail:
    """Builds the draft of one mail."""

    def __init__(self, source: SourceBytes) -> None:
        self._source = source
        self._composer = Composer(source)
        self._names = UniqueNames()
        self._members: list[Member] = []
        self._problems: list[MemberProblem] = []
        self._size = 0
        self._decorations = 0
        self._has_body = False

    def add_field(self, name: FieldName, values: Sequence[str]) -> None:
        """Add a line with the name and the values of a field; none if it has no value."""
        value = ", ".join(text for raw in values if (text := " ".join(raw.split())))
        if not value:
            return
        self._composer.add("field", f"{name}: {value}", field=name)
        if name == "Subject":
            self._composer.title = value
        elif name == "From":
            self._composer.author = value
        elif name == "Date":
            self._check_date(value)

    def _check_date(self, value: str) -> None:
        """Say so if the date is not one, which may be taken for what it is not."""
        try:
            sent = parsedate_to_datetime(value)
        except (ValueError, TypeError, IndexError, OverflowError):
            self.warn("date_unreadable", f"The date {value[:100]!r} is none as RFC 5322 has it.")
        else:
            self._composer.dates = FileDates(published=in_utc(sent))

    def add_text(self, text: str) -> None:
        """Add plain text to the body."""
        data = text.encode("utf-8", "replace")
        part = replace(self._source, data=data, media_type=PLAIN, options={"encoding": "utf-8"})
        draft = read_text(part)
        for element in draft.elements:
            self._composer.add(
                element.kind, draft.text[element.char_start : element.char_end], element.level
            )
        self._has_body = self._has_body or bool(draft.elements)

    def add_html(self, markup: str) -> bool:
        """Add all blocks of an HTML body; return whether there were any.

        A mail has no menus and no related articles, so nothing of it is left out.
        """
        try:
            blocks = _blocks(markup)
        except RecursionError:
            self.warn("body_unreadable", "The HTML body is nested too deep to be read.")
            return False
        for block in blocks:
            add_block(self._composer, block)
        self._has_body = self._has_body or bool(blocks)
        return bool(blocks)

    def add_member(self, raw_name: str | None, data: bytes, media_type: str | None) -> None:
        """Take a file out of the mail.

        Raises:
            ItemError: too_many_members, members_too_large.
        """
        self._size += len(data)
        self._check_limits()
        self._members.append(Member(self._name(raw_name, media_type), data, media_type))

    def add_picture(self, raw_name: str | None, data: bytes, media_type: str | None) -> None:
        """Take a picture that the body shows, unless it is there for decoration."""
        if _is_decoration(data):
            self._decorations += 1
        else:
            self.add_member(raw_name, data, media_type)

    def add_problem(
        self, raw_name: str | None, media_type: str | None, code: str, why: str
    ) -> None:
        """Note a file that cannot be had.

        Raises:
            ItemError: too_many_members.
        """
        self._check_limits()
        name = self._name(raw_name, media_type)
        message = f"{why}. Get the file from its sender, or dismiss the entry."
        self._problems.append(MemberProblem(name=name, code=code, message=message))

    def warn(self, code: str, message: str) -> None:
        """Note something that a reader of the mail should know."""
        self._composer.warn(code, message)

    def draft(self) -> Draft:
        """Return the mail's text and files."""
        if self._decorations:
            pictures = count_of(self._decorations, "picture", "pictures")
            self.warn("decorations_left_out", f"{pictures} for decoration left out.")
        if not self._has_body and not self._composer.is_empty:
            self.warn("body_missing", "The mail has no body that can be read, only its fields.")
        draft = self._composer.draft()
        draft.members = self._members
        draft.member_problems = self._problems
        return draft

    def _check_limits(self) -> None:
        limits = self._source.settings.limits
        count = len(self._members) + len(self._problems) + 1
        if count > limits.members:
            raise ItemError(
                "too_many_members",
                f"{self._source.name}: it has more than the limit of {limits.members:,} files "
                "attached. Raise MUNIMENT_EXTRACTION__LIMITS__MEMBERS, then retry the item.",
            )
        if self._size > limits.member_bytes:
            raise ItemError(
                "members_too_large",
                f"{self._source.name}: its attachments have at least {self._size:,} bytes, more "
                f"than the limit of {limits.member_bytes:,}. Raise "
                "MUNIMENT_EXTRACTION__LIMITS__MEMBER_BYTES, then retry the item.",
            )

    def _name(self, raw: str | None, media_type: str | None) -> str:
        """Return a name of its own for a file: many senders give all their files the same one."""
        bare = (media_type or "").partition(";")[0].strip().lower()
        suffix = ".eml" if bare == "message/rfc822" else mimetypes.guess_extension(bare) or ""
        number = len(self._members) + len(self._problems) + 1
        return self._names.take(attached_name(raw, f"attachment-{number}{suffix}"))


def says_enough(plain: str, markup: str) -> bool:
    """Tell whether the plain form of a body says what the HTML form does."""
    return len(plain.split()) * STUB_SHARE >= len(text_of_html(markup).split())


def text_of_html(markup: str) -> str:
    """Return the text of an HTML body, to be looked at; empty where it cannot be read."""
    try:
        return "\n".join(block.text for block in _blocks(markup))
    except RecursionError:
        return ""


def _blocks(markup: str) -> list[HtmlBlock]:
    root = parse_html(markup)
    return blocks_of_page(root) if root is not None else []


def _is_decoration(data: bytes) -> bool:
    try:
        with Image.open(BytesIO(data)) as image:
            return min(image.size) < _DECORATION_PIXELS
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError):
        return False  # whoever reads it says what is wrong with it
