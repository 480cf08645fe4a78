"""Office files that tests make part by part."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping

W = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
S = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
R = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
RELATIONSHIPS = "http://schemas.openxmlformats.org/package/2006/relationships"


def zipped(parts: Mapping[str, str | bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in parts.items():
            archive.writestr(name, data)
    return buffer.getvalue()


def relationships(targets: Mapping[str, str]) -> str:
    """Return a relationships part; each target has its kind, and both give the id."""
    lines = (
        f'<Relationship Id="{kind}{number}" Type="{R}/{kind}" Target="{target}"/>'
        for number, (target, kind) in enumerate(targets.items())
    )
    return f'<Relationships xmlns="{RELATIONSHIPS}">{"".join(lines)}</Relationships>'


def word(body: str, **parts: str) -> bytes:
    """Return a Word document; ``parts`` are the contents of its other parts by kind."""
    names = {f"{kind}.xml": kind.rstrip("0123456789") for kind in parts}
    namespaces = (
        f'xmlns:w="{W}" xmlns:r="{R}" '
        'xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006" '
        'xmlns:wps="http://schemas.microsoft.com/office/word/2010/wordprocessingShape" '
        'xmlns:v="urn:schemas-microsoft-com:vml"'
    )
    roots = {
        "styles": "styles",
        "numbering": "numbering",
        "footnotes": "footnotes",
        "endnotes": "endnotes",
        "comments": "comments",
        "header": "hdr",
        "footer": "ftr",
        "settings": "settings",
    }
    return zipped(
        {
            "[Content_Types].xml": "<Types/>",
            "_rels/.rels": relationships({"word/document.xml": "officeDocument"}),
            "word/document.xml": f"<w:document {namespaces}><w:body>{body}</w:body></w:document>",
            "word/_rels/document.xml.rels": relationships(names),
            **{
                f"word/{kind}.xml": f"<w:{root} {namespaces}>{parts[kind]}</w:{root}>"
                for kind in parts
                for root in [roots[kind.rstrip("0123456789")]]
            },
        }
    )


def paragraph(text: str, properties: str = "") -> str:
    return f"<w:p><w:pPr>{properties}</w:pPr>{run(text)}</w:p>"


def run(text: str, properties: str = "") -> str:
    return f'<w:r><w:rPr>{properties}</w:rPr><w:t xml:space="preserve">{text}</w:t></w:r>'


def workbook(sheets: Mapping[str, str], *, styles: str = "", strings: str = "") -> bytes:
    """Return a workbook; each sheet is what stands inside its worksheet element."""
    names = {f"worksheets/sheet{number}.xml": "worksheet" for number in range(len(sheets))}
    listed = "".join(
        f'<sheet name="{name.partition("|")[0]}" sheetId="{number + 1}" r:id="worksheet{number}" '
        f'state="{name.partition("|")[2] or "visible"}"/>'
        for number, name in enumerate(sheets)
    )
    return zipped(
        {
            "[Content_Types].xml": "<Types/>",
            "_rels/.rels": relationships({"xl/workbook.xml": "officeDocument"}),
            "xl/workbook.xml": f'<workbook xmlns="{S}" xmlns:r="{R}"><sheets>{listed}</sheets>'
            "</workbook>",
            "xl/_rels/workbook.xml.rels": relationships(
                names | {"styles.xml": "styles", "sharedStrings.xml": "sharedStrings"}
            ),
            "xl/styles.xml": f'<styleSheet xmlns="{S}">{styles}</styleSheet>',
            "xl/sharedStrings.xml": f'<sst xmlns="{S}">{strings}</sst>',
            **{
                f"xl/{part}": f'<worksheet xmlns="{S}">{inside}</worksheet>'
                for part, inside in zip(names, sheets.values(), strict=True)
            },
        }
    )
