"""Where the closing quotes and brackets, and further stops, behind a stop end."""

from __future__ import annotations

import re
from functools import cache

import numpy as np

from llm_splitter.character_classes import CLOSER, EXTENDER, class_of
from llm_splitter.code_points import classes_at
from llm_splitter.texts import Bytes, Offsets, TextBatch
from llm_splitter.utf8 import behind_each

_STEPS = 8  # longer runs are left to a regular expression
_WINDOW = 256  # bytes that it looks at first


def behind_run(batch: TextBatch, positions: Offsets) -> Offsets:
    """For each position the first from it on with another character than stops, closers and their extenders.

    Args:
        batch: The documents; no run goes past the end of a part.
        positions: Where characters start, and have one before them in the same part.
    """
    data, found = batch.data, positions.copy()
    pending = np.arange(len(found))
    for _ in range(_STEPS):
        kinds = classes_at(data, found[pending])
        pending = pending[(kinds >= EXTENDER) & (kinds <= CLOSER)]
        pending = pending[found[pending] < _part_ends(batch, positions[pending])]
        if len(pending) == 0:
            return found
        found[pending] = behind_each(data, found[pending])
    return _the_rest(batch, positions, found, pending[np.argsort(found[pending])])


def _the_rest(batch: TextBatch, positions: Offsets, found: Offsets, pending: Offsets) -> Offsets:
    part_ends = _part_ends(batch, positions[pending])
    reached = 0
    for index, part_end in zip(pending.tolist(), part_ends.tolist(), strict=True):
        if found[index] > reached:  # not inside the run that was read last: no run is read twice
            reached = _run_end(batch.data, int(found[index]), part_end)
        found[index] = reached
    return found


def _part_ends(batch: TextBatch, behind: Offsets) -> Offsets:
    """The ends of the parts that the characters before some positions are in."""
    return batch.part_offsets[np.searchsorted(batch.part_offsets, behind)]


def _run_end(data: Bytes, start: int, part_end: int) -> int:
    window = _WINDOW
    while True:
        text = data[start : min(start + window, part_end)].tobytes().decode(errors="ignore")
        run = _run_pattern().match(text)
        if run is None or run.end() < len(text) or start + window >= part_end:
            return start + len(run.group().encode() if run else b"")
        window *= 4


@cache
def _run_pattern() -> re.Pattern[str]:
    kinds = class_of(np.arange(0x10000, dtype=np.uint32))
    members = np.flatnonzero((kinds >= EXTENDER) & (kinds <= CLOSER)).tolist()
    return re.compile("[" + re.escape("".join(map(chr, members))) + "]*")
