"""The three offset units, conversion from byte positions, and ``get_chunk``."""

from __future__ import annotations

from bisect import bisect_left
from itertools import accumulate
from typing import overload

import numpy as np

from llm_splitter.options import check_offset_unit
from llm_splitter.texts import Bytes, Offsets
from llm_splitter.types import OffsetUnit
from llm_splitter.unit_index import UnitIndex


def from_bytes(data: Bytes, positions: Offsets, unit: OffsetUnit) -> Offsets:
    """How many units stand in ``data`` before each byte position.

    Args:
        data: Valid UTF-8.
        positions: Byte positions at which characters start, in any order.
        unit: The unit to count in.

    >>> data = np.frombuffer("é🐟x".encode(), dtype=np.uint8)
    >>> from_bytes(data, np.array([2, 6, 7]), "utf16").tolist()
    [1, 3, 4]
    """
    if unit == "utf8" or len(positions) == 0:
        return positions
    return UnitIndex(data, unit).count_before(positions)


def to_character_starts(data: Bytes, positions: Offsets) -> Offsets:
    """Each byte position, or the start of the character that it lies inside of."""
    inside = np.flatnonzero(positions < len(data))
    found = positions
    while len(inside := inside[data[found[inside]] & 0xC0 == 0x80]):
        found = found.copy() if found is positions else found
        found[inside] -= 1
    return found


@overload
def get_chunk(text: str, start: int, end: int, *, offset_unit: OffsetUnit = ...) -> str: ...
@overload
def get_chunk(
    text: list[str] | tuple[str, ...], start: int, end: int, *, offset_unit: OffsetUnit = ...
) -> list[str]: ...
def get_chunk(
    text: str | list[str] | tuple[str, ...], start: int, end: int, *, offset_unit: OffsetUnit = "codepoint"
) -> str | list[str]:
    """The part of a text between two offsets.

    Offsets outside the text are clamped and a reversed range is empty, as upstream documents it. A
    UTF-8 position inside a character counts as the position where that character starts; a UTF-16 position
    between the two units of a character is taken as upstream takes it, at its word.

    Args:
        text: The source, or its parts; offsets then run over the parts joined without separator.
        start: Offset of the first character wanted.
        end: Offset just behind the last one.
        offset_unit: ``"codepoint"``, ``"utf16"`` or ``"utf8"``.

    Returns:
        A string for a string, a list for a list: of the parts that the range touches, cut to it.

    Raises:
        TypeError: ``text`` is neither a string nor a list or tuple of strings.
        ValueError: an unknown unit.

    >>> get_chunk("Hello world!", 6, 11)
    'world'
    >>> get_chunk(["Hello ", "world!"], 4, 8)
    ['o ', 'wo']
    """
    check_offset_unit(offset_unit)
    if isinstance(text, str):
        return _slice(text, start, end, offset_unit)
    check_text(text)
    if start > end:
        return []
    bounds = list(accumulate((_length(part, offset_unit) for part in text), initial=0))
    return [
        _slice(part, start - first, end - first, offset_unit)
        for part, first, last in zip(text, bounds, bounds[1:], strict=False)
        if start < last and first < end
    ]


def check_text(text: object) -> None:
    """Raise ``TypeError`` unless ``text`` is a string or a list or tuple of strings."""
    if isinstance(text, str):
        return
    if not isinstance(text, (list, tuple)):
        raise TypeError(f"text must be a str or a list of str, got {type(text).__name__}: {text!r:.80}")
    for index, part in enumerate(text):
        if not isinstance(part, str):
            raise TypeError(
                f"text must be a str or a list of str, but item {index} is {type(part).__name__}: {part!r:.80}"
            )


def _slice(text: str, start: int, end: int, unit: OffsetUnit) -> str:
    start, end = max(start, 0), max(end, 0)
    if unit == "codepoint" or text.isascii():
        return text[start:end]
    if unit == "utf16":
        return _slice_utf16(text, start, end)
    encoded = np.frombuffer(text.encode("utf-8", "surrogatepass"), dtype=np.uint8)
    positions = np.array([min(start, len(encoded)), min(end, len(encoded))])
    start, end = to_character_starts(encoded, positions).tolist()
    return encoded[start:end].tobytes().decode("utf-8", "surrogatepass")


def _slice_utf16(text: str, start: int, end: int) -> str:
    units = list(accumulate((2 if character > "\uffff" else 1 for character in text), initial=0))
    start, end = min(start, units[-1]), min(end, units[-1])
    first, last = bisect_left(units, start), bisect_left(units, end)
    if units[first] == start and units[last] == end:
        return text[first:last]
    # between the two units of a character: halves come out as upstream's do
    return text.encode("utf-16-le", "surrogatepass")[2 * start : 2 * end].decode("utf-16-le", "surrogatepass")


def _length(text: str, unit: OffsetUnit) -> int:
    if unit == "codepoint" or text.isascii():
        return len(text)
    if unit == "utf8":
        return len(text.encode("utf-8", "surrogatepass"))
    return len(text.encode("utf-16-le", "surrogatepass")) // 2
