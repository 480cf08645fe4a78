"""docs/sources.md against the connectors: each has an example that can be copied."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml
from pydantic import TypeAdapter

from ingest.sources import CONNECTORS
from ingest.sources.dates import feed_date
from schemas.source import Source

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "docs" / "sources.md").read_text("utf-8")
EXAMPLES = [
    entry
    for block in re.findall(r"```yaml\n(.*?)```", TEXT, flags=re.S)
    for entry in yaml.safe_load(block)
]


def test_every_example_is_a_valid_source() -> None:
    checked = TypeAdapter(list[Source]).validate_python(EXAMPLES)
    assert len({source.id for source in checked}) == len(checked)


@pytest.mark.parametrize("name", CONNECTORS)
def test_every_connector_has_a_page_with_an_example(name: str) -> None:
    anchor = re.search(rf"^\| \[`{name}`\]\(#([a-z0-9-]+)\) \|", TEXT, flags=re.M)
    assert anchor, f"the table of docs/sources.md has no row for {name}"
    titles = re.findall(r"^## (.+)$", TEXT, flags=re.M)
    pages = {re.sub(r"[^a-z0-9 -]", "", title.lower()).replace(" ", "-") for title in titles}
    assert anchor[1] in pages
    assert name in {example["connector"] for example in EXAMPLES}


def test_the_dates_are_read_as_the_page_says() -> None:
    rows = re.findall(r"^\| `([^`]+)` \| (\d\d:\d\d:\d\d UTC|nothing: .+) \|$", TEXT, flags=re.M)
    assert len(rows) == 8
    for written, said in rows:
        read = feed_date(written)
        assert said.startswith(read.strftime("%H:%M:%S UTC") if read else "nothing: "), written


def test_the_parts_about_feeds_name_every_code() -> None:
    sources = ["feed", "feed_entries", "xml_feed", "json_feed"]
    texts = [(ROOT / f"ingest/sources/{name}.py").read_text("utf-8") for name in sources]
    codes = {
        code for text in texts for code in re.findall(r'(?:code=|Error\(\s*)"([a-z_]+)"', text)
    }
    assert len(codes) > 4
    assert [code for code in codes if f"`{code}`" not in TEXT] == []
