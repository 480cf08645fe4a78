"""Undoing Content-Encoding piece by piece, so that a bomb is noticed before it fills memory."""

from __future__ import annotations

import zlib
from collections.abc import Iterator

ACCEPTED = "gzip, deflate"
"""For Accept-Encoding: what `Unpacker` undoes."""
_PIECE = 1 << 20
"""Bytes that are unpacked at once, at most."""
_GZIP = b"\x1f\x8b"


class UnpackError(Exception):
    """The body is not encoded as the server says; the text says how."""


class Unpacker:
    """Takes a body as it was sent, and gives what it means."""

    def __init__(self, encoding: str | None) -> None:
        """Prepare for a Content-Encoding.

        Raises:
            UnpackError: it is none that was asked for.
        """
        names = [part.strip().lower() for part in (encoding or "").split(",")]
        codings = [name.removeprefix("x-") for name in names if name not in ("", "identity")]
        if codings not in ([], ["gzip"], ["deflate"]):
            raise UnpackError(f"its Content-Encoding is {encoding!r}, which was not asked for")
        self._coding = codings[0] if codings else None
        self._inflate = zlib.decompressobj(31 if self._coding == "gzip" else 15)
        self._begun = False
        self._after = b""
        """Of what follows a gzip member: up to a byte, which may begin another one."""

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Yield what ``data`` unpacks to, in pieces of bounded size.

        Raises:
            UnpackError: it is not what Content-Encoding says.
        """
        if self._coding is None:
            yield data
            return
        try:
            yield from self._unpacked(data)
        except zlib.error as error:
            raise UnpackError(f"its Content-Encoding is not what it says: {error}") from error

    def finish(self) -> None:
        """Make sure that nothing is missing.

        Raises:
            UnpackError: the body was cut.
        """
        if self._coding and self._begun and not self._inflate.eof:
            raise UnpackError("its compressed body ends in the middle")

    def _unpacked(self, data: bytes) -> Iterator[bytes]:
        if data and not self._begun:
            self._begun = True
            if self._coding == "deflate" and not _has_zlib_header(data):
                self._inflate = zlib.decompressobj(
                    -15
                )  # as some servers mean it (RFC 9110 §8.4.1.2)
        while data:
            if self._inflate.eof:
                data = self._after + data
                self._after = b""
                if len(data) < len(_GZIP):
                    self._after = data
                    return
                if self._coding != "gzip" or not data.startswith(_GZIP):
                    return  # padding
                self._inflate = zlib.decompressobj(31)
            piece = self._inflate.decompress(data, _PIECE)
            while piece:
                yield piece
                piece = self._inflate.decompress(self._inflate.unconsumed_tail, _PIECE)
            data = self._inflate.unused_data


def _has_zlib_header(data: bytes) -> bool:
    return data[0] & 0x0F == 8 and (len(data) < 2 or int.from_bytes(data[:2], "big") % 31 == 0)
