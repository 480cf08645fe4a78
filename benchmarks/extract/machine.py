"""On what, when and with which versions something was measured."""

from __future__ import annotations

import os
import platform
import subprocess
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from ocr.engine import EngineUnavailableError
from ocr.engines import first_engine

_PACKAGES = ("pymupdf", "pytesseract", "tesserocr", "rapidocr", "onnxruntime")


def describe() -> dict[str, str]:
    """Return what a reader of a measurement must know, each with its name."""
    return {
        "date": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "commit": _commit(),
        "processor": f"{_processor()}, {os.cpu_count()} cores",
        "load at the start": f"{os.getloadavg()[0]:.1f}",
        "system": f"{platform.system()} {platform.release()}, Python {platform.python_version()}",
        "engines": ", ".join(_engines()),
        "packages": ", ".join(f"{name} {_version(name)}" for name in _PACKAGES),
    }


def _commit() -> str:
    def git(*arguments: str) -> str:
        return subprocess.run(  # noqa: S603 - fixed arguments
            ["git", *arguments],  # noqa: S607 - the git that made this checkout
            cwd=Path(__file__).parent,
            capture_output=True,
            text=True,
            check=False,
        ).stdout.strip()

    changed = git("status", "--porcelain", "--untracked-files=no", "--", "..", "../../ingest")
    return (git("rev-parse", "--short=10", "HEAD") or "unknown") + " with changes" * bool(changed)


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
    except OSError:
        return platform.machine()
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.machine())


def _engines() -> list[str]:
    found: list[str] = []
    for choice in ("tesseract", "tesserocr"):
        try:
            engine = first_engine(choice, "eng")
            found.append(f"{engine.name} {engine.version}")
        except EngineUnavailableError:
            found.append(f"{choice} not installed")
    return found


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"
