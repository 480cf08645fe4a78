from __future__ import annotations

import pytest

from ingest.extract.headings import clause_level, numbered_depth


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
    ],
)
def test_clause_headings(line: str, level: int) -> None:
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
    ],
)
def test_other_lines(line: str) -> None:
    assert clause_level(line) is None


def test_numbers_of_known_headings() -> None:
    assert numbered_depth("3.2.1 payment") == 3
    assert numbered_depth("Article 5 of something") == 1
    assert numbered_depth("Payment") is None
