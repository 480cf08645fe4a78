"""Tesseract, through its command line: the engine that is always there."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import pytesseract  # type: ignore[import-untyped]  # ships neither stubs nor py.typed

from ocr.engine import OcrError, OcrWord, Segmentation, Threshold
from ocr.tesseract_data import (
    PAGE_SEGMENTATION,
    THRESHOLDING,
    check_languages,
    limit_threads,
    not_installed,
    words_of_table,
)

if TYPE_CHECKING:
    from PIL.Image import Image


class TesseractEngine:
    """Reads pages with the Tesseract that is on the PATH, one process a page.

    Safe to use from several threads at once.
    """

    name = "tesseract"

    def __init__(self, languages: str = "eng") -> None:
        """Take Tesseract's language codes joined by "+"; nothing is started yet."""
        self.languages = languages
        limit_threads()

    @cached_property
    def version(self) -> str:
        """Version of the installed Tesseract.

        Raises:
            EngineUnavailableError: Tesseract or a language is not installed.
        """
        try:
            version = str(pytesseract.get_tesseract_version())
            installed = pytesseract.get_languages()
        except pytesseract.TesseractNotFoundError as error:
            raise not_installed(self.languages) from error
        check_languages(self.languages, installed)
        return version

    def recognise(
        self,
        image: Image,
        dpi: int,
        *,
        segmentation: Segmentation = "page",
        threshold: Threshold = "otsu",
    ) -> list[OcrWord]:
        """Return the words of ``image``; see `OcrEngine.recognise`."""
        _ = self.version
        try:
            table: str = pytesseract.image_to_data(
                image,
                lang=self.languages,
                config=f"--psm {PAGE_SEGMENTATION[segmentation]} --dpi {dpi} "
                f"-c thresholding_method={THRESHOLDING[threshold]}",
            )
        except pytesseract.TesseractError as error:
            if "bad_alloc" in str(error):
                raise MemoryError("Tesseract ran out of memory") from error
            raise OcrError(f"Tesseract failed: {error}") from error
        return words_of_table(table)
