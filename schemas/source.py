"""Sources: the configured places to pull from, and the items they list."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from schemas.base import Model, UtcDatetime
from schemas.document import ExtractionWarning
from schemas.licence import Confidentiality, Identifier, Terms

SourceKind = Literal["report", "crm", "news", "contract"]
OcrLanguages = Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]+(\+[A-Za-z0-9_-]+)*$")]
"""Tesseract's codes joined by "+", such as "eng+deu"."""


class Access(Model):
    """Who may see what a source brings."""

    confidentiality: Confidentiality = "internal"
    client_id: str | None = None
    """The client whose readers alone may see it; needed where confidentiality is "client"."""


class EffectiveDateRule(Model):
    """Where a version's effective date comes from if its source's listing does not give one."""

    metadata: Literal["created", "modified", "published"] | None = None
    """Date of the file itself that is trusted."""
    text: tuple[str, ...] = ()
    """Regular expressions with a group named date; the first that finds a date in the body counts,
    in this order. Upper and lower case are the same."""
    preset: Literal["contract"] | None = None
    """Ready expressions that are tried after those of ``text``; contract: English contracts."""
    day_first: bool | None = None
    """How 03/04/2020 is read; where it is not given, a date that can be read both ways is not
    taken."""
    languages: tuple[str, ...] = ("en",)
    """Of the names of months, ISO 639-1."""
    time_zone: str = "UTC"
    """In which the day begins (IANA name), such as Europe/Oslo."""
    search_chars: Annotated[int, Field(ge=1)] = 20_000
    """How far into the body is looked."""


class Retention(Model):
    """How long superseded versions can be found. Each limit holds by itself."""

    versions: Annotated[int, Field(ge=0)] | None = None
    """How many superseded versions of a document stay, the latest; None for all of them."""
    days: Annotated[float, Field(gt=0)] | None = None
    """How long one stays after it was superseded; None for ever."""


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
    when_gone: Literal["retire", "erase"] = "retire"
    """What becomes of a document that the source no longer lists. retire: it stays for questions
    about the past; erase: it is forgotten, its bytes too."""
    stale_after_hours: Annotated[float, Field(gt=0)] = 36.0
    """A source that could not be listed for longer than this is shown as stale."""
    connection: Identifier | None = None
    """Name of the credentials: an Airflow connection, or the environment variable
    MUNIMENT_CONNECTION_<NAME>. They never stand in this file."""
    max_item_bytes: Annotated[int, Field(gt=0)] = 512 * 1024 * 1024
    retention: Retention = Retention()
    """How many superseded versions stay in the index, and for how long."""
    effective_date: EffectiveDateRule = EffectiveDateRule()
    """Where the dates of versions come from that the listing does not give."""


class FilesSource(SourceBase):
    """A folder of files: licensed reports, a drop folder of scanned contracts."""

    connector: Literal["files"]
    address: str
    """Folder: a path (relative ones start at the configuration file) or an fsspec URL."""
    pattern: str = "**/*"
    storage_options: dict[str, Any] = Field(default_factory=dict)
    """Passed to the address's file system, such as endpoint_url or region; secrets are refused
    here, they belong to the connection."""
    manifest: str | None = None
    """CSV inside the folder, one row a file. Columns: file (required), document, title,
    version_label, effective_from, licence, confidentiality, client_id, withdrawn. The manifest
    itself is no item, and a row whose file is missing is reported."""
    name_pattern: str | None = None
    """Regular expression on the file's path with named groups out of document, version_label,
    effective_from, title; used for what the manifest does not say."""
    ocr_languages: OcrLanguages | None = None
    """Languages of its scans; those of the settings where it is not given."""


class RecordsSource(SourceBase):
    """Records with fields: each record is an item, each text field a run with its own locator."""

    address: str
    key: str
    """Field that names the record for good."""
    text: Annotated[tuple[str, ...], Field(min_length=1)]
    """Fields whose values make the text, in this order."""
    title: str | None = None
    date: str | None = None
    """Field with the instant from which the record is in force (RFC 3339, or a plain date)."""
    client: str | None = None
    """Field that names the client; its records are visible to that client's readers alone."""


class CsvSource(RecordsSource):
    """A CRM export as delimited text; fields are columns."""

    connector: Literal["csv"]
    encoding: str | None = None
    """Detected where it is not given: UTF-8 with or without BOM, UTF-16 by BOM, else Latin-1."""
    delimiter: Annotated[str, Field(min_length=1, max_length=1)] | None = None


class JsonLinesSource(RecordsSource):
    """A CRM export with one JSON object a line; fields are JMESPath, such as properties.name."""

    connector: Literal["jsonl"]


class ParquetSource(RecordsSource):
    """A CRM export in Parquet; fields are columns, those of structs with dots."""

    connector: Literal["parquet"]


class SqlSource(RecordsSource):
    """A table, view or query of a database, read in the order of its key, a page at a time.

    The address is a SQLAlchemy URL without a password, such as postgresql+psycopg://crm.internal/crm.
    """

    connector: Literal["sql"]
    table: str | None = None
    """Table or view, with its schema if need be: "crm.notes"; this or ``query``."""
    query: str | None = None
    """A SELECT without ORDER BY; it is wrapped, so it may have joins and conditions."""
    changed: str | None = None
    """Column that changes whenever the record does, such as a number of its version or the time
    of its last change; where it is not given, the record's values are hashed."""
    page_rows: Annotated[int, Field(ge=1)] = 5_000


class WebSourceBase(SourceBase):
    """What sources on the web have in common. Addresses that a page names are not trusted."""

    auth: Literal["none", "basic", "bearer"] = "none"
    """How the connection's credentials are sent: login and password, or the password as a token.
    They go to the address's own host alone."""
    allow_hosts: tuple[str, ...] = ()
    """Hosts that may be read although they are on a private, loopback or link-local address."""
    timeout_seconds: Annotated[float, Field(gt=0)] = 30.0
    delay_seconds: Annotated[float, Field(ge=0)] = 0.0
    """Least time between two requests to one host."""
    respect_robots: bool = True
    """Leave out what the host's robots.txt keeps from this program, and keep its Crawl-delay."""
    ocr_languages: OcrLanguages | None = None
    """Languages of scans among its pages; those of the settings where it is not given."""


class FeedSource(WebSourceBase):
    """A feed (RSS, Atom or JSON Feed) with the article pages that its entries link to."""

    connector: Literal["feed"]
    address: str
    """File path or http(s) URL of the feed."""
    mirror: dict[str, str] = Field(default_factory=dict)
    """URL prefixes whose pages are read from a local folder instead of the network; the citation
    keeps the URL."""
    follow_links: bool = True
    """Fetch the linked article; otherwise the entry's own content is the document."""
    delay_seconds: Annotated[float, Field(ge=0)] = 1.0
    retire_unlisted: bool = False
    """False, because an article that scrolled off its feed has not been withdrawn."""


class PortalFields(Model):
    """Where an entry of a portal's listing says what: JMESPath, relative to the entry."""

    url: str = "url"
    """Of the item's bytes; relative ones start at the page that names them."""
    key: str | None = None
    """What names the item for good; its URL where it is not given."""
    document: str | None = None
    """What names the document that the item is a version of; the key where it is not given."""
    title: str | None = None
    version_label: str | None = None
    effective_from: str | None = None
    etag: str | None = None
    """ETag, version number, or anything else that changes with the bytes."""
    modified: str | None = None
    """When the bytes were last changed."""
    size: str | None = None
    """In bytes; checked when they are fetched."""
    sha256: str | None = None
    """Of the bytes, hexadecimal; checked when they are fetched."""


class PortalSource(WebSourceBase):
    """A site that lists its documents in JSON or HTML, over as many pages as it takes."""

    connector: Literal["portal"]
    address: str
    """http(s) URL of the listing's first page."""
    listing: Literal["json", "html"] = "json"
    entries: str = "@"
    """JSON: the list of entries, as JMESPath ("data.reports"); "@" where the page is the list."""
    fields: PortalFields = PortalFields()
    """JSON: what an entry says."""
    links: str = "a[href]"
    """HTML: the links to the items, as a CSS selector."""
    next: str | None = None
    """The next page: JMESPath to its URL (JSON), or a CSS selector of its link (HTML). A Link
    header with rel="next" (RFC 8288) is followed where it is not given."""
    max_pages: Annotated[int, Field(ge=1)] = 1_000


Source = Annotated[
    FilesSource
    | CsvSource
    | JsonLinesSource
    | ParquetSource
    | SqlSource
    | FeedSource
    | PortalSource,
    Field(discriminator="connector"),
]


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
    """None where the source does not say: then its rule for effective dates counts."""
    withdrawn: bool = False
    """Whether the source says that this version never held."""
    licence_id: str
    terms: Terms | None = None
    """The item's own terms, where it has any; they only narrow its licence."""
    confidentiality: Confidentiality
    client_id: str | None = None
    options: dict[str, Any] = Field(default_factory=dict)
    """What the extractor needs beyond the bytes, such as the text columns of a CRM record, or the
    languages of scans."""
    warnings: tuple[ExtractionWarning, ...] = ()
    """What listing it found, such as a date that cannot be read; shown with what reading it
    finds."""

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


ListingEntry = Item | ListingProblem
"""What a listing yields: an item, or why there is none."""
