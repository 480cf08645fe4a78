from __future__ import annotations

import io
import re
import zipfile
from pathlib import Path

import docx
import pytest
from extract.checks import codes, kinds, limited, read, read_file
from extract.office import paragraph, run, word, zipped
from hypothesis import given, settings
from hypothesis import strategies as st

from ingest.errors import ItemError
from ingest.extract import media
from ingest.extract.docx_numbering import write_number
from schemas.document import Element


def level(index: int, style: str, text: str, extra: str = "", start: int = 1) -> str:
    return (
        f'<w:lvl w:ilvl="{index}"><w:start w:val="{start}"/><w:numFmt w:val="{style}"/>{extra}'
        f'<w:lvlText w:val="{text}"/></w:lvl>'
    )


OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
NUMBERING = (
    '<w:abstractNum w:abstractNumId="1">'
    + level(0, "decimal", "%1.")
    + level(1, "decimal", "%1.%2")
    + level(2, "lowerLetter", "(%3)")
    + level(3, "lowerRoman", "(%4)")
    + '</w:abstractNum><w:abstractNum w:abstractNumId="2">'
    + level(0, "upperRoman", "Article %1")
    + level(1, "decimal", "%1.%2", "<w:isLgl/>")
    + level(2, "upperLetter", "%3)", '<w:lvlRestart w:val="0"/>')
    + '</w:abstractNum><w:abstractNum w:abstractNumId="3">'
    + level(0, "bullet", "\uf0b7")
    + level(1, "decimal", "%2.", '<w:pStyle w:val="Clause"/>', 7)
    + '</w:abstractNum><w:num w:numId="1"><w:abstractNumId w:val="1"/></w:num>'
    '<w:num w:numId="2"><w:abstractNumId w:val="2"/></w:num>'
    '<w:num w:numId="3"><w:abstractNumId w:val="1"/><w:lvlOverride w:ilvl="0">'
    '<w:startOverride w:val="5"/></w:lvlOverride></w:num>'
    '<w:num w:numId="4"><w:abstractNumId w:val="1"/></w:num>'
    '<w:num w:numId="5"><w:abstractNumId w:val="3"/></w:num>'
)


def numbered(text: str, list_id: int, depth: int = 0, style: str = "") -> str:
    named = f'<w:pStyle w:val="{style}"/>' if style else ""
    return paragraph(
        text,
        f'{named}<w:numPr><w:ilvl w:val="{depth}"/><w:numId w:val="{list_id}"/></w:numPr>',
    )


def test_numbers_of_clauses_are_text() -> None:
    """The labels are those that LibreOffice shows, but for the legal numbers, which it ignores."""
    body = [
        *(("1. Definitions", 1, 0), ("1.1 one", 1, 1), ("1.2 two", 1, 1), ("(a) item", 1, 2)),
        *(("(b) item", 1, 2), ("(i) deep", 1, 3), ("1.3 three", 1, 1), ("(a) again", 1, 2)),
        *(("2. Term", 1, 0), ("2.1 sub", 1, 1), ("Article I art", 2, 0), ("1.1 sec", 2, 1)),
        *(("A) x", 2, 2), ("Article II art", 2, 0), ("2.1 sec", 2, 1), ("B) on", 2, 2)),
        *(("5. five", 3, 0), ("5.1 sub", 3, 1), ("6. six", 3, 0), ("7. same list", 4, 0)),
        *(("8. first list", 1, 0), ("(a) only deep", 4, 2), ("bullet", 5, 0)),
    ]
    paragraphs = []
    for shown, list_id, depth in body:
        label = re.match(r"(?:Article \w+|[\d.]+|\(?\w\)) ", shown)
        paragraphs.append(numbered(shown[label.end() :] if label else shown, list_id, depth))
    data = word("".join(paragraphs), numbering=NUMBERING)
    assert [text for _, text in kinds(read(data, "a.docx"))] == [text for text, _, _ in body]


def test_numbers_from_styles() -> None:
    styles = (
        '<w:style w:type="paragraph" w:styleId="Clause"><w:name w:val="Clause"/><w:pPr>'
        '<w:numPr><w:numId w:val="5"/></w:numPr></w:pPr></w:style>'
        '<w:style w:type="paragraph" w:styleId="Sub"><w:name w:val="Sub"/>'
        '<w:basedOn w:val="Clause"/></w:style>'
        '<w:style w:type="paragraph" w:styleId="berschrift1"><w:name w:val="heading 1"/><w:pPr>'
        '<w:outlineLvl w:val="0"/></w:pPr></w:style>'
        '<w:style w:type="paragraph" w:styleId="T2"><w:name w:val="Titre 2"/></w:style>'
    )
    body = (
        paragraph("first", '<w:pStyle w:val="Clause"/>')
        + paragraph("second", '<w:pStyle w:val="Sub"/>')
        + paragraph("taken out", '<w:pStyle w:val="Sub"/><w:numPr><w:numId w:val="0"/></w:numPr>')
        + paragraph("Über uns", '<w:pStyle w:val="berschrift1"/>')
        + paragraph("Les parties", '<w:pStyle w:val="T2"/>')
        + paragraph("By its level", '<w:outlineLvl w:val="2"/>')
    )
    extraction = read(word(body, numbering=NUMBERING, styles=styles), "a.docx")
    assert kinds(extraction) == [
        ("list_item", "7. first"),
        ("list_item", "8. second"),
        ("paragraph", "taken out"),
        ("heading", "Über uns"),
        ("heading", "Les parties"),
        ("heading", "By its level"),
    ]
    assert [e.level for e in extraction.elements if e.level] == [1, 2, 3]


@pytest.mark.parametrize(
    ("style", "expected"),
    [
        ("decimal", "1 2 3 4 9 27 40"),
        ("lowerRoman", "i ii iii iv ix xxvii xl"),
        ("upperLetter", "A B C D I AA NN"),
        ("ordinal", "1st 2nd 3rd 4th 9th 27th 40th"),
        ("decimalZero", "01 02 03 04 09 27 40"),
        ("cardinalText", "One Two Three Four Nine Twenty-seven Forty"),
        ("ordinalText", "First Second Third Fourth Ninth Twenty-seventh Fortieth"),
        ("unheardOf", "1 2 3 4 9 27 40"),
    ],
)
def test_ways_to_write_a_number(style: str, expected: str) -> None:
    written = (write_number(number, style) for number in (1, 2, 3, 4, 9, 27, 40))
    assert " ".join(written) == expected


def test_what_is_not_in_the_runs() -> None:
    field = '<w:r><w:fldChar w:fldCharType="{}"/></w:r>'
    page = "".join(
        (
            field.format("begin"),
            "<w:r><w:instrText> PAGE </w:instrText></w:r>",
            field.format("separate"),
            run("17"),
            field.format("end"),
        )
    )
    box = (
        "<w:r><mc:AlternateContent><mc:Choice><w:drawing><wps:txbx><w:txbxContent>"
        f"{paragraph('In a box')}</w:txbxContent></wps:txbx></w:drawing></mc:Choice><mc:Fallback>"
        f"<w:pict><w:txbxContent>{paragraph('In a box')}</w:txbxContent></w:pict></mc:Fallback>"
        "</mc:AlternateContent></w:r>"
    )
    body = (
        f"<w:p>{run('The Buyer ')}<w:ins>{run('gladly ')}</w:ins><w:del><w:r><w:delText>never"
        f"</w:delText></w:r></w:del>{run('pays')}{run(' secretly', '<w:vanish/>')}"
        '<w:r><w:footnoteReference w:id="2"/></w:r>'
        f"{run('.')}</w:p>"
        f"<w:p>{run('On page ')}{page}<w:fldSimple w:instr='REF x'>{run('clause 3')}</w:fldSimple>"
        f"<w:r><w:tab/><w:noBreakHyphen/><w:br/></w:r>{run('end')}{box}</w:p>"
        f"<w:sdt><w:sdtPr><w:alias/></w:sdtPr><w:sdtContent>{paragraph('Controlled')}"
        "</w:sdtContent></w:sdt>"
        f"<w:p><w:pPr><w:rPr><w:del/></w:rPr></w:pPr>{run('Two marks ')}</w:p>"
        f"{paragraph('one paragraph')}"
        '<w:sectPr><w:headerReference r:id="header5"/>'
        '<w:footerReference r:id="footer6"/></w:sectPr>'
    )
    data = word(
        body,
        styles="",
        numbering="",
        footnotes='<w:footnote w:id="0" w:type="separator"/><w:footnote w:id="2"><w:p><w:r>'
        f"<w:footnoteRef/></w:r>{run('See below')}</w:p></w:footnote>",
        comments=f"<w:comment>{paragraph('Really?')}</w:comment>",
        settings="",
        header=paragraph("Acme Ltd"),
        footer=paragraph("Confidential"),
    )
    extraction = read(data, "a.docx")
    assert kinds(extraction) == [
        ("paragraph", "The Buyer gladly pays¹."),
        ("paragraph", "On page clause 3\t\u2011\nend"),
        ("paragraph", "In a box"),
        ("paragraph", "Controlled"),
        ("paragraph", "Two marks one paragraph"),
        ("footnote", "¹ See below"),
        ("hidden", "secretly"),
        ("header", "Acme Ltd"),
        ("footer", "Confidential"),
        ("annotation", "Really?"),
    ]
    assert extraction.text[: extraction.body_end].endswith("See below")
    assert codes(extraction) == ["tracked_changes", "hidden_text"]
    assert "1 insertion" in extraction.warnings[0].message
    assert "1 deletion" in extraction.warnings[0].message


def cells(extraction_text: str, table: Element) -> list[list[tuple[str, int, int, int, int]]]:
    return [
        [
            (extraction_text[c.char_start : c.char_end], c.row, c.column, c.row_span, c.column_span)
            for c in row.cells
        ]
        for row in table.rows
    ]


def test_tables_of_real_files(corpus: Path) -> None:
    extraction = read_file(corpus / "office/docx-tables.docx")
    tables = [element for element in extraction.elements if element.kind == "table"]
    assert len(tables) == 3
    assert cells(extraction.text, tables[1])[1] == [
        ("d", 2, 1, 1, 1),
        ("e f\ng&t h", 2, 2, 1, 1),
        ("i", 2, 3, 1, 1),
    ]
    assert cells(extraction.text, tables[2]) == [
        [("a", 1, 1, 2, 1), ("b", 1, 2, 1, 2)],
        [("c", 2, 2, 1, 1), ("d", 2, 3, 2, 1)],
        [("e", 3, 1, 1, 2)],
    ]
    extraction = read_file(corpus / "office/tables-with-incomplete-rows.docx")
    tables = [element for element in extraction.elements if element.kind == "table"]
    assert cells(extraction.text, tables[4]) == [
        [("a", 1, 1, 1, 2), ("b", 1, 3, 1, 1), ("c", 1, 4, 1, 1)],
        [("d", 2, 2, 3, 2)],
        [("e", 3, 1, 1, 1), ("f", 3, 4, 1, 1)],
    ]


def test_header_rows_and_frames() -> None:
    row = "<w:tr>{}<w:tc>{}</w:tc><w:tc>{}</w:tc></w:tr>"
    repeated = "<w:trPr><w:tblHeader/></w:trPr>"
    table = (
        "<w:tbl>"
        + row.format(repeated, paragraph("Item"), paragraph("Price"))
        + row.format("", paragraph("Desk"), paragraph("9 €"))
        + row.format("<w:trPr><w:del/></w:trPr>", paragraph("Gone"), paragraph("0"))
        + "</w:tbl>"
    )
    frame = f"<w:tbl><w:tr><w:tc>{paragraph('1. Scope')}{paragraph('Long')}</w:tc></w:tr></w:tbl>"
    extraction = read(word(table + frame), "a.docx")
    assert kinds(extraction) == [
        ("table", "Item Price\nDesk 9 €"),
        ("heading", "1. Scope"),
        ("paragraph", "Long"),
    ]
    assert [row.header for row in extraction.elements[0].rows] == [True, False]


def test_strict_documents_and_macros_are_read_alike() -> None:
    plain = word(paragraph("Some words here."))
    with zipfile.ZipFile(io.BytesIO(plain)) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    strict = {
        name: part.replace(
            b"http://schemas.openxmlformats.org/wordprocessingml/2006/main",
            b"http://purl.oclc.org/ooxml/wordprocessingml/main",
        )
        for name, part in parts.items()
    }
    assert read(zipped(strict), "a.docx").text == "Some words here."
    with_macros = read(zipped(parts | {"word/vbaProject.bin": b"\xd0\xcf"}), "a.docm")
    assert (with_macros.media_type, with_macros.text, codes(with_macros)) == (
        media.DOCX,
        "Some words here.",
        [],
    )


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (word(paragraph("x"))[:300], "damaged"),
        (zipped({"[Content_Types].xml": "<Types/>", "word/other.xml": "<x/>"}), "damaged"),
        (word("<w:p><w:r></w:p>"), "damaged"),
        (word("<w:sdt>" * 3000 + "</w:sdt>" * 3000), "damaged"),
        (
            b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + "EncryptedPackage".encode("utf-16-le"),
            "password_needed",
        ),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1 old", "unsupported_format"),
    ],
)
def test_what_cannot_be_read_costs_one_item(data: bytes, code: str) -> None:
    with pytest.raises(ItemError) as caught:
        read(data, "contract.docx")
    assert caught.value.code == code
    assert caught.value.message.startswith("contract.docx: ")


def test_limits() -> None:
    with pytest.raises(ItemError) as caught:
        read(word(paragraph("x" * 100)), "a.docx", limited(characters=50))
    assert caught.value.code == "too_many_characters"
    with pytest.raises(ItemError) as caught:
        read(word(paragraph("x" * 100)), "a.docx", limited(member_bytes=500))
    assert caught.value.code == "archive_bomb"


# What XML can hold, without the characters that python-docx turns into tabs and breaks.
RUNS = st.text(
    st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="\ufffe\uffff"), max_size=30
)


TABLES = st.lists(st.tuples(RUNS, RUNS), min_size=1, max_size=3)


@settings(max_examples=30)
@given(
    st.lists(st.one_of(RUNS, st.lists(st.tuples(RUNS, RUNS), min_size=1, max_size=3)), max_size=5)
)
def test_what_a_library_writes_comes_back(blocks: list[str | list[tuple[str, str]]]) -> None:
    document = docx.Document()
    written: list[str] = ["start"]
    document.add_paragraph("start")
    for block in blocks:
        if isinstance(block, str):
            document.add_paragraph(block)
            written.append(block)
            continue
        table = document.add_table(rows=0, cols=2)
        for values in block:
            for cell, value in zip(table.add_row().cells, values, strict=True):
                cell.text = value
                written.append(value)
    buffer = io.BytesIO()
    document.save(buffer)
    extraction = read(buffer.getvalue(), "a.docx")
    assert extraction.text.split() == " ".join(written).split()
