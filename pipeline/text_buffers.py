"""Arrow text columns as UTF-8 buffers with positions, and slices of such buffers as Arrow text again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from pipeline.schemas import PARTS_TYPE, TEXT_TYPE

Positions = npt.NDArray[np.int64]


@dataclass(frozen=True)
class DocumentText:
    """The texts of a column, end to end in one buffer.

    Attributes:
        data: The UTF-8 bytes of all documents; the column's own memory where nothing had to be filled in.
        part_offsets: Part i is `data[part_offsets[i]:part_offsets[i + 1]]`.
        doc_parts: Document d has the parts `doc_parts[d]` to `doc_parts[d + 1]`; None: a part a document.
    """

    data: npt.NDArray[np.uint8]
    part_offsets: Positions
    doc_parts: Positions | None

    @property
    def doc_offsets(self) -> Positions:
        """Document d is `data[doc_offsets[d]:doc_offsets[d + 1]]`."""
        return self.part_offsets if self.doc_parts is None else self.part_offsets[self.doc_parts]


def document_text(column: pa.ChunkedArray[Any] | pa.Array[Any]) -> DocumentText:
    """A text column as one buffer. Nulls, of documents and of parts, are empty.

    Args:
        column: Strings of any Arrow string type, or lists of strings (documents in parts).

    Raises:
        TypeError: If the column holds neither.
    """
    array = _one_array(column)
    if not _is_list(array.type):
        data, offsets = _string_buffers(_as_large_string(array))
        return DocumentText(data, offsets, None)
    lists = array if array.type == PARTS_TYPE else array.cast(PARTS_TYPE)
    data, offsets = _string_buffers(lists.flatten())
    lengths = pc.fill_null(pc.list_value_length(lists), 0).to_numpy(zero_copy_only=False)
    return DocumentText(data, offsets, np.concatenate(([0], np.cumsum(lengths, dtype=np.int64))))


def gather_text(data: npt.NDArray[np.uint8], starts: Positions, ends: Positions) -> pa.LargeStringArray:
    """The slices `data[start:end]` as a text column.

    Slices that follow each other without gap or overlap share the buffer as it is; others are copied once.

    Example:
        >>> gather_text(np.frombuffer(b"abcd", np.uint8), np.array([0, 1]), np.array([3, 4])).to_pylist()
        ['abc', 'bcd']
    """
    if len(starts) and bool((starts[1:] == ends[:-1]).all()):
        offsets = np.concatenate((starts[:1], ends)) - starts[0]
        content = pa.py_buffer(data[starts[0] : ends[-1]])
    else:
        view = data.data
        pieces = [view[start:end] for start, end in zip(starts.tolist(), ends.tolist(), strict=True)]
        offsets = np.concatenate(([0], np.cumsum(ends - starts, dtype=np.int64)))
        content = pa.py_buffer(b"".join(pieces))
    return pa.LargeStringArray.from_buffers(len(starts), pa.py_buffer(offsets.astype(np.int64)), content)


def _one_array(column: pa.ChunkedArray[Any] | pa.Array[Any]) -> pa.Array[Any]:
    if not isinstance(column, pa.ChunkedArray):
        return column
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def _is_list(kind: pa.DataType) -> bool:
    kinds = pa.types
    return bool(kinds.is_list(kind) or kinds.is_large_list(kind) or kinds.is_fixed_size_list(kind))


def _as_large_string(array: pa.Array[Any]) -> pa.Array[Any]:
    if array.type == TEXT_TYPE:
        return array
    kind = array.type.value_type if pa.types.is_dictionary(array.type) else array.type
    if not (
        pa.types.is_string(kind)
        or pa.types.is_large_string(kind)
        or pa.types.is_string_view(kind)
        or pa.types.is_null(kind)
    ):
        raise TypeError(
            f"the text column has type {array.type}; documents need strings or lists of strings, so cast it"
        )
    return array.cast(TEXT_TYPE)


def _string_buffers(array: pa.Array[Any]) -> tuple[npt.NDArray[np.uint8], Positions]:
    if array.null_count:
        array = pc.fill_null(array, "")
    _, offset_buffer, data_buffer = array.buffers()
    if not len(array) or data_buffer is None:
        return np.zeros(0, np.uint8), np.zeros(len(array) + 1, np.int64)
    offsets = np.frombuffer(offset_buffer, np.int64, len(array) + 1, array.offset * 8)
    first, last = int(offsets[0]), int(offsets[-1])
    data = np.frombuffer(data_buffer, np.uint8, last - first, first) if last > first else np.zeros(0, np.uint8)
    return data, offsets if first == 0 else offsets - first
