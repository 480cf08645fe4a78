"""Sources: the configured places to pull from, and the items they list."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from schemas.base import Model, UtcDatetime
from schemas.licence import Confidentiality, Identifier

SourceKind = Literal["report", "crm", "news", "contract"]
OcrLanguages = Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]+(\+[A-Za-z0-9_-]+)*$")]
"""Tesseract's codes joined by "+", such as "eng+deu"."""


class Access(Model):
    """Who may see what a source brings."""

    confidentiality: Confidentiality = "internal"
    client_id: str | None = None
    """The client whose readers alone may see it; needed where confidentiality is "client"."""


class SourceBase(Model):
    """What every source has, whatever its connector."""

    id: Identifier
    kind: SourceKind
    licence: Identifier
    """Id of an entry in the licence registry; a manifest may name another one per item."""
    access: Access = Access()
    min_listed_share: Annotated[float, Field(ge=0, le=1)] = 0.5
    """A listing with fewer than this share of the items it had retires nothing and raises an
    alert."""
    retire_unlisted: bool = True
    """Whether an item that is no longer listed is retired. A source that lists only what is recent
    says nothing about the rest."""
    max_item_bytes: Annotated[int, Field(gt=0)] = 512 * 1024 * 1024


class FilesSource(SourceBase):
    """A folder of files: licensed reports, a drop folder of scanned contracts."""

    connector: Literal["files"]
    address: str
    """Folder: a path (relative ones start at the configuration file) or an fsspec URL."""
    pattern: str = "**/*"
    manifest: str | None = None
    """CSV inside the folder, one row a file. Columns: file (required), document, title,
    version_label, effective_from, licence, confidentiality, client_id. The manifest itself is no
    item, and a row whose file is missing is reported."""
    name_pattern: str | None = None
    """Regular expression on the file's path with named groups out of document, version_label,
    effective_from, title; used for what the manifest does not say."""
    ocr_languages: OcrLanguages | None = None
    """Languages of its scans; those of the settings where it is not given."""


class CsvSource(SourceBase):
    """A CRM export: each record is an item, each text column a field with its own locator."""

    connector: Literal["csv"]
    address: str
    key: str
    """Column that names the record for good."""
    text: Annotated[tuple[str, ...], Field(min_length=1)]
    """Columns whose cells make the text, in this order."""
    title: str | None = None
    date: str | None = None
    """Column with the instant from which the record is in force (RFC 3339, or a plain date)."""
    client: str | None = None
    """Column that names the client; its records are visible to that client's readers alone."""
    encoding: str | None = None
    """Detected where it is not given: UTF-8 with or without BOM, UTF-16 by BOM, else Latin-1."""
    delimiter: Annotated[str, Field(min_length=1, max_length=1)] | None = None


class FeedSource(SourceBase):
    """An RSS or Atom feed with the article pages that its entries link to."""

    connector: Literal["feed"]
    address: str
    """File path or http(s) URL of the feed."""
    mirror: dict[str, str] = Field(default_factory=dict)
    """URL prefixes whose pages are read from a local folder instead of the network; the citation
    keeps the URL."""
    follow_links: bool = True
    """Fetch the linked article; otherwise the entry's own content is the document."""
    timeout_seconds: Annotated[float, Field(gt=0)] = 30.0
    retire_unlisted: bool = False
    """False, because an article that scrolled off its feed has not been withdrawn."""
    ocr_languages: OcrLanguages | None = None
    """Languages of scans that its entries link to; those of the settings where it is not given."""


Source = Annotated[FilesSource | CsvSource | FeedSource, Field(discriminator="connector")]


class Item(Model):
    """One thing that a source lists; listing it costs no download."""

    source_id: str
    source_key: str
    """Stable within the source: a path, a record key, an entry id."""
    document_key: str
    """Names the document that the item is a version of; the source_key where the source has no
    versions of its own."""
    uri: str
    """The address that a person or a citation uses."""
    fetch_uri: str
    """The address that the bytes are read from; differs from ``uri`` for mirrored pages."""
    fingerprint: str
    """Changes when the item does: ETag, size and mtime, or a hash, whichever the source gives."""
    size: int | None = None
    media_type: str | None = None
    title: str | None = None
    version_label: str | None = None
    effective_from: UtcDatetime | None = None
    """None where the source does not say: then the date of receipt counts, and it is flagged."""
    licence_id: str
    confidentiality: Confidentiality
    client_id: str | None = None
    options: dict[str, Any] = Field(default_factory=dict)
    """What the extractor needs beyond the bytes, such as the text columns of a CRM record, or the
    languages of scans."""

    @model_validator(mode="after")
    def _confidential_items_name_their_client(self) -> Item:
        if self.confidentiality == "client" and not self.client_id:
            raise ValueError(
                f"item {self.source_key!r} is confidential to a client but names no client_id"
            )
        return self


class ListingProblem(Model):
    """An item that the source names but that could not be listed properly."""

    source_key: str
    code: str
    message: str


class Listing(Model):
    """What a source lists now."""

    items: tuple[Item, ...]
    problems: tuple[ListingProblem, ...] = ()
    """Counted as failed in the ledger and kept in quarantine with their reason."""
