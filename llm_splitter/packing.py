"""Parts into chunks: size, overlap and paragraphs. Part numbers in, part numbers out."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass

import numpy as np

from llm_splitter.options import SplitOptions
from llm_splitter.spans import Spans
from llm_splitter.texts import Offsets


@dataclass(frozen=True)
class Packing:
    """Which parts make up each chunk: ``first`` up to ``last``, grouped by ``doc_offsets``."""

    first: Offsets
    last: Offsets
    doc_offsets: Offsets


@dataclass(frozen=True)
class Stretches:
    """What is to be packed: a stretch of parts for each document.

    Attributes:
        begin: Number of the first part of each stretch.
        fresh: Number of its first part that is in no chunk yet; the ones before may be repeated.
        end: Number of the part behind it.
    """

    begin: Offsets
    fresh: Offsets
    end: Offsets


def pack(spans: Spans, options: SplitOptions) -> Packing:
    """Chunks of at most ``chunk_size`` parts, by the strategy asked for."""
    begin, end = spans.doc_offsets[:-1], spans.doc_offsets[1:]
    paragraphs = spans.paragraphs if options.chunk_strategy == "paragraph" else None
    return pack_stretches(Stretches(begin, begin, end), paragraphs, options.chunk_size, options.chunk_overlap)


def pack_stretches(stretches: Stretches, paragraphs: Offsets | None, size: int, overlap: int) -> Packing:
    """Chunks of at most ``size`` parts; ``paragraphs`` are the parts that those begin with, if they matter."""
    if paragraphs is None:
        return pack_evenly(stretches, size, overlap)
    return pack_paragraphs(stretches, paragraphs, size, overlap)


def pack_evenly(stretches: Stretches, size: int, overlap: int) -> Packing:
    """Full chunks: chunk ``k`` of a stretch holds its parts from ``k * (size - overlap)`` on.

    >>> begin = np.array([0, 5])
    >>> packing = pack_evenly(Stretches(begin, begin, np.array([5, 5])), size=3, overlap=1)
    >>> packing.first.tolist(), packing.last.tolist(), packing.doc_offsets.tolist()
    ([0, 2], [3, 5], [0, 2, 2])
    """
    step = size - overlap
    counts = stretches.end - stretches.begin
    chunks = np.where(counts > size, -((size - counts) // step) + 1, np.minimum(counts, 1))
    chunk_offsets = np.zeros(len(chunks) + 1, dtype=np.int64)
    np.cumsum(chunks, out=chunk_offsets[1:])
    number = np.arange(chunk_offsets[-1], dtype=np.int64) - np.repeat(chunk_offsets[:-1], chunks)
    first = np.repeat(stretches.begin, chunks) + number * step
    last = np.minimum(first + size, np.repeat(stretches.end, chunks))
    return Packing(first, last, chunk_offsets)


def pack_paragraphs(stretches: Stretches, paragraphs: Offsets, size: int, overlap: int) -> Packing:
    """Chunks that end where a paragraph does, as long as they hold a whole one or the end of one.

    At most one step of Python a chunk; nothing is done a part.
    """
    bounds = np.searchsorted(paragraphs, [stretches.fresh, stretches.end]).T.tolist()
    first: list[int] = []
    last: list[int] = []
    chunk_offsets = [0]
    step = size - overlap
    columns = (stretches.begin.tolist(), stretches.fresh.tolist(), stretches.end.tolist())
    for low, covered, high, (next_paragraph, behind) in zip(*columns, bounds, strict=True):
        begin, fresh = low, covered
        ends = [*paragraphs[next_paragraph:behind].tolist(), high]  # bisect is fastest on a short list
        while fresh < high:
            following = bisect_right(ends, fresh)
            reach = ends[following]
            limit = begin + size
            if limit < reach:  # full chunks, up to the one that the paragraph ends in
                full = range(limit, reach, step)
                first.extend(range(begin, reach - size, step))
                last.extend(full)
                fresh = full[-1]
            else:
                fresh = ends[bisect_right(ends, limit, following) - 1]
                first.append(begin)
                last.append(fresh)
            begin = max(begin, fresh - overlap)
        chunk_offsets.append(len(first))
    return Packing(*(np.array(values, dtype=np.int64) for values in (first, last, chunk_offsets)))
