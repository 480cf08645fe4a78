"""Mails: what is their text, what are their files, and what broken ones come to."""

from __future__ import annotations

import base64
import io
from email import policy
from email.message import EmailMessage
from pathlib import Path

import pytest
from extract.checks import FAST, check_invariants, codes, limited
from PIL import Image

from ingest.errors import ItemError
from ingest.extract import extract, extract_with_members, media
from ingest.extract.draft import Member
from schemas.document import Extraction

FIELDS = b"From: Ada <ada@example.com>\nTo: bob@example.com\nSubject: Prices\n"


def read(data: bytes, name: str = "a.eml") -> tuple[Extraction, list[Member]]:
    extraction, members = extract_with_members(data, name=name, settings=FAST)
    check_invariants(extraction)
    assert extraction.media_type == media.EMAIL
    return extraction, members


def body(extraction: Extraction) -> list[str]:
    """Return the blocks behind the fields."""
    return [
        extraction.text[e.char_start : e.char_end] for e in extraction.elements if e.kind != "field"
    ]


def made(**more: str) -> EmailMessage:
    message = EmailMessage(policy=policy.SMTP)
    for name, value in {"From": "ada@example.com", "To": "bob@example.com", **more}.items():
        message[name] = value
    return message


def picture(width: int, height: int) -> bytes:
    out = io.BytesIO()
    Image.new("RGB", (width, height), "white").save(out, "PNG")
    return out.getvalue()


def refusal(data: bytes, **limits: int) -> ItemError:
    settings = limited(**limits) if limits else FAST
    with pytest.raises(ItemError) as caught:
        extract(data, name="a.eml", settings=settings)
    assert caught.value.message.startswith("a.eml: ")
    return caught.value


def test_fields_stand_on_top_with_their_names_and_the_body_below() -> None:
    message = made(
        Cc="Zoë <zoe@example.com>", Subject="Prüfung", Date="Tue, 01 Oct 2024 12:34:56 +0200"
    )
    message.set_content("Dear Bob,\n\nthe prices rise.\n")
    extraction, members = read(message.as_bytes())
    assert extraction.text == (
        "From: ada@example.com\n\nTo: bob@example.com\n\nCc: Zoë <zoe@example.com>\n\n"
        "Date: Tue, 01 Oct 2024 12:34:56 +0200\n\nSubject: Prüfung\n\nDear Bob,\n\nthe prices rise."
    )
    assert [(e.kind, e.field, e.paragraph) for e in extraction.elements] == [
        ("field", "From", 1),
        ("field", "To", 2),
        ("field", "Cc", 3),
        ("field", "Date", 4),
        ("field", "Subject", 5),
        ("paragraph", None, 6),
        ("paragraph", None, 7),
    ]
    assert (extraction.title, extraction.author) == ("Prüfung", "ada@example.com")
    assert members == []
    assert codes(extraction) == []


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        (b"=?utf-8?q?J=C3=B6rg?= <j@example.com>", "Jörg <j@example.com>"),
        (b"=?utf-8?q?J=C3=B6?=\n =?utf-8?q?rg?= <j@example.com>", "Jörg <j@example.com>"),
        (b"=?iso-8859-1?q?=80_100?=", "€ 100"),
        (b"=?no-such-code?b?SsO2cmc=?=", "Jörg"),
        (b"=?utf-8?b?not base64!?=", "=?utf-8?b?not base64!?="),
        ("Jörg <j@example.com>".encode(), "Jörg <j@example.com>"),
        ("Jörg <j@example.com>".encode("cp1252"), "Jörg <j@example.com>"),
        (b"a\n\tb", "a b"),
        (b"\x00x", "x"),
    ],
)
def test_what_headers_may_be_written_in(raw: bytes, shown: str) -> None:
    extraction, _ = read(b"Subject: x\nFrom: " + raw + b"\n\nWords.")
    assert extraction.text.startswith(f"From: {shown}\n\nSubject: x\n\n")


@pytest.mark.parametrize(
    ("charset", "encoded", "shown", "warned"),
    [
        ("utf-8", "Größe".encode(), "Größe", False),
        ("us-ascii", "Größe".encode("cp1252"), "Größe", False),
        ("iso-8859-1", b"\x80 100", "€ 100", False),
        ("utf-8", "Größe".encode("cp1252"), "Größe", True),
        ("no-such-code", "Größe".encode(), "Größe", True),
        ("gb2312", "镕".encode("gb18030"), "镕", False),
        ("utf-16", "Größe".encode("utf-16"), "Größe", False),
    ],
)
def test_bodies_are_in_the_encoding_they_say_or_in_another(
    charset: str, encoded: bytes, shown: str, warned: bool
) -> None:
    head = f"Content-Type: text/plain; charset={charset}\nContent-Transfer-Encoding: base64\n\n"
    extraction, _ = read(FIELDS + head.encode() + base64.b64encode(encoded))
    assert body(extraction) == [shown]
    assert ("encoding_wrong" in codes(extraction)) == warned


def test_the_plain_form_is_kept_unless_it_says_nothing() -> None:
    message = made()
    message.set_content("The same words.")
    message.add_alternative("<p>The <b>same</b> words.</p>", subtype="html")
    assert body(read(message.as_bytes())[0]) == ["The same words."]
    for stub in ("", "See HTML."):
        message = made()
        message.set_content(stub)
        message.add_alternative(f"<h1>News</h1><p>{'word ' * 40}</p>", subtype="html")
        assert body(read(message.as_bytes())[0])[0] == "News"


def test_html_is_kept_whole() -> None:
    message = made()
    message.set_content(
        "<style>p {}</style><p>First</p><table><tr><th>Item</th><th>Price</th></tr><tr><td>Desk"
        "</td><td>9</td></tr></table><p>Unsubscribe</p>",
        subtype="html",
    )
    extraction, _ = read(message.as_bytes())
    assert body(extraction)[0] == "First"
    assert body(extraction)[-1] == "Unsubscribe"
    assert "Desk" in extraction.text
    assert "{}" not in extraction.text


def test_attachments_are_files_with_safe_names_of_their_own() -> None:
    message = made()
    message.set_content("Words.")
    for name in ("a.pdf", "a.pdf", "../../b.txt", "Größe.txt"):
        message.add_attachment(b"data", maintype="application", subtype="pdf", filename=name)
    message.add_attachment(b"data", maintype="application", subtype="pdf")
    message.add_attachment("Umlaut ü", filename="c.txt", cte="base64")
    extraction, members = read(message.as_bytes())
    assert [m.name for m in members] == [
        "a.pdf",
        "a (2).pdf",
        "b.txt",
        "Größe.txt",
        "attachment-5.pdf",
        "c.txt",
    ]
    assert members[5].data == "Umlaut ü\r\n".encode()
    assert members[5].media_type == "text/plain; charset=utf-8"
    assert body(extraction) == ["Words."]


def test_a_mail_in_a_mail_is_a_file_byte_for_byte() -> None:
    inner = made(Subject="Inner")
    inner.set_content("Inner words.")
    inner.add_attachment(b"\x00\x01", maintype="image", subtype="png", filename="x.png")
    message = made(Subject="Outer")
    message.set_content("Outer words.")
    message.add_attachment(inner)
    extraction, (member,) = read(message.as_bytes())
    assert member.media_type == media.EMAIL
    assert member.data.replace(b"\r\n", b"\n") == inner.as_bytes().replace(b"\r\n", b"\n")
    assert "Inner" not in extraction.text
    found, (file,) = read(member.data, member.name)
    assert (found.title, file.data) == ("Inner", b"\x00\x01")


def test_a_mail_in_a_mail_that_was_encoded_against_the_rules() -> None:
    inner = b"From: x@example.com\nSubject: Inner\n\nInner words."
    part = (
        b"Content-Type: multipart/mixed; boundary=b\n\n--b\nContent-Type: message/rfc822\n"
        b"Content-Transfer-Encoding: base64\n\n" + base64.b64encode(inner) + b"\n--b--\n"
    )
    _, (member,) = read(FIELDS + part)
    assert read(member.data, member.name)[0].title == "Inner"


def test_pictures_in_the_body_are_files_unless_they_are_decoration() -> None:
    message = made()
    message.set_content(
        "<p>See <img src='cid:logo'> and <img src=\"cid:plan\"></p>", subtype="html"
    )
    for name, data in (("logo", picture(300, 40)), ("plan", picture(800, 600))):
        message.add_related(data, "image", "png", cid=f"<{name}>", filename=f"{name}.png")
    extraction, members = read(message.as_bytes())
    assert [m.name for m in members] == ["plan.png"]
    assert codes(extraction) == ["decorations_left_out"]
    message = made()
    message.set_content("Words.")
    message.add_attachment(picture(20, 20), maintype="image", subtype="png", filename="icon.png")
    assert [m.name for m in read(message.as_bytes())[1]] == ["icon.png"]


SIGNED = b"""Content-Type: multipart/signed; boundary=b; protocol="application/pgp-signature"

--b
Content-Type: text/plain

Signed words.
--b
Content-Type: application/pgp-signature; name=signature.asc

-----BEGIN PGP SIGNATURE-----
--b--
"""


def test_a_signature_is_no_file() -> None:
    extraction, members = read(FIELDS + SIGNED)
    assert (body(extraction), members) == (["Signed words."], [])
    assert codes(extraction) == ["signature_left_out"]


@pytest.mark.parametrize(
    "part",
    [
        b"Content-Type: multipart/encrypted; boundary=b\n\n--b\n\nVersion: 1\n--b--\n",
        b"Content-Type: application/pkcs7-mime; smime-type=enveloped-data\n\nMIIB",
        b"Content-Type: text/plain\n\n-----BEGIN PGP MESSAGE-----\n\nhIwD\n",
    ],
)
def test_an_encrypted_mail_is_refused_and_an_encrypted_part_by_itself(part: bytes) -> None:
    assert refusal(FIELDS + part).code == "encrypted"
    around = (
        b"Content-Type: multipart/mixed; boundary=o\n\n--o\n\nWords.\n--o\n" + part + b"--o--\n"
    )
    extraction, members = read(FIELDS + around)
    assert (body(extraction), members) == (["Words."], [])
    (problem,) = extraction.member_problems
    assert problem.code == "encrypted"


@pytest.mark.parametrize(
    ("date", "odd"),
    [
        ("Tue, 01 Oct 2024 12:34:56 -0500", False),
        ("1 Oct 2024 12:34:56 GMT", False),
        ("2024-10-01T12:34:56Z", True),
        ("yesterday", True),
        ("Tue, 41 Oct 2024 12:34:56 -0500", True),
    ],
)
def test_a_date_is_shown_as_it_is_and_flagged_if_it_is_none(date: str, odd: bool) -> None:
    extraction, _ = read(f"Date: {date}\n".encode() + FIELDS + b"\nWords.")
    assert f"Date: {date}\n" in extraction.text
    assert codes(extraction) == ["date_unreadable"] * odd


def test_a_mail_with_fields_alone_says_so() -> None:
    extraction, _ = read(FIELDS + b"\n")
    assert extraction.text.startswith("From: Ada")
    assert codes(extraction) == ["body_missing"]
    assert refusal(b" \n\n").code == "no_text"


@pytest.mark.parametrize(
    ("part", "words"),
    [
        (b"Content-Type: multipart/mixed; boundary=b\n\n--b\n\nWords.\n", ["Words."]),
        (b"Content-Type: multipart/mixed\n\nWords.\n", []),
        (b"Content-Type: text/plain; charset\n\nWords.\n", ["Words."]),
        (b"Content-Type: nonsense\n\nWords.\n", ["Words."]),
        (b"Content-Transfer-Encoding: base64\n\nV29yZHMu!\n", ["Words."]),
        (b"Content-Transfer-Encoding: nonsense\n\nWords.\n", ["Words."]),
        (b"Content-Type: text/plain; name*=utf-8''%ff; charset=utf-8\n\nWords.", []),
    ],
)
def test_broken_mails_are_read_as_far_as_they_go(part: bytes, words: list[str]) -> None:
    extraction, members = read(FIELDS + part)
    assert body(extraction) == words
    if not words:
        assert members or codes(extraction)


def test_parts_that_are_nested_without_end() -> None:
    part = b"Words."
    for number in range(2_000):
        part = b"Content-Type: multipart/mixed; boundary=b%d\n\n--b%d\n%s" % (number, number, part)
    assert refusal(FIELDS + part).code == "damaged"


def test_limits() -> None:
    message = made()
    message.set_content("Words.")
    for _ in range(3):
        message.add_attachment(b"12345", maintype="application", subtype="pdf", filename="a.pdf")
    data = message.as_bytes()
    assert refusal(data, members=2).code == "too_many_members"
    assert refusal(data, member_bytes=14).code == "members_too_large"
    assert len(extract(data, name="a.eml", settings=limited(members=3)).attachments) == 3


def test_real_mails(corpus: Path) -> None:
    refused = {}
    members = {}
    for path in sorted((corpus / "emails").glob("*.eml")):
        try:
            extraction, found = read(path.read_bytes(), path.name)
        except ItemError as error:
            refused[path.name] = error.code
            continue
        assert not extraction.member_problems
        members[path.name] = [member.name for member in found]
    assert refused == {
        "empty.eml": "no_text",
        "fake-encrypted.eml": "encrypted",
    }
    assert {name: found for name, found in members.items() if found} == {
        "email-equals-attachment-filename.eml": ["odd=file=name.txt"],
        "email-inline-content-disposition.eml": ["t.txt"],
        "mime-multipart-digest.eml": ["attachment-1.eml", "attachment-2.eml", "attachment-3.eml"],
        "mime-no-body.eml": ["image.jpg"],
    }


@pytest.mark.parametrize("name", ["utf-16", "utf-16-le", "utf-16-be"])
def test_a_real_mail_that_was_saved_in_utf_16(name: str, corpus: Path) -> None:
    extraction, _ = read((corpus / f"emails/fake-email-{name}.eml").read_bytes())
    assert extraction.title == "Test Email"
    assert "Violets are blue" in extraction.text


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be"])
def test_a_mail_that_was_saved_in_utf_16(encoding: str) -> None:
    extraction, _ = read((FIELDS.decode() + "\n\nWörter").encode(encoding))
    assert body(extraction) == ["Wörter"]
