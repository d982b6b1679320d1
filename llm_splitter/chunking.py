"""``split``: the short path through the library."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import accumulate
from typing import Any, overload

import numpy as np

from llm_splitter.chunk_arrays import ChunkArrays
from llm_splitter.chunker import NAMES, Chunker
from llm_splitter.offsets import check_text, from_bytes, get_chunk
from llm_splitter.options import SplitOptions
from llm_splitter.texts import TextBatch
from llm_splitter.types import Chunk, ChunkStrategy, OffsetUnit, ParagraphBreak


@overload
def split(
    text: str,
    *,
    chunk_size: int = ...,
    chunk_overlap: int = ...,
    chunk_strategy: ChunkStrategy = ...,
    splitter: object = ...,
    offset_unit: OffsetUnit = ...,
    paragraph_break: ParagraphBreak = ...,
    strict_size: bool = ...,
) -> list[Chunk[str]]: ...
@overload
def split(
    text: list[str] | tuple[str, ...],
    *,
    chunk_size: int = ...,
    chunk_overlap: int = ...,
    chunk_strategy: ChunkStrategy = ...,
    splitter: object = ...,
    offset_unit: OffsetUnit = ...,
    paragraph_break: ParagraphBreak = ...,
    strict_size: bool = ...,
) -> list[Chunk[list[str]]]: ...
def split(
    text: str | list[str] | tuple[str, ...],
    *,
    chunk_size: int = 512,
    chunk_overlap: int = 0,
    chunk_strategy: ChunkStrategy = "character",
    splitter: object = None,
    offset_unit: OffsetUnit = "codepoint",
    paragraph_break: ParagraphBreak = "\n\n",
    strict_size: bool = True,
) -> list[Chunk[Any]]:
    r"""The chunks of a text, each with the offsets that lead back to it.

    Args:
        text: A string, or a list of strings: one document in several parts, whose offsets run over the parts
            joined without separator.
        chunk_size: Most parts (tokens, words, ...) in a chunk.
        chunk_overlap: Parts that each chunk repeats from the one before.
        chunk_strategy: ``"character"``, or ``"paragraph"`` to keep paragraphs whole where they fit.
        splitter: ``"characters"`` (the default), ``"words"``, ``"sentences"``, ``"lines"``, a token encoding
            by name (``"cl100k_base"``), a tokenizer object, or any callable from a text to its parts.
        offset_unit: What offsets count: ``"codepoint"``, ``"utf16"`` or ``"utf8"``.
        paragraph_break: ``"\n\n"``, or ``"blank_line"`` to take CRLF and lines of blanks too.
        strict_size: With a tokenizer, keep ``chunk_size`` for each chunk's own text, encoded alone.

    Returns:
        The chunks in order. From the first one's start on every character belongs to at least one of them.

    Raises:
        TypeError: ``text`` is no string or list of strings, or the splitter returned something else.
        ValueError: an option is not allowed, or a part cannot be found in the text.

    >>> split("Hello world! This is a test.", chunk_size=3, chunk_overlap=1, splitter="words")
    ... # doctest: +NORMALIZE_WHITESPACE
    [Chunk(text='Hello world! This', start=0, end=17),
     Chunk(text='This is a', start=13, end=22),
     Chunk(text='a test.', start=21, end=28)]
    """
    options = SplitOptions(
        chunk_size,
        chunk_overlap,
        chunk_strategy,
        "characters" if splitter is None else splitter,
        offset_unit,
        paragraph_break,
        strict_size,
    )
    chunker = _chunker_by_name(options) if isinstance(splitter, str) and splitter in NAMES else Chunker(options)
    check_text(text)
    batch = TextBatch.from_strings([text])
    arrays = chunker.chunk(batch)
    pieces = _pieces(text, batch, arrays, offset_unit)
    return [
        Chunk(piece, start, end)
        for piece, start, end in zip(pieces, arrays.start.tolist(), arrays.end.tolist(), strict=True)
    ]


@lru_cache(maxsize=32)
def _chunker_by_name(options: SplitOptions) -> Chunker:
    """Kept for the next call: what a name stands for does not change."""
    return Chunker(options)


def _pieces(
    text: str | list[str] | tuple[str, ...], batch: TextBatch, arrays: ChunkArrays, unit: OffsetUnit
) -> Iterator[str | list[str]]:
    """The text of each chunk, cut from the source by Python indices."""
    if unit == "utf16" and arrays.splits_pairs:
        ranges = zip(arrays.start.tolist(), arrays.end.tolist(), strict=True)
        return (get_chunk(text, start, end, offset_unit=unit) for start, end in ranges)
    if unit == "codepoint":
        ranges = zip(arrays.start.tolist(), arrays.end.tolist(), strict=True)
    else:
        bounds = from_bytes(batch.data, np.concatenate([arrays.byte_start, arrays.byte_end]), "codepoint").tolist()
        ranges = zip(bounds[: len(arrays)], bounds[len(arrays) :], strict=True)
    if isinstance(text, str):
        return (text[start:end] for start, end in ranges)
    part_bounds = list(accumulate(map(len, text), initial=0))
    return (_from_parts(text, part_bounds, start, end) for start, end in ranges)


def _from_parts(parts: Sequence[str], bounds: list[int], start: int, end: int) -> list[str]:
    first = bisect_right(bounds, start, 1) - 1
    last = bisect_left(bounds, end, first, len(parts))
    return [parts[i][max(start - bounds[i], 0) : end - bounds[i]] for i in range(first, last)]
