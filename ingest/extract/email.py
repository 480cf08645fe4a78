"""Mails as they travel: RFC 5322 with MIME (RFC 2045 to 2049, 2183, 2231).

Programs that write mails break every rule of these, so headers and bodies are decoded here from
what Python's parser found, in the way that loses least, and what had to be guessed is a warning.
"""

from __future__ import annotations

import binascii
import codecs
import re
from collections.abc import Iterator
from email import policy
from email.errors import HeaderParseError
from email.generator import BytesGenerator
from email.header import decode_header
from email.message import Message
from email.parser import BytesParser
from email.utils import collapse_rfc2231_value
from io import BytesIO
from typing import Any
from urllib.parse import unquote

from ingest.errors import ItemError
from ingest.extract.decode import clean, decode, wide_encoding
from ingest.extract.draft import Draft, SourceBytes, damaged
from ingest.extract.mail import STUB_SHARE, FieldName, Mail, text_of_html

_FIELDS: tuple[FieldName, ...] = ("From", "Sender", "To", "Cc", "Bcc", "Date", "Subject")
_SUPERSETS = {
    "us-ascii": "cp1252",
    "ascii": "cp1252",
    "iso-8859-1": "cp1252",
    "latin-1": "cp1252",
    "iso8859-1": "cp1252",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "ks_c_5601-1987": "cp949",
    "euc-kr": "cp949",
    "shift_jis": "cp932",
    "iso-8859-9": "cp1254",
    "iso-8859-8-i": "iso-8859-8",
    "iso-8859-11": "cp874",
    "tis-620": "cp874",
}
"""What is written under the label of a smaller encoding (WHATWG Encoding §4.2)."""
_WIDE_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_CID = re.compile(r"""["'(]cid:([^"')\s>]+)""", re.IGNORECASE)
_PGP = "-----BEGIN PGP MESSAGE-----"
_MAX_PARTS = 10_000


def read_email(source: SourceBytes) -> Draft:
    """Read a mail; its attachments and the mails in it are members.

    Raises:
        ItemError: encrypted, damaged, too_many_members, members_too_large, too_many_characters.
    """
    return _Reader(source).read()


class _Reader:
    def __init__(self, source: SourceBytes) -> None:
        self._source = source
        self._mail = Mail(source)
        self._parts = 0
        self._encodings: dict[str, None] = {}
        self._broken: dict[str, None] = {}
        self._shown: set[str] = set()
        """Content-IDs of the pictures that an HTML body shows (RFC 2392)."""

    def read(self) -> Draft:
        data = self._source.data
        if data.startswith(_WIDE_MARKS):
            # A mail is bytes; one that a text editor saved in UTF-16 is no longer one.
            data = data.decode("utf-16", "replace").encode()
        elif (wide := wide_encoding(data)) is not None:
            data = data.decode(wide, "replace").encode()
        try:
            # The older policy: it decodes nothing by itself, so that nothing fails or is lost.
            message = BytesParser(policy=policy.compat32).parsebytes(data.lstrip(b"\r\n"))
            self._shown = set(self._pictures(message))
            self._fields(message)
            self._body(message)
        except RecursionError as error:
            raise damaged(self._source.name, "its parts are nested too deep") from error
        if self._encodings:
            self._mail.warn(
                "encoding_wrong",
                f"Parts are not in the encoding that they say ({', '.join(self._encodings)}); they "
                "were read as UTF-8 or Windows-1252.",
            )
        if self._broken:
            self._mail.warn(
                "mime_broken", f"The mail breaks the rules of MIME: {', '.join(self._broken)}."
            )
        return self._mail.draft()

    def _pictures(self, message: Message) -> Iterator[str]:
        for part in message.walk():
            if part.get_content_type() == "text/html":
                yield from (unquote(found) for found in _CID.findall(self._decoded(part)))

    def _fields(self, message: Message) -> None:
        found: dict[str, list[str]] = {}
        for name, raw in message.raw_items():
            found.setdefault(name.lower(), []).append(decoded_header(raw))
        for field in _FIELDS:
            self._mail.add_field(field, found.get(field.lower(), ()))

    def _body(self, part: Message) -> None:
        """Take a part in: text into the body, files among the members."""
        self._parts += 1
        if self._parts > _MAX_PARTS:
            raise ItemError(
                "too_many_members",
                f"{self._source.name}: it has more than {_MAX_PARTS:,} parts. Dismiss the entry if "
                "it is not needed.",
            )
        self._broken |= dict.fromkeys(type(defect).__name__ for defect in part.defects)
        kind = part.get_content_type()
        if self._is_encrypted(part, kind):
            self._encrypted(part)
        elif kind == "multipart/alternative":
            self._alternative(part)
        elif kind == "multipart/signed":
            self._signed(part)
        elif part.is_multipart() and kind.startswith("multipart/"):
            for child in _children(part):
                self._body(child)
        elif kind.startswith("message/"):
            self._message(part, kind)
        elif kind.startswith("text/") and not self._is_file(part, kind):
            self._text(part, kind)
        else:
            self._file(part, kind)

    def _alternative(self, part: Message) -> None:
        """Keep one form of the body, the plain one if it says anything; files are kept anyway."""
        bodies = [child for child in _children(part) if self._holds_body(child)]
        plain = [child for child in bodies if child.get_content_type() == "text/plain"]
        most = max((self._words(child) for child in bodies), default=0)
        # Some plain forms only say that the mail has to be seen as HTML.
        chosen = next(
            (child for child in plain if self._words(child) * STUB_SHARE >= most > 0), None
        )
        # Forms come in the order of faithfulness, the best one last (RFC 2046 §5.1.4).
        chosen = chosen or next(reversed(bodies), None)
        for child in _children(part):
            if child is chosen or child not in bodies:
                self._body(child)
            else:
                self._files_in(child)

    def _words(self, part: Message) -> int:
        """Count the words of a form of the body."""
        kind = part.get_content_type()
        if kind.startswith("multipart/"):
            return sum(self._words(child) for child in _children(part) if self._holds_body(child))
        text = self._decoded(part)
        return len((text_of_html(text) if kind == "text/html" else text).split())

    def _holds_body(self, part: Message) -> bool:
        kind = part.get_content_type()
        if kind.startswith("multipart/"):
            return any(self._holds_body(child) for child in _children(part))
        return kind in ("text/plain", "text/html") and not self._is_file(part, kind)

    def _files_in(self, part: Message) -> None:
        """Take the files of a form of the body that is not kept."""
        if part.get_content_type().startswith("multipart/"):
            for child in _children(part):
                self._files_in(child)
        elif not self._holds_body(part):
            self._body(part)

    def _signed(self, part: Message) -> None:
        """Read what is signed; the signature is no item (RFC 1847 §2.1)."""
        children = _children(part)
        for child in children[:1]:
            self._body(child)
        for child in children[1:]:
            if "signature" in child.get_content_type() or "keys" in child.get_content_type():
                self._mail.warn("signature_left_out", "The mail is signed; that was not checked.")
            else:
                self._body(child)

    def _is_encrypted(self, part: Message, kind: str) -> bool:
        if kind == "multipart/encrypted":
            return True
        if kind in ("application/pkcs7-mime", "application/x-pkcs7-mime"):
            return part.get_param("smime-type") not in ("certs-only",)
        return kind == "text/plain" and self._decoded(part).lstrip().startswith(_PGP)

    def _encrypted(self, part: Message) -> None:
        """Refuse an encrypted mail, or only a part of one that is not all of it."""
        why = "it is encrypted, or signed in a form that hides it"
        if self._parts == 1:
            raise ItemError(
                "encrypted",
                f"{self._source.name}: {why} (S/MIME or PGP). Save the mail decrypted in its "
                "source, then retry the item.",
            )
        self._mail.add_problem(_file_name(part), part.get_content_type(), "encrypted", why)

    def _message(self, part: Message, kind: str) -> None:
        if kind in ("message/external-body", "message/partial"):
            why = (
                "only a part of it is here" if kind.endswith("partial") else "it is kept elsewhere"
            )
            self._mail.add_problem(_file_name(part), "message/rfc822", "not_here", why)
        elif kind in ("message/delivery-status", "message/disposition-notification"):
            for block in _children(part):
                self._mail.add_text(
                    "\n".join(f"{name}: {decoded_header(raw)}" for name, raw in block.raw_items())
                )
        else:
            name = _file_name(part)
            self._mail.add_member(name, _message_bytes(part), "message/rfc822")

    def _is_file(self, part: Message, kind: str) -> bool:
        if part.get_content_disposition() == "attachment":
            return True
        # Readers of mail show a text with a name in the body as well, but it is a file.
        return _file_name(part) is not None or kind not in ("text/plain", "text/html")

    def _text(self, part: Message, kind: str) -> None:
        text = self._decoded(part)
        if kind == "text/plain":
            self._mail.add_text(text)
        else:
            self._mail.add_html(text)

    def _file(self, part: Message, kind: str) -> None:
        data = _payload(part)
        name = _file_name(part)
        if not data and part.is_multipart():
            self._mail.add_problem(name, kind, "damaged", "its type does not fit what it holds")
            return
        charset = _charset(part)
        declared = f"{kind}; charset={charset}" if charset and kind.startswith("text/") else kind
        content_id = str(part.get("Content-ID", "")).strip(" <>")
        shown = content_id in self._shown or part.get_content_disposition() == "inline"
        if kind.startswith("image/") and shown:
            self._mail.add_picture(name, data, declared)
        else:
            self._mail.add_member(name, data, declared)

    def _decoded(self, part: Message) -> str:
        """Return a text in the encoding that it says, or in the one that it is in."""
        data = _payload(part)
        charset = _charset(part) or "utf-8"
        try:
            return clean(data.decode(_SUPERSETS.get(charset, charset)))
        except (LookupError, UnicodeDecodeError, ValueError):
            self._encodings[charset] = None
            return decode(data)[0]


def _children(part: Message) -> list[Message]:
    payload: Any = part.get_payload()
    return [child for child in payload if isinstance(child, Message)] if part.is_multipart() else []


def _payload(part: Message) -> bytes:
    """Return a part's bytes without their transfer encoding; what cannot be decoded as it is."""
    try:
        data = part.get_payload(decode=True)
    except (ValueError, LookupError, AssertionError, binascii.Error):
        data = None
    return data if isinstance(data, bytes) else b""


def _message_bytes(part: Message) -> bytes:
    """Return the mail in a part, as it was before it was put there."""
    children = _children(part)
    if not children:
        return _payload(part)
    inner = children[0]
    encoding = str(part.get("Content-Transfer-Encoding", "")).strip().lower()
    if encoding in ("base64", "quoted-printable") and not inner.keys():
        # Forbidden (RFC 2046 §5.2.1), and done: the parser took the encoded mail for a body.
        inner["Content-Transfer-Encoding"] = encoding
        return _payload(inner)
    out = BytesIO()
    BytesGenerator(out, mangle_from_=False, policy=policy.compat32).flatten(inner)
    return out.getvalue()


def _charset(part: Message) -> str | None:
    try:
        charset = part.get_content_charset()
    except (LookupError, UnicodeError, ValueError, TypeError):
        return None
    return charset.strip("'\" ") or None if charset else None


def _file_name(part: Message) -> str | None:
    """Return the name that a part gives its file, decoded though it may not be encoded so."""
    for value in _names(part):
        try:
            name = decoded_header(collapse_rfc2231_value(value))
        except (LookupError, ValueError, TypeError):
            continue
        if name.strip():
            return name.strip()
    return None


def _names(part: Message) -> Iterator[Any]:
    for name, header in (("filename", "content-disposition"), ("name", "content-type")):
        try:
            value = part.get_param(name, header=header)
        except (ValueError, LookupError, TypeError):
            continue
        if value is not None:
            yield value


def decoded_header(raw: object) -> str:
    """Return the text of a header's value: unfolded, with its encoded words decoded (RFC 2047)."""
    text = str(raw)
    if any("\udc80" <= character <= "\udcff" for character in text):
        # Bytes beyond ASCII, which should not be there and mostly are UTF-8.
        text = decode(text.encode("utf-8", "surrogateescape"))[0]
    text = "".join(text.splitlines())
    if "=?" not in text:
        return clean(text)
    try:
        words = decode_header(text)
    except (HeaderParseError, ValueError, binascii.Error):
        return clean(text)
    return clean("".join(_word(value, charset) for value, charset in words))


def _word(value: str | bytes, charset: str | None) -> str:
    if isinstance(value, str):
        return value
    if charset is None:
        # Python escapes what stands between encoded words, in a code of its own.
        return value.decode("raw-unicode-escape", "replace")
    try:
        return value.decode(_SUPERSETS.get(charset.lower(), charset))
    except (LookupError, UnicodeDecodeError, ValueError):
        return decode(value)[0]
