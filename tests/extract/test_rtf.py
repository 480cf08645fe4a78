from __future__ import annotations

from extract.checks import codes, kinds, read
from hypothesis import given
from hypothesis import strategies as st

from ingest.extract import media
from ingest.extract.draft import SourceBytes
from ingest.extract.rtf import read_rtf
from ingest.settings import ExtractionSettings

HEAD = (
    r"{\rtf1\ansi\ansicpg1252\deff0{\fonttbl{\f0 Times;}{\f1\fcharset204 Arial;}}"
    r"{\stylesheet{\s1\outlinelevel0 heading 1;}{\s2 heading 2;}{Normal;}}"
    r"{\info{\title My Contract}{\author Jane}}"
)
CONTRACT = (
    HEAD
    + r"""
{\header Acme, page {\field{\*\fldinst PAGE}{\fldrslt 3}}\par}
\pard\s1{\listtext 1.\tab}Definitions\par
\pard\s2 Terms\par
\pard In this {\b Agreement}\~words {\v secret }have \ldblquote meaning\rdblquote\u8364?5 caf\'e9
{\super\chftn}{\footnote{\super\chftn} A note.\par}.\par
\pard{\f1\'cf\'f0\'e8\'e2\'e5\'f2} {\deleted gone}{\revised done}\par
\pard{\pntext\'b7\tab}Bulleted\par
\pard{\listtext (a)\tab}lettered\par
{\*\annotation Really?}{\*\unknown not text}
\trowd\trhdr\cellx100\cellx200\pard\intbl Name\cell Price\cell\row
\trowd\cellx100\cellx200\pard\intbl Desk\par second\cell 9\cell\row
\trowd\cellx200\pard\intbl Wide\cell\row
\pard After {\pict\wmetafile8 0123456789abcdef} table\line next\par
\pard 7.2 Notice of Termination\par}
"""
)


def test_what_a_reader_of_the_page_sees() -> None:
    extraction = read(CONTRACT.encode("latin-1"), "a.rtf")
    assert kinds(extraction) == [
        ("heading", "1. Definitions"),
        ("heading", "Terms"),
        ("paragraph", "In this Agreement\u00a0words have “meaning”€5 café¹."),
        ("paragraph", "Привет done"),
        ("list_item", "Bulleted"),
        ("list_item", "(a) lettered"),
        ("table", "Name Price\nDesk\nsecond 9\nWide"),
        ("paragraph", "After  table\nnext"),
        ("heading", "7.2 Notice of Termination"),
        ("footnote", "¹  A note."),
        ("header", "Acme, page"),
        ("hidden", "secret"),
        ("annotation", "Really?"),
    ]
    table = extraction.elements[6]
    assert [row.header for row in table.rows] == [True, False, False]
    assert [(c.column, c.column_span) for c in table.rows[2].cells] == [(1, 2)]
    assert [e.level for e in extraction.elements if e.level] == [1, 2, 2]
    assert (extraction.title, extraction.author) == ("My Contract", "Jane")
    assert codes(extraction) == ["tracked_changes", "hidden_text", "pictures_not_read"]


def test_unicode_and_what_stands_in_for_it() -> None:
    text = HEAD + r"\uc2 \u20320\'c4\'e3\uc0\u-10179\u-8704 \uc1\u233 ?ok\par}"
    extraction = read(text.encode(), "a.rtf")
    assert "你" in extraction.text
    assert extraction.text.endswith("éok")


def test_binary_data_is_passed_over() -> None:
    data = HEAD.encode() + b"{\\pict\\bin5 }}}}}}before\\par after\\par}"
    assert read(data, "a.rtf").text == "before\n\nafter"


@given(st.text("\\{}'*abcdfhilnoprstuvw0123456789 \n", max_size=200))
def test_no_control_words_break_the_reader(text: str) -> None:
    data = b"{\\rtf1 " + text.encode()
    draft = read_rtf(SourceBytes(data, "a.rtf", media.RTF, {}, ExtractionSettings()))
    assert draft.text == draft.text.strip()
