"""Long strings of a JSON line as UTF-8, without a `str` of each: that may take four times the line's memory. Pure."""

from __future__ import annotations

import json
import re
import secrets
from typing import Any

import orjson

from pipeline.documents import SURROGATES

LONG_BYTES = 1 << 20
"""Strings of at least so many bytes are cut out."""

_PIECE_BYTES = 1 << 18  # decoded at a time
_MARK = secrets.token_hex(16)  # nobody can have written it into a document
# Where a string may be cut: before an escape that begins there (but not between two that are one character), or
# where so many bytes without an escape come before that none can be unfinished.
_SAFE_CUT = re.compile(rb"[^\\]{12}|[^\\](?=\\(?!u[dD][c-fC-F]))")
_BACKSLASH = ord("\\")


class CutLine:
    """A JSON line whose long strings are cut out.

    Args:
        line: The line.
        places: Where the strings stand in it, without their quotes.

    Attributes:
        rest: The line with short strings in their place.
        is_mended: Whether lone surrogates in what was filled in so far became U+FFFD.
    """

    def __init__(self, line: bytes | bytearray, places: list[tuple[int, int]]) -> None:
        self._line, self._places = line, places
        self.rest = _with_marks(line, places)
        self.is_mended = False

    def filled(self, value: Any, is_text: bool = False) -> Any:
        """A value of the parsed rest with its long strings: as a bytearray of UTF-8 if it is text, else as `str`.

        Raises:
            ValueError: If one is no JSON string.
        """
        if type(value) is str and value.startswith(_MARK):
            content = self._utf8(*self._places[int(value[len(_MARK) :])])
            return content if is_text else content.decode()
        if isinstance(value, list):
            return [self.filled(item, is_text) for item in value]
        if isinstance(value, dict):
            return {self.filled(key): self.filled(item) for key, item in value.items()}
        return value

    def _utf8(self, start: int, end: int) -> bytearray:
        content = bytearray(end - start)  # no escape is shorter than what it stands for
        length = 0
        while start < end:
            cut = _cut_behind(self._line, start + _PIECE_BYTES, end)
            piece, is_mended = _decode(b'"' + self._line[start:cut] + b'"', start)
            content[length : length + len(piece)] = piece
            length += len(piece)
            self.is_mended |= is_mended
            start = cut
        del content[length:]
        return content


def cut_line(line: bytes | bytearray) -> CutLine | None:
    r"""The line without its long strings; None if it has none.

    Raises:
        json.JSONDecodeError: If the last string has no end.

    Example:
        >>> cut = cut_line(b'{"text": "' + b"a\\n" * LONG_BYTES + b'", "n": 1}')
        >>> record = cut.filled(orjson.loads(cut.rest))
        >>> record["n"], len(record["text"]), record["text"][:4]
        (1, 2097152, 'a\na\n')
    """
    places = _long_strings(line)
    return CutLine(line, places) if places else None


def _with_marks(line: bytes | bytearray, places: list[tuple[int, int]]) -> bytes:
    pieces: list[bytes | bytearray] = []
    behind = 0
    for number, (start, end) in enumerate(places):
        pieces += [line[behind:start], f"{_MARK}{number}".encode()]
        behind = end
    return b"".join([*pieces, line[behind:]])


def _long_strings(line: bytes | bytearray) -> list[tuple[int, int]]:
    places = []
    start = line.find(b'"') + 1
    while start:
        end = _string_end(line, start)
        if end - start >= LONG_BYTES:
            places.append((start, end))
        start = line.find(b'"', end + 1) + 1
    return places


def _string_end(line: bytes | bytearray, start: int) -> int:
    """Where the quote stands that ends the string whose content begins at `start`."""
    end = line.find(b'"', start)
    while end > start and line[end - 1] == _BACKSLASH and is_escaped(line, start, end):
        end = line.find(b'"', end + 1)
    if end < 0:
        raise json_error(f"unexpected end of data: the string that begins at byte {start - 1} of the line has no end")
    return end


def is_escaped(line: bytes | bytearray, start: int, position: int) -> bool:
    """Whether the quote at a position stands behind an odd number of backslashes, all of them from `start` on."""
    first = position
    while first > start and line[first - 1] == _BACKSLASH:
        first -= 1
    return (position - first) % 2 == 1


def _cut_behind(line: bytes | bytearray, position: int, end: int) -> int:
    found = _SAFE_CUT.search(line, position, end) if position < end else None
    if found is None:
        return end
    cut = found.end()
    while cut < end and line[cut] & 0xC0 == 0x80:
        cut += 1
    return cut


def _decode(literal: bytes, position: int) -> tuple[bytes, bool]:
    """A JSON string as UTF-8, and whether lone surrogates in it became U+FFFD; it stands in a line at that position."""
    try:
        return str(orjson.loads(literal)).encode(), False
    except orjson.JSONDecodeError:
        text = _text(literal, position)
    try:
        mended, count = SURROGATES.subn("\ufffd", json.loads(text))
    except json.JSONDecodeError as error:  # whose place would be one in the piece
        raise json_error(error.msg) from None
    return mended.encode(), bool(count)


def _text(literal: bytes, position: int) -> str:
    try:
        return literal.decode()
    except UnicodeDecodeError as error:
        byte, place = literal[error.start], position + error.start - 1
        raise ValueError(f"byte 0x{byte:02x} in position {place} of the line is not UTF-8: {error.reason}") from None


def json_error(message: str) -> json.JSONDecodeError:
    """An error that says no more than this, and does not hold the text."""
    error = json.JSONDecodeError(message, "", 0)
    error.args = (message,)
    return error
