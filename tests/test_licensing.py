"""Terms that are enforced: from the registry to the points, and back when they end."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from workspace import OPEN_LICENCE, Workspace

from attribution.filters import default_filter
from ingest.embedding import Embedder
from ingest.errors import ItemError
from ingest.licensing import licence_of
from ingest.operations import search
from ingest.pipeline import open_catalog, open_index
from ingest.steps.sweep import sweep
from schemas.base import OPEN_END, UtcDatetime, utc_now
from schemas.licence import Licence, Terms, narrowed, widening
from schemas.source import Item

NOW = utc_now()
ENDS = NOW + timedelta(days=10)
SECOND = timedelta(seconds=1)


def item(**fields: Any) -> Item:
    given = {
        "source_id": "s",
        "source_key": "a.txt",
        "document_key": "a.txt",
        "uri": "file:///a.txt",
        "fetch_uri": "file:///a.txt",
        "fingerprint": "1",
        "licence_id": "open",
        "confidentiality": "internal",
    }
    return Item.model_validate(given | fields)


# --- narrowing ------------------------------------------------------------------------------------

instants = st.datetimes(
    min_value=(NOW - timedelta(days=900)).replace(tzinfo=None),
    max_value=(NOW + timedelta(days=900)).replace(tzinfo=None),
).map(lambda instant: instant.replace(tzinfo=NOW.tzinfo))
some_uses = st.lists(
    st.sampled_from(["retrieval", "generation", "analysis", "training"]), min_size=1, unique=True
)
lands = st.lists(st.sampled_from(["DE", "FR", "NO"]), min_size=1, unique=True)


@st.composite
def licences(draw: st.DrawFn) -> Licence:
    first, last = sorted((draw(instants), draw(instants)))
    return Licence(
        id="l",
        name="L",
        attribution_required=draw(st.booleans()),
        attribution_text="© L",
        display_allowed=draw(st.booleans()),
        max_quote_chars=draw(st.none() | st.integers(0, 300)),
        redistribution_allowed=draw(st.booleans()),
        allowed_uses=tuple(draw(some_uses)),
        territories=tuple(draw(st.just([]) | lands)),
        valid_from=first,
        valid_until=last + SECOND,
    )


own_terms = st.builds(
    Terms,
    attribution_text=st.none() | st.just("© own"),
    display_allowed=st.none() | st.booleans(),
    max_quote_chars=st.none() | st.integers(0, 300),
    redistribution_allowed=st.none() | st.booleans(),
    allowed_uses=st.none() | some_uses.map(tuple),
    territories=st.none() | lands.map(tuple),
    valid_from=st.none() | instants,
    valid_until=st.none() | instants,
)


@given(licences(), own_terms)
def test_own_terms_only_ever_narrow(licence: Licence, terms: Terms) -> None:
    try:
        left = narrowed(licence, terms)
    except ValueError:
        return
    assert left.display_allowed <= licence.display_allowed
    assert left.redistribution_allowed <= licence.redistribution_allowed
    assert left.attribution_required >= licence.attribution_required
    assert set(left.allowed_uses) <= set(licence.allowed_uses)
    assert not licence.territories or set(left.territories) <= set(licence.territories)
    assert left.territories or not licence.territories
    assert left.valid_from >= licence.valid_from
    assert left.valid_until <= licence.valid_until
    if licence.max_quote_chars is not None:
        assert left.max_quote_chars is not None
        assert left.max_quote_chars <= licence.max_quote_chars
    if not widening(licence, terms):
        said = {name: value for name, value in terms if value is not None}
        assert {name: getattr(left, name) for name in said} == said


def test_what_would_widen_is_said() -> None:
    licence = Licence(id="l", name="L", attribution_required=False, max_quote_chars=100)
    terms = Terms(max_quote_chars=200, allowed_uses=("training", "retrieval"), valid_until=NOW)
    assert widening(licence, terms) == [
        "max_quote_chars 200 where the licence has 100",
        "allowed_uses training, retrieval where the licence has retrieval, generation",
    ]
    assert narrowed(licence, terms).max_quote_chars == 100
    assert narrowed(licence, terms).allowed_uses == ("retrieval",)
    assert narrowed(licence, terms).valid_until == NOW


def test_a_licence_that_ends_before_it_begins_is_none() -> None:
    with pytest.raises(ValueError, match="not after its beginning"):
        Licence(id="l", name="L", attribution_required=False, valid_from=NOW, valid_until=NOW)


def test_an_item_has_a_licence_that_allows_it_or_is_refused() -> None:
    known = {
        "open": Licence(id="open", name="Open", attribution_required=False),
        "stats": Licence(
            id="stats", name="Stats", attribution_required=False, allowed_uses=("analysis",)
        ),
    }
    assert licence_of(known, item()).id == "open"
    assert licence_of(known, item(terms={"max_quote_chars": 5})).max_quote_chars == 5
    for refused, code, words in (
        (item(licence_id="gone"), "licence_unknown", "open, stats"),
        (item(licence_id="stats"), "use_not_allowed", "allows analysis"),
        (item(terms={"allowed_uses": ["training"]}), "use_not_allowed", "leave nothing"),
        (item(terms={"allowed_uses": ["generation"]}), "use_not_allowed", "its own terms"),
    ):
        with pytest.raises(ItemError, match=words) as caught:
            licence_of(known, refused)
        assert caught.value.code == code
        assert "a.txt" in caught.value.message


# --- through the pipeline ---------------------------------------------------------------------


@pytest.fixture
def ws(tmp_path: Path) -> Workspace:
    workspace = Workspace(tmp_path)
    workspace.licences = [
        dict(OPEN_LICENCE),
        {**OPEN_LICENCE, "id": "paid", "valid_until": ENDS.isoformat()},
    ]
    workspace.add_source("free")
    workspace.add_source("reports", licence="paid")
    workspace.write("free/a.txt", "The tenant shall keep a register of all visitors.")
    workspace.write("reports/b.txt", "The market for registers grew by four per cent.")
    workspace.run()
    return workspace


def visible(ws: Workspace, at: UtcDatetime) -> set[str]:
    """Return the keys of what a reader sees who reads at ``at``."""
    with open_index(ws.settings, Embedder(ws.settings.embedding_model)) as index:
        index.ensure()
        return {payload["source_key"] for _, payload in index.scroll(default_filter(now=at))}


def retired(ws: Workspace) -> set[str]:
    return {
        payload["source_key"]
        for payload in ws.points().values()
        if payload["retired_at"] != "9999-12-31T00:00:00Z"
    }


def relicense(ws: Workspace, **terms: Any) -> None:
    ws.licences[1] = {**ws.licences[1], **terms}
    ws.save()


def test_what_a_licence_covers_is_gone_at_the_instant_at_which_it_ends(ws: Workspace) -> None:
    assert visible(ws, ENDS - SECOND) == {"a.txt", "b.txt"}
    assert visible(ws, ENDS) == {"a.txt"}
    assert retired(ws) == set()


def test_the_sweep_retires_what_has_ended_and_restores_what_is_renewed(ws: Workspace) -> None:
    assert sweep(ws.pipeline(), ENDS - SECOND).sources == {}
    swept = sweep(ws.pipeline(), ENDS).sources
    assert {name: len(source.retired) for name, source in swept.items()} == {"reports": 1}
    assert swept["reports"].points_retired == 1
    assert retired(ws) == {"b.txt"}
    assert sweep(ws.pipeline(), ENDS + SECOND).sources == {}
    # Renewed: the fingerprint changes, so the next run carries the new end to the point.
    relicense(ws, valid_until=(ENDS + timedelta(days=365)).isoformat())
    before = set(ws.points())
    ledger = ws.run()
    assert ledger.balanced
    assert (ledger.lines[1].changed, ledger.lines[1].embedded) == (1, 0)
    assert set(ws.points()) == before
    assert retired(ws) == set()
    assert visible(ws, ENDS) == {"a.txt", "b.txt"}


def test_a_run_sweeps_and_counts_it(ws: Workspace) -> None:
    relicense(ws, valid_until=(utc_now() - SECOND).isoformat())
    ledger = ws.run()
    assert ledger.balanced
    assert [line.retired for line in ledger.lines] == [0, 1]
    assert [line.points_retired for line in ledger.lines] == [0, 1]
    assert retired(ws) == {"b.txt"}
    again = ws.run()
    assert [line.retired for line in again.lines] == [0, 0]
    assert [line.unchanged for line in again.lines] == [1, 1]


def test_what_left_its_source_is_not_restored_by_its_licence(ws: Workspace) -> None:
    ws.write("reports/c.txt", "Another report about registers.")
    ws.run()
    (ws.folder / "reports/b.txt").unlink()
    ws.run()
    assert retired(ws) == {"b.txt"}
    assert sweep(ws.pipeline(), utc_now()).sources == {}
    assert retired(ws) == {"b.txt"}


def test_hide_leaves_it_to_the_filter_and_erase_removes_it(ws: Workspace) -> None:
    relicense(ws, on_expiry="hide")
    ws.run()
    assert sweep(ws.pipeline(), ENDS).sources == {}
    relicense(ws, on_expiry="erase")
    ws.run()
    swept = sweep(ws.pipeline(), ENDS).sources
    assert swept["reports"].erased == 1
    assert {payload["source_key"] for payload in ws.points().values()} == {"a.txt"}


def test_what_has_no_licence_any_more_is_refused_and_retired(ws: Workspace) -> None:
    ws.sources[1] = {**ws.sources[1], "manifest": "m.csv"}
    ws.write("reports/m.csv", "file,licence\nb.txt,paid\n")
    ws.save()
    ws.run()
    ws.write("reports/m.csv", "file,licence\nb.txt,elsewhere\n")
    ledger = ws.run()
    assert ledger.balanced
    assert ws.quarantine() == [("b.txt", "licence_unknown")]
    assert retired(ws) == {"b.txt"}
    ws.write("reports/m.csv", "file,licence\nb.txt,paid\n")
    ws.run()
    assert ws.quarantine() == []
    assert retired(ws) == set()


def test_a_use_that_is_no_longer_allowed_takes_it_back(ws: Workspace) -> None:
    relicense(ws, allowed_uses=["analysis"])
    ws.run()
    assert ws.quarantine() == [("b.txt", "use_not_allowed")]
    assert retired(ws) == {"b.txt"}


@pytest.mark.parametrize(
    ("terms", "field", "value"),
    [
        ({"redistribution_allowed": True}, "redistribution_allowed", True),
        ({"allowed_uses": ["retrieval"]}, "allowed_uses", ["retrieval"]),
        ({"territories": ["NO"]}, "territories", ["NO"]),
        ({"valid_from": "2020-01-01T00:00:00Z"}, "licence_valid_from", "2020-01-01T00:00:00Z"),
        ({"display_allowed": False}, "display_allowed", False),
    ],
)
def test_new_terms_reach_the_points_without_a_new_embedding(
    ws: Workspace, terms: dict[str, Any], field: str, value: Any
) -> None:
    relicense(ws, **terms)
    ledger = ws.run()
    assert (ledger.lines[1].changed, ledger.lines[1].embedded) == (1, 0)
    found = {payload["source_key"]: payload[field] for payload in ws.points().values()}
    assert found["b.txt"] == value
    assert found["a.txt"] != value


# --- access -----------------------------------------------------------------------------------

CLIENTS = ["acme", "Acme", "acme ", "acme-2", "*", "%", "", "ärzte", "a" * 200, "internal", "null"]


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """One record of each client, one of nobody's and one of everybody's."""
    ws = Workspace(tmp_path_factory.mktemp("clients"))
    ws.add_source("open", access={"confidentiality": "public"})
    ws.write("open/all.txt", "Notes on the register for everybody.")
    for number, client in enumerate(filter(str.strip, CLIENTS)):
        source = f"client-{number}"
        ws.add_source(source, access={"confidentiality": "client", "client_id": client})
        ws.write(f"{source}/note.txt", f"Notes on the register, number {number}.")
    ws.run()
    assert len(ws.points()) == 1 + len([client for client in CLIENTS if client.strip()])
    return ws


@pytest.mark.parametrize("client", [None, *CLIENTS])
@pytest.mark.parametrize("use", ["retrieval", "generation"])
@pytest.mark.parametrize("territory", [None, "NO"])
def test_no_filter_for_one_client_returns_a_point_of_another(
    shared: Workspace, client: str | None, use: Any, territory: str | None
) -> None:
    with open_index(shared.settings, Embedder(shared.settings.embedding_model)) as index:
        index.ensure()
        for at in (None, utc_now(), OPEN_END - timedelta(days=1)):
            chosen = default_filter(at=at, client_id=client, use=use, territory=territory)
            owners = {payload["client_id"] for _, payload in index.scroll(chosen)}
            assert owners == {None, client} if client and client.strip() else owners == {None}


@pytest.mark.parametrize("client", [None, *CLIENTS])
def test_no_search_for_one_client_returns_a_point_of_another(
    shared: Workspace, client: str | None
) -> None:
    hits = search(shared.settings, "notes on the register", at=None, client_id=client, limit=100)
    owners = {hit.payload["client_id"] for hit in hits}
    assert owners == ({None, client} if client and client.strip() else {None})


# --- report -----------------------------------------------------------------------------------


def test_the_report_says_what_is_held_what_ends_and_what_is_missing(ws: Workspace) -> None:
    ws.licences.append({**OPEN_LICENCE, "id": "spare"})
    ws.sources[0] = {**ws.sources[0], "manifest": "m.csv"}
    ws.write("free/m.csv", "file,licence\nlost.txt,nowhere\na.txt,open\n")
    ws.write("free/lost.txt", "Nobody knows under which terms.")
    ws.save()
    ws.run()
    found = ws.cli_json("licences", "report", "--json")
    held = {holding["licence_id"]: holding for holding in found["holdings"]}
    assert held["open"]["state"] == "valid"
    assert (held["open"]["documents"], held["open"]["points"]) == (1, 1)
    assert held["paid"]["state"] == "expiring"
    assert held["paid"]["sources"] == ["reports"]
    assert [holding["licence_id"] for holding in found["expiring"]] == ["paid"]
    assert found["missing"] == {"free": 1}
    assert found["unused"] == ["spare"]
    sooner = ws.cli_json("licences", "report", "--days", "5", "--json")
    assert sooner["expiring"] == []
    shown = ws.cli("licences", "report").stdout
    assert "ends soon" in shown
    assert "spare" in shown
    assert "1 items wait" in shown


def test_the_report_shows_what_ended_and_is_still_held(ws: Workspace) -> None:
    from ingest.licences_report import licences_report

    catalog = open_catalog(ws.settings)
    configuration = ws.pipeline().configuration
    found = licences_report(catalog, configuration, ENDS, 30)
    assert [(one.licence_id, one.state) for one in found.expiring] == [("paid", "expired")]
    gone = configuration.model_copy(update={"licences": {"open": configuration.licences["open"]}})
    states = {one.licence_id: one.state for one in licences_report(catalog, gone, NOW, 5).holdings}
    assert states == {"open": "valid", "paid": "unknown"}
