"""How many tokens chunks' own texts have, each encoded alone, without encoding them.

They need not be the tokens that the document has there: a cut inside a word changes how its two ends are
tokenised. Only the ends are in question, though. Between the first and the last place in a chunk where the text
is surely split between words (``safe_cuts``) the document's tokens are the chunk's own, and only the few bytes
outside are encoded again, those of all chunks in one call of the engine.

    document   ... tok|en|s  in| a| do|cum|ent ...
    chunk            [en s  in  a  do]
                       ^ ^        ^ ^
                 encode  count     encode
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from llm_splitter.texts import Offsets, TextBatch
from llm_splitter.tokenizers import Tokenizer, TokenSpans

_BLOCK_TOKENS = 1 << 20  # looked at in one go
_CALL_BYTES = 1 << 22  # encoded in one call
_NEAR = 8  # tokens among which most safe cuts are found; where there is none, in eight times as many, and so on


class OwnTokens:
    """Counts the tokens of stretches of one batch's text.

    Args:
        batch: The documents.
        tokens: Their token spans.
        tokenizer: What counts the tokens of texts.

    Attributes:
        knows_cuts: Whether safe cuts are known; without them everything is encoded again.
    """

    def __init__(self, batch: TextBatch, tokens: TokenSpans, tokenizer: Tokenizer) -> None:
        self._data = batch.data.data
        self._is_safe_cut = tokens.is_safe_cut
        self.knows_cuts = self._is_safe_cut is not None
        self._count_texts = tokenizer.counts
        self._positions = tokens.positions
        self._doc_tokens = tokens.part_tokens[batch.doc_parts]
        self._seams = _seams(batch, tokens)

    def counts(self, start: Offsets, end: Offsets, first: Offsets, last: Offsets) -> Offsets:
        """The tokens of each stretch of text.

        Args:
            start: Byte positions at which they begin.
            end: Byte positions behind them.
            first: The token that each begins in.
            last: The first token that does not begin before its end.
        """
        if self._is_safe_cut is None:
            return self._encoded(start, end)
        head, tail = self._outer_cuts(start, end, first, last)
        is_split = (head <= tail) & ~self._holds_seam(first, last)
        counts = np.where(is_split, tail - head, 0)
        # what is not split is all head
        head_end = np.where(is_split, self._positions(head), end)
        tail_start = np.where(is_split, self._positions(tail), end)
        heads, tails = np.flatnonzero(head_end > start), np.flatnonzero(end > tail_start)
        encoded = self._encoded(
            np.concatenate([start[heads], tail_start[tails]]), np.concatenate([head_end[heads], end[tails]])
        )
        counts[heads] += encoded[: len(heads)]
        counts[tails] += encoded[len(heads) :]
        return counts

    def count(self, start: int, end: int) -> int:
        """The tokens of one stretch, by encoding it."""
        return int(self._count_texts([bytes(self._data[start:end])])[0])

    def _encoded(self, start: Offsets, end: Offsets) -> Offsets:
        """The tokens of each stretch, by encoding all of it, a few megabytes at a time."""
        before = np.cumsum(end - start)
        calls = range(1, int(before[-1]) // _CALL_BYTES + 1) if len(before) else ()
        bounds = [0, *np.searchsorted(before, [call * _CALL_BYTES for call in calls]).tolist(), len(start)]
        counts = [self._encoded_at_once(start[first:last], end[first:last]) for first, last in pairwise(bounds)]
        return np.concatenate(counts)

    def _encoded_at_once(self, start: Offsets, end: Offsets) -> Offsets:
        data = self._data
        return self._count_texts([bytes(data[a:b]) for a, b in zip(start.tolist(), end.tolist(), strict=True)])

    def _outer_cuts(self, start: Offsets, end: Offsets, first: Offsets, last: Offsets) -> tuple[Offsets, Offsets]:
        """The first and the last token of each stretch before which it is surely split, or may begin or end."""
        at_start = self._positions(first) == start
        latest = np.where(self._positions(last) == end, last, last - 1)
        head = self._next_cut(np.where(at_start, first, first + 1), latest, 1)
        head = np.where(at_start & self._is_edge(first), first, head)
        tail = self._next_cut(latest, head, -1)
        return head, np.where((latest == last) & self._is_edge(last), last, tail)

    def _next_cut(self, token: Offsets, stop: Offsets, step: int) -> Offsets:
        """The nearest safe cut from each token up to a last one, in steps of 1 or -1; behind that if there is none."""
        found = stop + step
        begin = token.copy()
        searched = np.flatnonzero((stop - begin) * step >= 0)
        width = _NEAR
        while len(searched):
            for rows in np.array_split(searched, len(searched) * width // _BLOCK_TOKENS + 1):
                nearest, is_found = self._nearest_cut(begin[rows], stop[rows], step * width)
                found[rows[is_found]] = nearest[is_found]
            begin[searched] += step * width
            is_left = (found[searched] == stop[searched] + step) & ((stop[searched] - begin[searched]) * step >= 0)
            searched = searched[is_left]
            width *= _NEAR
        return found

    def _nearest_cut(self, begin: Offsets, stop: Offsets, reach: int) -> tuple[Offsets, NDArray[np.bool_]]:
        """The nearest safe cut among the tokens in reach of each, backwards if it is negative; and if there is one."""
        assert self._is_safe_cut is not None
        step = 1 if reach > 0 else -1
        tokens = begin[:, None] + np.arange(0, reach, step)
        is_cut = self._is_safe_cut(tokens) & ((stop[:, None] - tokens) * step >= 0)
        nearest = is_cut.argmax(axis=1)
        return begin + nearest * step, is_cut[np.arange(len(begin)), nearest]

    def _is_edge(self, tokens: Offsets) -> NDArray[np.bool_]:
        """Whether a document begins or ends at each token, with which a chunk's text does too."""
        is_edge: NDArray[np.bool_] = self._doc_tokens[np.searchsorted(self._doc_tokens, tokens)] == tokens
        return is_edge

    def _holds_seam(self, first: Offsets, last: Offsets) -> NDArray[np.bool_]:
        seams = self._seams
        return np.searchsorted(seams, first, side="right") < np.searchsorted(seams, last, side="left")


def _seams(batch: TextBatch, tokens: TokenSpans) -> Offsets:
    """Tokens before which two parts of a document meet inside of a word.

    Parts are encoded one by one, but to a chunk that holds both they are one text, and where that is not surely
    split there, its tokens are not the parts'.
    """
    if tokens.is_safe_cut is None or batch.is_single_part:
        return np.zeros(0, dtype=np.int64)
    inner = np.setdiff1d(tokens.part_tokens, tokens.part_tokens[batch.doc_parts])
    return inner[~tokens.is_safe_cut(inner)]
