"""Mails as Outlook keeps them ([MS-OXMSG]), through python-oxmsg.

A message inside a message is a storage of its file. It becomes a file of its own, with the names
of properties that both share and the longer header that a message has by itself (§2.4.1.1).
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from email.parser import HeaderParser
from email.utils import format_datetime
from typing import cast

from oxmsg import Message
from oxmsg.attachment import Attachment
from oxmsg.domain import constants as c
from oxmsg.domain.model import UnrecognizedCodePageError, UnsupportedEncodingError
from oxmsg.storage import Storage

from ingest.errors import ItemError
from ingest.extract.compound_file import Tree, write_compound_file
from ingest.extract.decode import clean, decode
from ingest.extract.draft import Draft, SourceBytes, damaged
from ingest.extract.email import decoded_header
from ingest.extract.mail import FieldName, Mail, says_enough

_ERRORS = (
    AssertionError,
    AttributeError,
    IndexError,
    KeyError,
    LookupError,
    OSError,
    OverflowError,
    RecursionError,
    TypeError,
    ValueError,
    UnrecognizedCodePageError,
    UnsupportedEncodingError,
    struct.error,
)
"""What python-oxmsg and olefile raise for files that are not what they claim to be."""
_RECIPIENTS: dict[FieldName, int] = {"To": 1, "Cc": 2, "Bcc": 3}
"""Values of PidTagRecipientType ([MS-OXOMSG] §2.2.3.1)."""
_DISPLAYED = {"To": c.PID_DISPLAY_TO, "Cc": c.PID_DISPLAY_CC, "Bcc": c.PID_DISPLAY_BCC}
_BY_VALUE, _MESSAGE, _OLE = 1, 5, 6
"""Values of PidTagAttachMethod ([MS-OXCMSG] §2.2.2.9)."""
_INNER_MESSAGE = "__substg1.0_3701000D"
_PROPERTIES = "__properties_version1.0"
_NAMES = "__nameid_version1.0"
_INNER_HEADER = 24


def read_msg(source: SourceBytes) -> Draft:
    """Read a mail of Outlook; its attachments and the mails in it are members.

    Raises:
        ItemError: encrypted, damaged, too_many_members, members_too_large, too_many_characters.
    """
    try:
        message = Message.load(source.data)
        if _is_encrypted(message):
            raise ItemError(
                "encrypted",
                f"{source.name}: it is encrypted (S/MIME). Save the mail decrypted in its source, "
                "then retry the item.",
            )
        mail = Mail(source)
        _add_fields(mail, message)
        _add_body(mail, message)
        for attachment in message.attachments:
            _add_attachment(mail, message, attachment)
    except _ERRORS as error:
        raise damaged(source.name, f"{type(error).__name__}: {error}") from error
    return mail.draft()


def _is_encrypted(message: Message) -> bool:
    kind = message.message_class.upper()
    return ".SMIME" in kind and "MULTIPARTSIGNED" not in kind


def _add_fields(mail: Mail, message: Message) -> None:
    """Add the fields as the mail's own header has them, else as Outlook keeps them."""
    text = message.properties.str_prop_value(c.PID_TRANSPORT_MESSAGE_HEADERS) or ""
    headers = HeaderParser().parsestr(text)

    def add(field: FieldName, otherwise: list[str]) -> None:
        given = [decoded_header(value) for value in headers.get_all(field, [])]
        mail.add_field(field, given or [clean(value) for value in otherwise])

    add("From", [sender] if (sender := message.sender) else [])
    for field in _RECIPIENTS:
        add(field, list(_recipients(message, field)))
    sent = message.sent_date
    add("Date", [format_datetime(sent)] if sent is not None else [])
    add("Subject", [message.subject])


def _recipients(message: Message, field: FieldName) -> Iterator[str]:
    """Yield the recipients of a kind; their names alone where no list of them is kept."""
    found = False
    for recipient in message.recipients:
        kind = recipient.properties.int_prop_value(c.PID_RECIPIENT_TYPE) or 1
        if kind & 0xF == _RECIPIENTS[field]:
            found = True
            yield f"{recipient.name} <{recipient.email_address}>"
    shown = message.properties.str_prop_value(_DISPLAYED[field])
    if shown and not found:
        yield shown


def _add_body(mail: Mail, message: Message) -> None:
    plain, markup = message.body or "", _html(message)
    if plain.strip() and says_enough(plain, markup):
        mail.add_text(clean(plain))
    elif markup:
        mail.add_html(clean(markup))
    elif message.properties.binary_prop_value(c.PID_RTF_COMPRESSED):
        mail.warn("body_unreadable", "The mail's body is kept as compressed RTF alone.")


def _html(message: Message) -> str:
    """Return the HTML body, in whatever encoding it is."""
    data = message.properties.binary_prop_value(c.PID_HTML)
    if not data:
        return message.properties.str_prop_value(c.PID_BODY_HTML) or ""
    try:
        return data.decode(message.properties.body_encoding)
    except (LookupError, UnicodeDecodeError):
        return decode(data)[0]


def _add_attachment(mail: Mail, message: Message, attachment: Attachment) -> None:
    properties = attachment.properties
    name = (
        properties.str_prop_value(c.PID_ATTACH_LONG_FILENAME)
        or properties.str_prop_value(c.PID_ATTACH_FILENAME)
        or properties.str_prop_value(c.PID_DISPLAY_NAME)
    )
    media_type = properties.str_prop_value(c.PID_ATTACH_MIME_TAG)
    method = properties.int_prop_value(c.PID_ATTACH_METHOD) or _BY_VALUE
    inner = _inner_message(attachment)
    if method == _MESSAGE and inner is not None:
        data = write_compound_file(_as_file(message, inner))
        stem = name.removesuffix(".msg") if name else "message"
        mail.add_member(f"{stem}.msg", data, "application/vnd.ms-outlook")
    elif method == _BY_VALUE and (data_bytes := attachment.file_bytes) is not None:
        in_body = properties.str_prop_value(c.PID_ATTACH_CONTENT_ID)
        picture = (media_type or "").startswith("image/") or (name or "").lower().endswith(
            (".png", ".jpg", ".jpeg", ".gif", ".bmp")
        )
        if in_body and picture:
            mail.add_picture(name, data_bytes, media_type)
        else:
            mail.add_member(name, data_bytes, media_type)
    elif method == _OLE:
        why = "it is an object of another program, which only that program can show"
        mail.add_problem(name, media_type, "not_a_file", why)
    else:
        mail.add_problem(name, media_type, "not_here", "the mail only says where it is kept")


def _inner_message(attachment: Attachment) -> Storage | None:
    storage = cast("Storage", attachment._storage)
    return next((one for one in storage.storages if one.name == _INNER_MESSAGE), None)


def _as_file(message: Message, inner: Storage) -> Tree:
    tree = dict(_tree(inner))
    properties = tree.get(_PROPERTIES)
    if isinstance(properties, bytes):
        tree[_PROPERTIES] = properties[:_INNER_HEADER] + bytes(8) + properties[_INNER_HEADER:]
    for storage in cast("Storage", message._storage).storages:
        if storage.name == _NAMES:
            tree[_NAMES] = _tree(storage)
    return tree


def _tree(storage: Storage) -> Tree:
    return {
        **{stream.name: stream.bytes_ for stream in storage.streams},
        **{inner.name: _tree(inner) for inner in storage.storages},
    }
