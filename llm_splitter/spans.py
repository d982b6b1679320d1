"""Spans: where the parts of many documents stand in a batch's buffer."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from llm_splitter.texts import Offsets


@dataclass(frozen=True)
class Spans:
    """The parts of all documents of a batch, in order.

    Attributes:
        starts: Byte position of each part's first byte, never decreasing.
        ends: Byte position behind each part; ``None`` where each reaches to the white space before the next.
        doc_offsets: Part numbers at which documents begin, and the number of parts.
        paragraphs: Part numbers at which a paragraph begins, increasing; ``None`` where paragraphs do not
            matter.
    """

    starts: Offsets
    ends: Offsets | None
    doc_offsets: Offsets
    paragraphs: Offsets | None = None


def group_by_document(starts: Offsets, document_bytes: Offsets) -> Offsets:
    """Span numbers at which documents begin, for spans that stand in document order.

    >>> group_by_document(np.array([0, 3, 7]), np.array([0, 5, 5, 9])).tolist()
    [0, 2, 2, 3]
    """
    offsets = np.searchsorted(starts, document_bytes, side="left")
    offsets[0], offsets[-1] = 0, len(starts)
    return offsets.astype(np.int64)
