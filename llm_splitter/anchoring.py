"""A custom splitter's parts -> where they stand in the text.

The rules are upstream's (npm llm-splitter 0.3.0), learnt from what it returns: a part stands at the cursor
if the text continues with it, else at the next place where the text has it. Where a tokenizer decoded half a
character, U+FFFD stands in the part for any one UTF-16 code unit; so does a combining mark, since a part may
start with marks whose base the tokenizer cut off. Such parts are found by their first whole grapheme cluster.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import accumulate, zip_longest
from typing import Any

import numpy as np
import regex

from llm_splitter.tiling import REPLACEMENT, tile

_CLUSTER: Any = regex.compile(r"\X")  # type: ignore[no-untyped-call]


class PartNotFoundError(ValueError):
    """The text does not hold a part that the splitter returned."""


class Anchors:
    """Finds the parts of one text, in order.

    Positions are UTF-16 code units, in which upstream counts; a text without astral characters has one to a
    character.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.is_astral = any(ord(character) > 0xFFFF for character in text) if not text.isascii() else False
        self.units = _as_units(text) if self.is_astral else text
        self.cursor = 0

    def spans(self, parts: Sequence[object]) -> list[tuple[int, int]]:
        """Start and end of every part that can be placed, in UTF-16 code units.

        Raises:
            TypeError: a reported part whose text is no string or whose start is no index into the text, or
                lies behind the part before it.
            ValueError: a part that is neither string nor ``Part``, or that the text does not hold.
        """
        try:
            spans = [self._place(part) for part in parts]
        except PartNotFoundError:
            tiled = self._tiled(parts)
            if tiled is None:
                raise
            return tiled
        return [span for span in spans if span is not None]

    def _tiled(self, parts: Sequence[object]) -> list[tuple[int, int]] | None:
        """The spans of token pieces of which some share a character, where upstream gives up."""
        pieces = [part for part in parts if isinstance(part, str)]
        if len(pieces) < len(parts) or not any(REPLACEMENT in piece for piece in pieces):
            return None
        spans = tile(self.text, [piece for piece in pieces if piece])
        if spans is None or not self.is_astral:
            return spans
        units = list(accumulate((unit_length(character) for character in self.text), initial=0))
        return [(units[start], units[end]) for start, end in spans]

    def _place(self, part: object) -> tuple[int, int] | None:
        if isinstance(part, str):
            return self._place_text(part) if part else None
        text, start = self._reported(part)
        if not text:
            return None
        length = len(self.units)
        self.cursor = min(start + unit_length(text), length)
        return start, self.cursor

    def _place_text(self, part: str) -> tuple[int, int] | None:
        wanted = _as_units(part) if self.is_astral else part
        start = self._find(part, wanted)
        if start is None and _is_unplaceable(part):
            return None
        if start is None:
            raise PartNotFoundError(
                f"the splitter returned a part that the text does not hold from index {self.cursor} on: "
                f"{part!r:.60} (text: {self.text!r:.60}). Return parts in source order and unchanged, or "
                "Part(text, start) to say where they stand"
            )
        end = min(start + len(wanted), len(self.units))
        self.cursor = end
        return start, end

    def _find(self, part: str, wanted: str) -> int | None:
        if self.units.startswith(wanted, self.cursor):
            return self.cursor
        if REPLACEMENT not in part:
            verbatim = self.units.find(wanted, self.cursor)
            if verbatim >= 0:
                return verbatim
        if _is_unplaceable(part):
            return None
        offset, anchor = _anchor(part)
        return self._search(wanted, offset, anchor)

    def _search(self, wanted: str, offset: int, anchor: str) -> int | None:
        """The first place from the cursor on where the anchor stands and the rest does not contradict."""
        at = self.units.find(anchor, self.cursor + offset)
        while at >= 0:
            if self._agrees(wanted, at - offset, offset + len(anchor)):
                return at - offset
            at = self.units.find(anchor, at + 1)
        return None

    def _agrees(self, wanted: str, start: int, behind_anchor: int) -> bool:
        rest = self.units[start + behind_anchor : start + len(wanted)]
        return all(
            mine in (theirs, REPLACEMENT) or _is_mark(mine)
            for mine, theirs in zip_longest(wanted[behind_anchor:], rest)
        )

    def _reported(self, part: object) -> tuple[str, int]:
        """Text and start (in code units) of a part that says where it stands."""
        if part is None or isinstance(part, (int, float)) or not _is_reported(part):
            raise ValueError(
                f"the splitter returned {part!r:.60}, which is neither a str nor a Part(text, start), "
                f"for the text {self.text!r:.60}"
            )
        text, start = getattr(part, "text", None), getattr(part, "start", None)
        if not isinstance(text, str):
            raise TypeError(f"a part's text must be a str, got {text!r:.60} for the text {self.text!r:.60}")
        if isinstance(start, bool) or not isinstance(start, int) or not 0 <= start <= len(self.text):
            raise TypeError(
                f"a part's start must be an index into the text of length {len(self.text)}, "
                f"got {start!r:.60} for the part {text!r:.60}"
            )
        start = unit_length(self.text[:start]) if self.is_astral else start
        if start < self.cursor:
            raise TypeError(f"part {text!r:.60} starts at {start}, before the end {self.cursor} of the part before it")
        return text, start


def check_parts(parts: object, splitter: Callable[[str], object]) -> Sequence[object]:
    """The splitter's result, if it is a list or tuple of parts; ``TypeError`` otherwise."""
    if isinstance(parts, (list, tuple)):
        return parts
    raise TypeError(
        f"the splitter {splitter!r:.80} must return a list of str or Part, got {type(parts).__name__}: {parts!r:.60}"
    )


def _is_reported(part: object) -> bool:
    return hasattr(part, "text") or hasattr(part, "start") or isinstance(part, (list, tuple, dict))


def _as_units(text: str) -> str:
    """The text with each astral character as its two UTF-16 code units."""
    if text.isascii():
        return text
    code_units = np.frombuffer(text.encode("utf-16-le", "surrogatepass"), dtype="<u2")
    return code_units.astype("<u4").tobytes().decode("utf-32-le", "surrogatepass")


def unit_length(text: str) -> int:
    """The number of UTF-16 code units."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


@lru_cache(maxsize=4096)
def _is_mark(character: str) -> bool:
    return unicodedata.category(character).startswith("M")


def _is_unplaceable(part: str) -> bool:
    return all(character == REPLACEMENT or _is_mark(character) for character in part)


def _anchor(part: str) -> tuple[int, str]:
    """The first grapheme cluster that is more than U+FFFD and marks, and its offset, in code units."""
    offset = 0
    for match in _CLUSTER.finditer(part):
        cluster = match.group()
        if not _is_unplaceable(cluster):
            return offset, _as_units(cluster)
        offset += unit_length(cluster)
    raise AssertionError(part)  # callers have ruled out parts without such a cluster
