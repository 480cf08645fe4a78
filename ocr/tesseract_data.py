"""What every way to Tesseract shares: its parameters, its table of words, its languages."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Collection
from pathlib import Path

from ocr.engine import EngineUnavailableError, OcrWord, Segmentation, Threshold

PAGE_SEGMENTATION: dict[Segmentation, int] = {"page": 3, "sparse": 11, "block": 6}
"""Tesseract's --psm."""
THRESHOLDING: dict[Threshold, int] = {"otsu": 0, "sauvola": 2}
"""Tesseract's thresholding_method."""
MAX_SIDE = 32_767
"""Tesseract keeps coordinates in 16 bits and refuses larger images."""

_WORD_LEVEL = "5"
"""Tesseract's table has pages, blocks, paragraphs, lines and words at levels 1 to 5."""
_KNOWN_FOLDERS = ("/usr/share/tesseract-ocr/*/tessdata", "/usr/share/tessdata")
"""Where Debian and its relatives, and Fedora and Arch, put the languages' data."""


def limit_threads() -> None:
    """Let each Tesseract use one thread; more make it two to four times slower, not faster.

    OpenMP reads this when it is loaded, so it is called before a Tesseract is.
    """
    os.environ.setdefault("OMP_THREAD_LIMIT", "1")


def words_of_table(table: str) -> list[OcrWord]:
    """Return the words of Tesseract's TSV output.

    Columns: level, page_num, block_num, par_num, line_num, word_num, left, top, width, height,
    conf, text.
    """
    words: list[OcrWord] = []
    for row in table.split("\n"):
        cells = row.split("\t", 11)
        if len(cells) < 12 or cells[0] != _WORD_LEVEL:
            continue
        text = "".join(cells[11].split())
        if not text:
            continue
        left, top, width, height = map(float, cells[6:10])
        words.append(
            OcrWord(
                text=text,
                box=(left, top, left + width, top + height),
                confidence=min(100.0, max(0.0, float(cells[10]))),
                block=int(cells[2]),
                paragraph=int(cells[3]),
                line=int(cells[4]),
            )
        )
    return words


def check_languages(languages: str, installed: Collection[str]) -> None:
    """Check that there is data for every language.

    Asked for "eng+deu" where only English is installed, Tesseract reads on with English alone and
    reports no error.

    Raises:
        EngineUnavailableError: a language is not installed.
    """
    missing = [code for code in languages.split("+") if code not in installed]
    if missing:
        raise EngineUnavailableError(
            f"Tesseract has no data for {', '.join(missing)} (installed: "
            f"{', '.join(sorted(set(installed) - {'osd'})) or 'none'}). "
            f"Install it: sudo apt-get install {' '.join(map(_package, missing))}; "
            "or change MUNIMENT_EXTRACTION__OCR_LANGUAGES or the source's ocr_languages."
        )


def not_installed(languages: str) -> EngineUnavailableError:
    """Return the error for a machine without Tesseract and its data."""
    packages = " ".join(["tesseract-ocr", *map(_package, languages.split("+"))])
    return EngineUnavailableError(
        "Tesseract is not installed, so scans cannot be read. "
        f"Install it: sudo apt-get install {packages}"
    )


def data_folder() -> Path | None:
    """Return the folder with the languages' data: Tesseract's own, or a known one; None if none."""
    prefix = os.environ.get("TESSDATA_PREFIX")
    if prefix and Path(prefix).is_dir():
        return Path(prefix)
    try:
        listed = subprocess.run(
            ["tesseract", "--list-langs"],  # noqa: S607 - wherever the machine has it
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        heading = None
    else:
        # The heading goes to stdout or stderr, as the version has it.
        heading = re.search(r'languages in "(.+)"', listed.stdout + listed.stderr)
    if heading and Path(heading[1]).is_dir():
        return Path(heading[1])
    known = [folder for pattern in _KNOWN_FOLDERS for folder in Path("/").glob(pattern[1:])]
    return max(known, default=None)


def languages_in(folder: Path) -> set[str]:
    """Return the codes of the languages whose data is in ``folder``."""
    return {str(path.relative_to(folder).with_suffix("")) for path in folder.rglob("*.traineddata")}


def _package(code: str) -> str:
    return f"tesseract-ocr-{code.replace('_', '-').lower()}"
