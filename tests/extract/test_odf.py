from __future__ import annotations

import pytest
from extract.checks import codes, kinds, limited, read
from extract.office import zipped

from ingest.errors import ItemError

SPACES = " ".join(
    f'xmlns:{prefix}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"'
    for prefix, name in (
        *(("office", "office"), ("text", "text"), ("table", "table"), ("style", "style")),
        *(("draw", "drawing"), ("presentation", "presentation"), ("meta", "meta")),
    )
)
SPACES += ' xmlns:dc="http://purl.org/dc/elements/1.1/"'
LEVELS = (
    '<text:list-style style:name="L1"><text:list-level-style-number text:level="1" '
    'style:num-format="1" style:num-suffix="."/><text:list-level-style-number text:level="2" '
    'style:num-format="a" style:num-prefix="(" style:num-suffix=")"/></text:list-style>'
    '<text:list-style style:name="B"><text:list-level-style-bullet text:level="1"/>'
    "</text:list-style>"
    '<text:outline-style style:name="O"><text:outline-level-style text:level="1" '
    'style:num-format="1" style:num-suffix="."/><text:outline-level-style text:level="2" '
    'style:num-format="1" text:display-levels="2"/></text:outline-style>'
)


META = "<office:meta><dc:title>Big  deal</dc:title><dc:creator>Jane</dc:creator></office:meta>"


def odf(
    kind: str, body: str, *, automatic: str = "", styles: str = "", manifest: str = ""
) -> bytes:
    full = {"text": "text", "ods": "spreadsheet", "odp": "presentation"}[kind]
    return zipped(
        {
            "mimetype": f"application/vnd.oasis.opendocument.{full}",
            "content.xml": f"<office:document-content {SPACES}><office:automatic-styles>{automatic}"
            f"</office:automatic-styles><office:body><office:{full}>{body}</office:{full}>"
            "</office:body></office:document-content>",
            "styles.xml": f"<office:document-styles {SPACES}>{styles}</office:document-styles>",
            "meta.xml": f"<office:document-meta {SPACES}>{META}</office:document-meta>",
            "META-INF/manifest.xml": f"<m:manifest xmlns:m='x'>{manifest}</m:manifest>",
        }
    )


def item(text: str, inner: str = "") -> str:
    return f"<text:list-item><text:p>{text}</text:p>{inner}</text:list-item>"


def test_a_text_document() -> None:
    body = (
        "<text:tracked-changes><text:changed-region><text:deletion><text:p>gone</text:p>"
        "</text:deletion></text:changed-region></text:tracked-changes>"
        '<text:h text:outline-level="1">Scope</text:h><text:h text:outline-level="2">Goods</text:h>'
        "<text:p>Two   blanks<text:s text:c='2'/>and<text:tab/>a tab<text:line-break/>next"
        "<text:span text:style-name='H'> unseen</text:span><text:note text:note-class='footnote'>"
        "<text:note-citation>1</text:note-citation><text:note-body><text:p>A note</text:p>"
        "</text:note-body></text:note><text:page-number>7</text:page-number>"
        "<office:annotation><dc:creator>Ann</dc:creator><text:p>Sure?</text:p></office:annotation>"
        "</text:p>"
        '<text:list text:style-name="L1">'
        + item("first", f"<text:list>{item('inner')}{item('other')}</text:list>")
        + item("second")
        + '</text:list><text:list text:style-name="L1" text:continue-numbering="true">'
        + item("third")
        + '</text:list><text:list text:style-name="B">'
        + item("bullet")
        + "</text:list><table:table><table:table-header-rows><table:table-row><table:table-cell>"
        "<text:p>Item</text:p></table:table-cell><table:table-cell><text:p>Price</text:p>"
        "</table:table-cell></table:table-row></table:table-header-rows><table:table-row>"
        '<table:table-cell table:number-columns-spanned="2"><text:p>Desk</text:p><text:p>9</text:p>'
        "</table:table-cell><table:covered-table-cell/></table:table-row></table:table>"
        "<text:p><draw:frame><draw:text-box><text:p>In a box</text:p></draw:text-box></draw:frame>"
        "</text:p>"
    )
    automatic = (
        '<style:style style:name="H"><style:text-properties text:display="none"/></style:style>'
    )
    header = (
        "<style:master-page><style:header><text:p>Acme</text:p></style:header></style:master-page>"
    )
    extraction = read(odf("text", body, automatic=automatic, styles=LEVELS + header), "a.odt")
    assert kinds(extraction) == [
        ("heading", "1. Scope"),
        ("heading", "1.1 Goods"),
        ("paragraph", "Two blanks  and\ta tab\nnext¹"),
        ("list_item", "1. first"),
        ("list_item", "(a) inner"),
        ("list_item", "(b) other"),
        ("list_item", "2. second"),
        ("list_item", "3. third"),
        ("list_item", "bullet"),
        ("table", "Item Price\nDesk\n9"),
        ("paragraph", "In a box"),
        ("footnote", "¹ A note"),
        ("annotation", "Sure?"),
        ("hidden", "unseen"),
        ("header", "Acme"),
    ]
    table = extraction.elements[9]
    assert [row.header for row in table.rows] == [True, False]
    assert table.rows[1].cells[0].column_span == 2
    assert (extraction.title, extraction.author) == ("Big deal", "Jane")
    assert codes(extraction) == ["tracked_changes", "hidden_text"]


def cell(text: str, more: str = "") -> str:
    return f"<table:table-cell {more}><text:p>{text}</text:p></table:table-cell>"


def test_a_spreadsheet() -> None:
    body = (
        '<table:table table:name="Data"><table:table-column/><table:table-column '
        'table:visibility="collapse"/><table:table-row>'
        + cell("Name")
        + cell("Secret")
        + cell("Sum")
        + '</table:table-row><table:table-row table:number-rows-repeated="2">'
        + cell("x")
        + "<table:table-cell/>"
        + cell("12.50 €")
        + '</table:table-row><table:table-row table:visibility="filter">'
        + cell("filtered")
        + '</table:table-row><table:table-row table:number-rows-repeated="1048570">'
        '<table:table-cell table:number-columns-repeated="16384"/></table:table-row></table:table>'
        '<table:table table:name="Off" table:style-name="T"><table:table-row>'
        + cell("unseen")
        + "</table:table-row></table:table>"
    )
    automatic = (
        '<style:style style:name="T"><style:table-properties table:display="false"/></style:style>'
    )
    extraction = read(odf("ods", body, automatic=automatic), "a.ods")
    assert kinds(extraction) == [
        ("heading", "Data"),
        ("table", "Name Sum\nx 12.50 €\nx 12.50 €"),
        ("hidden", "Secret\nfiltered"),
        ("hidden", "unseen"),
    ]
    places = [(c.row, c.column) for row in extraction.elements[1].rows for c in row.cells]
    assert places == [(1, 1), (1, 3), (2, 1), (2, 3), (3, 1), (3, 3)]
    assert codes(extraction) == ["hidden_cells"]


def test_repeated_cells_cannot_fill_the_memory() -> None:
    body = (
        '<table:table table:name="Data"><table:table-row table:number-rows-repeated="1000000">'
        + cell("x" * 50, 'table:number-columns-repeated="16384"')
        + "</table:table-row></table:table>"
    )
    with pytest.raises(ItemError) as caught:
        read(odf("ods", body), "a.ods", limited(characters=1_000_000))
    assert caught.value.code == "too_many_characters"


def test_a_presentation() -> None:
    def frame(role: str, text: str) -> str:
        return (
            f'<draw:frame presentation:class="{role}"><draw:text-box><text:p>{text}</text:p>'
            "</draw:text-box></draw:frame>"
        )

    body = (
        f"<draw:page>{frame('outline', 'Point')}{frame('title', 'Results')}"
        f"{frame('page-number', '4')}<presentation:notes>{frame('notes', 'Say thanks')}"
        '</presentation:notes></draw:page><draw:page draw:style-name="S">'
        f"{frame('title', 'Left out')}</draw:page>"
    )
    automatic = (
        '<style:style style:name="S"><style:drawing-page-properties '
        'presentation:visibility="hidden"/></style:style>'
    )
    extraction = read(odf("odp", body, automatic=automatic), "a.odp")
    assert kinds(extraction) == [
        ("heading", "Results"),
        ("paragraph", "Point"),
        ("annotation", "Say thanks"),
        ("hidden", "Left out"),
    ]
    assert [e.slide for e in extraction.elements] == [1, 1, 1, 2]


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (odf("text", "<text:p>x</text:p>", manifest="<m:encryption-data/>"), "password_needed"),
        (odf("text", "<text:p>x"), "damaged"),
        (odf("text", "<text:p/>"), "no_text"),
        (zipped({"mimetype": "application/vnd.oasis.opendocument.text"}), "damaged"),
    ],
)
def test_what_cannot_be_read_costs_one_item(data: bytes, code: str) -> None:
    with pytest.raises(ItemError) as caught:
        read(data, "a.odt")
    assert caught.value.code == code
