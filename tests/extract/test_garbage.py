"""The garbage collector's pause."""

from __future__ import annotations

import gc
import weakref

import pytest

from ingest.extract.garbage import collector_paused


def test_the_collector_rests_and_goes_on_even_after_an_error() -> None:
    assert gc.isenabled()
    with collector_paused():
        assert not gc.isenabled()
    assert gc.isenabled()
    with pytest.raises(ZeroDivisionError), collector_paused():
        _ = 1 / 0
    assert gc.isenabled()
    assert gc.get_freeze_count() == 0


def test_what_others_have_set_stays() -> None:
    gc.disable()
    try:
        with collector_paused():
            assert not gc.isenabled()
        assert not gc.isenabled()
    finally:
        gc.enable()
    gc.freeze()
    try:
        with collector_paused():
            pass
        assert gc.get_freeze_count() > 0
    finally:
        gc.unfreeze()


def test_cycles_made_meanwhile_are_collected_later() -> None:
    class Node:
        me: Node

    with collector_paused():
        node = Node()
        node.me = node
        alive = weakref.ref(node)
        del node
    assert alive() is not None
    gc.collect()
    assert alive() is None
