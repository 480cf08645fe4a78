"""Reading bytes from the vault: each document in a child process, and each only once."""

from __future__ import annotations

import codecs
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from email.message import Message
from pathlib import Path, PurePosixPath
from typing import Any, Self
from urllib.parse import urlsplit

from ingest.effective import FoundDate, find_date
from ingest.errors import ItemError
from ingest.extract import EXTRACTOR_VERSION
from ingest.extract.sandbox import ExtractJob, ExtractOutcome, extract_all
from ingest.pipeline import Pipeline
from ingest.settings import ExtractionSettings
from schemas.base import sha256_text
from schemas.document import Attachment, Extraction, ExtractionWarning, MemberProblem
from schemas.identity import encode_parts
from schemas.run import BatchRef, FetchedItem
from schemas.source import EffectiveDateRule


@dataclass(frozen=True)
class Reading:
    """What the pipeline has to know of an extraction, which itself may be large."""

    media_type: str
    title: str | None
    has_text: bool
    has_pages: bool
    text_sha256: str
    attachments: tuple[Attachment, ...]
    member_problems: tuple[MemberProblem, ...]
    date: FoundDate
    """What it says of when it begins."""
    warnings: tuple[ExtractionWarning, ...]

    @classmethod
    def of(cls, extraction: Extraction, rule: EffectiveDateRule) -> Self:
        """Return what there is to know of ``extraction``, whose source has this rule for dates."""
        return cls(
            media_type=extraction.media_type,
            title=extraction.title,
            has_text=bool(extraction.text.strip()),
            has_pages=bool(extraction.pages),
            text_sha256=extraction.text_sha256,
            attachments=extraction.attachments,
            member_problems=extraction.member_problems,
            date=find_date(rule, extraction),
            warnings=extraction.warnings,
        )


class Reader:
    """Reads the items of a batch. An extraction that exists already is used as it is."""

    def __init__(self, pipeline: Pipeline, ref: BatchRef) -> None:
        self._pipeline = pipeline
        self._ref = ref
        self._rule = pipeline.configuration.source(ref.source_id).effective_date
        self._readings: dict[str, Reading | ItemError] = {}
        self._names: dict[str, str] = {}
        """File name under which each reading was made."""
        self.documents_read = 0
        self.pages_recognised = 0
        """Pages with words from OCR in what was read now, cached ones too."""

    def read(self, items: Sequence[FetchedItem]) -> list[Reading | ItemError]:
        """Return the reading of each item, or why there is none.

        Raises:
            FatalError: the vault lost the bytes, or the disk is full.
        """
        places = [extraction_path(self._pipeline, item) for item in items]
        waiting: dict[str, FetchedItem] = {}
        for item, path in zip(items, places, strict=True):
            if path in self._readings or path in waiting:
                continue
            if self._pipeline.artifacts.exists(path):
                stored = self._pipeline.artifacts.read(path, Extraction)
                self._readings[path] = Reading.of(stored, self._rule)
            else:
                waiting[path] = item
        self._extract(waiting)
        self._names.update((path, _name(item)) for path, item in waiting.items())
        return [self._said_of(_name(item), path) for item, path in zip(items, places, strict=True)]

    def _said_of(self, name: str, path: str) -> Reading | ItemError:
        """Return a reading; a refusal names this item, not another one with the same bytes."""
        reading = self._readings[path]
        first = f"{self._names.get(path, name)}: "
        if isinstance(reading, ItemError) and reading.message.startswith(first):
            return ItemError(reading.code, f"{name}: {reading.message.removeprefix(first)}")
        return reading

    def _extract(self, waiting: dict[str, FetchedItem]) -> None:
        with ExitStack() as files:
            jobs = [
                ExtractJob(
                    key=path,
                    path=str(files.enter_context(self._pipeline.vault.local_file(item.doc_sha256))),
                    name=_name(item),
                    media_type=item.media_type,
                    options=_options(item),
                )
                for path, item in waiting.items()
            ]
            outcomes = extract_all(jobs, _settings(self._pipeline))
            for number, outcome in enumerate(outcomes, start=1):
                self._readings[outcome.key] = self._keep(outcome)
                name = waiting[outcome.key].planned.item.source_key
                self._pipeline.advance(self._ref, "extract", number, len(jobs), name)

    def _keep(self, outcome: ExtractOutcome) -> Reading | ItemError:
        try:
            extraction = outcome.result()
        except ItemError as error:
            return error
        # The members first: an extraction that is there must have all its members in the vault.
        for member in outcome.members:
            self._pipeline.vault.put(Path(member.path).read_bytes())
        self._pipeline.artifacts.write(outcome.key, extraction)
        self.documents_read += 1
        self.pages_recognised += sum(bool(page.recognitions) for page in extraction.pages)
        return Reading.of(extraction, self._rule)


def _settings(pipeline: Pipeline) -> ExtractionSettings:
    """Return how documents are read here: with the cache in the home folder if none is set."""
    settings = pipeline.settings.extraction
    return settings.model_copy(update={"ocr_cache": ocr_cache_folder(pipeline)})


def ocr_cache_folder(pipeline: Pipeline) -> Path:
    """Return where the words of images are kept that were read before."""
    return pipeline.settings.extraction.ocr_cache or pipeline.home / "cache" / "ocr"


def extraction_path(pipeline: Pipeline, item: FetchedItem) -> str:
    """Return where the extraction is kept: one for the same bytes, read in the same way."""
    sha256 = item.doc_sha256
    settings = pipeline.settings.extraction
    how = sha256_text(
        encode_parts(
            EXTRACTOR_VERSION,
            # What the bytes are taken for where they do not tell themselves.
            PurePosixPath(_name(item)).suffix.lower(),
            (item.media_type or "").lower(),
            _options_key(item),
            str(settings.layout),
            settings.ocr_languages,
            settings.ocr_dpi,
            settings.ocr_engine,
            settings.ocr_second_engine,
            str(settings.ocr_figures),
        )
    )
    return f"extractions/{sha256[:2]}/{sha256}-{how[:16]}.json.zst"


def _name(item: FetchedItem) -> str:
    """Return the file name that the item goes by, for its suffix and for messages."""
    planned = item.planned
    if planned.container_key is not None:
        # A member's name is told by its key alone; its address is that of no file.
        return PurePosixPath(planned.item.source_key).name
    path = urlsplit(planned.item.fetch_uri).path or planned.item.source_key
    return PurePosixPath(path).name or planned.item.source_key


def _options(item: FetchedItem) -> dict[str, Any]:
    """Return the item's options, with the encoding that its server declared (RFC 9110 §8.3.1)."""
    header = Message()
    header["Content-Type"] = item.media_type or ""
    charset = header.get_content_charset()
    options = item.planned.item.options
    if charset is None or "encoding" in options:
        return options
    try:
        return {**options, "encoding": codecs.lookup(charset).name}
    except LookupError:
        return options


def _options_key(item: FetchedItem) -> str:
    options = _options(item)
    return encode_parts(*(f"{name}={options[name]!r}" for name in sorted(options)))
