"""Tokens into chunks whose own text keeps the budget.

A chunk is the longest that fits: from its first token to the last token boundary at which its own text,
encoded alone (``own_tokens``), has at most ``chunk_size`` tokens. One step of Python a chunk.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from typing import NamedTuple, TypeAlias

import numpy as np

from llm_splitter.chunk_arrays import Boundaries
from llm_splitter.options import SplitOptions
from llm_splitter.own_tokens import OwnTokens
from llm_splitter.packing import paragraph_end
from llm_splitter.texts import Offsets, TextBatch
from llm_splitter.tokenizers import Tokenizer, TokenSpans

Row: TypeAlias = tuple[int, int, int, bool]


class _Place(NamedTuple):
    """Where the next chunk begins.

    ``begin`` is its first token and ``fresh`` the first that it does not repeat; ``fresh_byte`` is where the
    chunk before it ended, ``last_start`` where that began.
    """

    begin: int
    fresh: int
    last_start: int
    fresh_byte: int
    high: int
    doc_end: int


class _Cut(NamedTuple):
    """A chunk: bytes ``start`` to ``end``, tokens ``first_token`` up to ``next_token``."""

    start: int
    end: int
    first_token: int
    next_token: int
    tokens: int
    is_whole: bool


class TokenPacker:
    """Packs the tokens of one batch.

    Args:
        batch: The documents.
        tokens: Their token spans; where paragraphs matter, cut at their starts.
        tokenizer: What counts the tokens of a text.
        options: Size, overlap and whether the budget holds for a chunk's own text.
        paragraph_starts: Byte positions at which paragraphs begin, or ``None`` to fill every chunk.
    """

    def __init__(
        self,
        batch: TextBatch,
        tokens: TokenSpans,
        tokenizer: Tokenizer,
        options: SplitOptions,
        paragraph_starts: Offsets | None = None,
    ) -> None:
        self._size = options.chunk_size
        self._overlap = options.chunk_overlap
        self._is_strict = options.strict_size and tokenizer.counts_text
        self._data = batch.data.data
        self._starts = tokens.starts.data
        self._ends = tokens.ends.data
        self._own = OwnTokens(batch, tokens, tokenizer)
        self._doc_tokens = tokens.part_tokens[batch.doc_parts].tolist()
        self._doc_bytes = batch.doc_offsets.tolist()
        self._by_paragraph = paragraph_starts is not None
        starts = np.zeros(0, dtype=np.int64) if paragraph_starts is None else paragraph_starts
        self._paragraphs = np.searchsorted(tokens.starts, starts).astype(np.int64).data
        self._paragraph_bytes = starts.data

    def pack(self) -> Boundaries:
        """The chunks of all documents."""
        rows: list[Row] = []
        doc_offsets = [0]
        for document in range(len(self._doc_tokens) - 1):
            rows.extend(self._chunks(document))
            doc_offsets.append(len(rows))
        columns = np.array(rows, dtype=np.int64).reshape(-1, 4)
        start, end, count, is_over = np.ascontiguousarray(columns.T)
        return Boundaries(
            start, end, count.astype(np.int32), is_over.astype(bool), np.array(doc_offsets, dtype=np.int64)
        )

    def _chunks(self, document: int) -> Iterator[Row]:
        """Start, end, token count and whether it is over budget, of each chunk of a document."""
        at = self._beginning(document)
        while at is not None:
            cut = self._next_cut(at)
            yield cut.start, cut.end, cut.tokens, cut.tokens > self._size
            at = None if cut.end == at.doc_end else self._behind(at, cut)

    def _beginning(self, document: int) -> _Place | None:
        low, high = self._doc_tokens[document : document + 2]
        first, doc_end = self._doc_bytes[document : document + 2]
        if low == high:
            return None
        self._own.enter(document)
        if self._by_paragraph:
            index = bisect_left(self._paragraph_bytes, first)
            if index == len(self._paragraph_bytes) or self._paragraph_bytes[index] >= doc_end:
                return None
            low, first = self._paragraphs[index], self._paragraph_bytes[index]
        return _Place(low, low, first, first, high, doc_end)

    def _behind(self, at: _Place, cut: _Cut) -> _Place:
        """Where the next chunk stands: it repeats ``overlap`` tokens, if it need not start inside of one."""
        begin = max(cut.next_token - self._overlap, cut.first_token) if cut.is_whole else cut.next_token
        return _Place(begin, cut.next_token, cut.start, cut.end, at.high, at.doc_end)

    def _next_cut(self, at: _Place) -> _Cut:
        """The longest chunk that fits; where none does, with less overlap, and at last inside a token."""
        for begin in range(at.begin, at.fresh + 1):
            cut = self._longest(begin, at)
            if cut is not None:
                return cut
        return self._cut_inside(at)

    def _longest(self, begin: int, at: _Place) -> _Cut | None:
        start = at.fresh_byte if begin == at.fresh else max(self._character_start(begin), at.last_start)
        limit = min(begin + self._size, at.high)
        for token in self._candidates(at.fresh, limit, at.high):
            if self._is_whole(token, at):
                cut = self._cut(begin, token, start, at)
                if cut is not None:
                    return cut
        if begin < at.fresh:
            return None
        # tokens that share a character stay together even where they are more than chunk_size
        token = limit + 1
        while token < at.high and not self._is_whole(token, at):
            token += 1
        return self._cut(begin, token, start, at) if token <= at.high else None

    def _candidates(self, fresh: int, limit: int, high: int) -> Iterator[int]:
        """Token numbers at which a chunk may end, the best first."""
        if self._by_paragraph:
            best = paragraph_end(self._paragraphs, fresh, limit, high)
            yield best
            index = bisect_left(self._paragraphs, best) - 1
            while index >= 0 and self._paragraphs[index] > fresh:
                yield self._paragraphs[index]
                index -= 1
        yield from range(limit, fresh, -1)

    def _is_whole(self, token: int, at: _Place) -> bool:
        """Whether the text can be cut before a token: between characters, and with something new before."""
        if token == at.high:
            return True
        start = self._starts[token]
        return (
            self._data[start] & 0xC0 != 0x80 and start >= self._ends[token - 1] and self._end(token, at) > at.fresh_byte
        )

    def _end(self, token: int, at: _Place) -> int:
        """The byte position at which a chunk ends whose last token is the one before ``token``.

        What a tokenizer drops between two tokens belongs to the chunk before it, unless the next one
        overlaps and so holds it anyway.
        """
        if token == at.high:
            return at.doc_end
        return self._ends[token - 1] if self._overlap else self._starts[token]

    def _cut(self, begin: int, token: int, start: int, at: _Place) -> _Cut | None:
        end = self._end(token, at)
        count = self._own.count(start, end, begin, token) if self._is_strict else token - begin
        if self._is_strict and count > self._size:
            return None
        return _Cut(start, end, begin, token, count, is_whole=True)

    def _cut_inside(self, at: _Place) -> _Cut:
        """As many characters of a token as fit, at least one; it alone may need more than ``chunk_size``."""
        token = at.fresh + 1
        while not self._is_whole(token, at):
            token += 1
        text = str(self._data[at.fresh_byte : self._end(token, at)], "utf-8")
        length = len(text) - 1
        while length > 1 and self._own.count_text(text[:length]) > self._size:
            length -= 1
        end = at.fresh_byte + len(text[: max(length, 1)].encode())
        next_token = at.fresh
        while next_token < at.high and self._ends[next_token] <= end:
            next_token += 1
        end = at.doc_end if next_token == at.high else end
        count = self._own.count_text(str(self._data[at.fresh_byte : end], "utf-8"))
        return _Cut(at.fresh_byte, end, at.fresh, next_token, count, is_whole=False)

    def _character_start(self, token: int) -> int:
        position = self._starts[token]
        while self._data[position] & 0xC0 == 0x80:
            position -= 1
        return position
