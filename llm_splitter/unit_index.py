"""Where the units of a text begin: how many there are before a place, and where the n-th one is.

A bit a byte says whether a unit begins there, and a running total a machine word how many do before it; so neither
question takes an array with an entry a unit.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from llm_splitter.texts import Bytes, Offsets
from llm_splitter.utf8 import begins_character

_WORD = 64  # bytes whose bits fill one machine word
_BLOCK = 1 << 18  # bytes that have a flag each at a time, so that these stay in the processor's cache
_MANY = 8  # times as many units as are asked for: with fewer it is faster to list them all


class UnitIndex:
    """The code points or UTF-16 units of one buffer, by number.

    Args:
        data: Valid UTF-8.
        unit: What to count.

    >>> index = UnitIndex(np.frombuffer("é🐟x".encode(), dtype=np.uint8))
    >>> index.count_before(np.array([2, 6, 7])).tolist(), index.positions(np.array([1, 2, 3])).tolist()
    ([1, 2, 3], [2, 6, 7])
    """

    def __init__(self, data: Bytes, unit: Literal["codepoint", "utf16"] = "codepoint") -> None:
        self._length = len(data)
        self._words = np.zeros(len(data) // _WORD + 1, dtype=np.uint64)
        bits = self._words.view(np.uint8)
        for first in range(0, len(data), _BLOCK):
            last = min(first + _BLOCK, len(data))
            packed = np.packbits(_begins_unit(data, first, last, unit), bitorder="little")
            bits[first // 8 : first // 8 + len(packed)] = packed
        self._before = np.zeros(len(self._words) + 1, dtype=np.int64)
        np.cumsum(np.bitwise_count(self._words), out=self._before[1:])

    def __len__(self) -> int:
        """The number of units."""
        return int(self._before[-1])

    def count_before(self, positions: Offsets) -> Offsets:
        """How many units begin before each byte position."""
        word = positions // _WORD
        mask = (np.uint64(1) << (positions % _WORD).astype(np.uint64)) - np.uint64(1)
        return self._before[word] + np.bitwise_count(self._words[word] & mask)

    def positions(self, numbers: Offsets) -> Offsets:
        """The byte position at which each unit begins, by its number from 0; of the number behind the last, the end."""
        if _MANY * len(numbers) >= len(self):
            begins = np.unpackbits(self._words.view(np.uint8), count=self._length, bitorder="little")
            return np.append(np.flatnonzero(begins), self._length)[numbers]
        word = np.searchsorted(self._before, numbers, side="right") - 1
        inside = np.flatnonzero(numbers < len(self))
        found = np.full(len(numbers), self._length, dtype=np.int64)
        found[inside] = word[inside] * _WORD + self._places(word[inside], (numbers - self._before[word])[inside])
        return found

    def _places(self, word: Offsets, rank: Offsets) -> Offsets:
        """Of each word the place of its bit with so many before it."""
        bits = np.unpackbits(self._words[word].view(np.uint8).reshape(-1, _WORD // 8), axis=1, bitorder="little")
        places: Offsets = (np.cumsum(bits, axis=1, dtype=np.uint8) > rank[:, None]).argmax(axis=1)
        return places


def _begins_unit(data: Bytes, first: int, last: int, unit: str) -> NDArray[np.bool_]:
    """Which bytes of a range begin a code point or, in UTF-16, its second unit: a character of four bytes' third."""
    begins = begins_character(data[first:last])
    if unit == "utf16":
        low = max(first - 2, 0)
        begins[low + 2 - first :] |= data[low : last - 2] >= 0xF0
    return begins
