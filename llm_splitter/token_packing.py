"""Tokens into chunks whose own text keeps the budget.

A chunk is the longest that fits: from its first token to the last place in reach at which its own text, encoded
alone (``own_tokens``), has at most ``chunk_size`` tokens. With byte-pair encodings that is nearly always the place
where the document's own tokens fill it, so all chunks are laid out by those first, in closed form where no token
holds part of a character, and then counted all at once. Behind the first of a document that breaks the promise
the rest is laid out again. With other tokenizers every chunk is encoded by itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from llm_splitter.chunk_arrays import Boundaries
from llm_splitter.options import SplitOptions
from llm_splitter.own_tokens import OwnTokens
from llm_splitter.packing import Stretches, pack_stretches
from llm_splitter.texts import Offsets, TextBatch
from llm_splitter.token_numbers import TokenNumbers
from llm_splitter.token_walk import Place, Step, TokenWalk
from llm_splitter.tokenizers import Tokenizer, TokenSpans
from llm_splitter.whitespace import WHITESPACE

_STUBBORN = 64  # chunks that are packed one by one where the first that was laid out was no good


@dataclass(frozen=True)
class _Chunks:
    """Chunks with the documents that they belong to, in order; their numbers and their bytes."""

    document: Offsets
    first: Offsets
    last: Offsets
    start: Offsets
    end: Offsets

    def __getitem__(self, index: Offsets | NDArray[np.bool_]) -> _Chunks:
        return _Chunks(*(values[index] for values in vars(self).values()))

    def __len__(self) -> int:
        return len(self.document)

    def step(self, row: int) -> Step:
        return Step(int(self.first[row]), int(self.last[row]), int(self.start[row]), int(self.end[row]))


@dataclass(frozen=True)
class _Open:
    """The documents that are not packed to their end: a ``Place`` for each, and a number up to which to go on."""

    document: Offsets
    begin: Offsets
    start: Offsets
    fresh: Offsets
    done: Offsets
    reach: Offsets

    def place(self, row: int) -> Place:
        return Place(int(self.begin[row]), int(self.start[row]), int(self.fresh[row]), int(self.done[row]))


_Counted: TypeAlias = tuple[_Chunks, Offsets]  # with the tokens of each
_NO_CHUNKS = _Chunks(*np.zeros((5, 0), dtype=np.int64)), np.zeros(0, dtype=np.int64)


class TokenPacker:
    """Packs the tokens of one batch.

    Args:
        batch: The documents.
        tokens: Their token spans.
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
        self._options = options
        self._size = options.chunk_size
        self._overlap = options.chunk_overlap
        self._batch = batch
        self._numbers = TokenNumbers(batch, tokens, paragraph_starts)
        self._own = OwnTokens(batch, tokens, tokenizer) if options.strict_size and tokenizer.counts_text else None
        self._paragraphs = None if paragraph_starts is None else self._numbers.paragraphs
        self._low, self._start = self._beginnings(paragraph_starts)
        self._high, self._end = self._numbers.doc_offsets[1:], batch.doc_offsets[1:]
        self._walks: dict[int, TokenWalk] = {}

    def _beginnings(self, paragraph_starts: Offsets | None) -> tuple[Offsets, Offsets]:
        """The first number and byte of each document that is packed: of its first paragraph, or its end if none."""
        start, end = self._batch.doc_offsets[:-1], self._batch.doc_offsets[1:]
        low, high = self._numbers.doc_offsets[:-1], self._numbers.doc_offsets[1:]
        if paragraph_starts is None or len(low) == 0:
            return low, start
        index = np.searchsorted(paragraph_starts, start)
        begin = np.append(paragraph_starts, self._batch.part_offsets[-1])[index]
        number = np.append(self._numbers.paragraphs, high[-1])[index]
        return np.minimum(number, high), np.minimum(begin, end)

    def pack(self) -> Boundaries:
        """The chunks of all documents."""
        tokens, nothing = np.flatnonzero((self._low < self._high) & (self._start < self._end)), self._dropped()
        if self._own is None or self._own.knows_cuts:
            packed = [self._without_tokens(nothing), *self._side_by_side(tokens)]
        else:
            packed = [_NO_CHUNKS, *self._one_by_one(np.concatenate([tokens, nothing]))]
        return self._in_order(packed)

    def _dropped(self) -> Offsets:
        """The documents with content of which the tokenizer drops all, controls for example."""
        data = self._batch.data
        dropped = np.flatnonzero((self._low == self._high) & (self._start < self._end))
        texts = [data[self._start[number] : self._end[number]].tobytes().decode() for number in dropped]
        return dropped[[bool(text.strip(WHITESPACE)) for text in texts]] if texts else dropped

    def _without_tokens(self, document: Offsets) -> _Counted:
        """A chunk without tokens for each of some documents."""
        number = self._low[document]
        chunks = _Chunks(document, number, number, self._start[document], self._end[document])
        return chunks, np.zeros(len(document), dtype=np.int64)

    def _one_by_one(self, documents: Offsets) -> Iterator[_Counted]:
        """All chunks, where the tokens of one are not known without encoding it."""
        fits = self._fits()
        opened = self._opened(documents)
        for row, document in enumerate(opened.document.tolist()):
            steps: list[tuple[int, ...]] = []
            tokens: list[int] = []
            for step in self._steps(document, opened.place(row), fits):
                steps.append((document, *step))
                tokens.append(fits.tokens(step.start, step.end))
            yield _Chunks(*_columns(steps, 5)), np.array(tokens, dtype=np.int64)

    def _steps(self, document: int, place: Place, fits: _Fits) -> Iterator[Step]:
        """Chunks of a document that keep the promise, one after the other."""
        walk = self._walk(document)
        while place.done < self._end[document]:
            step = walk.next_that_fits(place, fits)
            place = walk.behind(step)
            yield step

    def _side_by_side(self, documents: Offsets) -> Iterator[_Counted]:
        """All chunks, those of many documents at once."""
        opened = self._opened(documents)
        while len(opened.document):
            chunks = self._laid_out(opened)
            tokens = self._counted_where_few(chunks)
            is_good = self._is_before_an_over(chunks, tokens)
            opened, mended = self._following(opened, chunks, is_good)
            yield chunks[is_good], tokens[is_good]
            if len(mended):
                yield mended, self._counted(mended)

    def _opened(self, document: Offsets) -> _Open:
        low, start, high = self._low[document], self._start[document], self._high[document]
        return _Open(document, low, start, low, start, high)

    def _laid_out(self, opened: _Open) -> _Chunks:
        """The next chunks of every document, by its own tokens, up to those that end where the look ahead does."""
        stretches = Stretches(opened.begin, opened.fresh, opened.reach)
        packing = pack_stretches(stretches, self._paragraphs, self._size, self._overlap)
        owner = np.repeat(np.arange(len(opened.document)), np.diff(packing.doc_offsets))
        is_whole = (packing.last < opened.reach[owner]) | (packing.last == self._high[opened.document[owner]])
        owner = owner[is_whole]
        chunks = self._placed(opened, owner, packing.first[is_whole], packing.last[is_whole])
        odd = np.unique(owner[~self._is_cut_well(opened, owner, chunks)])
        if len(odd) == 0:
            return chunks
        kept = chunks[~np.isin(owner, odd)]
        together = _joined([kept, self._walked(opened, odd.tolist())])
        return together[np.argsort(together.document, kind="stable")]

    def _placed(self, opened: _Open, owner: Offsets, first: Offsets, last: Offsets) -> _Chunks:
        """The chunks between numbers; what no token holds belongs to the chunk before it, or to both."""
        document = opened.document[owner]
        end = self._numbers.ends_before(last) if self._overlap else self._numbers.starts(last)
        is_last = last == self._high[document]
        end[is_last] = self._end[document[is_last]]
        start = self._numbers.starts(first)
        start[1:] = np.minimum(start[1:], end[:-1])
        is_begin = first == opened.begin[owner]
        start[is_begin] = opened.start[owner[is_begin]]
        return _Chunks(document, first, last, start, end)

    def _is_cut_well(self, opened: _Open, owner: Offsets, chunks: _Chunks) -> NDArray[np.bool_]:
        """Whether each chunk begins and ends where the text may be cut, and adds text to those before."""
        data, numbers = self._batch.data, self._numbers
        is_first = np.diff(owner, prepend=-1) > 0
        done = np.roll(chunks.end, 1)
        done[is_first] = opened.done[owner[is_first]]
        is_well = chunks.end > done
        is_inner = chunks.last < self._high[chunks.document]
        last, end = chunks.last[is_inner], chunks.end[is_inner]
        is_well[is_inner] &= numbers.can_cut(data, last) & (end < self._end[chunks.document[is_inner]])
        if self._overlap:
            is_well[~is_first] &= numbers.can_cut(data, chunks.first[~is_first])
        return is_well

    def _walked(self, opened: _Open, owners: list[int]) -> _Chunks:
        """The next chunks of documents that have no closed form."""
        found = [
            self._walk(opened.document[owner]).chunks(opened.place(owner), opened.reach[owner]) for owner in owners
        ]
        owner = np.repeat(owners, [len(first) for first, _ in found])
        first, last = (np.concatenate(values).astype(np.int64) for values in zip(*found, strict=True))
        return self._placed(opened, owner, first, last)

    def _walk(self, document: int) -> TokenWalk:
        if document not in self._walks:
            bounds = int(self._low[document]), int(self._high[document])
            end = int(self._end[document])
            self._walks[document] = TokenWalk(self._numbers, self._batch.data, bounds, end, self._options)
        return self._walks[document]

    def _counted(self, chunks: _Chunks) -> Offsets:
        """The tokens of each chunk: of its own text, or as many of the document's if that is all that is asked."""
        if self._own is None:
            return chunks.last - chunks.first
        first, last = self._numbers.tokens(chunks.first)[0], self._numbers.tokens(chunks.last)[0]
        return self._own.counts(chunks.start, chunks.end, first, last)

    def _counted_where_few(self, chunks: _Chunks) -> Offsets:
        """The same, but of chunks that have too many of the document's tokens: counting them may take long."""
        counts = chunks.last - chunks.first
        few = np.flatnonzero(counts <= self._size)
        counts[few] = self._counted(chunks[few])
        return counts

    def _is_before_an_over(self, chunks: _Chunks, tokens: Offsets) -> NDArray[np.bool_]:
        """Whether no chunk of the document up to and with each breaks the size promise, if that is to be kept."""
        is_over = tokens > self._size
        if self._own is None or not is_over.any():
            return np.ones(len(tokens), dtype=bool)
        overs = np.cumsum(is_over)
        is_before: NDArray[np.bool_] = overs == np.append(0, overs)[np.searchsorted(chunks.document, chunks.document)]
        return is_before

    def _following(self, opened: _Open, chunks: _Chunks, is_good: NDArray[np.bool_]) -> tuple[_Open, _Chunks]:
        """What is left to pack, and for the first bad chunk of each document one that keeps the promise."""
        goods = np.bincount(np.searchsorted(opened.document, chunks.document[is_good]), minlength=len(opened.document))
        row = np.searchsorted(chunks.document, opened.document) + goods
        done = np.where(goods > 0, chunks.end[row - 1], opened.done)
        places: list[tuple[int, ...]] = []
        mended: list[tuple[int, ...]] = []
        for owner in np.flatnonzero(done < self._end[opened.document]).tolist():
            document, good = int(opened.document[owner]), int(goods[owner])
            walk = self._walk(document)
            place = walk.behind(chunks.step(row[owner] - 1)) if good else opened.place(owner)
            ahead = 2 * good
            if np.array_equal(chunks.document[row[owner] : row[owner] + 1], [document]):
                steps = list(islice(self._steps(document, place, self._fits()), 1 if good else _STUBBORN))
                mended.extend((document, *step) for step in steps)
                place = walk.behind(steps[-1])
                ahead = good
            if place.done < self._end[document]:
                reach = min(place.begin + (ahead + 2) * self._size, int(self._high[document]))
                places.append((document, *place, reach))
        return _Open(*_columns(places, 6)), _Chunks(*_columns(mended, 5))

    def _fits(self) -> _Fits:
        assert self._own is not None
        return _Fits(self._own, self._size)

    def _in_order(self, packed: list[_Counted]) -> Boundaries:
        chunks = _joined([some for some, _ in packed])
        tokens = np.concatenate([counts for _, counts in packed])
        order = np.argsort(chunks.document, kind="stable")
        doc_offsets = np.searchsorted(chunks.document[order], np.arange(len(self._batch) + 1))
        tokens = tokens[order]
        return Boundaries(
            chunks.start[order], chunks.end[order], tokens.astype(np.int32), tokens > self._size, doc_offsets
        )


class _Fits:
    """Whether the text from one byte position to another has at most so many tokens; what was asked last is kept."""

    def __init__(self, own: OwnTokens, size: int) -> None:
        self.tokens = lru_cache(maxsize=2)(own.count)
        self._size = size

    def __call__(self, start: int, end: int) -> bool:
        return self.tokens(start, end) <= self._size


def _joined(chunks: list[_Chunks]) -> _Chunks:
    return _Chunks(*(np.concatenate(values) for values in zip(*(vars(some).values() for some in chunks), strict=True)))


def _columns(rows: list[tuple[int, ...]], width: int) -> Offsets:
    columns: Offsets = np.array(rows, dtype=np.int64).reshape(-1, width).T
    return columns
