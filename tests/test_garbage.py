from __future__ import annotations

import gc

import pytest

from pipeline.garbage import lasting


def test_what_is_made_inside_is_never_searched() -> None:
    made = []
    try:
        with lasting():
            assert not gc.isenabled()
            made.append([made])
        assert gc.isenabled()
        assert not any(thing is made[0] for thing in gc.get_objects())
    finally:
        gc.unfreeze()


def test_the_collector_is_as_before_after_an_error() -> None:
    def fail() -> None:
        with lasting():
            raise ImportError("no such module")

    try:
        with pytest.raises(ImportError):
            fail()
        assert gc.isenabled()
    finally:
        gc.unfreeze()
