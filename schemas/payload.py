"""The payload of a point, declared once.

The JSON Schema, Qdrant's payload indexes, the columns of the quality gate and the table in the
documentation are derived from :class:`Payload`.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from schemas.base import BEGINNING, OPEN_END, Model, Sha256, UtcDatetime
from schemas.chunk import Locator, PageBox
from schemas.document import ElementKind
from schemas.licence import Confidentiality, Use
from schemas.source import SourceKind
from schemas.version import DateEvidence, EffectiveBasis, HeldInterval

PAYLOAD_SCHEMA_VERSION = 3
"""Part of the collection's name: a change that readers would notice makes a new collection."""

IndexType = Literal["keyword", "integer", "float", "bool", "datetime"]


def _indexed(index: IndexType) -> Any:
    return Field(json_schema_extra={"qdrant_index": index})


class Payload(Model):
    """Everything that a reader needs to cite, filter, credit and prove a passage."""

    text: str
    """The chunk's text, exactly ``version.text[char_start:char_end]``."""
    chunk_id: Annotated[str, _indexed("keyword")]
    """UUIDv5; the same as the point's id."""
    doc_id: Annotated[str, _indexed("keyword")]
    """The document; the same over all its versions."""
    title: str
    """The document's title, from the source or from the file."""
    source_id: Annotated[str, _indexed("keyword")]
    """The configured source."""
    source_kind: Annotated[SourceKind, _indexed("keyword")]
    """What kind of source it is."""
    source_uri: str
    """Where a person finds the original."""
    source_key: Annotated[str, _indexed("keyword")]
    """The item's stable name within its source."""
    version: Annotated[int, Field(ge=1, json_schema_extra={"qdrant_index": "integer"})]
    """1, 2, 3… in the order of receipt."""
    version_label: str | None
    """The source's own name for the version."""
    effective_from: Annotated[UtcDatetime, _indexed("datetime")]
    """First instant at which the version is in force."""
    effective_until: Annotated[UtcDatetime, _indexed("datetime")] = OPEN_END
    """First instant at which it no longer is; 9999-12-31 while open."""
    effective_basis: Annotated[EffectiveBasis, _indexed("keyword")]
    """How effective_from is known: the source, the file's metadata or text, a person; "receipt"
    where nobody says."""
    effective_evidence: DateEvidence | None = None
    """The passage or the field of the file that effective_from was read from."""
    recorded_at: Annotated[UtcDatetime | None, _indexed("datetime")] = None
    """Since when readers are told this interval; null while staged."""
    interval_history: Annotated[
        tuple[HeldInterval, ...],
        Field(json_schema_extra={"qdrant_nested_index": "datetime"}),
    ] = ()
    """Every interval that readers were ever told, with since and until when they were."""
    published_at: Annotated[UtcDatetime | None, _indexed("datetime")] = None
    """When readers could first see it; null while staged."""
    retired_at: Annotated[UtcDatetime, _indexed("datetime")] = OPEN_END
    """When its source no longer listed it; 9999-12-31 while listed."""
    page_first: Annotated[int | None, _indexed("integer")]
    """First physical page, from 1; null where the format has no pages."""
    page_last: Annotated[int | None, _indexed("integer")]
    """Last physical page; the same as page_first unless the passage runs over a page break."""
    page_label: str | None
    """The first page's own label, such as "iv"."""
    boxes: tuple[PageBox, ...]
    """One box per line: PDF points, origin top left of the displayed page."""
    char_start: Annotated[int, Field(ge=0)]
    """Offset of the first code point in the version's text."""
    char_end: Annotated[int, Field(ge=1)]
    """Offset behind the last code point."""
    section: tuple[str, ...]
    """Path of headings above the passage."""
    element_kinds: tuple[ElementKind, ...]
    """Roles of the elements that the passage holds, in text order."""
    locator: Locator | None
    """Row and field, paragraph, or URL with a text fragment, for formats without pages."""
    licence_id: Annotated[str, _indexed("keyword")]
    """Entry of the licence registry that the passage stands under."""
    attribution_required: Annotated[bool, _indexed("bool")]
    """Whether every use must show the credit line."""
    attribution_text: str | None
    """The credit line; present wherever attribution is required."""
    display_allowed: Annotated[bool, _indexed("bool")]
    """Whether the passage itself may be shown to a reader."""
    max_quote_chars: int | None
    """Longest verbatim quotation in characters; null where there is no limit."""
    redistribution_allowed: Annotated[bool, _indexed("bool")]
    """Whether it may be passed on outside the organisation."""
    allowed_uses: Annotated[tuple[Use, ...], _indexed("keyword")]
    """What may be done with it: retrieval, generation, analysis, training."""
    territories: Annotated[tuple[str, ...], _indexed("keyword")]
    """Countries (ISO 3166-1, two letters) in which it may be used; "*" alone for everywhere."""
    licence_valid_from: Annotated[UtcDatetime, _indexed("datetime")] = BEGINNING
    """Before then the default filter does not return it; 1900-01-01 without a beginning."""
    licence_valid_until: Annotated[UtcDatetime, _indexed("datetime")] = OPEN_END
    """From then on the default filter returns it no more; 9999-12-31 without end."""
    confidentiality: Annotated[Confidentiality, _indexed("keyword")]
    """Who may see it: anyone, our own readers, or one client's readers."""
    client_id: Annotated[str | None, _indexed("keyword")]
    """The client whose readers alone may see it, where it is confidential to one."""
    text_source: Annotated[Literal["digital", "ocr", "mixed"], _indexed("keyword")]
    """Where the words came from: the file's own text, recognition, or both."""
    ocr_confidence: Annotated[
        float | None, Field(ge=0, le=100, json_schema_extra={"qdrant_index": "float"})
    ]
    """Mean confidence of the recognised words, 0 to 100; null where none was recognised."""
    language: Annotated[str | None, _indexed("keyword")]
    """ISO 639-1 code of the document's language; null where the text is too short to tell."""
    doc_sha256: Annotated[Sha256, _indexed("keyword")]
    """Of the version's source bytes: the key into the vault."""
    text_sha256: Annotated[Sha256, _indexed("keyword")]
    """Of the chunk's text in UTF-8."""
    pipeline_version: Annotated[str, _indexed("keyword")]
    """Release, extractor and chunker that made the point."""
    embedding_model: Annotated[str, _indexed("keyword")]
    """Model that made the vector."""
    run_id: Annotated[str, _indexed("keyword")]
    """The run that wrote the point."""

    @model_validator(mode="after")
    def _terms_and_dates_are_whole(self) -> Payload:
        if self.attribution_required and not (self.attribution_text or "").strip():
            raise ValueError("attribution is required but attribution_text is empty")
        # An empty interval is right: the version was replaced by one with the same effective date.
        if self.effective_from > self.effective_until:
            raise ValueError(
                f"effective interval runs backwards: {self.effective_from.isoformat()} is after "
                f"{self.effective_until.isoformat()}"
            )
        if self.confidentiality == "client" and not self.client_id:
            raise ValueError("confidential to a client, but client_id is empty")
        if self.char_end - self.char_start != len(self.text):
            raise ValueError(
                f"offsets {self.char_start}–{self.char_end} do not span the text's "
                f"{len(self.text)} characters"
            )
        return self

    def to_point(self) -> dict[str, Any]:
        """Return the payload as Qdrant stores it: JSON values, dates as RFC 3339 in UTC."""
        return self.model_dump(mode="json")


TIME_FIELDS = frozenset(
    {
        "effective_from",
        "effective_until",
        "effective_basis",
        "effective_evidence",
        "recorded_at",
        "interval_history",
        "published_at",
        "retired_at",
    }
)
"""Fields that say when a point is in force and for whom it was; the catalogue decides on them."""

MUTABLE_FIELDS = TIME_FIELDS | {"run_id"}
"""Fields that publishing, corrections and retirement may change on a point that stays the same."""


def payload_indexes() -> dict[str, IndexType]:
    """Return the payload fields that filters use, each with its Qdrant index type."""
    indexes: dict[str, IndexType] = {}
    for name, info in Payload.model_fields.items():
        extra = info.json_schema_extra
        if isinstance(extra, dict) and "qdrant_index" in extra:
            indexes[name] = extra["qdrant_index"]  # type: ignore[assignment]  # a Literal by declaration
        if isinstance(extra, dict) and "qdrant_nested_index" in extra:
            # The parts of each entry of a list, as conditions on one entry look for them.
            for part in HeldInterval.model_fields:
                indexes[f"{name}[].{part}"] = extra["qdrant_nested_index"]  # type: ignore[assignment]  # as above
    return indexes
