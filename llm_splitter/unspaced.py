"""Words in scripts that are written without spaces: a character each."""

from __future__ import annotations

import numpy as np

from llm_splitter.character_classes import LAST_CORE, LEADER, OPENER, OTHER, SINGLE, SPACE
from llm_splitter.code_points import Classes, Flags, WideCharacters, classes_of_bytes
from llm_splitter.texts import Bytes, Offsets, TextBatch
from llm_splitter.utf8 import begins_character


def begin_unspaced(batch: TextBatch, wide: WideCharacters, begins: Flags) -> None:
    """Set the flags of the bytes at which words begin that no white space sets apart.

    Only the parts that hold characters of such scripts are looked at, all of them together.
    """
    bounds = batch.part_offsets
    has_any = np.diff(np.searchsorted(wide.perhaps(SINGLE, LEADER), bounds)) > 0
    if not has_any.any():
        return
    changes = np.flatnonzero(np.diff(has_any, prepend=False, append=False))
    runs = bounds[changes].reshape(-1, 2).tolist()
    lengths = np.diff(bounds)[has_any]
    data = np.concatenate([batch.data[start:end] for start, end in runs])
    found = _begin_words(data, np.cumsum(lengths) - lengths)
    done = 0
    for start, end in runs:
        begins[start:end] |= found[done : done + end - start]
        done += end - start


def _begin_words(data: Bytes, part_starts: Offsets) -> Flags:
    """Which bytes begin a character of an unspaced script, or other text right behind one."""
    now = classes_of_bytes(data)
    before = np.empty_like(now)
    before[1:] = now[:-1]
    before[part_starts] = SPACE  # a part knows nothing of the one before it
    can_follow = (now == OTHER) | (now == OPENER)
    begins: Flags = (now == SINGLE) | (now == LEADER) | (can_follow & (before == SINGLE))
    is_attached = before > LAST_CORE
    behind_attached = np.flatnonzero(can_follow & is_attached)
    begins[behind_attached] = _core_before(before, is_attached, behind_attached) == SINGLE
    begins &= (before != LEADER) & (before != OPENER) & begins_character(data)
    return begins


def _core_before(before: Classes, is_attached: Flags, places: Offsets) -> Classes:
    """For places behind attached characters the class of what those are attached to."""
    runs = np.flatnonzero(is_attached[1:] > is_attached[:-1])
    core: Classes = before[runs[np.searchsorted(runs, places) - 1]]
    return core
