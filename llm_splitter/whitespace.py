r"""White space: the one definition that words, paragraphs and trimming share.

The set is that of ECMAScript's ``\s`` and ``String.prototype.trim``, which upstream uses: the Unicode
space separators, the ASCII controls from tab to carriage return, the line and paragraph separators and
the byte order mark.
"""

from __future__ import annotations

import re

import numpy as np

from llm_splitter.texts import Bytes, Offsets

_EN_QUAD_TO_HAIR_SPACE = "".join(map(chr, range(0x2000, 0x200B)))
WHITESPACE = "\t\n\v\f\r \u00a0\u1680" + _EN_QUAD_TO_HAIR_SPACE + "\u2028\u2029\u202f\u205f\u3000\ufeff"

_RUN = re.compile(b"(?:" + b"|".join(re.escape(space.encode()) for space in WHITESPACE) + b")+")
_STEPS = 24  # white space longer than this is left to the regular expression

_IS_ASCII_SPACE = np.zeros(256, dtype=bool)
_IS_ASCII_SPACE[[ord(space) for space in WHITESPACE if space.isascii()]] = True
_ENCODED = frozenset(space.encode() for space in WHITESPACE)
_MAY_END_SPACE = np.zeros(256, dtype=bool)
_MAY_END_SPACE[[space[-1] for space in _ENCODED if len(space) > 1]] = True
_MAY_LEAD_SPACE = np.zeros(256, dtype=bool)
_MAY_LEAD_SPACE[[space.encode()[0] for space in WHITESPACE if not space.isascii()]] = True


def next_content(data: Bytes, positions: Offsets) -> Offsets:
    r"""For each of increasing byte positions the first one from it on that is not white space, or the data's end.

    >>> next_content(np.frombuffer("a \u3000b".encode(), dtype=np.uint8), np.array([0, 1])).tolist()
    [0, 5]
    """
    found = positions.astype(np.int64, copy=True)
    pending = np.flatnonzero(found < len(data))
    for _ in range(_STEPS):
        pending = pending[_IS_ASCII_SPACE[data[found[pending]]]]
        found[pending] += 1
        pending = pending[found[pending] < len(data)]
        if len(pending) == 0:
            break
    return _skip_the_rest(data, found)


def _skip_the_rest(data: Bytes, found: Offsets) -> Offsets:
    inside = np.flatnonzero(found < len(data))
    first = data[found[inside]]
    reached = 0
    for index in inside[_IS_ASCII_SPACE[first] | _MAY_LEAD_SPACE[first]].tolist():
        if found[index] >= reached:  # not inside the run that was skipped last: no run is read twice
            match = _RUN.match(data, found[index])  # type: ignore[call-overload]
            reached = match.end() if match else found[index]
        found[index] = reached
    return found


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
    for index in inside[_IS_ASCII_SPACE[last] | _MAY_END_SPACE[last]].tolist():
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
