"""When packed data is meant to fill a disk, which no document is."""

from __future__ import annotations

from zipfile import ZipInfo

_SIZE = 64 * 1024**2
_RATIO = 250
"""Real documents hardly ever shrink to a hundredth; deflate's own limit is 1,032."""


def most_unpacked(packed: int) -> int:
    """Return the most bytes that ``packed`` bytes of a document may unpack to."""
    return max(_SIZE, packed * _RATIO)


def is_bomb(info: ZipInfo) -> bool:
    """Tell whether a member of a ZIP archive unpacks to more than a document does."""
    return info.file_size > most_unpacked(info.compress_size)
