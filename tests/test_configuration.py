from __future__ import annotations

import pickle
import textwrap
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from ingest.configuration import json_schemas, load_configuration
from ingest.errors import ConfigurationError
from ingest.yaml_file import read_yaml

LICENCES = """\
licences:
  - id: open
    name: Open
    attribution_required: false
  - id: paid
    name: Paid
    attribution_required: true
    attribution_text: © Paid
    valid_until: 2027-06-30T00:00:00Z
"""
SOURCES = """\
sources:
  - id: reports
    kind: report
    connector: files
    address: reports
    licence: paid
  - id: notes
    kind: crm
    connector: csv
    address: crm.csv
    key: id
    text: [note]
    licence: open
  - id: wire
    kind: news
    connector: feed
    address: https://wire.example/feed.xml
    licence: open
"""


def load(tmp_path: Path, sources: str = SOURCES, licences: str = LICENCES) -> Any:
    (tmp_path / "sources.yaml").write_text(textwrap.dedent(sources), "utf-8")
    (tmp_path / "licences.yaml").write_text(textwrap.dedent(licences), "utf-8")
    return load_configuration(tmp_path / "sources.yaml", tmp_path / "licences.yaml")


def faults(tmp_path: Path, sources: str = SOURCES, licences: str = LICENCES) -> list[str]:
    """Return the problems that are found, with the folder taken out of each line."""
    with pytest.raises(ConfigurationError) as caught:
        load(tmp_path, sources, licences)
    assert caught.value.code == "configuration_invalid"
    *lines, advice = caught.value.message.splitlines()
    assert "Correct" in advice
    assert "nothing was started" in advice
    return [line.replace(f"{tmp_path}/", "") for line in lines]


def fault(tmp_path: Path, old: str, new: str) -> str:
    """Return the one problem that replacing ``old`` in either file makes."""
    assert (old in SOURCES) != (old in LICENCES), old
    (line,) = faults(tmp_path, SOURCES.replace(old, new, 1), LICENCES.replace(old, new, 1))
    return line


def test_both_files_become_a_configuration(tmp_path: Path) -> None:
    configuration = load(tmp_path)
    assert [source.id for source in configuration.sources] == ["reports", "notes", "wire"]
    assert configuration.licences.keys() == {"open", "paid"}
    assert configuration.base == tmp_path
    assert configuration.source("notes").key == "id"
    assert configuration.licences["paid"].valid_until.isoformat() == "2027-06-30T00:00:00+00:00"


def test_relative_files_start_at_an_absolute_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    load(tmp_path)
    monkeypatch.chdir(tmp_path)
    assert load_configuration(Path("sources.yaml"), Path("licences.yaml")).base == tmp_path


def test_an_unknown_source_is_answered_with_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"'nots'.*reports, notes, wire") as caught:
        load(tmp_path).source("nots")
    assert caught.value.code == "unknown_source"


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        # values
        ("kind: crm", "kind: notes", "sources.yaml:8: sources[1].kind: Input should be 'report', "),
        ("kind: crm", "kind: [crm]", "sources.yaml:8: sources[1].kind: "),
        ("id: notes", "id: my notes", "sources.yaml:7: sources[1].id: "),
        (
            "id: notes",
            "id: 7",
            "sources.yaml:7: sources[1].id: Input should be a valid string, not 7",
        ),
        ("address: crm.csv", "", "sources.yaml:7: sources[1].address: is required"),
        ("text: [note]", "text: []", "sources.yaml:12: sources[1].text: "),
        ("text: [note]", "text: [note, 7]", "sources.yaml:12: sources[1].text[1]: "),
        (
            "key: id",
            "key: id\n    max_item_bytes: 0",
            "sources.yaml:12: sources[1].max_item_bytes: ",
        ),
        (
            "key: id",
            "key: id\n    min_listed_share: .nan",
            "sources.yaml:12: sources[1].min_listed",
        ),
        (
            "connector: csv",
            "connector: ftp",
            "sources.yaml:9: sources[1].connector: should be one of",
        ),
        ("connector: csv", "", "sources.yaml:7: sources[1].connector: should be one of"),
        # keys
        (
            "key: id",
            "key: id\n    licens: open",
            "sources.yaml:12: sources[1].licens: unknown key; is 'li",
        ),
        (
            "key: id",
            "key: id\n    zzz: 1",
            "sources.yaml:12: sources[1].zzz: unknown key; known are id, ",
        ),
        (
            "key: id",
            "key: id\n    access:\n      confidential: public",
            "sources.yaml:13: sources[1].access.confidential: unknown key; is 'confidentiality'",
        ),
        ("key: id", "key: id\n    key: other", "sources.yaml:12: the key 'key' is there twice"),
        (
            "sources:",
            "version: 2\nsources:",
            "sources.yaml:1: version: unknown key; the only one is ",
        ),
        ("sources:", "source:", "sources.yaml:1: source: unknown key"),
        # dates
        (
            "2027-06-30T00:00:00Z",
            "2027-06-30",
            "licences.yaml:9: licences[1].valid_until: '2027-06-30' is not an RFC 3339",
        ),
        (
            "2027-06-30T00:00:00Z",
            "2027-06-30T00:00:00",
            "licences.yaml:9: licences[1].valid_until: '2027-06-30T00:00:00' is not an RFC 3339",
        ),
        (
            "2027-06-30T00:00:00Z",
            "30/06/2027",
            "licences.yaml:9: licences[1].valid_until: '30/06/2027'",
        ),
        (
            "2027-06-30T00:00:00Z",
            "9999-12-31T23:59:59-05:00",
            "licences.yaml:9: licences[1].valid_until: 9999-12-31T23:59:59-05:00 is outside",
        ),
        # licences
        (
            "attribution_text: © Paid",
            "",
            "licences.yaml:5: licences[1]: licence 'paid' requires attribu",
        ),
        (
            "attribution_required: true",
            "",
            "licences.yaml:5: licences[1].attribution_required: is requ",
        ),
        (
            "name: Paid",
            "name: Paid\n    fee: 7",
            "licences.yaml:7: licences[1].fee: unknown key; known",
        ),
        # between entries and files
        (
            "id: notes",
            "id: reports",
            "sources.yaml:7: sources[1].id: 'reports' is the id of sources[0]",
        ),
        (
            "licence: paid",
            "licence: pad",
            "sources.yaml:6: sources[0].licence: 'pad' is not in the reg",
        ),
        # YAML
        ("key: id", "key: 'id", "sources.yaml:"),
        ("key: id", "key: id\n   odd: 1", "sources.yaml:"),
        (
            "key: id",
            "key: !!python/object:os.system id",
            "sources.yaml:11: could not determine a constr",
        ),
        ("key: id", "key: id\0", "sources.yaml:11: no text: "),
        ("sources:", "---\na: 1\n---\nsources:", "sources.yaml:"),
    ],
)
def test_what_is_wrong_is_named_with_its_line(
    tmp_path: Path, old: str, new: str, expected: str
) -> None:
    if old == "sources:" and new == "source:":
        lines = faults(tmp_path, SOURCES.replace(old, new))
        assert lines[0].startswith(expected)
        assert "should be a list" in lines[1]
        return
    assert fault(tmp_path, old, new).startswith(expected)


@pytest.mark.parametrize(
    ("old", "extra", "expected"),
    [
        (
            "address: reports",
            "name_pattern: '(?P<document>'",
            "name_pattern: is no regular expression",
        ),
        ("address: reports", "name_pattern: 'v[0-9]+'", "name_pattern: has no named group"),
        (
            "address: reports",
            "name_pattern: '(?P<doc>.)'",
            "name_pattern: has an unknown group 'doc'",
        ),
        ("address: reports", "pattern: ../*.pdf", "pattern: should stay in the source's folder"),
        ("address: reports", "pattern: /etc/*", "pattern: should stay in the source's folder"),
        ("address: reports", "pattern: a**", "pattern: is no glob pattern"),
        ("address: reports", "manifest: ../m.csv", "manifest: should be the path of a file in the"),
        ("address: reports", "manifest: ''", "manifest: should be the path of a file in the"),
        (
            "address: reports",
            "access: {confidentiality: client}",
            "access: confidentiality is 'client', so client_id is required",
        ),
        (
            "address: reports",
            "access: {client_id: acme}",
            "access.client_id: names a client, but confidentiality is 'internal'",
        ),
        ("address: crm.csv", "encoding: latin-99", "encoding: 'latin-99' is no encoding of text"),
        ("address: crm.csv", "encoding: base64", "encoding: 'base64' is no encoding of text"),
        ("address: crm.csv", "delimiter: '\"'", "delimiter: should be neither a quote"),
        (
            "address: https://wire.example/feed.xml",
            "mirror: {wire.example: x}",
            "mirror.wire.example: ",
        ),
    ],
)
def test_rules_of_each_connector(tmp_path: Path, old: str, extra: str, expected: str) -> None:
    line = fault(tmp_path, old, f"{old}\n    {extra}")
    number = SOURCES[: SOURCES.index(old)].count("\n") + 2
    assert line.startswith(f"sources.yaml:{number}: sources[")
    assert f"].{expected}" in line


def test_text_columns_are_named_once(tmp_path: Path) -> None:
    assert "'note' is there twice" in fault(tmp_path, "text: [note]", "text: [note, a, note]")


def test_a_feed_is_a_file_or_on_the_web(tmp_path: Path) -> None:
    line = fault(tmp_path, "https://wire.example/feed.xml", "ftp://wire.example/feed.xml")
    assert "sources[2].address: should be an http or https URL" in line


def test_a_client_column_may_name_the_client(tmp_path: Path) -> None:
    sources = SOURCES.replace(
        "key: id", "key: id\n    client: who\n    access: {confidentiality: client}"
    )
    assert load(tmp_path, sources).source("notes").client == "who"


def test_all_problems_are_listed_in_the_order_of_the_files(tmp_path: Path) -> None:
    sources = (
        SOURCES.replace("kind: report", "kind: x")
        .replace("licence: paid", "licence: gone")
        .replace("text: [note]", "text: [note]\n    encoding: none-such")
        .replace("id: wire", "id: notes")
    )
    licences = LICENCES.replace("name: Open", "nam: Open")
    lines = faults(tmp_path, sources, licences)
    assert [line.partition(": ")[0] for line in lines] == [
        "sources.yaml:3",
        "sources.yaml:6",
        "sources.yaml:13",
        "sources.yaml:15",
        "licences.yaml:2",
        "licences.yaml:3",
    ]


def test_a_broken_registry_does_not_make_every_licence_unknown(tmp_path: Path) -> None:
    (line,) = faults(tmp_path, licences="licences: [")
    assert line.startswith("licences.yaml:")
    (line,) = faults(tmp_path, licences=LICENCES.replace("name: Open", ""))
    assert line.startswith("licences.yaml:2: licences[0].name: is required")


@pytest.mark.parametrize("missing", ["sources.yaml", "licences.yaml"])
def test_a_missing_file_is_named(tmp_path: Path, missing: str) -> None:
    load(tmp_path)
    (tmp_path / missing).unlink()
    with pytest.raises(ConfigurationError, match="No such file") as caught:
        load_configuration(tmp_path / "sources.yaml", tmp_path / "licences.yaml")
    assert caught.value.message.startswith(f"{tmp_path / missing}: cannot be read")
    assert pickle.loads(pickle.dumps(caught.value)).message == caught.value.message  # noqa: S301


@pytest.mark.parametrize(
    "sources", ["", "# nothing\n", "[]", "sources:", "sources: []", "sources: {}", "7"]
)
def test_files_without_sources(tmp_path: Path, sources: str) -> None:
    (line,) = faults(tmp_path, sources)
    assert line.startswith("sources.yaml")


def test_a_file_that_is_not_utf8_is_named(tmp_path: Path) -> None:
    load(tmp_path)
    (tmp_path / "sources.yaml").write_bytes(b"sources:\n  - id: \xff\n")
    with pytest.raises(ConfigurationError, match=r"sources\.yaml:2: no text"):
        load_configuration(tmp_path / "sources.yaml", tmp_path / "licences.yaml")


def test_anchors_and_merges_keep_their_lines(tmp_path: Path) -> None:
    sources = """\
        sources:
          - &base
            id: one
            kind: report
            connector: files
            address: one
            licence: open
          - <<: *base
            id: two
            kind: nonsense
    """
    (line,) = faults(tmp_path, sources)
    assert line.startswith("sources.yaml:10: sources[1].kind")


def test_dates_stay_as_they_are_written(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_text("a: 2026-12-31\nb: 2026-12-31T00:00:00Z\nc: 2001-12-14 21:59:43.10 -5\nd: 7\n")
    assert read_yaml(path).data == {
        "a": "2026-12-31",
        "b": "2026-12-31T00:00:00Z",
        "c": "2001-12-14 21:59:43.10 -5",
        "d": 7,
    }


VALUE = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=4), inner, max_size=2)
    ),
    max_leaves=6,
)


@given(
    entry=st.fixed_dictionaries(
        {},
        optional={
            name: VALUE | st.sampled_from(["files", "csv", "feed", "client", "report", "open"])
            for name in (
                "id",
                "kind",
                "connector",
                "address",
                "licence",
                "access",
                "text",
                "mirror",
            )
        },
    )
)
def test_no_entry_raises_anything_else(
    tmp_path_factory: pytest.TempPathFactory, entry: dict[str, Any]
) -> None:
    message = ""
    try:
        load(tmp_path_factory.mktemp("c"), yaml.safe_dump({"sources": [entry]}))
    except ConfigurationError as error:
        message = error.message
    assert not message or "sources.yaml" in message


def test_the_schemas_accept_and_refuse_what_the_loader_does(tmp_path: Path) -> None:
    schemas = json_schemas()
    assert schemas.keys() == {"sources.schema.json", "licences.schema.json"}
    for name, text in (("sources", SOURCES), ("licences", LICENCES)):
        (tmp_path / "x.yaml").write_text(text)
        data = read_yaml(tmp_path / "x.yaml").data
        validator = Draft202012Validator(schemas[f"{name}.schema.json"])
        Draft202012Validator.check_schema(validator.schema)
        assert validator.is_valid(data)
        data[name][0]["unknown"] = 1
        assert not validator.is_valid(data)
