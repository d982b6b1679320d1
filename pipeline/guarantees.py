"""What every chunk row promises, checked against its document: plain and independent of how chunks are made."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from pipeline.chunk_ids import chunk_id_prefixes
from pipeline.hashing import hash_bytes
from pipeline.schemas import CHUNK_COLUMNS, TEXT

Positions = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Break:
    """A promise that a row, or the rows of a document, do not keep.

    Attributes:
        check: Which promise, in a word or two.
        doc_id: The document; empty for files and the output as a whole.
        message: What was found, and what should have been.
    """

    check: str
    doc_id: str
    message: str

    def __str__(self) -> str:
        return f"{self.check}: {self.doc_id!r}: {self.message}" if self.doc_id else f"{self.check}: {self.message}"


@dataclass(frozen=True)
class Promises:
    """What the rows of an output promise.

    Attributes:
        offset_unit: Of `start` and `end`.
        fingerprint: Of the chunker, which the ids are made of.
        unowned: What of a document's beginning may be in no chunk: `nothing`; `space` by paragraphs; `anything`
            with a splitter of one's own, whose first pieces may hold nothing that can be placed.
    """

    offset_unit: str
    fingerprint: str
    unowned: Literal["nothing", "space", "anything"]


def check_document(doc_id: str, data: bytes, rows: pa.Table, promises: Promises) -> Iterator[Break]:
    """The promises that the chunk rows of a document break, tokens aside.

    Args:
        doc_id: The document's id.
        data: Its text in UTF-8, parts joined.
        rows: Its chunk rows, by `chunk_index`.
        promises: What holds for all rows.
    """
    boundaries = character_boundaries(data, promises.offset_unit)
    starts, ends = (rows.column(name).to_numpy() for name in ("start", "end"))
    for check, message in _order_breaks(rows, starts, ends, int(boundaries.offsets[-1])):
        yield Break(check, doc_id, message)
    if ((starts < 0) | (ends > boundaries.offsets[-1]) | (starts > ends)).any():
        return
    byte_starts, byte_ends = boundaries.bytes_of(starts), boundaries.bytes_of(ends)
    yield from _coverage_breaks(doc_id, data, byte_starts, byte_ends, promises.unowned)
    if promises.offset_unit == "utf8" and not boundaries.are_boundaries(np.concatenate((starts, ends))):
        yield Break("characters", doc_id, "a chunk begins or ends inside a character")
    prefix = chunk_id_prefixes([doc_id], promises.fingerprint)[0].as_py()
    doc_hash = hash_bytes(data)
    bounds = zip(byte_starts.tolist(), byte_ends.tolist(), strict=True)
    own = rows.select([name for name in CHUNK_COLUMNS if name in rows.column_names])  # metadata may be anything
    for row, (start, end) in zip(own.to_pylist(), bounds, strict=True):
        expected = {
            "chunk_id": f"{prefix}:{row['start']}:{row['end']}",
            "doc_hash": doc_hash,
            "text_hash": hash_bytes(data[start:end]),
            TEXT: data[start:end].decode(),
        }
        yield from _row_breaks(doc_id, row, expected)


def chunk_texts(data: bytes, rows: pa.Table, offset_unit: str) -> list[bytes]:
    """The slices of a document that its chunk rows say, in UTF-8."""
    boundaries = character_boundaries(data, offset_unit)
    starts, ends = (boundaries.bytes_of(rows.column(name).to_numpy()).tolist() for name in ("start", "end"))
    return [data[start:end] for start, end in zip(starts, ends, strict=True)]


@dataclass(frozen=True)
class Boundaries:
    """Where the characters of a text begin: in bytes, and in an offset unit; both end with the text's length."""

    bytes: Positions
    offsets: Positions

    def bytes_of(self, offsets: Positions) -> Positions:
        """The byte positions of offsets; inside a character, of its beginning."""
        return self.bytes[np.searchsorted(self.offsets, offsets, side="right") - 1]

    def are_boundaries(self, offsets: Positions) -> bool:
        """Whether no offset lies inside a character."""
        return bool(np.isin(offsets, self.offsets).all())


def character_boundaries(data: bytes, offset_unit: str) -> Boundaries:
    """The boundaries between the characters of a text.

    Example:
        >>> character_boundaries("aé😀".encode(), "utf16").offsets.tolist()
        [0, 1, 2, 4]
    """
    content = np.frombuffer(data, np.uint8)
    begins = np.flatnonzero((content & 0xC0) != 0x80)
    positions = np.append(begins, len(content))
    if offset_unit == "utf8":
        return Boundaries(positions, positions)
    widths = np.ones(len(begins), np.int64)
    if offset_unit == "utf16":
        widths += content[begins] >= 0xF0
    return Boundaries(positions, np.concatenate(([0], np.cumsum(widths))))


def _order_breaks(rows: pa.Table, starts: Positions, ends: Positions, length: int) -> Iterator[tuple[str, str]]:
    index = rows.column("chunk_index").to_numpy()
    if not np.array_equal(index, np.arange(len(index))):
        yield "order", f"chunk_index is {_shown(index)}, not 0, 1, 2, ..."
    if ((starts < 0) | (starts > ends) | (ends > length)).any():
        yield "offsets", f"starts {_shown(starts)} and ends {_shown(ends)} do not fit a text of length {length}"
    elif ends[-1] != length:
        yield "coverage", f"the last end is {ends[-1]} in a text of length {length}"
    if (np.diff(ends) <= 0).any():
        yield "order", f"ends do not increase: {_shown(ends)}"
    if (np.diff(starts) < 0).any():
        yield "order", f"starts decrease: {_shown(starts)}"


def _coverage_breaks(doc_id: str, data: bytes, starts: Positions, ends: Positions, unowned: str) -> Iterator[Break]:
    before = data[: starts[0]].decode()
    if before and unowned != "anything" and (unowned == "nothing" or before.strip()):
        yield Break("coverage", doc_id, f"{before[:40]!r} before the first chunk is in none")
    for gap in np.flatnonzero(starts[1:] > ends[:-1]).tolist():
        missing = data[ends[gap] : starts[gap + 1]].decode()
        yield Break("coverage", doc_id, f"{missing[:40]!r} between chunks {gap} and {gap + 1} is in none")


def _row_breaks(doc_id: str, row: dict[str, Any], expected: dict[str, str]) -> Iterator[Break]:
    for name, value in expected.items():
        if row.get(name, value) != value:
            found = f"chunk {row['chunk_index']} has {row[name]!r:.80}, the document gives {value!r:.80}"
            yield Break(name, doc_id, found)


def _shown(values: Positions) -> str:
    first = ", ".join(map(str, values[:6].tolist()))
    return f"{first}, ..." if len(values) > 6 else first
