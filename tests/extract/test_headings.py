from __future__ import annotations

import pytest

from ingest.extract.headings import (
    clause_level,
    is_capital_heading,
    is_running,
    numbered_depth,
    run_in_heading,
)


@pytest.mark.parametrize(
    ("line", "level"),
    [
        ("7. TERMINATION", 1),
        ("7 TERMINATION", 1),
        ("7) Termination", 1),
        ("7. Termination.", 1),
        ("7.2 Notice", 2),
        ("7.2. Notice of Termination", 2),
        ("3.2.1 Payment Terms", 3),
        ("12.   CONFIDENTIAL   INFORMATION", 1),
        ("ARTICLE IV", 1),
        ("ARTICLE IV – TERM AND TERMINATION", 1),
        ("Section 7.2: Notices", 2),
        ("Schedule A", 1),
        ("EXHIBIT A.", 1),
        ("Appendix 2 Data Processing", 1),
        ("18.0 MISCELLANEOUS.", 1),
        ("2.02 LOCATION.", 2),
        ("IV. TERM AND TERMINATION", 1),
        ("II. Additional Terms", None),
        ("A. DEFINITIONS", 2),
        ("Exhibit 10.2", 1),
        ("EXHIBIT A", 1),
    ],
)
def test_clause_headings(line: str, level: int | None) -> None:
    assert clause_level(line) == level


@pytest.mark.parametrize(
    "line",
    [
        "",
        "TERMINATION",
        "12 Months",
        "12 months after signature",
        "1. the Supplier shall deliver",
        "7.2 Notice shall be given in writing to the other party at its address;",
        "7. TERMINATION ............ 12",
        "7. Termination 12",
        "2300 E. WACKER DRIVE",
        "Exhibit A.",
        "Section 7.2 shall survive termination of this Agreement",
        "Schedule A attached hereto and made a part hereof",
        "1. " + "Very Long Title " * 10,
        "3.14 per cent of the price",
        "9. Resolution of",
        "4. Section",
        "19.99",
        "A. Definitions",
        "(a) Definitions",
        "J. SMITH of the Company",
        "5.6 Governing Law. THIS AGREEMENT SHALL BE GOVERNED BY THE LAWS",
    ],
)
def test_other_lines(line: str) -> None:
    assert clause_level(line) is None


def test_numbers_of_known_headings() -> None:
    assert numbered_depth("3.2.1 payment") == 3
    assert numbered_depth("Article 5 of something") == 1
    assert numbered_depth("Payment") is None


@pytest.mark.parametrize(
    ("text", "heading", "level"),
    [
        ("7. Termination. Either party may end it.", "7. Termination.", 1),
        ("7.2 Notice of Breach. “Notice” means", "7.2 Notice of Breach.", 2),
        ("2.1. Term: This Agreement", "2.1. Term:", 2),
        ("Section 3. Legal Fees. The", "Section 3. Legal Fees.", 1),
        (
            "SECTION 7.3. COSTS AND ATTORNEYS’ FEES. Borrower",
            "SECTION 7.3. COSTS AND ATTORNEYS’ FEES.",
            2,
        ),
        ("IV. Remedies. The", "IV. Remedies.", 1),
    ],
)
def test_headings_that_run_into_their_clause(text: str, heading: str, level: int) -> None:
    words = text.split()
    found = run_in_heading(words)
    assert found is not None
    assert (" ".join(words[: found[0]]), found[1]) == (heading, level)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "7.",
        "7. Termination.",
        "7. Termination. either party may",
        "7. The parties agree. They sign",
        "7 Termination. Either party may",
        "1. Acme Inc. The company",
        "Termination. Either party may",
        "3.14 per cent. The rest",
        "7. " + "Very Long Title " * 5 + "End. The",
    ],
)
def test_clauses_without_a_heading(text: str) -> None:
    assert run_in_heading(text.split()) is None


@pytest.mark.parametrize("line", ["RECITALS", "WITNESSETH:", "TERM AND TERMINATION", "BACKGROUND."])
def test_lines_in_capitals_that_head_something(line: str) -> None:
    assert is_capital_heading(line)


@pytest.mark.parametrize(
    "line",
    [
        "Recitals",
        "NOW, THEREFORE,",
        "ACME CORPORATION",
        "TYCO GROUP L.P.",
        "BY: JANE DOE",
        "DATED 3 MAY 2024",
        "NO. 12-345-678",
        '"RESERVED"',
        "[REDACTED]",
        "DEFINITIONS ...... 3",
        "IN THE",
        "ONE TWO THREE FOUR FIVE SIX SEVEN EIGHT NINE TEN ELEVEN",
    ],
)
def test_lines_in_capitals_that_head_nothing(line: str) -> None:
    assert not is_capital_heading(line)


def test_sentences_are_running_text() -> None:
    assert is_running(["the", "Supplier", "shall", "deliver", "the", "goods", "in", "time"])
    assert not is_running(["ACME", "CORPORATION", "By:", "Jane", "Doe", "Name:", "Jane", "Doe"])
    assert not is_running(["by", "its", "president"])
