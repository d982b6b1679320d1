"""The characters of a UTF-8 buffer by class, looked up where that cannot be avoided."""

from __future__ import annotations

from functools import cache, reduce
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from llm_splitter.character_classes import SINGLE, SPACE, ascii_ranges, class_of
from llm_splitter.texts import Bytes, Offsets
from llm_splitter.utf8 import LEAST_WIDE, codes_at, spread

Classes: TypeAlias = NDArray[np.uint8]
Flags: TypeAlias = NDArray[np.bool_]


def classes_at(data: Bytes, positions: Offsets) -> Classes:
    """The classes of the characters that start at some positions; white space behind the end."""
    classes = class_of(codes_at(data, np.minimum(positions, len(data) - 1)))
    classes[positions == len(data)] = SPACE
    return classes


def classes_of_bytes(data: Bytes) -> Classes:
    """For every byte the class of the character that it belongs to."""
    classes = class_of(data)
    wide = np.flatnonzero(data >= LEAST_WIDE)
    spread(data, wide, class_of(codes_at(data, wide)), classes)
    return classes


def where_ascii(data: Bytes, kind: int) -> Flags:
    """Which bytes are ASCII characters of a class; comparisons are many times faster than a look-up."""
    is_in = [
        data == first if first == last else data - np.uint8(first) <= last - first for first, last in ascii_ranges(kind)
    ]
    return reduce(np.bitwise_or, is_in)


class WideCharacters:
    """The characters of a buffer that are not ASCII.

    Args:
        data: Valid UTF-8.
    """

    def __init__(self, data: Bytes) -> None:
        self._data = data
        self._positions = np.flatnonzero(data >= LEAST_WIDE)
        first_two = data.take(self._positions).astype(np.uint16) << 8 | data[1:].take(self._positions)
        self._kinds = _kinds_by_first_two().take(first_two)

    def perhaps(self, *kinds: int) -> Offsets:
        """Positions of all characters of some classes, and of others whose first two bytes could be theirs."""
        return self._positions[np.flatnonzero(self._kinds & _bits(kinds) != 0)]

    def where(self, kind: int) -> Offsets:
        """Positions of the characters of a class."""
        positions = self.perhaps(kind)
        found: Offsets = positions[classes_at(self._data, positions) == kind]
        return found


def _bits(kinds: tuple[int, ...]) -> np.uint16:
    return np.uint16(sum(1 << kind for kind in kinds))


@cache
def _kinds_by_first_two() -> NDArray[np.uint16]:
    """The classes, a bit each, of the characters that begin with two bytes, taken as a number."""
    table = np.zeros(0x10000, dtype=np.uint16)
    codes = np.arange(0x80, 0x10000, dtype=np.uint32)
    two = 0xC080 | (codes >> 6) << 8 | codes & 0x3F
    three = 0xE080 | (codes >> 12) << 8 | (codes >> 6) & 0x3F
    np.bitwise_or.at(table, np.where(codes < 0x800, two, three), (1 << class_of(codes)).astype(np.uint16))
    table[0xF0A0:0xF0C0] = _bits((SINGLE,))  # planes 2 and 3; nothing else up there has a class of its own
    return table
