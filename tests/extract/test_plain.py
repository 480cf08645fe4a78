from __future__ import annotations

from extract.checks import check_invariants, codes, kinds, read
from hypothesis import given
from hypothesis import strategies as st

from ingest.blocks import blocks_of
from ingest.extract import EXTRACTOR_VERSION, media
from ingest.extract.draft import Draft, SourceBytes
from ingest.extract.markdown import read_markdown
from ingest.extract.plain import read_text
from ingest.settings import ExtractionSettings
from schemas.base import sha256_bytes
from schemas.document import Extraction

PIECES = st.sampled_from(
    [
        *(
            "\r\n",
            "\r",
            "\n",
            "\n\n",
            " ",
            "\t",
            "\u00a0",
            "\u2028",
            "\x85",
            "\x0c",
            "\0",
            "\ufeff",
        ),
        *("#", "## ", "- ", "1) ", "```\n", "7. TERMINATION", "\n7. TERMINATION\n"),
        *("> ", "| a | b |\n|--|--|\n| c \\| d | |\n", "\n===\n", "<!-- c -->", "[a]: b\n"),
        *("---\ntitle: x\n---\n", "    code\n", "7.2 Notice. Either party may give it.\n"),
        *("e\u0301", "👩‍👩‍👧", "ﬁ", "条款", "שלום", "½"),
    ]
)
TEXTS = st.lists(PIECES | st.text(st.characters(exclude_categories=["Cs"]))).map("".join)


def extraction_of(data: bytes, draft: Draft, media_type: str) -> Extraction:
    return Extraction(
        media_type=media_type,
        extractor_version=EXTRACTOR_VERSION,
        doc_sha256=sha256_bytes(data),
        text=draft.text,
        body_end=draft.body_end,
        elements=tuple(draft.elements),
    )


@given(TEXTS, st.sampled_from([media.PLAIN, media.MARKDOWN]))
def test_any_text_comes_back_as_it_is(text: str, media_type: str) -> None:
    data = text.encode()
    read_any = read_markdown if media_type == media.MARKDOWN else read_text
    draft = read_any(SourceBytes(data, "a", media_type, {}, ExtractionSettings()))
    assert draft.text == text.removeprefix("\ufeff").replace("\0", "")
    extraction = extraction_of(data, draft, media_type)
    check_invariants(extraction)
    assert [e.paragraph for e in extraction.elements] == [*range(1, len(extraction.elements) + 1)]


def test_blocks_are_paragraphs_and_clause_headings_stand_alone() -> None:
    text = (
        "MASTER AGREEMENT\r\n\r\n  1. Definitions\r\nIn this agreement\r\nwords have meanings.\r\n"
        "\r\n7.2 Notice of Termination\r\n\r\nEither party may terminate.\r\n"
    )
    extraction = read(text.encode(), "contract.txt")
    assert extraction.text == text
    assert kinds(extraction) == [
        ("title", "MASTER AGREEMENT"),
        ("heading", "1. Definitions"),
        ("paragraph", "In this agreement\r\nwords have meanings."),
        ("heading", "7.2 Notice of Termination"),
        ("paragraph", "Either party may terminate."),
    ]
    assert [e.level for e in extraction.elements if e.level] == [1, 1, 2]
    assert extraction.language == "en"
    assert extraction.title is None


def test_a_heading_that_runs_into_its_clause_is_an_element() -> None:
    text = (
        "They agree:\n7. Termination. Either party may end it.\n7.2 Costs and Attorneys’\n"
        "Fees. Borrower shall pay them.\n\n8. The parties agree. They sign.\n"
    )
    assert kinds(read(text.encode(), "contract.txt")) == [
        ("paragraph", "They agree:"),
        ("heading", "7. Termination."),
        ("paragraph", "Either party may end it."),
        ("heading", "7.2 Costs and Attorneys’\nFees."),
        ("paragraph", "Borrower shall pay them."),
        ("paragraph", "8. The parties agree. They sign."),
    ]


def test_headings_in_capitals_split_a_block() -> None:
    text = "They agree as follows:\nARTICLE I\nCREDIT TERMS\nSECTION 1.1. LINE\nas in\nSchedule 2\n"
    assert kinds(read(text.encode(), "credit.txt")) == [
        ("paragraph", "They agree as follows:"),
        ("heading", "ARTICLE I"),
        ("paragraph", "CREDIT TERMS"),
        ("heading", "SECTION 1.1. LINE"),
        ("paragraph", "as in\nSchedule 2"),
    ]


def test_markdown_headings_lists_and_fences() -> None:
    text = (
        "# Terms of Service\nIntro right below.\n\n- one\n- two\n\n"
        "```\n# not a heading\n\nstill code\n```\n## 2. Fees ##\n\n#hashtag is text\n"
    )
    extraction = read(text.encode(), "terms.md")
    assert kinds(extraction) == [
        ("heading", "# Terms of Service"),
        ("paragraph", "Intro right below."),
        ("list_item", "- one"),
        ("list_item", "- two"),
        ("paragraph", "```\n# not a heading\n\nstill code\n```"),
        ("heading", "## 2. Fees ##"),
        ("paragraph", "#hashtag is text"),
    ]
    assert [e.level for e in extraction.elements if e.level] == [1, 2]
    assert extraction.title == "Terms of Service"
    assert kinds(read(text.encode(), "terms.txt"))[0][0] == "paragraph"


def test_encodings() -> None:
    text = "Grüße für 5 €"
    for encoding in ("utf-8", "utf-8-sig", "utf-16", "utf-32"):
        extraction = read(text.encode(encoding), "a.txt")
        assert (extraction.text, codes(extraction)) == (text, [])
    extraction = read(text.encode("cp1252"), "a.txt")
    assert (extraction.text, codes(extraction)) == (text, ["encoding_assumed"])
    assert read(b"a\x81b caf\xe9", "a.txt").text == "a\x81b café"
    assert read(text.encode("cp1250"), "a.txt", options={"encoding": "cp1250"}).text == text
    for encoding in ("utf-16-le", "utf-16-be"):
        extraction = read(f"{text} and twenty more words".encode(encoding), "a.txt")
        assert extraction.text == f"{text} and twenty more words"
        assert codes(extraction) == ["encoding_assumed"]
    odd = read("Grüße".encode("utf-16-le").join([b"\xff\xfe", b"x"]), "a.txt")
    assert (odd.text, codes(odd)) == ("Grüße\ufffd", ["bytes_undecodable"])


def test_nul_characters_are_removed_and_counted() -> None:
    extraction = read(b"one\0 two\0 three", "a.txt")
    assert extraction.text == "one two three"
    [warning] = extraction.warnings
    assert (warning.code, warning.message[0]) == ("characters_removed", "2")


def test_headings_that_run_into_their_clause_and_form_feeds() -> None:
    text = "7.2 Notice. Either party may give notice\nin writing.\n\fNext page begins.\n"
    assert kinds(read(text.encode(), "a.txt")) == [
        ("heading", "7.2 Notice."),
        ("paragraph", "Either party may give notice\nin writing."),
        ("paragraph", "Next page begins."),
    ]


def test_markdown_blocks() -> None:
    text = (
        '---\ntitle: "Terms"\nauthor: Jane\n---\nSetext\n======\n\n<!-- unseen -->\n\n'
        "1. first item\n   goes on\n   - nested\n\n> quoted\n> words\n\n"
        "| Name | Price |\n|------|:-----:|\n| Desk | 9 \\| 10 |\n| Chair | |\n\n"
        "***\n[link]: http://x.example\n"
    )
    extraction = read(text.encode(), "terms.md")
    assert extraction.text == text
    assert kinds(extraction) == [
        ("paragraph", '---\ntitle: "Terms"\nauthor: Jane\n---'),
        ("heading", "Setext\n======"),
        ("paragraph", "<!-- unseen -->"),
        ("list_item", "1. first item\n   goes on"),
        ("list_item", "- nested"),
        ("paragraph", "> quoted\n> words"),
        ("table", text[text.index("| Name") : text.index("\n\n***")]),
        ("paragraph", "***\n[link]: http://x.example"),
    ]
    [table] = [element for element in extraction.elements if element.kind == "table"]
    assert [
        [(text[cell.char_start : cell.char_end], cell.column) for cell in row.cells]
        for row in table.rows
    ] == [[("Name", 1), ("Price", 2)], [("Desk", 1), ("9 \\| 10", 2)], [("Chair", 1)]]
    assert [row.header for row in table.rows] == [True, False, False]
    assert (extraction.title, extraction.author) == ("Terms", "Jane")
    assert codes(extraction) == ["unrendered_text"]
    assert blocks_of(extraction)[1].path == ("Setext",)
