"""Members: files inside listed items, on both databases."""

from __future__ import annotations

from typing import Any

from alembic import command
from sqlalchemy import text

from ingest.catalog import Catalog
from ingest.catalog.migrate import _config
from ingest.catalog.records import KnownItem

SOURCE = "contracts"


def note(
    catalog: Catalog, *names: str, waiting: tuple[str, ...] = (), run_id: str = "run-1"
) -> None:
    catalog.note_members(
        SOURCE,
        "a.zip",
        {f"a.zip!/{name}": f"doc of {name}" for name in names},
        waiting=[f"a.zip!/{name}" for name in waiting],
        pipeline_version="0.1.0+test",
        run_id=run_id,
    )


def opened(catalog: Catalog, key: str = "a.zip", sha: str = "c") -> None:
    catalog.record_opened(
        source_id=SOURCE,
        source_key=key,
        doc_id=f"doc of {key}",
        fingerprint=f"{key}@{sha}",
        doc_sha256=sha * 64,
        pipeline_version="0.1.0+test",
        run_id="run-1",
    )


def members(catalog: Catalog) -> dict[str, KnownItem]:
    return {
        key.removeprefix("a.zip!/"): item
        for key, item in catalog.known_items(SOURCE).items()
        if item.container_key == "a.zip"
    }


def test_members_are_noted_once_and_wait_to_be_worked_on(catalog: Catalog, helper: Any) -> None:
    note(catalog, "a.txt", "b.txt", waiting=("a.txt", "b.txt"))
    before = helper.dump()
    note(catalog, "a.txt", "b.txt", waiting=("a.txt", "b.txt"))
    assert helper.dump() == before
    for item in members(catalog).values():
        assert (item.state, item.fingerprint, item.listed) == ("found", None, True)
        assert item.doc_sha256 is None


def test_publishing_a_member_keeps_its_container(catalog: Catalog, helper: Any) -> None:
    note(catalog, "a.txt", waiting=("a.txt",))
    helper.register()
    helper.published("a.zip!/a.txt")
    (item,) = members(catalog).values()
    assert (item.state, item.version, item.fingerprint) == ("indexed", 1, "a.zip!/a.txt@a")
    note(catalog, "a.txt", run_id="run-2")
    (same,) = members(catalog).values()
    assert same == item
    note(catalog, "a.txt", waiting=("a.txt",), run_id="run-2")
    (waiting,) = members(catalog).values()
    assert waiting == item.model_copy(update={"fingerprint": None, "run_id": "run-2"})


def test_a_member_that_is_no_longer_there_is_live_until_it_is_retired(
    catalog: Catalog, helper: Any
) -> None:
    note(catalog, "a.txt", "b.txt")
    note(catalog, "b.txt")
    assert {key: item.listed for key, item in members(catalog).items()} == {
        "a.txt": False,
        "b.txt": True,
    }
    catalog.mark_gone(SOURCE, ["a.zip!/a.txt", "a.zip!/b.txt"])
    gone = members(catalog)
    assert {item.state for item in gone.values()} == {"gone"}
    # One left its container, the other left with it.
    assert (gone["a.txt"].listed, gone["b.txt"].listed) == (False, True)


def test_a_member_comes_back_only_with_its_container(catalog: Catalog, helper: Any) -> None:
    opened(catalog)
    note(catalog, "a.txt", "left.txt")
    helper.register("doc-1")
    helper.published("a.zip!/a.txt")
    note(catalog, "a.txt")
    catalog.mark_gone(SOURCE, ["a.zip", "a.zip!/a.txt", "a.zip!/left.txt"])
    catalog.retire("doc-1", helper.clock.now)
    # Another item of the document is listed again, but not the container.
    assert catalog.restore("doc-1") == 1
    assert members(catalog)["a.txt"].state == "gone"
    catalog.seen(SOURCE, ["a.zip"], "run-2")
    catalog.restore("doc-1")
    catalog.restore("doc of left.txt")
    assert {key: item.state for key, item in members(catalog).items()} == {
        "a.txt": "indexed",
        "left.txt": "gone",
    }
    catalog.restore("doc of a.zip")
    assert catalog.known_items(SOURCE)["a.zip"].state == "opened"


def test_opening_an_archive_closes_its_entries_and_changes_nothing_twice(
    catalog: Catalog, helper: Any
) -> None:
    helper.refuse(source_key="a.zip")
    opened(catalog)
    before = helper.dump()
    opened(catalog)
    assert helper.dump() == before
    assert catalog.quarantine() == []
    item = catalog.known_items(SOURCE)["a.zip"]
    assert (item.state, item.version, item.fingerprint) == ("opened", None, "a.zip@c")
    helper.refuse(source_key="a.zip")
    assert catalog.known_items(SOURCE)["a.zip"].doc_sha256 == "c" * 64


def test_what_waits_inside_a_document_that_cannot_be_read_is_left(
    catalog: Catalog, helper: Any
) -> None:
    names = ("x_y.zip", "x_y.zip!/a.txt", "x-y.zip!/a.txt", "x_y.zip!")
    note(catalog, *names, waiting=names)
    catalog.settle_members(SOURCE, "a.zip", "a.zip!/x_y.zip")
    found = members(catalog)
    assert {name for name in names if found[name].fingerprint == ""} == {"x_y.zip!/a.txt"}
    before = helper.dump()
    catalog.settle_members(SOURCE, "b.zip", "b.zip")
    assert helper.dump() == before
    catalog.settle_members(SOURCE, "a.zip", "a.zip")
    assert {item.fingerprint for item in members(catalog).values()} == {""}


def test_a_tree_is_a_listed_item_with_its_members(catalog: Catalog, helper: Any) -> None:
    opened(catalog)
    opened(catalog, "b.zip")
    note(catalog, "a.txt")
    assert set(catalog.known_trees(SOURCE, ["a.zip"])) == {"a.zip", "a.zip!/a.txt"}
    assert set(catalog.known_trees(SOURCE, ["b.zip", "c.zip"])) == {"b.zip"}
    assert catalog.known_trees(SOURCE, ["a.zip!/a.txt"]) == {}
    assert catalog.known_trees("news", ["a.zip"]) == {}
    assert catalog.listed_keys(SOURCE, ["a.zip", "a.zip!/a.txt", "c"]) == {"a.zip"}


def test_an_item_that_is_listed_under_a_members_key_is_no_member(catalog: Catalog) -> None:
    note(catalog, "a.txt")
    catalog.seen(SOURCE, ["a.zip!/a.txt"], "run-2")
    assert members(catalog) == {}
    assert catalog.listed_keys(SOURCE, ["a.zip!/a.txt"]) == {"a.zip!/a.txt"}


def test_retrying_a_member(catalog: Catalog, helper: Any) -> None:
    note(catalog, "a.txt", waiting=("a.txt",))
    helper.refuse(source_key="a.zip!/a.txt", fingerprint="x")
    (item,) = members(catalog).values()
    assert (item.state, item.fingerprint) == ("quarantined", "x")
    (entry,) = catalog.quarantine()
    catalog.retry_quarantine(entry.id)
    (item,) = members(catalog).values()
    assert item.fingerprint is None


def test_a_catalogue_of_the_first_release_is_brought_up_to_date(empty_url: str) -> None:
    catalog = Catalog(empty_url)
    config = _config()
    with catalog.engine.begin() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, "0001")
        connection.execute(
            text(
                "INSERT INTO items (source_id, source_key, doc_id, fingerprint, state, listed, "
                "pipeline_version, first_seen, last_seen, run_id) VALUES ('contracts', 'a.zip', "
                "'doc-1', 'x', 'quarantined', true, '0.1.0', '2026-01-01 00:00:00+00:00', "
                "'2026-01-01 00:00:00+00:00', 'run-1')"
            )
        )
    catalog.migrate()
    (item,) = catalog.known_items(SOURCE).values()
    assert (item.state, item.container_key, item.listed) == ("quarantined", None, True)
    opened(catalog)
    note(catalog, "a.txt")
    with catalog.engine.begin() as connection:
        config.attributes["connection"] = connection
        command.downgrade(config, "0001")
        assert connection.execute(text("SELECT count(*) FROM items")).scalar() == 0
    catalog.close()
