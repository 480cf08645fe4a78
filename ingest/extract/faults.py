"""Telling when a library failed for lack of memory, whatever it raised."""

from __future__ import annotations

_SIGNS = ("malloc", "bad_alloc", "out of memory", "cannot allocate")


def is_out_of_memory(error: BaseException) -> bool:
    """Tell whether an error of a library means that memory ran out."""
    if isinstance(error, MemoryError):
        return True
    text = str(error).lower()
    return any(sign in text for sign in _SIGNS)


def raise_if_memory(error: Exception) -> None:
    """Raise ``MemoryError`` if ``error`` says that memory ran out.

    A page that is left out for lack of memory would come out differently on the next machine, so
    the whole document is given up instead.

    Raises:
        MemoryError: memory ran out.
    """
    if is_out_of_memory(error):
        raise MemoryError(str(error)) from error
