"""What the pages share: the installation that is looked at."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

from ingest.artifacts import Artifacts
from ingest.catalog import Catalog
from ingest.configuration import Configuration, load_configuration
from ingest.pipeline import open_artifacts, open_catalog, open_vault
from ingest.settings import Settings
from ingest.vault import Vault


@dataclass
class Site:
    """One installation, opened for reading."""

    settings: Settings
    _stamp: tuple[float, ...] = field(default=(), init=False)
    _configuration: Configuration | None = field(default=None, init=False)

    @cached_property
    def catalog(self) -> Catalog:
        """The catalogue."""
        return open_catalog(self.settings)

    @cached_property
    def vault(self) -> Vault:
        """The source bytes."""
        return open_vault(self.settings)

    @cached_property
    def artifacts(self) -> Artifacts:
        """What the steps left."""
        return open_artifacts(self.settings)

    @property
    def configuration(self) -> Configuration:
        """The sources and licences as they are configured now; read again when a file changes.

        Raises:
            ConfigurationError: a file is wrong.
        """
        files = (self.settings.sources_file, self.settings.licences_file)
        stamp = tuple(path.stat().st_mtime if path.exists() else 0.0 for path in files)
        if self._configuration is None or stamp != self._stamp:
            self._configuration = load_configuration(*files)
            self._stamp = stamp
        return self._configuration
