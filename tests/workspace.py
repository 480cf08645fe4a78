"""A whole installation in a temporary folder: configuration, sources, and what runs make."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pymupdf
import yaml

from ingest.embedding import Embedder
from ingest.pipeline import Pipeline, open_catalog, open_index
from ingest.runner import new_run_id, run_all
from ingest.settings import Settings
from schemas.run import Ledger

ROOT = Path(__file__).parents[1]

# Nobody changes it for the tests that come after.
OPEN_LICENCE: Mapping[str, Any] = MappingProxyType(
    {"id": "open", "name": "Open", "attribution_required": False}
)


class Silent:
    """Takes progress and shows it to nobody."""

    def emit(self, event: object) -> None:
        pass


class Workspace:
    """Writes sources.yaml and licences.yaml from what a test declares, and runs on them."""

    def __init__(self, folder: Path, **settings: Any) -> None:
        self.folder = folder
        self.sources: list[dict[str, Any]] = []
        self.licences: list[dict[str, Any]] = [dict(OPEN_LICENCE)]
        settings.setdefault("extraction", {"layout": False, "workers": 1})
        self.settings = Settings(
            home=folder / "home",
            sources_file=folder / "sources.yaml",
            licences_file=folder / "licences.yaml",
            **settings,
        )
        self.more_environment: dict[str, str] = {}
        """Further variables for the command line."""

    def write(self, path: str, content: str | bytes) -> Path:
        """Write a file of a source."""
        target = self.folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content.encode() if isinstance(content, str) else content)
        return target

    def add_source(self, source_id: str, **fields: Any) -> None:
        """Declare a source; a folder of files named like it unless ``fields`` say otherwise."""
        given = {"kind": "report", "connector": "files", "licence": "open", "address": source_id}
        self.sources.append({"id": source_id, **given, **fields})
        self.save()

    def save(self) -> None:
        """Write the configuration files."""
        self.write("sources.yaml", yaml.safe_dump({"sources": self.sources}))
        self.write("licences.yaml", yaml.safe_dump({"licences": self.licences}))

    def pipeline(self, run_id: str | None = None) -> Pipeline:
        """Return a pipeline for one run."""
        return Pipeline(self.settings, run_id or new_run_id(), Silent())

    def run(self) -> Ledger:
        """Run the whole pipeline on all sources."""
        return run_all(self.pipeline(), [source["id"] for source in self.sources])

    def points(self) -> dict[str, dict[str, Any]]:
        """Return every point of the index with its payload."""
        with open_index(self.settings, Embedder(self.settings.embedding_model)) as index:
            index.ensure()
            return dict(index.scroll())

    def quarantine(self) -> list[tuple[str, str]]:
        """Return source key and code of what is in quarantine."""
        entries = open_catalog(self.settings).quarantine()
        return sorted((entry.source_key, entry.code) for entry in entries)

    def environment(self) -> dict[str, str]:
        """Return the environment with which the command line finds this workspace."""
        extraction = self.settings.extraction
        return {
            **os.environ,
            "MUNIMENT_HOME": str(self.settings.home),
            "MUNIMENT_SOURCES_FILE": str(self.settings.sources_file),
            "MUNIMENT_LICENCES_FILE": str(self.settings.licences_file),
            "MUNIMENT_EXTRACTION__LAYOUT": str(extraction.layout),
            "MUNIMENT_EXTRACTION__WORKERS": str(extraction.workers),
            **self.more_environment,
        }

    def cli(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run the command line in a process of its own."""
        return subprocess.run(
            [sys.executable, "-m", "ingest", *arguments],
            env=self.environment(),
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )

    def cli_json(self, *arguments: str) -> Any:
        """Run the command line and return the JSON that it prints."""
        done = self.cli(*arguments)
        assert done.stdout, done.stderr
        return json.loads(done.stdout)


def pdf(*pages: str) -> bytes:
    """Return a born-digital PDF with one page a text, the same bytes each time."""
    document = pymupdf.open()
    for text in pages:
        page = document.new_page(width=595, height=842)
        page.insert_textbox((60, 60, 535, 780), text, fontsize=11, fontname="helv")
    data: bytes = document.tobytes(no_new_id=True)
    document.close()
    return data


def scan(*pages: str, dpi: int = 150) -> bytes:
    """Return an image-only PDF of the pages that ``pdf`` would make."""
    digital = pymupdf.open(stream=pdf(*pages), filetype="pdf")
    document = pymupdf.open()
    for source in digital:
        picture = source.get_pixmap(dpi=dpi, colorspace=pymupdf.csGRAY)
        page = document.new_page(width=source.rect.width, height=source.rect.height)
        page.insert_image(page.rect, pixmap=picture)
    data: bytes = document.tobytes(no_new_id=True, deflate=True)
    digital.close()
    document.close()
    return data
