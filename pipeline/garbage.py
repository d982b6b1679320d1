"""The garbage collector, kept from walking through Beam's modules again and again."""

from __future__ import annotations

import atexit
import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def lasting() -> Iterator[None]:
    """What is made inside, such as the functions and classes of modules, stays out of the collector's rounds.

    Loading Beam makes several hundred thousand objects that live as long as the process: searching them for garbage
    takes half a second while they are loaded, and as much again when the process ends.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        if was_on:
            gc.enable()
    atexit.register(gc.freeze)
