"""The result for a whole batch: chunk boundaries as arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from llm_splitter.offsets import from_bytes, to_character_starts
from llm_splitter.packing import Packing
from llm_splitter.spans import Spans
from llm_splitter.texts import Offsets, TextBatch
from llm_splitter.types import OffsetUnit
from llm_splitter.whitespace import content_ends


@dataclass(frozen=True)
class Boundaries:
    """Chunks as byte positions in the batch's buffer, grouped by document.

    Attributes:
        byte_start: Position of each chunk's first byte.
        byte_end: Position behind its last byte.
        token_count: Tokens of the chunk's own text, or parts where no tokenizer counts them.
        over_budget: Whether the chunk is a single character that alone needs more than ``chunk_size``; without
            ``strict_size`` several, where all of their tokens share characters.
        doc_offsets: Chunk numbers at which documents begin, and the number of chunks.
    """

    byte_start: Offsets
    byte_end: Offsets
    token_count: NDArray[np.int32]
    over_budget: NDArray[np.bool_]
    doc_offsets: Offsets


NO_CHUNKS = Boundaries(
    np.zeros(0, dtype=np.int64),
    np.zeros(0, dtype=np.int64),
    np.zeros(0, dtype=np.int32),
    np.zeros(0, dtype=bool),
    np.zeros(2, dtype=np.int64),
)
"""Those of one document without chunks."""


@dataclass(frozen=True)
class ChunkArrays:
    """All chunks of a batch, document after document.

    Attributes:
        doc_offsets: Chunks of document ``d`` are rows ``doc_offsets[d]`` up to ``doc_offsets[d + 1]``.
        start: Offset in the document, in the offset unit asked for.
        end: Offset behind the chunk.
        byte_start: Position in the batch's buffer at which the chunk's text begins.
        byte_end: Position behind it.
        token_count: Tokens of the chunk's own text, or parts where no tokenizer counts them.
        over_budget: Single characters that alone need more tokens than ``chunk_size``.
        errors: Documents that the splitter failed on, with what it raised; they have no chunks.
        splits_pairs: Whether some UTF-16 offset lies between the two units of a character, as a custom
            splitter's parts can make it (upstream's numbers); byte positions never do.
    """

    doc_offsets: Offsets
    start: Offsets
    end: Offsets
    byte_start: Offsets
    byte_end: Offsets
    token_count: NDArray[np.int32]
    over_budget: NDArray[np.bool_]
    errors: list[tuple[int, BaseException]] = field(default_factory=list)
    splits_pairs: bool = False

    def __len__(self) -> int:
        """The number of chunks."""
        return len(self.start)


def place(batch: TextBatch, spans: Spans, packing: Packing) -> Boundaries:
    """Chunk boundaries in bytes: text between two chunks belongs to the first of them.

    A chunk ends where its last part ends or, if that is further, where the next chunk starts; the last
    one ends with its document.
    """
    first, last, doc_offsets = packing.first, packing.last, packing.doc_offsets
    start = spans.starts[first]
    end = _part_ends(batch, spans, last)
    end[:-1] = np.maximum(end[:-1], start[1:])
    has_chunks = np.diff(doc_offsets) > 0
    end[doc_offsets[1:][has_chunks] - 1] = batch.doc_offsets[1:][has_chunks]
    return Boundaries(start, end, (last - first).astype(np.int32), np.zeros(len(start), dtype=bool), doc_offsets)


def _part_ends(batch: TextBatch, spans: Spans, last: Offsets) -> Offsets:
    """Where the part before each part number ends."""
    if spans.ends is not None:
        return spans.ends[last - 1]
    return content_ends(batch.data, np.append(spans.starts, batch.part_offsets[-1])[last])


def join(pieces: Sequence[Boundaries], byte_offsets: Sequence[int]) -> Boundaries:
    """The chunks of a batch from those of its groups, whose buffers begin at ``byte_offsets`` in its own."""
    if len(pieces) == 1 and byte_offsets[0] == 0:
        return pieces[0]
    counts = np.cumsum([0] + [len(piece.byte_start) for piece in pieces])
    return Boundaries(
        np.concatenate([piece.byte_start + at for piece, at in zip(pieces, byte_offsets, strict=True)]),
        np.concatenate([piece.byte_end + at for piece, at in zip(pieces, byte_offsets, strict=True)]),
        np.concatenate([piece.token_count for piece in pieces]),
        np.concatenate([piece.over_budget for piece in pieces]),
        np.concatenate([[0], *(piece.doc_offsets[1:] + at for piece, at in zip(pieces, counts, strict=False))]),
    )


def keep(boundaries: Boundaries, wanted: NDArray[np.bool_]) -> Boundaries:
    """Only the wanted chunks."""
    if wanted.all():
        return boundaries
    kept = np.zeros(len(wanted) + 1, dtype=np.int64)
    np.cumsum(wanted, out=kept[1:])
    return Boundaries(
        boundaries.byte_start[wanted],
        boundaries.byte_end[wanted],
        boundaries.token_count[wanted],
        boundaries.over_budget[wanted],
        kept[boundaries.doc_offsets],
    )


def in_unit(
    batch: TextBatch,
    boundaries: Boundaries,
    unit: OffsetUnit,
    errors: list[tuple[int, BaseException]],
) -> ChunkArrays:
    """The chunks with offsets in the unit asked for, counted from each document's start."""
    bounds = np.concatenate([boundaries.byte_start, boundaries.byte_end])
    floored = to_character_starts(batch.data, bounds)
    origins = batch.doc_offsets[:-1]
    positions = np.concatenate([origins, bounds if unit == "utf16" else floored])
    units = from_bytes(batch.data, positions, unit)
    documents, chunks = len(origins), len(boundaries.byte_start)
    origin = np.repeat(units[:documents], np.diff(boundaries.doc_offsets))
    return ChunkArrays(
        boundaries.doc_offsets,
        units[documents : documents + chunks] - origin,
        units[documents + chunks :] - origin,
        floored[:chunks],
        floored[chunks:],
        boundaries.token_count,
        boundaries.over_budget,
        errors,
        splits_pairs=unit == "utf16" and floored is not bounds,
    )
