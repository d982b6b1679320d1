"""What each code point is to the word and sentence splitters."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from functools import cache

import numpy as np
from numpy.typing import NDArray

from llm_splitter.whitespace import WHITESPACE

OTHER, SPACE, SINGLE, LEADER, EXTENDER, STOP, STRONG_STOP, CLOSER, OPENER, PUNCTUATION = range(10)
LAST_CORE = LEADER
"""The classes up to this one make words or set them apart; the others attach to what is around.

OTHER      letters and digits of scripts that put spaces between words, and all else.
SPACE      white space.
SINGLE     a character of a script written without spaces: a word of its own.
LEADER     a Thai or Lao vowel that is written before its consonant.
EXTENDER   belongs to the character before it: combining marks, joiners, the Japanese length mark.
STOP       ends a sentence if white space follows, perhaps behind closers: . ! ? and their like.
STRONG_STOP  ends a sentence whatever follows: the stops of scripts that put no space behind them.
CLOSER     may stand between a stop and the white space: quotes and brackets.
OPENER     opening quotes and brackets; PUNCTUATION the punctuation and symbols that are none of the above.
"""

_SINGLES = (
    (0x0E01, 0x0E2F), (0x0E30, 0x0E33), (0x0E81, 0x0EB0), (0x0EB2, 0x0EB3), (0x0EBD, 0x0EBD), (0x0EDC, 0x0EDF),
    (0x1000, 0x102A), (0x103F, 0x103F), (0x1050, 0x1055), (0x1780, 0x17B3),
    (0x3005, 0x3007), (0x3041, 0x3096), (0x30A1, 0x30FA), (0x3105, 0x312F), (0x31A0, 0x31BF), (0x31F0, 0x31FF),
    (0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xF900, 0xFAFF), (0xFF66, 0xFF6F), (0xFF71, 0xFF9D),
)  # fmt: skip
_LEADERS = ((0x0E40, 0x0E44), (0x0EC0, 0x0EC4))
_EXTENDERS = "\u200c\u200d\u30fc\u30fb\uff70\uff9e\uff9f\u0e2f\u0e45\u0e46\u0ec6"
_STOPS = (
    ".!?\u2026\u203c\u203d\u2047\u2048\u2049\u061f\u06d4\u0589\u037e"
    "\u1362\u1367\u1368\u166e\u1803\u1809\u2e2e\u2e3c\ua4ff\ua60e\ua6f3\ua6f7"
)
_STRONG_STOPS = "\u3002\uff01\uff1f\uff0e\uff61\u0964\u0965\u104a\u104b\u17d4\u17d5\u0df4\u1c3b\u1c3c"
_CLOSERS = "\"'\u2019\u201d\u00bb\u203a)]}\u300d\u300f\u3011\uff09\uff3d\uff5d\u300b\u3009\u3015\u3017\u2e29\ufe5a"


_BY_CATEGORY = {
    **dict.fromkeys(("Mn", "Mc", "Me"), EXTENDER),
    **dict.fromkeys(("Ps", "Pi"), OPENER),
    **dict.fromkeys(("Pc", "Pd", "Pe", "Pf", "Po", "Sm", "Sc", "Sk"), PUNCTUATION),
}


def class_of(code_points: NDArray[np.uint8] | NDArray[np.uint32]) -> NDArray[np.uint8]:
    """The class of each code point."""
    if code_points.dtype == np.uint8:
        return _table()[:0x100].take(code_points)
    classes: NDArray[np.uint8] = _table().take(code_points, mode="clip")  # the last entry is no character's
    astral = np.flatnonzero(code_points > 0xFFFF)
    if len(astral):
        is_han = (code_points[astral] >= 0x20000) & (code_points[astral] <= 0x3FFFF)
        classes[astral] = np.where(is_han, SINGLE, OTHER)
    return classes


@cache
def ascii_ranges(kind: int) -> list[tuple[int, int]]:
    """The ASCII characters of a class, as the first and the last of each row of neighbours."""
    changes = np.flatnonzero(np.diff(_table()[:0x80] == kind, prepend=False, append=False))
    return [(int(first), int(behind) - 1) for first, behind in changes.reshape(-1, 2)]


@cache
def _table() -> NDArray[np.uint8]:
    """The class of every code point of the basic plane; built when first needed."""
    table = np.full(0x10000, OTHER, dtype=np.uint8)
    for code in range(0x10000):
        table[code] = _BY_CATEGORY.get(unicodedata.category(chr(code)), OTHER)
    for first, last in _SINGLES:
        table[first : last + 1][table[first : last + 1] == OTHER] = SINGLE
    for first, last in _LEADERS:
        table[first : last + 1] = LEADER
    for characters, kind in _LISTED:
        table[_codes(characters)] = kind
    table[0xFFFF] = OTHER
    return table


_LISTED = (
    (WHITESPACE, SPACE),
    (_EXTENDERS, EXTENDER),
    (_STOPS, STOP),
    (_STRONG_STOPS, STRONG_STOP),
    (_CLOSERS, CLOSER),
)


def _codes(characters: Iterable[str]) -> list[int]:
    return [ord(character) for character in characters]
