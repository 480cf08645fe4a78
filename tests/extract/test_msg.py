"""Mails of Outlook, made here as [MS-OXMSG] says."""

from __future__ import annotations

import struct
from datetime import date
from typing import Any

import pytest
from extract.checks import FAST, check_invariants, codes, limited, text_pdf
from olefile import DEFECT_POTENTIAL, OleFileIO

from ingest.errors import ItemError
from ingest.extract import extract, extract_with_members, media
from ingest.extract.compound_file import Tree, write_compound_file
from ingest.extract.draft import Member
from schemas.document import Extraction

SUBJECT, BODY, HTML, HEADERS = 0x0037, 0x1000, 0x1013, 0x007D
SENDER_NAME, SENDER_ADDRESS, SUBMITTED, CLASS = 0x0C1A, 0x0C1F, 0x0039, 0x001A
NAME, ADDRESS, KIND = 0x3001, 0x39FE, 0x0C15
DATA, LONG_NAME, METHOD, TAG, CONTENT_ID = 0x3701, 0x3707, 0x3705, 0x370E, 0x3712
FILETIME_2026 = (date(2026, 1, 1) - date(1601, 1, 1)).days * 86_400 * 10_000_000
"""2026-01-01T00:00:00Z in units of 100 ns since 1601."""


def storage(header: int, properties: dict[int, Any]) -> dict[str, Any]:
    """Return a storage with its properties: text, bytes, numbers, and one time."""
    streams: dict[str, Any] = {}
    entries = b""
    for number, value in properties.items():
        if isinstance(value, str):
            kind, data = 0x001F, value.encode("utf-16-le")
        elif isinstance(value, bytes):
            kind, data = 0x0102, value
        elif number == SUBMITTED:
            entries += struct.pack("<HHIQ", 0x0040, number, 6, value)
            continue
        else:
            entries += struct.pack("<HHIq", 0x0003, number, 6, value)
            continue
        streams[f"__substg1.0_{number:04X}{kind:04X}"] = data
        entries += struct.pack("<HHIq", kind, number, 6, len(data))
    streams["__properties_version1.0"] = bytes(header) + entries
    return streams


def message(
    header: int = 32,
    recipients: list[dict[int, Any]] | None = None,
    attachments: list[Tree] | None = None,
    **more: Any,
) -> dict[str, Any]:
    properties = {
        SUBJECT: "Price list",
        BODY: "Please find the price list attached.\r\n\r\nRegards",
        SENDER_NAME: "Ada Lovelace",
        SENDER_ADDRESS: "ada@example.com",
        SUBMITTED: FILETIME_2026,
        **more.get("properties", {}),
    }
    tree = storage(header, {number: value for number, value in properties.items() if value})
    for number, recipient in enumerate(recipients or []):
        tree[f"__recip_version1.0_#{number:08X}"] = storage(8, recipient)
    for number, attachment in enumerate(attachments or []):
        tree[f"__attach_version1.0_#{number:08X}"] = attachment
    if header == 32:
        tree["__nameid_version1.0"] = {"__substg1.0_00020102": bytes(16)}
    return tree


def read(tree: Tree, **limits: int) -> tuple[Extraction, list[Member]]:
    settings = limited(**limits) if limits else FAST
    extraction, members = extract_with_members(
        write_compound_file(tree), name="mail.msg", settings=settings
    )
    check_invariants(extraction)
    assert extraction.media_type == media.MSG
    return extraction, members


@pytest.mark.parametrize("size", [0, 1, 63, 64, 4095, 4096, 70_000, 7_200_000])
def test_compound_files_hold_what_was_written(size: int) -> None:
    data = bytes(range(256)) * (size // 256) + bytes(size % 256)
    tree: Tree = {"big": data, "a storage": {"b": b"x" * 100, "deep": {"c": b"y"}}, "Z": b"z"}
    written = write_compound_file(tree)
    assert written == write_compound_file(tree)
    with OleFileIO(written, raise_defects=DEFECT_POTENTIAL) as file:
        assert file.parsing_issues == []
        if size:
            assert file.openstream("big").read() == data
        assert file.openstream("a storage/b").read() == b"x" * 100
        assert file.openstream("a storage/deep/c").read() == b"y"
        assert file.openstream("Z").read() == b"z"


def test_fields_body_and_recipients() -> None:
    recipients = [
        {NAME: "Bob", ADDRESS: "bob@example.com", KIND: 1},
        {NAME: "Grete Müller", ADDRESS: "gm@example.com", KIND: 2},
    ]
    extraction, members = read(message(recipients=recipients))
    assert extraction.text.split("\n\n") == [
        'From: "Ada Lovelace" <ada@example.com>',
        "To: Bob <bob@example.com>",
        "Cc: Grete Müller <gm@example.com>",
        "Date: Thu, 01 Jan 2026 00:00:00 +0000",
        "Subject: Price list",
        "Please find the price list attached.",
        "Regards",
    ]
    assert [e.field for e in extraction.elements[:5]] == ["From", "To", "Cc", "Date", "Subject"]
    assert extraction.title == "Price list"
    assert codes(extraction) == []
    assert members == []


def test_the_header_that_the_mail_travelled_with_comes_first() -> None:
    headers = "From: =?utf-8?q?J=C3=B6rg?= <j@example.com>\r\nTo: all@example.com\r\n"
    extraction, _ = read(message(properties={HEADERS: headers}))
    assert extraction.text.startswith("From: Jörg <j@example.com>\n\nTo: all@example.com\n\nDate:")


def test_an_html_body_in_its_own_encoding() -> None:
    markup = "<html><body><p>Préfecture de Lyon</p><p>Second paragraph</p></body></html>"
    extraction, _ = read(
        message(properties={BODY: "", HTML: markup.encode("cp1252"), 0x3FDE: 1252})
    )
    assert extraction.text.endswith("Préfecture de Lyon\n\nSecond paragraph")


def test_attachments_by_value_by_reference_and_of_other_programs() -> None:
    pdf = text_pdf()
    extraction, members = read(
        message(
            attachments=[
                storage(8, {DATA: pdf, LONG_NAME: "prices.pdf", METHOD: 1, TAG: "application/pdf"}),
                storage(8, {LONG_NAME: "elsewhere.docx", METHOD: 4}),
                storage(8, {NAME: "Chart", METHOD: 6}),
                storage(8, {DATA: b"x", LONG_NAME: "..\\..\\a.txt", METHOD: 1}),
            ]
        )
    )
    assert [(m.name, m.data, m.media_type) for m in members] == [
        ("prices.pdf", pdf, "application/pdf"),
        ("a.txt", b"x", None),
    ]
    assert [(p.name, p.code) for p in extraction.member_problems] == [
        ("elsewhere.docx", "not_here"),
        ("Chart", "not_a_file"),
    ]


def test_a_mail_in_a_mail_is_a_file_that_can_be_read_by_itself() -> None:
    deepest = storage(8, {DATA: b"Some text.", LONG_NAME: "deep.txt", METHOD: 1})
    inner = message(24, attachments=[deepest], properties={SUBJECT: "Inner"})
    attachment = storage(8, {METHOD: 5, NAME: "Inner"})
    attachment["__substg1.0_3701000D"] = inner
    _, (member,) = read(message(attachments=[attachment]))
    assert (member.name, member.media_type) == ("Inner.msg", media.MSG)
    extraction, members = extract_with_members(member.data, name=member.name, settings=FAST)
    check_invariants(extraction)
    assert extraction.title == "Inner"
    assert "price list attached" in extraction.text
    assert [(m.name, m.data) for m in members] == [("deep.txt", b"Some text.")]


@pytest.mark.parametrize(
    ("kind", "refused"),
    [("IPM.Note.SMIME", True), ("IPM.Note.SMIME.MultipartSigned", False), ("IPM.Note", False)],
)
def test_an_encrypted_mail_is_refused(kind: str, refused: bool) -> None:
    tree = message(properties={CLASS: kind})
    if not refused:
        read(tree)
        return
    with pytest.raises(ItemError) as caught:
        read(tree)
    assert caught.value.code == "encrypted"


def test_limits() -> None:
    attachments = [storage(8, {DATA: b"12345", LONG_NAME: "a.txt", METHOD: 1})] * 3
    _, members = read(message(attachments=attachments), members=3, member_bytes=15)
    assert [m.name for m in members] == ["a.txt", "a (2).txt", "a (3).txt"]
    for limits, code in (
        ({"members": 2}, "too_many_members"),
        ({"member_bytes": 14}, "members_too_large"),
    ):
        with pytest.raises(ItemError) as caught:
            read(message(attachments=attachments), **limits)
        assert caught.value.code == code


@pytest.mark.parametrize("keep", [600, 1_500, 3_000])
def test_a_damaged_mail_is_refused(keep: int) -> None:
    with pytest.raises(ItemError) as caught:
        extract(write_compound_file(message())[:keep], name="mail.msg", settings=FAST)
    assert caught.value.code in ("damaged", "unsupported_format")
