r"""White space: the one definition that words, paragraphs and trimming share.

The set is that of ECMAScript's ``\s`` and ``String.prototype.trim``, which upstream uses: the Unicode
space separators, the ASCII controls from tab to carriage return, the line and paragraph separators and
the byte order mark.
"""

from __future__ import annotations

import re
from bisect import bisect_left

import numpy as np
from numpy.typing import NDArray

from llm_splitter.texts import Bytes, Offsets
from llm_splitter.utf8 import codes_at

_EN_QUAD_TO_HAIR_SPACE = "".join(map(chr, range(0x2000, 0x200B)))
WHITESPACE = "\t\n\v\f\r \u00a0\u1680" + _EN_QUAD_TO_HAIR_SPACE + "\u2028\u2029\u202f\u205f\u3000\ufeff"

# so many at a time, since the module re keeps a hundred bytes for each until it is through
_RUN = re.compile(b"(?:[\\t-\\r ]+|" + b"|".join(re.escape(space.encode()) for space in WHITESPACE) + b"){1,1000}")
_STEPS = 12  # white space longer than this is left to the regular expression

_ENCODED = frozenset(space.encode() for space in WHITESPACE)
_IS_SPACE = np.zeros(0x10000, dtype=bool)
_IS_SPACE[[ord(space) for space in WHITESPACE]] = True
_IS_ASCII_SPACE, _MAY_LEAD_SPACE, _MAY_END_SPACE, _MAY_BE_SPACE = np.zeros((4, 256), dtype=bool)
_IS_ASCII_SPACE[[space[0] for space in _ENCODED if len(space) == 1]] = True
_MAY_LEAD_SPACE[[space[0] for space in _ENCODED]] = True
_MAY_END_SPACE[[space[-1] for space in _ENCODED]] = True
_MAY_BE_SPACE[[byte for space in _ENCODED for byte in space]] = True


def next_content(data: Bytes, positions: Offsets) -> Offsets:
    r"""For each of increasing byte positions the first one from it on that is not white space, or the data's end.

    >>> next_content(np.frombuffer("a \u3000b".encode(), dtype=np.uint8), np.array([0, 1])).tolist()
    [0, 5]
    """
    found = positions.astype(np.int64, copy=True)
    inside = np.flatnonzero(found < len(data))
    pending = spaced = inside[_MAY_LEAD_SPACE[data[found[inside]]]]
    for _ in range(_STEPS):
        pending = pending[_IS_ASCII_SPACE[data[found[pending]]]]
        found[pending] += 1
        pending = pending[found[pending] < len(data)]
        if len(pending) == 0:
            break
    return _skip_the_rest(data, found, spaced)


def has_content(data: Bytes, bounds: Offsets) -> NDArray[np.bool_]:
    """Whether anything but white space stands between each two of increasing byte positions."""
    starts, ends = bounds[:-1], bounds[1:]
    blank = np.flatnonzero(_MAY_BE_SPACE[data[starts]])
    # a line's last byte is its end, and the byte before it mostly shows that a line is indented, not blank
    blank = blank[_MAY_BE_SPACE[data[np.maximum(ends[blank] - 2, starts[blank])]]]
    found = np.ones(len(starts), dtype=bool)
    found[blank] = next_content(data, starts[blank]) < ends[blank]
    return found


def _skip_the_rest(data: Bytes, found: Offsets, pending: Offsets) -> Offsets:
    pending = pending[found[pending] < len(data)]
    pending = pending[_MAY_LEAD_SPACE[data[found[pending]]]]
    pending = pending[_IS_SPACE.take(codes_at(data, found[pending]), mode="clip")]
    places = found[pending].tolist()
    done = 0
    while done < len(places):
        end = _run_end(data, places[done])
        behind = bisect_left(places, end, done)  # no run is read twice
        found[pending[done:behind]] = end
        done = behind
    return found


def _run_end(data: Bytes, start: int) -> int:
    """Where the white space that begins at a position ends."""
    end = start
    while match := _RUN.match(data, end):  # type: ignore[call-overload]
        end = match.end()
    return end


def content_ends(data: Bytes, positions: Offsets) -> Offsets:
    r"""For each of increasing byte positions the end of the last content before it; 0 if there is none.

    >>> content_ends(np.frombuffer(b"a \n b", dtype=np.uint8), np.array([4, 5])).tolist()
    [1, 5]
    """
    found = positions.astype(np.int64, copy=True)
    pending = np.flatnonzero(found > 0)
    for _ in range(_STEPS):
        pending = pending[_IS_ASCII_SPACE[data[found[pending] - 1]]]
        found[pending] -= 1
        pending = pending[found[pending] > 0]
        if len(pending) == 0:
            break
    return _step_back_the_rest(data, found)


def _step_back_the_rest(data: Bytes, found: Offsets) -> Offsets:
    inside = np.flatnonzero(found > 0)
    last = data[found[inside] - 1]
    before, end_before = 0, 0
    for index in inside[_MAY_END_SPACE[last]].tolist():
        position = int(found[index])
        end = _content_end(data.data, position, before)
        before, end_before = position, end_before if end == before else end
        found[index] = end_before
    return found


def _content_end(data: memoryview, end: int, least: int) -> int:
    """The slow way, a character at a time, for long or wide white space; ``least`` if there is nothing else."""
    while end > least:
        start = end - 1
        while data[start] & 0xC0 == 0x80:
            start -= 1
        if bytes(data[start:end]) not in _ENCODED:
            break
        end = start
    return end
