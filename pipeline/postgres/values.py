"""Columns of chunk tables -> the values that the driver sends.

U+0000 is the one character that Postgres does not store. In what is sent it becomes U+2400, the picture of it:
one character for one, so that every length and offset stays as it is.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import orjson
import pyarrow as pa
import pyarrow.compute as pc
from psycopg.types.json import Jsonb

from pipeline.postgres.column_types import arrow_type, base_type
from pipeline.postgres.layout import EMBEDDING, METADATA, Column, TableLayout

NUL = "\0"
NUL_PICTURE = "\u2400"
LONGEST_ID = 2000
"""Most UTF-8 bytes of a document's id: the longest that surely fits into an index."""


def driver_types(layout: TableLayout) -> list[str]:
    """For each column the type that its values are sent as; vectors go as bytes that are one already."""
    return ["bytea" if column.source == EMBEDDING else base_type(column.type) for column in layout.all_columns]


def column_values(layout: TableLayout, table: pa.Table) -> list[Sequence[Any]]:
    """The values of each column of the layout, in its order.

    Args:
        layout: The table that they are for, with the types that its columns have.
        table: Chunk rows; without a column of vectors, those are null.

    Raises:
        pa.ArrowInvalid: If a value cannot have the type of its column.
        ValueError: The same, or the vectors have another length than the column.
    """
    return [_values(layout, column, table) for column in layout.all_columns]


def vectors_of(column: pa.ChunkedArray | pa.Array) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.bool_]]:
    """The rows of a column of vectors as one matrix, and which rows have one.

    Raises:
        ValueError: If the vectors have different lengths.
    """
    array = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    there = array.is_valid().to_numpy(zero_copy_only=False)
    items = array.drop_null().flatten().to_numpy(zero_copy_only=False).astype(np.float32, copy=False)
    count = int(there.sum())
    if count and len(items) % count:
        raise ValueError(f"{count} vectors hold {len(items)} numbers: they differ in length")
    return items.reshape(count, len(items) // max(count, 1)), there


def _values(layout: TableLayout, column: Column, table: pa.Table) -> Sequence[Any]:
    if column.source == EMBEDDING:
        return _vectors(table, layout.dimension or 0)
    if column.source == METADATA and layout.metadata_as == "jsonb":
        return [_json(row) for row in table.select(list(layout.metadata_names)).to_pylist()]
    return _plain(table.column(column.source), column.type)


def _vectors(table: pa.Table, dimension: int) -> Sequence[bytes | None]:
    """Vectors as pgvector reads them: the length, a zero, and the numbers, all big-endian."""
    if EMBEDDING not in table.column_names:
        return [None] * table.num_rows
    matrix, there = vectors_of(table.column(EMBEDDING))
    if len(matrix) and matrix.shape[1] != dimension:
        raise ValueError(f"the vectors have {matrix.shape[1]} numbers, and the column takes {dimension}")
    head = dimension.to_bytes(2, "big") + b"\0\0"
    encoded = iter(matrix.astype(">f4"))
    return [head + next(encoded).tobytes() if has else None for has in there.tolist()]


def _plain(column: pa.ChunkedArray, kind: str) -> Sequence[Any]:
    wanted = arrow_type(kind)
    if wanted is not None and column.type != wanted:
        column = _cast(column, wanted)
    convert = _CONVERSIONS.get(base_type(kind))
    if convert is not None:
        return [None if value is None else convert(value) for value in column.to_pylist()]
    if _holds_text(column.type):
        return _without_nul(column).to_pylist()  # type: ignore[no-any-return]
    values = column.to_pylist()
    return list(map(_clean, values)) if pa.types.is_nested(column.type) else values


def _cast(column: pa.ChunkedArray, wanted: pa.DataType) -> pa.ChunkedArray:
    if pa.types.is_timestamp(wanted) and pa.types.is_timestamp(column.type):
        return column.cast(wanted, safe=False)  # Postgres keeps microseconds
    return column.cast(wanted)


def _holds_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _without_nul(column: pa.ChunkedArray) -> pa.ChunkedArray:
    if not pc.any(pc.match_substring(column, NUL)).as_py():
        return column
    return pc.replace_substring(column, NUL, NUL_PICTURE)


def _clean(value: Any) -> Any:
    """The value with U+0000 replaced, however deep it stands."""
    if isinstance(value, str):
        return value.replace(NUL, NUL_PICTURE)
    if isinstance(value, list):
        return [_clean(item) for item in value]
    if isinstance(value, dict):
        return {_clean(key): _clean(item) for key, item in value.items()}
    return value


def _json(value: Any) -> Jsonb:
    """A value as jsonb; text that is JSON already, as nested columns of JSON Lines arrive, as what it says."""
    return Jsonb(_clean(orjson.loads(value) if isinstance(value, str) else value), dumps=_dumps)


def _dumps(value: Any) -> bytes:
    return orjson.dumps(value, default=str, option=orjson.OPT_NON_STR_KEYS)


_CONVERSIONS: dict[str, Callable[[Any], Any]] = {"jsonb": _json, "uuid": uuid.UUID}
