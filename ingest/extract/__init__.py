"""Bytes to a version's text, with where every character of it came from.

``extract`` reads one document in this process; ``sandbox.extract_all`` reads many, each in a child
process that can be lost. Each format family is one module, imported when a document needs it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

from ingest.errors import ItemError
from ingest.extract import media
from ingest.extract.draft import Draft, Member, SourceBytes
from ingest.extract.language import detect_language
from ingest.settings import ExtractionSettings
from schemas.base import sha256_bytes
from schemas.document import Attachment, Extraction, ExtractionWarning

EXTRACTOR_VERSION = "3"
"""Changes whenever the same bytes may give another extraction."""

_READERS = {
    media.PDF: ("pdf", "read_pdf"),
    media.TIFF: ("images", "read_image"),
    media.PNG: ("images", "read_image"),
    media.JPEG: ("images", "read_image"),
    media.JPEG2000: ("images", "read_image"),
    media.HEIC: ("images", "read_image"),
    media.AVIF: ("images", "read_image"),
    media.WEBP: ("images", "read_image"),
    media.BMP: ("images", "read_image"),
    media.GIF: ("images", "read_image"),
    media.DOCX: ("docx", "read_docx"),
    media.XLSX: ("xlsx", "read_xlsx"),
    media.PPTX: ("pptx", "read_pptx"),
    media.RTF: ("rtf", "read_rtf"),
    media.EPUB: ("epub", "read_epub"),
    media.ODT: ("odf", "read_odf"),
    media.ODS: ("odf", "read_odf"),
    media.ODP: ("odf", "read_odf"),
    media.EMAIL: ("email", "read_email"),
    media.MSG: ("msg", "read_msg"),
    media.ZIP: ("archives", "read_zip"),
    media.TAR: ("archives", "read_tar"),
    media.GZIP: ("archives", "read_gzip"),
    media.HTML: ("html", "read_html"),
    media.PLAIN: ("plain", "read_text"),
    media.MARKDOWN: ("markdown", "read_markdown"),
    media.CSV: ("records", "read_csv"),
    media.TSV: ("records", "read_csv"),
    media.JSON: ("json_record", "read_json_record"),
}
"""Module and function that read a media type."""

_UNSUPPORTED = {
    media.XLSB: "Binary workbooks are not read. Save it as .xlsx, then retry the item.",
    media.OLE: "Old Office files (.doc, .xls, .ppt) are not read. Save it as .docx, .xlsx, .pptx "
    "or PDF in its source, then retry the item.",
    media.RSS: "It is a news feed. Configure it as a source with 'connector: feed' instead.",
    media.ATOM: "It is a news feed. Configure it as a source with 'connector: feed' instead.",
    media.XML: "XML is read only as a feed, by a source with 'connector: feed'. Dismiss the entry.",
}


def extract(
    data: bytes,
    *,
    name: str,
    media_type: str | None = None,
    options: Mapping[str, Any] | None = None,
    settings: ExtractionSettings,
) -> Extraction:
    """Read ``data`` and return its text and evidence.

    The format is told by the content first, then by what the source declares, then by the name.

    Args:
        data: the document's bytes.
        name: its file name, for the suffix and for messages.
        media_type: what the source declares, such as the HTTP Content-Type.
        options: what the format's reader needs beyond the bytes, see `records.read_csv` and
            `json_record.read_json_record`; and
            what the source sets, see `of_source`.
        settings: limits, layout and OCR.

    Raises:
        ItemError: empty_file, unsupported_format, damaged, password_needed, no_pages,
            too_many_pages, too_many_characters, image_too_large, column_missing, no_text.
        ConfigurationError: a page needs OCR, and the engine or a language is not installed.
    """
    extraction, _ = extract_with_members(
        data, name=name, media_type=media_type, options=options, settings=settings
    )
    return extraction


def extract_with_members(
    data: bytes,
    *,
    name: str,
    media_type: str | None = None,
    options: Mapping[str, Any] | None = None,
    settings: ExtractionSettings,
) -> tuple[Extraction, list[Member]]:
    """Read ``data`` as ``extract`` does; also return the files inside it.

    The members are the extraction's ``attachments``, in the same order, with their bytes. A
    document that has members need not have a text.
    """
    if not data:
        raise ItemError(
            "empty_file",
            f"{name}: the file is empty. Get it again from its source, then retry the item; "
            "dismiss the entry if it is meant to be empty.",
        )
    settings = of_source(settings, options or {})
    detected = media.detect_media_type(data, name, media_type)
    read = _reader(detected, name)
    draft = read(SourceBytes(data, name, detected, options or {}, settings))
    _check_text(draft, name, settings)
    by_name = media.extension_types(name)
    if by_name and detected not in by_name:
        message = f"The name says {by_name[0]}, but the content is {detected} and was read as that."
        draft.warnings.insert(0, ExtractionWarning(code="wrong_extension", message=message))
    extraction = Extraction(
        media_type=detected,
        extractor_version=EXTRACTOR_VERSION,
        doc_sha256=sha256_bytes(data),
        text=draft.text,
        body_end=draft.body_end,
        pages=tuple(draft.pages),
        words=tuple(draft.words),
        elements=tuple(draft.elements),
        warnings=tuple(draft.warnings),
        attachments=tuple(_attachment(member) for member in draft.members),
        member_problems=tuple(draft.member_problems),
        title=draft.title,
        author=draft.author,
        dates=draft.dates,
        language=detect_language(draft.text[: draft.body_end]),
    )
    return extraction, draft.members


def _attachment(member: Member) -> Attachment:
    return Attachment(
        name=member.name,
        sha256=sha256_bytes(member.data),
        size=len(member.data),
        media_type=member.media_type,
    )


def of_source(settings: ExtractionSettings, options: Mapping[str, Any]) -> ExtractionSettings:
    """Return the settings for a document whose source has ``ocr_languages`` of its own."""
    languages = options.get("ocr_languages")
    return settings.model_copy(update={"ocr_languages": languages}) if languages else settings


def _reader(media_type: str, name: str) -> Callable[[SourceBytes], Draft]:
    if media_type == media.ENCRYPTED:
        raise ItemError(
            "password_needed",
            f"{name}: the Office file is encrypted and needs a password. Save it without one "
            "in its source, then retry the item.",
        )
    if media_type not in _READERS:
        why = _UNSUPPORTED.get(
            media_type,
            "It is none of PDF, images, office documents, e-books, web pages, text, CSV, mails and "
            "archives. Convert it in its source, then retry the item.",
        )
        raise ItemError("unsupported_format", f"{name}: {why}")
    module, function = _READERS[media_type]
    reader: Callable[[SourceBytes], Draft] = getattr(
        import_module(f"ingest.extract.{module}"), function
    )
    return reader


def _check_text(draft: Draft, name: str, settings: ExtractionSettings) -> None:
    limit = settings.limits.characters
    if len(draft.text) > limit:
        raise ItemError(
            "too_many_characters",
            f"{name}: {len(draft.text):,} characters are more than the limit of {limit:,}. Split "
            "the document, or raise MUNIMENT_EXTRACTION__LIMITS__CHARACTERS, then retry the item.",
        )
    if not (draft.text.strip() or draft.members or draft.member_problems):
        raise ItemError(
            "no_text",
            f"{name}: no text was found{_found_instead(draft)}. Look at the document: if it is a "
            "scan, get a better one, then retry the item; dismiss the entry if it is meant to be "
            "empty.",
        )


def _found_instead(draft: Draft) -> str:
    """Say what was found in a document without text, whose warnings go with it."""
    messages = dict.fromkeys(
        warning.message.rstrip(".")
        for warning in draft.warnings
        if warning.code != "page_without_text"
    )
    return f" ({'; '.join(list(messages)[:3])})" if messages else ""
