"""Tokens numbered for packing: one that a paragraph starts inside of counts as two.

So every paragraph begins with a token of its own, and no array with an entry a token is made anew for it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from llm_splitter.texts import Bytes, Offsets, TextBatch
from llm_splitter.tokenizers import TokenPositions, TokenSpans

_BLOCK_TOKENS = 1 << 20  # looked at in one go: what is needed on the way for a long text is as much as for these


class TokenNumbers:
    """The numbers of a batch's tokens, and where they stand.

    Args:
        batch: The documents.
        tokens: Their token spans.
        paragraph_starts: Byte positions at which paragraphs begin, increasing; ``None`` where they do not matter.

    Attributes:
        doc_offsets: Numbers at which documents begin, and how many there are.
        paragraphs: The number that each paragraph begins with.
        is_gapless: Whether every token begins where the one before ends, and holds some text.
    """

    def __init__(self, batch: TextBatch, tokens: TokenSpans, paragraph_starts: Offsets | None = None) -> None:
        self._tokens = tokens
        self.is_gapless = tokens.is_gapless
        self.doc_offsets = tokens.part_tokens[batch.doc_parts]
        self._halves = self._inside = np.zeros(0, dtype=np.int64)
        self.paragraphs = np.zeros(0 if paragraph_starts is None else len(paragraph_starts), dtype=np.int64)
        if paragraph_starts is not None and len(tokens.starts):
            self._number_paragraphs(batch, paragraph_starts)

    def _number_paragraphs(self, batch: TextBatch, positions: Offsets) -> None:
        starts, ends = self._tokens.starts, self._tokens.ends
        # of one type, or all starts would be converted
        token = np.searchsorted(starts, positions.astype(starts.dtype), side="right") - 1
        is_behind_start = starts[token] != positions
        is_inside = (starts[token] < positions) & (positions < ends[token])
        if not self.is_gapless:  # then the token may be another document's, an empty one at its very end for example
            first = self.doc_offsets[np.searchsorted(batch.doc_offsets, positions, side="right") - 1]
            is_before = token < first
            token[is_before] = first[is_before] - 1
            is_behind_start |= is_before
            is_inside &= ~is_before
        halves_before: Offsets = np.cumsum(is_inside) - is_inside
        self.paragraphs = token + is_behind_start + halves_before
        self._halves, self._inside = self.paragraphs[is_inside], positions[is_inside]
        self.doc_offsets = self.doc_offsets + np.searchsorted(token[is_inside], self.doc_offsets)

    def tokens(self, numbers: Offsets) -> tuple[Offsets, NDArray[np.bool_]]:
        """The token that each number stands for, and whether for its second half (or a later piece) only."""
        if len(self._halves) == 0:
            return numbers, np.zeros(len(numbers), dtype=bool)
        halves = np.searchsorted(self._halves, numbers, side="right")
        return numbers - halves, self._halves[halves - 1] == numbers

    def starts(self, numbers: Offsets) -> Offsets:
        """The byte position of each; the number behind the last stands for the end of the text."""
        token, is_half = self.tokens(numbers)
        found = self._tokens.positions(token)
        found[is_half] = self._inside[np.searchsorted(self._halves, numbers[is_half])]
        return found

    def ends_before(self, numbers: Offsets) -> Offsets:
        """The byte position behind the token before each number; not for the first one."""
        token, is_half = self.tokens(numbers)
        found = self._tokens.ends[token - 1].astype(np.int64)
        found[is_half] = self._inside[np.searchsorted(self._halves, numbers[is_half])]
        return found

    def can_cut(self, data: Bytes, numbers: Offsets) -> NDArray[np.bool_]:
        """Whether the text can be cut before each number: between two characters, and inside no other token."""
        positions = self.starts(numbers)
        return places_to_cut(data, positions, None if self.is_gapless else self.ends_before(numbers))

    def spans(self, first: int, last: int) -> tuple[TokenPositions, TokenPositions]:
        """Start and end of each token of a document's range of numbers, in bytes."""
        (token, behind), (is_half, _) = self.tokens(np.array([first, last]))
        starts, ends = self._tokens.starts[token + is_half : behind], self._tokens.ends[token:behind]
        halves, inside = (
            values[slice(*np.searchsorted(self._halves, [first, last]))] for values in (self._halves, self._inside)
        )
        if len(halves) == 0:
            return starts, ends
        at = halves - first - np.arange(len(halves))
        first_end = int(is_half)
        return np.insert(starts, at, inside), np.insert(ends, at[first_end:] - 1 + first_end, inside[first_end:])


def places_to_cut(data: Bytes, starts: TokenPositions, ends_before: TokenPositions | None) -> NDArray[np.bool_]:
    """Whether the text can be cut before each of some tokens: between two characters, and inside no other token.

    Args:
        data: The text.
        starts: The byte position of each token.
        ends_before: The one behind the token before it, unless each begins where the one before ends.
    """
    is_place = np.empty(len(starts), dtype=bool)
    for first in range(0, len(starts), _BLOCK_TOKENS):
        block = slice(first, first + _BLOCK_TOKENS)
        is_place[block] = data.take(starts[block], mode="clip") & 0xC0 != 0x80
        is_place[block] |= starts[block] >= len(data)
        if ends_before is not None:
            is_place[block] &= ends_before[block] <= starts[block]
    return is_place
