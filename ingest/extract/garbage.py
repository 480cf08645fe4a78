"""Pausing the garbage collector while much is made that is no garbage."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def collector_paused() -> Iterator[None]:
    """Keep Python from looking for cycles meanwhile.

    Every few hundred words it would walk over all the objects of the process, which takes a third
    of the time of reading a PDF; and the words of a page are in no cycles. Memory is given back as
    soon as nothing refers to it, as ever.
    """
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        if gc.get_freeze_count() == 0:
            # Moves what was made to the oldest generation, unlooked at; or all of it would be
            # walked over at once now.
            gc.freeze()
            gc.unfreeze()
        gc.enable()
