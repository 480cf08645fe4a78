from __future__ import annotations

import codecs
import io
import struct
import zipfile

import pytest
from extract.checks import FAST, codes, read, text_pdf
from extract.office import zipped

from ingest.errors import ItemError
from ingest.extract import _READERS, extract, media

HTML = b"<!DOCTYPE html><html><body><p>Some words on a page.</p></body></html>"
RSS = b'<?xml version="1.0"?><rss version="2.0"><channel><title>x</title></channel></rss>'
ATOM = b'<?xml version="1.0"?><!-- a --><feed xmlns="http://www.w3.org/2005/Atom"></feed>'


def office(part: str) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("[Content_Types].xml", "<Types/>")
        archive.writestr(part, "<x/>")
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("data", "name", "expected"),
    [
        (b"%PDF-1.7\n", "a.csv", media.PDF),
        (b"\r\njunk\n%PDF-1.4", "a", media.PDF),
        (b"II*\0rest", "a.pdf", media.TIFF),
        (b"\x89PNG\r\n\x1a\nrest", "a", media.PNG),
        (b"\xff\xd8\xff\xe0rest", "a", media.JPEG),
        (b"\0\0\0\x0cjP  \r\n\x87\nrest", "a", media.JPEG2000),
        (b"\xff\x4f\xff\x51rest", "a", media.JPEG2000),
        (b"\0\0\0\x18ftypheicrest", "a.jpg", media.HEIC),
        (b"\0\0\0\x18ftypmif1rest", "a", media.HEIC),
        (b"\0\0\0\x18ftypavifrest", "a", media.AVIF),
        (b"\0\0\0\x18ftypisom" + bytes(40), "a.mp4", media.UNKNOWN),
        (b"RIFF\x24\0\0\0WEBPVP8 ", "a", media.WEBP),
        (b"RIFF\x24\0\0\0WAVEfmt " + bytes(40), "a.wav", media.UNKNOWN),
        (b"BM\x36\0\0\0" + bytes(4) + b"\x36\0\0\0\x28\0\0\0", "a", media.BMP),
        (b"BMW sells cars, and more of them each year.", "a.txt", media.PLAIN),
        (b"GIF89a\1\0\1\0", "a", media.GIF),
        (HTML, "a.pdf", media.HTML),
        (codecs.BOM_UTF8 + b"\n <!-- c --> <HTML>", "a.txt", media.HTML),
        (HTML.decode().encode("utf-16"), "a.html", media.HTML),
        (b"<?xml version='1.0'?><html xmlns='x'></html>", "a.xhtml", media.HTML),
        (RSS, "a.xml", media.RSS),
        (ATOM, "a", media.ATOM),
        (b"<?xml version='1.0'?><invoice/>", "a.xml", media.XML),
        (office("word/document.xml"), "a.docx", media.DOCX),
        (office("xl/workbook.xml"), "a.zip", media.XLSX),
        (office("readme"), "a.docx", media.ZIP),
        (office("ppt/presentation.xml"), "a.docm", media.PPTX),
        (office("xl/workbook.bin"), "a.xlsx", media.XLSB),
        (office("word/document.xml")[:120], "a.docx", media.DOCX),
        (zipped({"word/letter.txt": "x", "xl/list.txt": "y"}), "a.zip", media.ZIP),
        (zipped({"mimetype": media.ODS, "content.xml": "<x/>"}), "a.zip", media.ODS),
        (zipped({"content.xml": "<x/>", "mimetype": media.ODP}), "a.odt", media.ODP),
        (zipped({"META-INF/container.xml": "<x/>"}), "a.epub", media.EPUB),
        (
            b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + "EncryptedPackage".encode("utf-16-le"),
            "a.docx",
            media.ENCRYPTED,
        ),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1rest", "a.doc", media.OLE),
        (b"{\\rtf1 x}", "a.doc", media.RTF),
        (b"a,b\n1,2\n", "a.csv", media.CSV),
        (b"a,b\n1,\0002\n", "a.csv", media.CSV),
        (b"a\tb\n", "a.tsv", media.TSV),
        (b"# Title\n", "a.md", media.MARKDOWN),
        (b"Plain words.", "a.txt", media.PLAIN),
        (b"Plain words.", "LICENSE", media.PLAIN),
        (b"Plain words.", "a.pdf", media.PLAIN),
        (b"a < b and <b>", "a.html", media.HTML),
        ("Grüße".encode("utf-16"), "a.txt", media.PLAIN),
        ("Grüße".encode("latin-1"), "a.txt", media.PLAIN),
        ("Grüße, dearest of all".encode("utf-16-le"), "a.txt", media.PLAIN),
        ("From: a@example.com\n\nWords".encode("utf-16-be"), "a.eml", media.EMAIL),
        (struct.pack("<200h", *range(200)), "a.txt", media.UNKNOWN),
        (struct.pack("<200h", *[40, 0] * 100), "a.txt", media.UNKNOWN),
        (bytes(400), "a.txt", media.UNKNOWN),
        (bytes(range(256)) * 4, "a.bin", media.UNKNOWN),
        (bytes(range(256)) * 4, "a.pdf", media.PDF),
    ],
)
def test_content_comes_before_the_name(data: bytes, name: str, expected: str) -> None:
    assert media.detect_media_type(data, name) == expected


@pytest.mark.parametrize(
    ("declared", "name", "expected"),
    [
        ("text/csv; charset=utf-8", "export", media.CSV),
        ("text/csv", "export.txt", media.CSV),
        ("text/plain", "notes.md", media.MARKDOWN),
        ("application/octet-stream", "notes.md", media.MARKDOWN),
        ("application/pdf", "notes.txt", media.PLAIN),
    ],
)
def test_a_declaration_tells_text_apart_but_never_overrules_content(
    declared: str, name: str, expected: str
) -> None:
    assert media.detect_media_type(b"a,b\n1,2\n", name, declared) == expected
    assert media.detect_media_type(b"%PDF-1.4", name, declared) == media.PDF


@pytest.mark.parametrize(
    ("data", "name", "says"),
    [
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1rest", "contract.doc", ".docx"),
        (office("xl/workbook.bin"), "contract.xlsb", ".xlsx"),
        (RSS, "news.xml", "connector: feed"),
        (ATOM, "news.html", "connector: feed"),
        (bytes(range(256)) * 4, "blob.bin", "none of PDF"),
    ],
)
def test_what_cannot_be_read_is_refused_with_the_way_out(data: bytes, name: str, says: str) -> None:
    with pytest.raises(ItemError) as caught:
        extract(data, name=name, settings=FAST)
    assert caught.value.code == "unsupported_format"
    assert caught.value.message.startswith(f"{name}: ")
    assert says in caught.value.message


def test_the_refusal_names_all_families_of_formats_that_are_read() -> None:
    """A new module of `extract` belongs to one of them, or the message has to name its own."""
    with pytest.raises(ItemError) as caught:
        extract(bytes(range(256)) * 4, name="blob.bin", settings=FAST)
    families = {
        "PDF": media.PDF,
        "images": media.TIFF,
        "office documents": media.ODP,
        "e-books": media.EPUB,
        "web pages": media.HTML,
        "text": media.MARKDOWN,
        "CSV": media.TSV,
        "mails": media.MSG,
        "archives": media.GZIP,
    }
    modules = {_READERS[media_type][0] for media_type in families.values()}
    others = {"docx", "pptx", "xlsx", "rtf", "email", "plain", "json_record"}
    assert modules | others == {module for module, _ in _READERS.values()}
    for family in families:
        assert family in caught.value.message


def test_a_wrong_extension_is_read_as_what_it_is_and_reported() -> None:
    extraction = read(text_pdf(), "table.csv")
    assert extraction.media_type == media.PDF
    assert codes(extraction) == ["wrong_extension"]
    assert codes(read(b"Plain words in a file.", "contract.pdf")) == ["wrong_extension"]
    assert codes(read(b"Plain words in a file.", "contract.unknown")) == []


def test_an_empty_file_and_one_without_text_are_told_apart() -> None:
    with pytest.raises(ItemError) as caught:
        extract(b"", name="empty.pdf", settings=FAST)
    assert caught.value.code == "empty_file"
    for data, name in ((b" \n\t", "a.txt"), (b"a,b\n", "a.csv"), (b"a,b\n ,\n", "a.csv")):
        with pytest.raises(ItemError) as caught:
            extract(data, name=name, settings=FAST)
        assert caught.value.code == "no_text"
