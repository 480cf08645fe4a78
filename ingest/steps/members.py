"""Files inside documents: which of them are there, and which are to be worked on.

A member is an item of its own, under its container's key, "!/" and its name. Its source lists only
the container, so what is new, changed or gone is told each time the container is read.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal
from urllib.parse import quote

from ingest.catalog.records import KnownItem
from ingest.errors import ItemError
from ingest.extract.member_names import UniqueNames
from ingest.pipeline import Pipeline
from ingest.sources.base import fingerprint
from ingest.version import PIPELINE_VERSION
from schemas.document import Attachment, MemberProblem
from schemas.identity import document_id, member_key
from schemas.run import FetchedItem, PlannedItem
from schemas.source import Item


def needs_work(known: KnownItem) -> bool:
    """Tell whether an item is to be worked on even if it is as it was."""
    return known.fingerprint is None or (
        known.state == "quarantined" and known.pipeline_version != PIPELINE_VERSION
    )


def change_of(known: KnownItem | None) -> Literal["new", "changed"]:
    """Return what an item that is worked on is, by what it was when it was last worked on."""
    return "new" if known is None or known.doc_sha256 is None else "changed"


def is_waiting(item: KnownItem) -> bool:
    """Tell whether a member makes its container be read again."""
    return item.listed and item.state != "gone" and needs_work(item)


@dataclass
class MemberTree:
    """All that is inside one listed item, as far as it was read."""

    root: PlannedItem
    before_root: KnownItem | None
    """The listed item as it was last worked on."""
    known: Mapping[str, KnownItem]
    """Members of the listed item that earlier runs found, by key."""
    found: dict[str, str] = field(default_factory=dict)
    """Document id of each member that is there, by key."""
    waiting: set[str] = field(default_factory=set)
    """Keys of the members that are worked on in this run."""
    refused: list[tuple[PlannedItem, ItemError]] = field(default_factory=list)
    """Members that cannot be had, with the reason."""
    restore: set[str] = field(default_factory=set)
    """Retired documents of members that are there again."""
    count: int = 0
    size: int = 0
    """Of all members of all documents in it."""
    is_read: bool = True
    """False if the listed item itself could not be read, which tells nothing about its members."""

    @property
    def gone(self) -> dict[str, KnownItem]:
        """Members that the listed item no longer has, by key."""
        if not self.is_read:
            return {}
        return {
            key: item
            for key, item in self.known.items()
            if key not in self.found and item.state != "gone"
        }

    def before(self, key: str) -> KnownItem | None:
        """Return the listed item or a member of it as it was last worked on."""
        return self.before_root if key == self.root.item.source_key else self.known.get(key)

    def take(self, key: str, doc_id: str) -> None:
        """Take a member as there; its document comes back if it had been retired."""
        self.found[key] = doc_id
        known = self.known.get(key)
        if known is not None and known.state == "gone":
            self.restore.add(known.doc_id)

    def keep_inside(self, key: str, *, restored: bool) -> None:
        """Take the known members of a document that is not read now as still there.

        Args:
            key: of the document.
            restored: whether those that are gone are back with it.
        """
        for member, item in self._inside(key):
            self.found[member] = item.doc_id
            if restored and item.state == "gone":
                self.restore.add(item.doc_id)

    def has_waiting_inside(self, key: str) -> bool:
        """Tell whether a member of the document ``key`` needs work."""
        return any(is_waiting(item) for _, item in self._inside(key))

    def _inside(self, key: str) -> Iterator[tuple[str, KnownItem]]:
        prefix = member_key(key, "")
        for member, item in self.known.items():
            if member.startswith(prefix) and item.listed:
                yield member, item


class MemberTrees:
    """The members of a batch's items."""

    def __init__(self, pipeline: Pipeline, roots: Collection[PlannedItem]) -> None:
        self._pipeline = pipeline
        self._trees: dict[str, MemberTree] = {}
        by_key = {planned.item.source_key: planned for planned in roots}
        known: dict[str, dict[str, KnownItem]] = defaultdict(dict)
        before: dict[str, KnownItem] = {}
        for source_id in {planned.item.source_id for planned in roots}:
            for key, item in pipeline.catalog.known_trees(source_id, by_key).items():
                if item.container_key is None:
                    before[key] = item
                else:
                    known[item.container_key][key] = item
        for key, planned in by_key.items():
            self._trees[key] = MemberTree(planned, before.get(key), known[key])

    def __iter__(self) -> Iterator[MemberTree]:
        return iter(self._trees.values())

    def of(self, planned: PlannedItem) -> MemberTree:
        """Return the tree that an item is in: its own if it is listed."""
        return self._trees[planned.container_key or planned.item.source_key]

    def close(self, container: PlannedItem) -> None:
        """Take a document that cannot be read to have what it had when it was last read."""
        tree = self.of(container)
        if container.container_key is None:
            tree.is_read = False
        else:
            tree.keep_inside(container.item.source_key, restored=False)

    def open(
        self,
        container: FetchedItem,
        attachments: Collection[Attachment],
        problems: Collection[MemberProblem],
    ) -> list[FetchedItem]:
        """Take in what reading ``container`` found inside, and return what is to be read next.

        Raises:
            ItemError: the listed item with all that is inside has too many members, or they are
                too large together.
        """
        planned = container.planned
        tree = self.of(planned)
        self._count(tree, planned, attachments, problems)
        names = self._names(
            planned.item, [*(one.name for one in attachments), *(one.name for one in problems)]
        )
        for problem in problems:
            member = self._member(tree, planned, names[problem.name], problem.code, None)
            message = f"{member.item.source_key}: {problem.message}"
            self._refuse(tree, member, ItemError(problem.code, message))
        to_read: list[FetchedItem] = []
        for attachment in attachments:
            member = self._member(
                tree, planned, names[attachment.name], attachment.sha256, attachment.media_type
            )
            key = member.item.source_key
            if not self._is_work(tree, member):
                tree.take(key, member.doc_id)
                tree.keep_inside(key, restored=True)
            elif (error := self._over_limits(member, attachment.size)) is not None:
                self._refuse(tree, member, error)
            else:
                tree.take(key, member.doc_id)
                tree.waiting.add(key)
                to_read.append(
                    FetchedItem(
                        planned=member,
                        doc_sha256=attachment.sha256,
                        size=attachment.size,
                        media_type=attachment.media_type,
                        received_at=container.received_at,
                    )
                )
        return to_read

    def _names(self, container: Item, names: Collection[str]) -> dict[str, str]:
        """Return what each member is called: another name where the source lists its key itself.

        A folder may be called "a.zip!" and lie beside a.zip.
        """
        if not names:
            return {}
        keys = {name: member_key(container.source_key, name) for name in names}
        listed = self._pipeline.catalog.listed_keys(container.source_id, keys.values())
        unique = UniqueNames(names)
        return {name: unique.take(name) if key in listed else name for name, key in keys.items()}

    def _count(
        self,
        tree: MemberTree,
        container: PlannedItem,
        attachments: Collection[Attachment],
        problems: Collection[MemberProblem],
    ) -> None:
        """Keep the limits over all levels: archives in archives multiply."""
        limits = self._pipeline.settings.extraction.limits
        count = tree.count + len(attachments) + len(problems)
        size = tree.size + sum(attachment.size for attachment in attachments)
        if count > limits.members:
            raise ItemError(
                "too_many_members",
                f"{container.item.source_key}: with its files there would be {count:,} inside "
                f"{tree.root.item.source_key}, more than the limit of {limits.members:,}. Split "
                "it, or raise MUNIMENT_EXTRACTION__LIMITS__MEMBERS, then retry the item.",
            )
        if size > limits.member_bytes:
            raise ItemError(
                "members_too_large",
                f"{container.item.source_key}: with its files there would be {size:,} bytes inside "
                f"{tree.root.item.source_key}, more than the limit of {limits.member_bytes:,}. "
                "Split it, or raise MUNIMENT_EXTRACTION__LIMITS__MEMBER_BYTES, then retry the "
                "item.",
            )
        tree.count, tree.size = count, size

    def _member(
        self,
        tree: MemberTree,
        container: PlannedItem,
        name: str,
        state: str,
        media_type: str | None,
    ) -> PlannedItem:
        """Return the member ``name`` as an item under its container's terms."""
        above = container.item
        uri = member_key(above.uri, quote(name))
        item = Item(
            source_id=above.source_id,
            source_key=member_key(above.source_key, name),
            document_key=member_key(above.document_key, name),
            uri=uri,
            fetch_uri=uri,
            fingerprint="",
            media_type=media_type,
            version_label=above.version_label,
            effective_from=above.effective_from,
            licence_id=above.licence_id,
            terms=above.terms,
            confidentiality=above.confidentiality,
            client_id=above.client_id,
        )
        licence = self._pipeline.configuration.licences.get(item.licence_id)
        # Without its licence an item is refused further on, whatever its state.
        mark = state if licence is None else fingerprint(state, item, licence)
        return PlannedItem(
            item=item.model_copy(update={"fingerprint": mark}),
            doc_id=document_id(item.source_id, item.document_key),
            change=change_of(tree.known.get(item.source_key)),
            container_key=tree.root.item.source_key,
            depth=container.depth + 1,
        )

    def _is_work(self, tree: MemberTree, member: PlannedItem) -> bool:
        known = tree.known.get(member.item.source_key)
        return (
            known is None
            or known.fingerprint != member.item.fingerprint
            or needs_work(known)
            # A step that is tried again must count what it refused the first time.
            or known.run_id == self._pipeline.run_id
            or tree.has_waiting_inside(member.item.source_key)
        )

    def _over_limits(self, member: PlannedItem, size: int) -> ItemError | None:
        nesting = self._pipeline.settings.extraction.limits.nesting
        if member.depth > nesting:
            return ItemError(
                "nesting_too_deep",
                f"{member.item.source_key}: it lies in {member.depth} documents, more than the "
                f"limit of {nesting}. Unpack them in the source, or raise "
                "MUNIMENT_EXTRACTION__LIMITS__NESTING, then retry the item.",
            )
        limit = self._pipeline.configuration.source(member.item.source_id).max_item_bytes
        if size > limit:
            return ItemError(
                "too_large",
                f"{member.item.source_key}: {size:,} bytes are over the source's limit of "
                f"{limit:,}. Raise max_item_bytes if it is meant to be this large, then retry the "
                "item.",
            )
        return None

    def _refuse(self, tree: MemberTree, member: PlannedItem, error: ItemError) -> None:
        key = member.item.source_key
        tree.take(key, member.doc_id)
        tree.waiting.add(key)
        tree.keep_inside(key, restored=False)
        tree.refused.append((member, error))
