"""The browser of this machine, for tests of pages."""

from __future__ import annotations

import shutil


def chromium() -> str | None:
    """Return the path of a Chromium; None if there is none."""
    names = ("chromium", "chromium-browser", "google-chrome")
    return next((path for name in names if (path := shutil.which(name))), None)
