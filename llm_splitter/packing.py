"""Parts into chunks: size, overlap and paragraphs. Part numbers in, part numbers out."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from itertools import pairwise

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


def pack(spans: Spans, options: SplitOptions) -> Packing:
    """Chunks of at most ``chunk_size`` parts, by the strategy asked for."""
    if options.chunk_strategy == "character" or spans.paragraphs is None:
        return pack_evenly(spans.doc_offsets, options.chunk_size, options.chunk_overlap)
    return pack_paragraphs(spans.doc_offsets, spans.paragraphs, options.chunk_size, options.chunk_overlap)


def pack_evenly(doc_offsets: Offsets, size: int, overlap: int) -> Packing:
    """Full chunks: chunk ``k`` of a document holds its parts from ``k * (size - overlap)`` on.

    >>> packing = pack_evenly(np.array([0, 5, 5]), size=3, overlap=1)
    >>> packing.first.tolist(), packing.last.tolist(), packing.doc_offsets.tolist()
    ([0, 2], [3, 5], [0, 2, 2])
    """
    step = size - overlap
    counts = np.diff(doc_offsets)
    chunks = np.where(counts > size, -((size - counts) // step) + 1, np.minimum(counts, 1))
    chunk_offsets = np.zeros(len(doc_offsets), dtype=np.int64)
    np.cumsum(chunks, out=chunk_offsets[1:])
    number = np.arange(chunk_offsets[-1], dtype=np.int64) - np.repeat(chunk_offsets[:-1], chunks)
    first = np.repeat(doc_offsets[:-1], chunks) + number * step
    last = np.minimum(first + size, np.repeat(doc_offsets[1:], chunks))
    return Packing(first, last, chunk_offsets)


def pack_paragraphs(doc_offsets: Offsets, paragraphs: Offsets, size: int, overlap: int) -> Packing:
    """Chunks that end where a paragraph does, as long as they hold a whole one or the end of one.

    At most one step of Python a chunk; nothing is done a part.
    """
    bounds = doc_offsets.tolist()
    starts = [*paragraphs.tolist(), bounds[-1]]  # bisect is fastest on a list
    first: list[int] = []
    last: list[int] = []
    chunk_offsets = [0]
    step = size - overlap
    for low, high in pairwise(bounds):
        begin, fresh = low, low
        while fresh < high:
            following = bisect_right(starts, fresh)
            reach = min(starts[following], high)
            limit = begin + size
            if limit < reach:  # full chunks, up to the one that the paragraph ends in
                full = range(limit, reach, step)
                first.extend(range(begin, reach - size, step))
                last.extend(full)
                fresh = full[-1]
            else:
                fresh = high if limit >= high else starts[bisect_right(starts, limit, following) - 1]
                first.append(begin)
                last.append(fresh)
            begin = max(begin, fresh - overlap)
        chunk_offsets.append(len(first))
    return Packing(*(np.array(values, dtype=np.int64) for values in (first, last, chunk_offsets)))
