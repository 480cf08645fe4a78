"""PDF: opening the file, and what belongs to the document as a whole."""

# mypy: allow-untyped-calls
# PyMuPDF says py.typed, but few of its functions are annotated.

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from ingest.errors import ItemError
from ingest.extract.assemble import assemble
from ingest.extract.blocks import PageContent
from ingest.extract.decode import clean
from ingest.extract.draft import Draft, SourceBytes, damaged, too_many_pages
from ingest.extract.faults import raise_if_memory
from ingest.extract.file_dates import pdf_date
from ingest.extract.furniture import mark_furniture
from ingest.extract.garbage import collector_paused
from ingest.extract.notes import gathered, page_ranges
from ingest.extract.pdf_attachments import pdf_members
from ingest.extract.pdf_page import PageReader
from ingest.extract.scans import Recogniser
from ingest.extract.text_layer import PDF_ERRORS
from ocr.mupdf import pymupdf
from schemas.document import ExtractionWarning, FileDates

_MAX_MESSAGES = 5


@collector_paused()
def read_pdf(source: SourceBytes) -> Draft:
    """Read a PDF.

    Raises:
        ItemError: password_needed, damaged, no_pages, too_many_pages.
        ConfigurationError: a page needs OCR, and the engine or a language is not installed.
    """
    # MuPDF writes to stderr otherwise; its messages are collected and become warnings.
    pymupdf.TOOLS.mupdf_display_errors(False)
    pymupdf.TOOLS.mupdf_display_warnings(False)
    pymupdf.TOOLS.reset_mupdf_warnings()
    with _open(source) as document, Recogniser(source.settings) as recogniser:
        readers = [
            PageReader(index, label, source.settings, recogniser)
            for index, label in enumerate(_labels(document))
        ]
        for reader in readers:
            reader.start(document)
        contents = [reader.finish() for reader in readers]
        mark_furniture(contents)
        draft = assemble(contents)
        draft.warnings = [*_document_warnings(document, contents), *gathered(draft.warnings)]
        metadata = document.metadata or {}
        draft.title = draft.title or _metadata_title(metadata)
        draft.author = _plain(metadata.get("author"))
        draft.dates = FileDates(
            created=pdf_date(metadata.get("creationDate")),
            modified=pdf_date(metadata.get("modDate")),
        )
        draft.members, draft.member_problems = pdf_members(document, source)
    return draft


def _open(source: SourceBytes) -> pymupdf.Document:
    try:
        document = pymupdf.open(stream=source.data, filetype="pdf")
        # An empty user password is no password (PDF 32000-1 §7.6.3.1); MuPDF has tried it already.
        locked = document.needs_pass
        pages = 0 if locked else document.page_count
    except PDF_ERRORS as error:
        raise_if_memory(error)
        raise damaged(source.name, _last_message() or error) from error
    if locked:
        raise ItemError(
            "password_needed",
            f"{source.name}: the PDF can only be opened with a password. Get a copy without one "
            "from its source, then retry the item.",
        )
    if pages == 0:
        raise ItemError(
            "no_pages",
            f"{source.name}: the PDF has no pages{', even after repair' * document.is_repaired}. "
            "Get an intact copy from its source, then retry the item.",
        )
    if pages > source.settings.limits.pages:
        raise too_many_pages(source.name, pages, source.settings.limits.pages)
    return document


def _labels(document: pymupdf.Document) -> list[str | None]:
    try:
        if not document.get_page_labels():
            return [None] * document.page_count
        return [
            clean(_UTF16.sub(_decoded, document.load_page(index).get_label())) or None
            for index in range(document.page_count)
        ]
    except (*PDF_ERRORS, TypeError, KeyError, IndexError):
        # Labels are a convenience; broken ones (bad-PageLabels.pdf) are no labels.
        return [None] * document.page_count


_UTF16 = re.compile("^<FEFF([0-9A-F]{4})+>", re.IGNORECASE)
"""A prefix of labels in UTF-16, which PyMuPDF leaves as the file has it."""


def _decoded(prefix: re.Match[str]) -> str:
    return bytes.fromhex(prefix[0][1:-1]).decode("utf-16", "replace")


def _document_warnings(
    document: pymupdf.Document, contents: Sequence[PageContent]
) -> list[ExtractionWarning]:
    warnings: list[ExtractionWarning] = []
    unread = [
        content.page.number
        for content in contents
        if any(warning.code == "page_unreadable" for warning in content.warnings)
    ]
    if unread:
        warnings.append(
            ExtractionWarning(
                code="pages_unreadable",
                message=f"{len(unread)} of {len(contents)} pages could not be read: "
                f"{page_ranges(unread)}.",
            )
        )
    messages = list(dict.fromkeys(pymupdf.TOOLS.mupdf_warnings().splitlines()))
    said = "; ".join(messages[:_MAX_MESSAGES]) + "; …" * (len(messages) > _MAX_MESSAGES)
    if document.is_repaired:
        warnings.append(
            ExtractionWarning(
                code="repaired",
                message=clean(f"The file is damaged and was repaired; parts may be lost. {said}"),
            )
        )
    elif messages:
        warnings.append(ExtractionWarning(code="parser_messages", message=clean(said)))
    return warnings


def _last_message() -> str:
    return clean(pymupdf.TOOLS.mupdf_warnings().rpartition("\n")[2])


_FILE_NAME = re.compile(r"\.[A-Za-z]{2,4}$")
_NO_TITLE = ("untitled", "microsoft word - ", "powerpoint presentation", "document", "scan")


def _metadata_title(metadata: dict[str, Any]) -> str | None:
    """Return the title in the metadata unless it is one that software made up."""
    title = _plain(metadata.get("title"))
    if title is None or title.lower().startswith(_NO_TITLE) or _FILE_NAME.search(title):
        return None
    return title if any(map(str.isalpha, title)) else None


def _plain(value: str | None) -> str | None:
    return " ".join(clean(value or "").split()) or None
