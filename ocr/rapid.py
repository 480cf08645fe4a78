"""RapidOCR: finds lines, then reads each; better than Tesseract on forms and bad scans.

Its networks come with its package and run in ONNX Runtime; nothing is downloaded. They know Latin,
Chinese and Japanese letters. A run of Chinese or Japanese without spaces is one word, as it is in
the text.
"""

from __future__ import annotations

import math
import threading
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from itertools import chain, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import cv2
import numpy as np

from ocr.engine import EngineUnavailableError, OcrError, OcrWord, Segmentation, Threshold
from ocr.line_words import LineWord, even_words, words_of_line
from ocr.reading_order import reading_order

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy.typing as npt
    from PIL.Image import Image

    from ocr.engine import PixelBox

    Pixels = npt.NDArray[np.uint8]
    """Height × width × blue, green and red."""
    Quad = npt.NDArray[np.float32]
    """Four corners x, y in pixels, clockwise from the top left of the text."""

_LEAST_DPI, _MOST_DPI = 100, 200
_MOST_PIXELS = 3_200_000
"""Lines are looked for in an image of this resolution and size; the cost goes by its pixels. They
are read from the full one."""
_LEAST_SIDE = 64
"""Of the same image: the network that finds lines wants multiples of 32."""
_MIN_SCORE = 0.5
"""Lines that were read with less are noise or pictures."""
_TALL = 1.5
"""A line higher than this many times its width may be written upwards or downwards."""
_MAX_SIDE = 32_767
_OUT_OF_MEMORY = ("bad_alloc", "bad allocation", "failed to allocate", "insufficient memory")


@dataclass(frozen=True, slots=True)
class _Line:
    words: list[LineWord]
    """Boxes in pixels of the page."""
    box_kind: Literal["word", "line"]
    score: float

    @property
    def letters(self) -> int:
        return sum(len(word.text) for word in self.words)

    @property
    def box(self) -> PixelBox:
        boxes = np.array([word.box for word in self.words])
        x0, y0 = boxes[:, :2].min(axis=0)
        x1, y1 = boxes[:, 2:].max(axis=0)
        return float(x0), float(y0), float(x1), float(y1)


class RapidEngine:
    """Reads pages with the networks in the package rapidocr, with one thread a page.

    Safe to use from several threads at once. Segmentation and threshold don't matter to it.
    """

    name = "rapidocr"

    def __init__(self) -> None:
        self._loading = threading.Lock()
        self._networks: tuple[Any, Any] | None = None

    @cached_property
    def version(self) -> str:
        """Version of the package, which the networks belong to.

        Raises:
            EngineUnavailableError: it is not installed.
        """
        try:
            return version("rapidocr")
        except PackageNotFoundError as error:
            raise _unavailable("it is not installed") from error

    def recognise(
        self,
        image: Image,
        dpi: int,
        *,
        segmentation: Segmentation = "page",
        threshold: Threshold = "otsu",
    ) -> list[OcrWord]:
        """Return the words of ``image``; see `OcrEngine.recognise`."""
        find, read = self._load()
        if max(image.size) > _MAX_SIDE:
            raise OcrError(
                f"RapidOCR failed: an image of {image.width} × {image.height} pixels is too large"
            )
        pixels = np.asarray(image.convert("RGB"))[:, :, ::-1]
        try:
            lines = [
                line
                for quad in _find_lines(find, pixels, dpi)
                if (line := _read_line(read, pixels, quad)) is not None
            ]
        except MemoryError:
            raise
        except Exception as error:
            text = str(error)
            if any(sign in text.lower() for sign in _OUT_OF_MEMORY):
                raise MemoryError("RapidOCR ran out of memory") from error
            raise OcrError(f"RapidOCR failed: {text.strip().rpartition(chr(10))[2]}") from error
        return list(_in_order(lines))

    def _load(self) -> tuple[Any, Any]:
        """Return what finds lines and what reads one."""
        with self._loading:
            if self._networks is None:
                self._networks = _networks()
            return self._networks


def _networks() -> tuple[Any, Any]:
    spec = find_spec("rapidocr")
    if spec is None or spec.origin is None:
        raise _unavailable("it is not installed")
    folder = Path(spec.origin).parent / "models"
    paths = {kind: next(folder.glob(f"*_{kind}_*.onnx"), None) for kind in ("det", "rec")}
    if None in paths.values():
        raise _unavailable(f"the installed one has no networks in {folder}")
    from rapidocr import RapidOCR

    threads = "EngineConfig.onnxruntime"
    settings: dict[str, Any] = {
        # It would print a warning for each image without text.
        "Global.log_level": "critical",
        "Global.use_cls": False,
        "Global.return_word_box": True,
        # Images come in the size that they are to have.
        "Global.max_side_len": 10**6,
        "Global.width_height_ratio": -1,
        "Det.limit_type": "max",
        "Det.limit_side_len": 10**6,
        # A short line needs no width that it doesn't have.
        "Rec.rec_img_shape": [3, 48, 48],
        f"{threads}.intra_op_num_threads": 1,
        f"{threads}.inter_op_num_threads": 1,
        # With paths it neither looks for a newer file nor downloads one.
        "Det.model_path": str(paths["det"]),
        "Rec.model_path": str(paths["rec"]),
    }
    find = RapidOCR(params={**settings, "Global.use_rec": False})
    read = RapidOCR(params={**settings, "Global.use_det": False})
    return find, read


def _find_lines(find: Any, pixels: Pixels, dpi: int) -> Iterator[Quad]:
    """Yield where text is, a line or a part of one each."""
    height, width = pixels.shape[:2]
    scale = min(_MOST_DPI, max(_LEAST_DPI, dpi)) / dpi
    scale = min(scale, math.sqrt(_MOST_PIXELS / (height * width)))
    size = max(1, round(width * scale)), max(1, round(height * scale))
    way = cv2.INTER_AREA if scale < 1 else cv2.INTER_CUBIC
    scaled = cv2.resize(pixels, size, interpolation=way)
    across, down = (max(0, _LEAST_SIDE - side) for side in size)
    if across or down:
        scaled = cv2.copyMakeBorder(scaled, 0, down, 0, across, cv2.BORDER_REPLICATE)
    found = find(scaled).boxes
    if found is None:
        return
    factor = np.array([width / size[0], height / size[1]])
    for quad in found:
        corners = np.asarray(quad, np.float64) * factor
        yield np.clip(corners, 0, [width, height]).astype(np.float32)


def _read_line(read: Any, pixels: Pixels, quad: Quad) -> _Line | None:
    """Return the words of a line; None where there are none to be trusted."""
    width, height = _size(quad)
    if min(width, height) < 2:
        return None
    # Starting at another corner turns the picture: upwards from the lower left one, downwards from
    # the upper right one. A narrow "1" is tall as well, so all three are read and the best is kept;
    # what makes no more than one letter when turned was none to be turned.
    lines = [_read_picture(read, pixels, quad)]
    if height > _TALL * width:
        turned = (_read_picture(read, pixels, np.roll(quad, turn, axis=0)) for turn in (1, -1))
        lines += [line for line in turned if line is not None and line.letters > 1]
    trusted = [line for line in lines if line is not None and line.score >= _MIN_SCORE]
    return max(trusted, key=lambda line: line.score, default=None)


def _read_picture(read: Any, pixels: Pixels, quad: Quad) -> _Line | None:
    width, height = (max(1, round(side)) for side in _size(quad))
    corners = np.array([[0, 0], [width, 0], [width, height], [0, height]], np.float32)
    to_picture = cv2.getPerspectiveTransform(quad, corners)
    picture = cv2.warpPerspective(
        pixels,
        to_picture,
        (width, height),
        flags=cv2.INTER_CUBIC,
        borderMode=cv2.BORDER_REPLICATE,
    )
    result = read(picture)
    if not result.txts or not result.txts[0].strip():
        return None
    text, seen = result.txts[0], result.word_results[0]
    columns = list(chain.from_iterable(seen.word_cols))
    letters = "".join(text.split())
    confidences = [
        score for letter, score in zip(text, seen.confs, strict=False) if not letter.isspace()
    ]
    known = (
        seen.line_txt_len > 0
        and len(columns) == len(letters) == len(confidences)
        and all(a < b for a, b in pairwise(columns))
    )
    if known:
        column_width = width / seen.line_txt_len
        centres = [(column + 0.5) * column_width for column in columns]
        grey = cv2.cvtColor(picture, cv2.COLOR_BGR2GRAY).astype(np.uint8, copy=False)
        words = words_of_line(grey, text, centres, confidences)
    else:
        words = even_words(text, width, height, float(result.scores[0]))
    to_page = np.linalg.inv(np.asarray(to_picture, np.float64))
    limits = float(pixels.shape[1]), float(pixels.shape[0])
    words = [
        LineWord(word.text, _hull(word.box, to_page, limits), word.confidence) for word in words
    ]
    return _Line(words, "word" if known else "line", float(result.scores[0]))


def _size(quad: Quad) -> tuple[float, float]:
    """Return the length of the quad's lines of text, and their height."""
    sides = np.linalg.norm(quad - np.roll(quad, -1, axis=0), axis=1)
    return float(max(sides[0], sides[2])), float(max(sides[1], sides[3]))


def _hull(box: PixelBox, to_page: npt.NDArray[np.float64], limits: tuple[float, float]) -> PixelBox:
    """Return the upright box around a box of the line's picture, in pixels of the page."""
    x0, y0, x1, y1 = box
    corners = np.array([[[x0, y0], [x1, y0], [x1, y1], [x0, y1]]], np.float64)
    on_page = np.clip(cv2.perspectiveTransform(corners, to_page)[0], 0, limits)
    left, top = on_page.min(axis=0)
    right, bottom = on_page.max(axis=0)
    return float(left), float(top), float(right), float(bottom)


def _in_order(lines: list[_Line]) -> Iterator[OcrWord]:
    for place in reading_order([line.box for line in lines]):
        line = lines[place.index]
        for word in line.words:
            yield OcrWord(
                text=word.text,
                box=word.box,
                confidence=100 * min(1.0, max(0.0, word.confidence)),
                block=place.block,
                paragraph=1,
                line=place.line,
                box_kind=line.box_kind,
            )


def _unavailable(why: str) -> EngineUnavailableError:
    return EngineUnavailableError(
        f"RapidOCR cannot be used: {why}. Install it: pip install 'muniment[ocr]'; or set "
        "MUNIMENT_EXTRACTION__OCR_SECOND_ENGINE=none."
    )
