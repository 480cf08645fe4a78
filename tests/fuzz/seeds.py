"""One small intact document of every kind that is read, made anew: what mutations start from."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable
from email.message import EmailMessage

import docx
import odfdo
import openpyxl
import pptx
import pymupdf
from PIL import Image
from workspace import pdf, scan

PAGES = (
    "7. Termination. Either party may terminate this agreement by notice of ninety days.",
    "8. Governing law. This agreement is governed by the law of the Republic of Ireland.",
)
_WEB = """<!doctype html><html><head><title>Port fees</title><meta charset="utf-8"></head>
<body><nav><a href="/">Home</a></nav><article><h1>Port fees rise</h1>
<p>The harbour board raised its fees by four per cent on Monday, the first rise in six years.</p>
<table><tr><th>Berth</th><th>Fee</th></tr><tr><td>North</td><td>1,200</td></tr></table>
<p>Ship owners said they had expected it, and would not go elsewhere.</p></article></body></html>"""


def _picture(form: str, **options: object) -> bytes:
    with pymupdf.open(stream=pdf(PAGES[0]), filetype="pdf") as document:
        pixels = document[0].get_pixmap(dpi=110, colorspace=pymupdf.csGRAY)
    image = Image.frombytes("L", (pixels.width, pixels.height), pixels.samples)
    buffer = io.BytesIO()
    image.crop((60, 60, image.width - 60, 200)).save(buffer, form, **options)
    return buffer.getvalue()


def _encrypted() -> bytes:
    with pymupdf.open(stream=pdf(*PAGES), filetype="pdf") as document:
        return bytes(
            document.tobytes(
                encryption=pymupdf.PDF_ENCRYPT_AES_256, owner_pw="owner", user_pw="", no_new_id=True
            )
        )


def _word() -> bytes:
    document = docx.Document()
    document.add_heading("Supply agreement", 0)
    document.add_heading("Termination", 1)
    document.add_paragraph(PAGES[0])
    document.add_paragraph("First item", style="List Number")
    table = document.add_table(rows=2, cols=2)
    for cell, text in zip(table._cells, ("Berth", "Fee", "North", "1,200"), strict=True):
        cell.text = text
    return _saved(document.save)


def _slides() -> bytes:
    deck = pptx.Presentation()
    slide = deck.slides.add_slide(deck.slide_layouts[1])
    slide.shapes.title.text = "Port fees"
    slide.placeholders[1].text = PAGES[0]
    slide.notes_slide.notes_text_frame.text = PAGES[1]
    return _saved(deck.save)


def _workbook() -> bytes:
    book = openpyxl.Workbook()
    for row in (("Berth", "Fee"), ("North", 1200), ("South", 980.5)):
        book.active.append(row)
    book.create_sheet("Notes").append([PAGES[1]])
    return _saved(book.save)


def _odt() -> bytes:
    document = odfdo.Document("text")
    document.body.clear()
    document.body.append(odfdo.Header(1, "Supply agreement"))
    for text in PAGES:
        document.body.append(odfdo.Paragraph(text))
    return _saved(document.save)


def _book() -> bytes:
    return _zip(
        {
            "mimetype": b"application/epub+zip",
            "META-INF/container.xml": b'<?xml version="1.0"?><container version="1.0" '
            b'xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles><rootfile '
            b'full-path="book.opf" media-type="application/oebps-package+xml"/></rootfiles>'
            b"</container>",
            "book.opf": b'<?xml version="1.0"?><package xmlns="http://www.idpf.org/2007/opf" '
            b'version="3.0" unique-identifier="id"><metadata '
            b'xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:identifier id="id">x</dc:identifier>'
            b"<dc:title>Harbours</dc:title><dc:language>en</dc:language></metadata><manifest>"
            b'<item id="a" href="a.xhtml" media-type="application/xhtml+xml"/></manifest><spine>'
            b'<itemref idref="a"/></spine></package>',
            "a.xhtml": b'<html xmlns="http://www.w3.org/1999/xhtml"><head><title>One</title></head>'
            b"<body><h1>One</h1><p>" + PAGES[0].encode() + b"</p></body></html>",
        }
    )


def _mail() -> bytes:
    message = EmailMessage()
    message["From"], message["To"] = "a@example.org", "b@example.org"
    message["Subject"] = "Termination"
    message["Date"] = "Tue, 03 Mar 2026 10:00:00 +0100"
    message.set_content(PAGES[0])
    message.add_attachment(pdf(PAGES[1]), maintype="application", subtype="pdf", filename="a.pdf")
    return bytes(message)


def _zip(members: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(zipfile.ZipInfo(name), data, zipfile.ZIP_DEFLATED)
    return buffer.getvalue()


def _saved(save: Callable[[io.BytesIO], object]) -> bytes:
    buffer = io.BytesIO()
    save(buffer)
    return buffer.getvalue()


def seeds() -> dict[str, bytes]:
    """Return the documents by file name."""
    return {
        "digital.pdf": pdf(*PAGES),
        "scanned.pdf": scan(PAGES[0], dpi=100),
        "encrypted.pdf": _encrypted(),
        "picture.png": _picture("PNG"),
        "picture.jpg": _picture("JPEG", quality=80),
        "picture.tif": _picture("TIFF", compression="tiff_lzw"),
        "page.html": _WEB.encode(),
        "contract.txt": "\n\n".join(PAGES).encode(),
        "contract.md": ("# Agreement\n\n" + "\n\n".join(PAGES)).encode(),
        "contract.docx": _word(),
        "slides.pptx": _slides(),
        "fees.xlsx": _workbook(),
        "contract.odt": _odt(),
        "contract.rtf": rb"{\rtf1\ansi{\fonttbl{\f0 Arial;}}\f0 " + PAGES[0].encode() + rb"\par}",
        "book.epub": _book(),
        "mail.eml": _mail(),
        "archive.zip": _zip({"a/one.pdf": pdf(PAGES[0]), "two.txt": PAGES[1].encode()}),
    }
