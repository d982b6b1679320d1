"""Tokens into chunks whose own text keeps the budget.

A chunk is the longest that fits: from its first token to the last token boundary at which its own text,
encoded alone (``own_tokens``), has at most ``chunk_size`` tokens. One step of Python a chunk.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

import numpy as np

from llm_splitter.chunk_arrays import Boundaries
from llm_splitter.options import SplitOptions
from llm_splitter.own_tokens import OwnTokens
from llm_splitter.texts import Offsets, TextBatch
from llm_splitter.tokenizers import Tokenizer, TokenSpans
from llm_splitter.whitespace import WHITESPACE

Row: TypeAlias = tuple[int, int, int]
"""Start and end of a chunk in bytes, and its tokens."""


class _Document(NamedTuple):
    """The first and last of a document's tokens and bytes that are packed."""

    low: int
    high: int
    start: int
    end: int


class _Cut(NamedTuple):
    """A chunk: from byte ``start``, in token ``begin``, to byte ``end``, before token ``token``."""

    start: int
    begin: int
    end: int
    token: int
    tokens: int


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
        self._data = batch.data.data
        self._starts = tokens.starts.data
        self._ends = tokens.ends.data
        self._own = OwnTokens(batch, tokens, tokenizer) if options.strict_size and tokenizer.counts_text else None
        self._doc_tokens = tokens.part_tokens[batch.doc_parts].tolist()
        self._doc_bytes = batch.doc_offsets.tolist()
        self._by_paragraph = paragraph_starts is not None
        starts = np.zeros(0, dtype=np.int64) if paragraph_starts is None else paragraph_starts
        self._paragraphs = np.searchsorted(tokens.starts, starts).tolist()
        self._paragraph_bytes = starts.tolist()

    def pack(self) -> Boundaries:
        """The chunks of all documents."""
        rows: list[Row] = []
        doc_offsets = [0]
        for number in range(len(self._doc_tokens) - 1):
            document = self._document(number)
            if document.low < document.high:
                self._pack_document(document, rows)
            elif self._has_content(document):  # a tokenizer may drop all there is, controls for example
                rows.append((document.start, document.end, 0))
            doc_offsets.append(len(rows))
        start, end, tokens = np.ascontiguousarray(np.array(rows, dtype=np.int64).reshape(-1, 3).T)
        return Boundaries(
            start, end, tokens.astype(np.int32), tokens > self._size, np.array(doc_offsets, dtype=np.int64)
        )

    def _document(self, number: int) -> _Document:
        low, high = self._doc_tokens[number], self._doc_tokens[number + 1]
        start, end = self._doc_bytes[number], self._doc_bytes[number + 1]
        if self._by_paragraph:
            index = bisect_left(self._paragraph_bytes, start)
            if index == len(self._paragraph_bytes) or self._paragraph_bytes[index] >= end:
                return _Document(high, high, end, end)
            low, start = self._paragraphs[index], self._paragraph_bytes[index]
        return _Document(low, high, start, end)

    def _has_content(self, document: _Document) -> bool:
        return bool(str(self._data[document.start : document.end], "utf-8").strip(WHITESPACE))

    def _pack_document(self, document: _Document, rows: list[Row]) -> None:
        begin = fresh = document.low
        start = fresh_byte = document.start
        while True:
            cut = self._longest(document, begin, start, fresh, fresh_byte)
            if cut is None:
                cut = self._shortened(document, begin, start, fresh, fresh_byte)
            start, begin, fresh_byte, fresh, tokens = cut
            rows.append((start, fresh_byte, tokens))
            if fresh_byte == document.end:
                return
            if self._overlap and fresh_byte == self._ends[fresh - 1]:
                begin = max(begin, fresh - self._overlap)
                start = max(start, self._character_start(begin))
            else:
                begin, start = fresh, fresh_byte

    def _longest(self, document: _Document, begin: int, start: int, fresh: int, fresh_byte: int) -> _Cut | None:
        """The best chunk from a place on: the one that ends with a paragraph, or else the fullest.

        Args:
            document: What is packed.
            begin: The chunk's first token.
            start: Its first byte, in that token.
            fresh: The first token that it does not repeat.
            fresh_byte: The byte at which the chunk before it ended.
        """
        limit = min(begin + self._size, document.high)
        if self._by_paragraph:
            token = _paragraph_end(self._paragraphs, fresh, limit, document.high)
            while token > fresh:
                cut = self._fitting(document, begin, start, token, fresh_byte)
                if cut is not None:
                    return cut
                index = bisect_left(self._paragraphs, token) - 1
                token = self._paragraphs[index] if index >= 0 else fresh
        for token in range(limit, fresh, -1):
            cut = self._fitting(document, begin, start, token, fresh_byte)
            if cut is not None:
                return cut
        return None

    def _fitting(self, document: _Document, begin: int, start: int, token: int, fresh_byte: int) -> _Cut | None:
        """The chunk that ends before a token, if it can end there and keeps the budget."""
        end = self._end_before(document, token, fresh_byte)
        if end is None:
            return None
        tokens = token - begin if self._own is None else self._own.count(start, end, begin, token)
        return _Cut(start, begin, end, token, tokens) if tokens <= self._size else None

    def _end_before(self, document: _Document, token: int, fresh_byte: int) -> int | None:
        """Where a chunk ends that stops before a token; ``None`` if it would cut a character or add nothing.

        What a tokenizer drops between two tokens belongs to the chunk before it, unless the next one overlaps
        and so holds it anyway.
        """
        if token >= document.high or self._starts[token] >= document.end:  # what follows is empty tokens at most
            return document.end
        position, last_end = self._starts[token], self._ends[token - 1]
        if self._data[position] & 0xC0 == 0x80 or position < last_end:
            return None
        end = last_end if self._overlap else position
        return end if end > fresh_byte else None

    def _shortened(self, document: _Document, begin: int, start: int, fresh: int, fresh_byte: int) -> _Cut:
        """A chunk where none fits with all its overlap: with less, with none, at last inside a token."""
        for later in range(begin + 1, fresh + 1):
            at = fresh_byte if later == fresh else max(start, self._character_start(later))
            cut = self._longest(document, later, at, fresh, fresh_byte)
            if cut is not None:
                return cut
        token = fresh + 1
        while (end := self._end_before(document, token, fresh_byte)) is None:
            token += 1
        # tokens that share a character stay together even where they are more than chunk_size
        tokens = token - fresh if self._own is None else self._own.count(fresh_byte, end, fresh, token)
        if self._own is None or tokens <= self._size:
            return _Cut(fresh_byte, fresh, end, token, tokens)
        return self._cut_inside(self._own, document, fresh, fresh_byte, end)

    def _cut_inside(self, own: OwnTokens, document: _Document, fresh: int, start: int, end: int) -> _Cut:
        """As many characters as fit, at least one; it alone may need more than ``chunk_size`` tokens."""
        text = str(self._data[start:end], "utf-8")
        length = len(text) - 1
        while length > 1 and own.count_text(text[:length]) > self._size:
            length -= 1
        end = start + len(text[: max(length, 1)].encode())
        token = fresh
        while token < document.high and self._ends[token] <= end:
            token += 1
        tokens = own.count_text(str(self._data[start:end], "utf-8"))
        return _Cut(start, fresh, end, token, tokens)

    def _character_start(self, token: int) -> int:
        position = self._starts[token]
        while self._data[position] & 0xC0 == 0x80:
            position -= 1
        return position


def _paragraph_end(paragraphs: Sequence[int], fresh: int, limit: int, high: int) -> int:
    """The token number at which a chunk ends that may reach ``limit``.

    The last paragraph start in reach, unless the document ends there or no paragraph has ended since
    ``fresh``, the first token that the chunk does not repeat.
    """
    if limit >= high:
        return high
    index = bisect_right(paragraphs, limit) - 1
    if index >= 0 and paragraphs[index] > fresh:
        return paragraphs[index]
    return limit
