from __future__ import annotations

import os
import unicodedata
from pathlib import Path
from typing import Any

import fsspec  # type: ignore[import-untyped]
import pytest
from fsspec.implementations.local import LocalFileSystem  # type: ignore[import-untyped]
from source_kit import LICENCES, Whole, connector, keys, problems

from ingest.errors import ConfigurationError, ItemError, RetriableError

MANIFEST = "file,document,title,version_label,effective_from,licence,confidentiality,client_id\n"


def folder(tmp_path: Path, *names: str, manifest: str | None = None, **source: Any) -> Whole:
    for name in names:
        path = tmp_path / "in" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"the text of {name}")
    if manifest is not None:
        (tmp_path / "in").mkdir(exist_ok=True)
        (tmp_path / "in" / "manifest.csv").write_text(manifest, "utf-8")
        source["manifest"] = "manifest.csv"
    return connector(tmp_path, connector="files", address="in", **source)


# --- what is listed ---------------------------------------------------------------------------


def test_files_of_all_folders_are_listed_in_natural_order_without_hidden_ones(
    tmp_path: Path,
) -> None:
    files = folder(
        tmp_path, "v10.pdf", "v2.pdf", "a/b/deep.txt", ".hidden", ".git/config", "a/.b/c.txt"
    )
    assert keys(files.list()) == ["a/b/deep.txt", "v2.pdf", "v10.pdf"]


def test_pattern_selects_by_path(tmp_path: Path) -> None:
    names = ("a.pdf", "b.txt", "sub/c.pdf", "sub/deep/d.pdf")
    assert keys(folder(tmp_path, *names, pattern="*.pdf").list()) == ["a.pdf"]
    assert keys(folder(tmp_path, *names, pattern="**/*.pdf").list()) == [
        "a.pdf",
        "sub/c.pdf",
        "sub/deep/d.pdf",
    ]


def test_a_folder_whose_name_holds_wildcards_is_read(tmp_path: Path) -> None:
    (tmp_path / "in [2026] *").mkdir()
    (tmp_path / "in [2026] *" / "a.txt").write_text("a")
    listing = connector(tmp_path, connector="files", address="in [2026] *").list()
    assert keys(listing) == ["a.txt"]


def test_an_item_without_a_manifest_stands_for_itself(tmp_path: Path) -> None:
    (item,) = folder(tmp_path, "sub/a b#1.txt").list().items
    assert item.source_key == item.document_key == "sub/a b#1.txt"
    assert item.uri == (tmp_path / "in/sub/a b#1.txt").as_uri()
    assert (item.licence_id, item.confidentiality, item.client_id) == ("open", "internal", None)
    assert item.effective_from is None
    assert item.size == len("the text of sub/a b#1.txt")


@pytest.mark.parametrize("name", ["a b.txt", "50%.txt", "q?x=1#y.txt", "ü é.txt", "日本.txt"])
def test_any_name_is_fetched(tmp_path: Path, name: str) -> None:
    files = folder(tmp_path, name)
    (item,) = files.list().items
    assert files.fetch(item).data == f"the text of {name}".encode()


def test_keys_are_composed_whatever_the_file_system_keeps(tmp_path: Path) -> None:
    name = unicodedata.normalize("NFD", "Über Märkte.txt")
    files = folder(tmp_path, name, manifest="file,title\nÜber Märkte.txt,T\n")
    (item,) = files.list().items
    assert item.source_key == unicodedata.normalize("NFC", name)
    assert item.title == "T"
    assert files.fetch(item).data == f"the text of {name}".encode()


def test_two_names_that_are_composed_alike_are_reported(tmp_path: Path) -> None:
    composed = unicodedata.normalize("NFC", "ü.txt")
    listing = folder(tmp_path, composed, unicodedata.normalize("NFD", composed)).list()
    assert problems(listing) == [(composed, "name_duplicate")]
    assert keys(listing) == []


def test_a_name_that_is_not_utf8_is_reported(tmp_path: Path) -> None:
    files = folder(tmp_path, "good.txt")
    (tmp_path / "in" / os.fsdecode(b"bad\xff.txt")).write_text("x")
    listing = files.list()
    assert keys(listing) == ["good.txt"]
    assert problems(listing) == [("bad\\xff.txt", "name_not_unicode")]


def test_links_are_followed_only_to_files_of_the_folder(tmp_path: Path) -> None:
    files = folder(tmp_path, "real.txt", "sub/x.txt")
    (tmp_path / "outside.txt").write_text("secret")
    inside = tmp_path / "in"
    (inside / "good.txt").symlink_to("real.txt")
    (inside / "leak.txt").symlink_to(tmp_path / "outside.txt")
    (inside / "broken.txt").symlink_to("nowhere")
    (inside / "circle").symlink_to(inside)
    listing = files.list()
    assert keys(listing) == ["good.txt", "real.txt", "sub/x.txt"]
    assert problems(listing) == [
        ("broken.txt", "link_not_followed"),
        ("circle", "link_not_followed"),
        ("leak.txt", "link_not_followed"),
    ]


def test_a_pipe_is_reported_and_not_read(tmp_path: Path) -> None:
    files = folder(tmp_path, "a.txt")
    os.mkfifo(tmp_path / "in" / "pipe")
    assert problems(files.list()) == [("pipe", "not_a_file")]


# --- the manifest -----------------------------------------------------------------------------


def test_manifest_rows_describe_their_files(tmp_path: Path) -> None:
    row = "sub/a.pdf,Lease 7,The lease,v1,2024-01-31,paid,client,acme\n"
    (item,) = folder(tmp_path, "sub/a.pdf", manifest=MANIFEST + row).list().items
    assert item.document_key == "Lease 7"
    assert (item.title, item.version_label) == ("The lease", "v1")
    assert item.effective_from is not None
    assert item.effective_from.isoformat() == "2024-01-31T00:00:00+00:00"
    assert (item.licence_id, item.confidentiality, item.client_id) == ("paid", "client", "acme")


def test_a_client_s_name_alone_makes_a_file_that_client_s(tmp_path: Path) -> None:
    files = folder(tmp_path, "a.pdf", manifest="file,client_id\na.pdf,acme\n")
    (item,) = files.list().items
    assert (item.confidentiality, item.client_id) == ("client", "acme")


@pytest.mark.parametrize("data", ["\ufefffile;title\r\na.pdf;T\r\n", "file\ttitle\na.pdf\tT"])
def test_manifests_as_spreadsheets_write_them(tmp_path: Path, data: str) -> None:
    (item,) = folder(tmp_path, "a.pdf", manifest=data).list().items
    assert item.title == "T"


@pytest.mark.parametrize(
    ("row", "code"),
    [
        ("a.pdf,,,,31/01/2024,,,", "date_invalid"),
        ("a.pdf,,,,2024-01-31T10:00:00,,,", "date_invalid"),
        ("a.pdf,,,,,gone-2019,,", "licence_unknown"),
        ("a.pdf,,,,,,secret,", "access_invalid"),
        ("a.pdf,,,,,,public,acme", "access_invalid"),
        ("a.pdf,,,,,,client,", "client_missing"),
        ("a.pdf,,,", "ragged_row"),
        ("a.pdf,,,,,,,,", "ragged_row"),
        ("a.pdf,,,,,,,\n./a.pdf,,,,,,,", "manifest_duplicate"),
    ],
)
def test_a_row_that_cannot_hold_keeps_its_file_out(tmp_path: Path, row: str, code: str) -> None:
    listing = folder(tmp_path, "a.pdf", "b.pdf", manifest=f"{MANIFEST}{row}\n").list()
    assert keys(listing) == ["b.pdf"]
    assert problems(listing) == [("a.pdf", code)]
    assert "a.pdf" in listing.problems[0].message


@pytest.mark.parametrize("name", ["gone.pdf", "../outside.pdf", "A.pdf", "/etc/passwd"])
def test_a_row_whose_file_is_missing_is_reported(tmp_path: Path, name: str) -> None:
    (tmp_path / "outside.pdf").write_text("x")
    listing = folder(tmp_path, "a.pdf", manifest=f"file\n{name}\n").list()
    assert keys(listing) == ["a.pdf"]
    assert problems(listing) == [(name, "manifest_file_missing")]


def test_a_row_without_a_file_is_reported(tmp_path: Path) -> None:
    listing = folder(tmp_path, "a.pdf", manifest="file,title\n,T\n").list()
    assert [code for _, code in problems(listing)] == ["manifest_file_missing"]
    assert "row 1" in listing.problems[0].source_key


@pytest.mark.parametrize(
    ("header", "words"),
    [
        ("file,effective", "'effective'"),
        ("title,document", "no column 'file'"),
        ("file,file", "twice"),
    ],
)
def test_manifest_columns_that_mean_nothing_stop_the_source(
    tmp_path: Path, header: str, words: str
) -> None:
    with pytest.raises(ConfigurationError, match=words) as caught:
        folder(tmp_path, "a.pdf", manifest=f"{header}\n").list()
    assert caught.value.code == "manifest_column"


def test_a_missing_or_empty_manifest_stops_the_source(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"manifest\.csv"):
        folder(tmp_path, "a.pdf", manifest="").list()
    (tmp_path / "in" / "manifest.csv").unlink()
    files = connector(tmp_path, connector="files", address="in", manifest="manifest.csv")
    with pytest.raises(ConfigurationError, match=r"manifest\.csv"):
        files.list()


# --- names ------------------------------------------------------------------------------------

VERSIONED = r"^(?P<document>[^/]+)/v(?P<version_label>\d+)_(?P<effective_from>[^_]+)_"


def test_a_name_says_what_the_manifest_does_not(tmp_path: Path) -> None:
    listing = folder(
        tmp_path,
        "lease/v1_2024-01-31_x.txt",
        "lease/v2_2025-01-31_x.txt",
        "other.txt",
        name_pattern=VERSIONED,
        manifest="file,version_label\nlease/v2_2025-01-31_x.txt,Second\n",
    ).list()
    first, second, other = listing.items
    assert first.document_key == second.document_key == "lease"
    assert (first.version_label, second.version_label) == ("1", "Second")
    assert first.effective_from is not None
    assert first.effective_from.year == 2024
    assert other.document_key == "other.txt"


def test_a_date_in_a_name_that_is_none_is_reported(tmp_path: Path) -> None:
    listing = folder(tmp_path, "lease/v1_31.1.2024_x.txt", name_pattern=VERSIONED).list()
    assert problems(listing) == [("lease/v1_31.1.2024_x.txt", "date_invalid")]


def test_a_pattern_that_takes_for_ever_on_a_name_is_reported_for_that_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ingest.sources.files._SECONDS", 0.2)
    pattern = r"^(?P<document>(?:a|a|aa)+)b\.txt$"
    listing = folder(tmp_path, "a" * 60 + ".txt", "aab.txt", name_pattern=pattern).list()
    assert problems(listing) == [("a" * 60 + ".txt", "name_pattern_timeout")]
    assert [item.document_key for item in listing.items] == ["aa"]


def test_real_contracts_are_versions_in_order(corpus: Path) -> None:
    files = connector(
        corpus,
        connector="files",
        address="contract_versions",
        pattern="**/*.md",
        name_pattern=VERSIONED,
    )
    listing = files.list()
    assert len(listing.items) == 56
    assert listing.problems == ()
    documents: dict[str, list[int]] = {}
    for item in listing.items:
        assert item.version_label is not None
        assert item.effective_from is not None
        documents.setdefault(item.document_key, []).append(int(item.version_label))
    assert len(documents) == 6
    for labels in documents.values():
        assert labels == list(range(1, len(labels) + 1))
    for document in documents:
        dates = [i.effective_from for i in listing.items if i.document_key == document]
        assert dates == sorted(dates)  # type: ignore[type-var]  # none is None, see above


# --- fingerprints -----------------------------------------------------------------------------


def fingerprint_of(files: Whole) -> str:
    (item,) = files.list().items
    return item.fingerprint


def test_the_fingerprint_changes_with_the_file_and_only_then(tmp_path: Path) -> None:
    files = folder(tmp_path, "a.txt")
    path = tmp_path / "in" / "a.txt"
    before = fingerprint_of(files)
    assert fingerprint_of(files) == before
    status = path.stat()
    path.write_text("THE TEXT OF A.TXT")
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns + 1))
    assert path.stat().st_size == status.st_size
    assert fingerprint_of(files) != before


@pytest.mark.parametrize(
    "row",
    [
        "a.txt,Doc,,,,,,",
        "a.txt,,T,,,,,",
        "a.txt,,,v1,,,,",
        "a.txt,,,,2024-01-31,,,",
        "a.txt,,,,,paid,,",
        "a.txt,,,,,,public,",
        "a.txt,,,,,,,acme",
    ],
)
def test_the_fingerprint_changes_with_the_manifest_s_row(tmp_path: Path, row: str) -> None:
    before = fingerprint_of(folder(tmp_path, "a.txt", manifest=f"{MANIFEST}a.txt,,,,,,,\n"))
    (tmp_path / "in" / "manifest.csv").write_text(f"{MANIFEST}{row}\n")
    files = connector(tmp_path, connector="files", address="in", manifest="manifest.csv")
    assert fingerprint_of(files) != before


def test_the_fingerprint_changes_with_the_terms_of_the_licence(tmp_path: Path) -> None:
    files = folder(tmp_path, "a.txt")
    shorter = LICENCES["open"].model_copy(update={"max_quote_chars": 10})
    after = connector(tmp_path, {"open": shorter}, connector="files", address="in")
    assert fingerprint_of(files) != fingerprint_of(after)


def test_what_was_fetched_is_what_the_next_listing_finds(tmp_path: Path) -> None:
    files = folder(tmp_path, "a.txt")
    (item,) = files.list().items
    (tmp_path / "in" / "a.txt").write_text("changed between listing and fetching")
    fetched = files.fetch(item)
    assert fetched.data == b"changed between listing and fetching"
    assert fetched.fingerprint != item.fingerprint
    assert fetched.fingerprint == fingerprint_of(files)


# --- what goes wrong --------------------------------------------------------------------------


@pytest.mark.parametrize("address", ["nowhere", "a.txt"])
def test_a_folder_that_is_not_there_is_a_matter_of_configuration(
    tmp_path: Path, address: str
) -> None:
    (tmp_path / "a.txt").write_text("no folder")
    with pytest.raises(ConfigurationError, match=address) as caught:
        connector(tmp_path, connector="files", address=address).list()
    assert caught.value.code == "source_missing"


@pytest.mark.parametrize("address", ["nosuch://bucket/folder"])
def test_an_address_that_no_library_reads_is_a_matter_of_configuration(
    tmp_path: Path, address: str
) -> None:
    with pytest.raises(ConfigurationError, match="nosuch") as caught:
        connector(tmp_path, connector="files", address=address)
    assert caught.value.code == "address_unsupported"


def test_a_subfolder_that_cannot_be_read_fails_the_listing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A listing without its files would look as if they had been deleted."""
    files = folder(tmp_path, "a.txt", "closed/b.txt")
    real = LocalFileSystem.ls

    def ls(self: LocalFileSystem, path: str, detail: bool = False, **kwargs: Any) -> Any:
        if str(path).endswith("closed"):
            raise PermissionError(13, "Permission denied", path)
        return real(self, path, detail, **kwargs)

    monkeypatch.setattr(LocalFileSystem, "ls", ls)
    with pytest.raises(ConfigurationError, match="closed") as caught:
        files.list()
    assert caught.value.code == "source_forbidden"


def test_a_disk_that_fails_is_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = folder(tmp_path, "a.txt")

    def ls(*args: object, **kwargs: object) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(LocalFileSystem, "ls", ls)
    with pytest.raises(RetriableError, match="Input/output error"):
        files.list()


def test_a_file_that_vanished_costs_that_file(tmp_path: Path) -> None:
    files = folder(tmp_path, "a.txt", "b.txt")
    items = files.list().items
    (tmp_path / "in" / "a.txt").unlink()
    with pytest.raises(ItemError, match=r"a\.txt") as caught:
        files.fetch(items[0])
    assert caught.value.code == "item_unavailable"
    assert files.fetch(items[1]).data


def test_a_folder_that_vanished_is_tried_again(tmp_path: Path) -> None:
    """Else one lost mount would put every file of the source into quarantine."""
    files = folder(tmp_path, "a.txt")
    (item,) = files.list().items
    (tmp_path / "in").rename(tmp_path / "unmounted")
    with pytest.raises(RetriableError) as caught:
        files.fetch(item)
    assert caught.value.code == "source_unreachable"


def test_a_file_that_is_too_large_is_not_read(tmp_path: Path) -> None:
    files = folder(tmp_path, "a.txt", max_item_bytes=5)
    (item,) = files.list().items
    with pytest.raises(ItemError, match="max_item_bytes") as caught:
        files.fetch(item)
    assert caught.value.code == "too_large"


def test_a_file_that_is_being_written_is_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = folder(tmp_path, "a.txt")
    (item,) = files.list().items
    real = LocalFileSystem.cat_file

    def cat_file(self: LocalFileSystem, path: str, *args: Any, **kwargs: Any) -> Any:
        data = real(self, path, *args, **kwargs)
        with Path(path).open("a") as file:
            file.write("more")
        return data

    monkeypatch.setattr(LocalFileSystem, "cat_file", cat_file)
    with pytest.raises(RetriableError) as caught:
        files.fetch(item)
    assert caught.value.code == "source_changing"


def test_a_store_that_is_not_local(tmp_path: Path) -> None:
    memory = fsspec.filesystem("memory")
    memory.pipe("/drop/sub/a b.txt", b"in memory")
    memory.pipe("/drop/.hidden", b"no")
    try:
        files = connector(tmp_path, connector="files", address="memory://drop")
        (item,) = files.list().items
        assert item.source_key == "sub/a b.txt"
        assert item.uri == "memory:///drop/sub/a b.txt"
        fetched = files.fetch(item)
        assert (fetched.data, fetched.fingerprint) == (b"in memory", item.fingerprint)
        memory.pipe("/drop/sub/a b.txt", b"in memory!")
        assert fingerprint_of(files) != item.fingerprint
        memory.rm("/drop", recursive=True)
        with pytest.raises(RetriableError):
            files.fetch(item)
    finally:
        if memory.exists("/drop"):
            memory.rm("/drop", recursive=True)
