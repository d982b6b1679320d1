"""Blocks of bytes -> the items of JSON arrays, and objects that follow each other, one at a time. Pure."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterable, Iterator

from pipeline.compression import BLOCK_BYTES
from pipeline.long_strings import is_escaped

_NO_GAP = re.compile(rb"[^\s,]")
_STRUCTURE = {ord("{"): re.compile(rb'["{}]'), ord("["): re.compile(rb'["\[\]]'), ord('"'): re.compile(rb'"')}
# An object without another in it, found in one go; the search goes no further than most are long.
_FLAT = re.compile(rb'\{[^{}"]*(?:"[^"\\]*(?:\\.[^"\\]*)*"[^{}"]*)*\}', re.DOTALL)
_FLAT_BYTES = 1 << 14
_SCALAR_END = re.compile(rb"[\s,\]]")
_OPEN_ARRAY, _CLOSE_ARRAY, _QUOTE = b'[]"'


def split_items(blocks: Iterable[bytes], most_bytes: int) -> Iterator[bytearray]:
    """The items of arrays, and the values outside of them, as they are written.

    Only quotes and the kind of bracket that an item begins with are looked at: whether it is JSON shows when it is
    parsed.

    Args:
        blocks: The bytes of a file.
        most_bytes: The length of the longest item that is taken.

    Raises:
        ValueError: If an item is longer, or an item or array has no end.

    Example:
        >>> list(split_items([b'[{"a": "]"},', b' 12]'], most_bytes=100))
        [bytearray(b'{"a": "]"}'), bytearray(b'12')]
    """
    scanner = _Scanner(blocks, most_bytes)
    in_array = False
    while (first := scanner.next_byte()) is not None:
        if first == (_CLOSE_ARRAY if in_array else _OPEN_ARRAY):
            in_array = not in_array
            scanner.skip()
        else:
            yield scanner.item()
    if in_array:
        raise ValueError("the array is not closed")


class _Scanner:
    """The bytes from a place on, of which as many are held as the search for an item's end has needed."""

    def __init__(self, blocks: Iterable[bytes], most_bytes: int) -> None:
        self._blocks = iter(blocks)
        self._most_bytes = most_bytes
        self._data = bytearray(next(self._blocks, b"").removeprefix(codecs.BOM_UTF8))
        self._start = 0

    def next_byte(self) -> int | None:
        """The byte that the next item begins with; None at the end."""
        start = self._search(_NO_GAP, self._start)
        self._start = len(self._data) if start is None else start
        return None if start is None else self._data[start]

    def skip(self) -> None:
        """Leave out one byte."""
        self._start += 1

    def item(self) -> bytearray:
        """The item that begins here; then go on behind it.

        Raises:
            ValueError: If it is too long, or has no end.
        """
        end = self._item_end()
        self._check_length(end)
        item = self._data[self._start : end]
        self._start = end
        if end > BLOCK_BYTES:
            del self._data[:end]
            self._start = 0
        return item

    def _item_end(self) -> int:
        flat = _end_of(_FLAT, self._data, self._start, self._start + _FLAT_BYTES)
        if flat is not None:
            return flat
        structure = _STRUCTURE.get(self._data[self._start])
        if structure is None:
            end = self._search(_SCALAR_END, self._start + 1)
            return len(self._data) if end is None else end
        return self._structure_end(structure)

    def _structure_end(self, structure: re.Pattern[bytes]) -> int:
        position, depth = self._start, 0
        while True:
            found = self._search(structure, position)
            if found is None:
                raise ValueError("the item has no end")
            if self._data[found] == _QUOTE:
                position = self._string_end(found + 1) + 1
            else:
                position = found + 1
                depth += 1 if self._data[found] in b"[{" else -1
            if depth == 0:
                return position

    def _string_end(self, start: int) -> int:
        scanned = start
        while True:
            found = self._data.find(b'"', scanned)
            if found >= 0 and not is_escaped(self._data, start, found):
                return found
            scanned = len(self._data) if found < 0 else found + 1
            if found < 0 and not self._read_more():
                raise ValueError("the item has no end")

    def _search(self, pattern: re.Pattern[bytes], position: int) -> int | None:
        """Where the pattern is found next; None if nowhere."""
        while (found := _start_of(pattern, self._data, position)) is None:
            position = max(position, len(self._data))
            if not self._read_more():
                return None
        return found

    def _read_more(self) -> bool:
        """Whether there was another block to add."""
        self._check_length(len(self._data))
        block = next(self._blocks, None)
        self._data += block or b""
        return block is not None

    def _check_length(self, end: int) -> None:
        if end - self._start > self._most_bytes:
            raise ValueError(f"the item has more than {self._most_bytes} bytes (max_line_bytes)")


def _start_of(pattern: re.Pattern[bytes], data: bytearray, position: int) -> int | None:
    found = pattern.search(data, position)  # as long as it is there, no bytes can be added
    return found.start() if found else None


def _end_of(pattern: re.Pattern[bytes], data: bytearray, start: int, end: int) -> int | None:
    found = pattern.match(data, start, end)  # as above
    return found.end() if found else None
