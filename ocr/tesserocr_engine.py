"""Tesseract, as a library: the same results without a process, an image file and a start a page."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ocr.engine import EngineUnavailableError, OcrError, OcrWord, Segmentation, Threshold
from ocr.tesseract_data import (
    MAX_SIDE,
    PAGE_SEGMENTATION,
    THRESHOLDING,
    check_languages,
    data_folder,
    languages_in,
    limit_threads,
    not_installed,
    words_of_table,
)

if TYPE_CHECKING:
    from types import ModuleType

    from PIL.Image import Image

_starting = threading.Lock()


class TesserocrEngine:
    """Reads pages with the Tesseract inside the package tesserocr.

    Safe to use from several threads at once: as many Tesseracts are opened as read at the same
    time, and kept open, and Python's lock is released while they read.
    """

    name = "tesserocr"

    def __init__(self, languages: str = "eng") -> None:
        """Take Tesseract's language codes joined by "+"; nothing is loaded yet."""
        self.languages = languages
        self._idle: list[Any] = []

    @cached_property
    def version(self) -> str:
        """Version of the Tesseract in the package.

        Raises:
            EngineUnavailableError: the package or a language is not installed.
        """
        check_languages(self.languages, languages_in(self._data))
        heading: str = _package().tesseract_version()
        return heading.split()[1]

    @cached_property
    def _data(self) -> Path:
        """Folder of the languages' data; the package brings none."""
        folder = data_folder()
        if folder is None:
            raise not_installed(self.languages)
        return folder

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
        if max(image.size) > MAX_SIDE:
            raise OcrError(
                f"Tesseract failed: an image of {image.width} × {image.height} pixels is too large"
            )
        if image.mode not in ("L", "RGB"):
            image = image.convert("RGB")
        pixel_bytes = len(image.getbands())
        try:
            with self._tesseract() as api:
                api.SetPageSegMode(PAGE_SEGMENTATION[segmentation])
                api.SetVariable("thresholding_method", str(THRESHOLDING[threshold]))
                api.SetVariable("user_defined_dpi", str(dpi))
                # Words that it learnt from the page before would make this one depend on that.
                api.ClearAdaptiveClassifier()
                api.SetImageBytes(
                    image.tobytes(),
                    image.width,
                    image.height,
                    pixel_bytes,
                    pixel_bytes * image.width,
                )
                if not api.Recognize():
                    # It takes an image that it has no memory for as one without lines. It needs
                    # this much at least, so asking for it tells the two apart.
                    bytearray(4 * image.width * image.height)
                    raise OcrError("Tesseract failed: it could not find out where the lines are")
                return words_of_table(api.GetTSVText(0))
        except RuntimeError as error:
            if "bad_alloc" in str(error):
                raise MemoryError("Tesseract ran out of memory") from error
            raise OcrError(f"Tesseract failed: {error}") from error

    @contextmanager
    def _tesseract(self) -> Iterator[Any]:
        """Lend a Tesseract that nobody else uses; one that failed is not used again."""
        try:
            api = self._idle.pop()
        except IndexError:
            api = self._open()
        yield api
        api.Clear()
        self._idle.append(api)

    def _open(self) -> Any:
        # What one prints and where is set for all of them, so no other may start meanwhile.
        with _starting:
            tesserocr = _package()
            try:
                api = tesserocr.PyTessBaseAPI(path=f"{self._data}/", lang=self.languages)
            except RuntimeError as error:
                raise EngineUnavailableError(
                    f"Tesseract cannot read its data for {self.languages} in {self._data}. "
                    "Install the languages' packages again."
                ) from error
            tesserocr.set_leptonica_log_level(tesserocr.LeptLogLevel.NONE)
            api.SetVariable("debug_file", "/dev/null")
        return api


def _package() -> ModuleType:
    limit_threads()
    try:
        import tesserocr  # type: ignore[import-untyped]  # ships stubs without py.typed
    except ImportError as error:
        raise EngineUnavailableError(
            f"tesserocr cannot be loaded ({error}). Install it: pip install 'muniment[ocr]'; or "
            "set MUNIMENT_EXTRACTION__OCR_ENGINE=tesseract."
        ) from error
    module: ModuleType = tesserocr
    return module
