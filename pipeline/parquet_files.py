"""Parquet files -> document tables, in bounded memory whatever the size of a row group. No Beam."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from pipeline.conversion import check_id_type, check_text_type, id_rows, text_rows, typed_rows
from pipeline.documents import (
    DocumentColumns,
    Failure,
    MiB,
    Places,
    ReadBatch,
    ReadOptions,
    assemble,
    join_text,
)
from pipeline.plain_types import is_list

_STREAM_BYTES = MiB
"""Column chunks are streamed through buffers of this size rather than loaded whole."""
_TARGET_BYTES = MiB
_MOST_ROWS = 16_384
_FIRST_ROWS = 16
_GROWTH = 8
"""Rows are decoded in steps of about a MiB, found by watching the steps before; a step is at most eight
times as many rows as the last, so that documents which grow along a file are noticed in time."""


class RowGroups(NamedTuple):
    """Neighbouring row groups of a file: from `first` to before `end`; the first row's number in the file."""

    first: int
    end: int
    first_row: int


def plan_parquet(file: Any, options: ReadOptions) -> list[RowGroups]:
    """The row groups of a file in runs of about `split_bytes` before compression.

    Raises:
        KeyError: If the file has no text column.
        TypeError: If the text or id column cannot be one.
        OSError, ValueError: If the file is not Parquet, is damaged or is encrypted.
    """
    parquet = _open(file, options)
    check_columns(parquet.schema_arrow, options.columns)
    runs: list[RowGroups] = []
    size = row = 0
    for group in range(parquet.num_row_groups):
        metadata = parquet.metadata.row_group(group)
        if runs and size + metadata.total_byte_size <= options.split_bytes:
            runs[-1] = runs[-1]._replace(end=group + 1)
            size += metadata.total_byte_size
        else:
            runs.append(RowGroups(group, group + 1, row))
            size = metadata.total_byte_size
        row += metadata.num_rows
    return runs


def read_parquet(file: Any, path: str, options: ReadOptions, groups: RowGroups | None = None) -> Iterator[ReadBatch]:
    """The documents of a Parquet file, or of some of its row groups, about a MiB at a time.

    A row group that cannot be decoded is one failure; its rows before the damage are kept. Rows are named
    by their number within the row group, ids count the rows of the file.

    Args:
        file: A seekable binary file.
        path: The file's name, for ids and failures.
        options: How to read.
        groups: Which row groups; None: all.

    Raises:
        Exception: As `plan_parquet`; nothing was read then.
    """
    parquet = _open(file, options)
    check_columns(parquet.schema_arrow, options.columns)
    first, end, row = groups or RowGroups(0, parquet.num_row_groups, 0)
    for group in range(first, end):
        yield from _read_group(parquet, path, options.columns, group, row)
        row += parquet.metadata.row_group(group).num_rows


def parquet_schema(file: Any, options: ReadOptions) -> pa.Schema:
    """The columns of a Parquet file.

    Raises:
        OSError, ValueError: If the file is not Parquet, is damaged or is encrypted.
    """
    return _open(file, options).schema_arrow


def check_columns(schema: pa.Schema, columns: DocumentColumns) -> None:
    """Whether a file's columns can be read as documents. Only the text column must be there.

    Raises:
        KeyError: If there is no text column, or two of a name.
        TypeError: If the text or id column has a type that cannot be one.
    """
    for name in columns.names:
        if len(schema.get_all_field_indices(name)) > 1:
            raise KeyError(f"there are two columns {name!r}; rename one")
    if columns.text not in schema.names:
        raise KeyError(f"there is no column {columns.text!r}; the columns are {', '.join(schema.names)}")
    check_text_type(schema.field(columns.text).type, columns.text, binary_text=columns.binary_text)
    if columns.id is not None and columns.id in schema.names:
        check_id_type(schema.field(columns.id).type, columns.id)


def documents_from_batch(batch: pa.RecordBatch, columns: DocumentColumns, places: Places) -> ReadBatch:
    """The documents and failures of a record batch; an id or metadata column that is not there is null."""

    def column(name: str, kind: pa.DataType) -> pa.Array[Any]:
        return batch.column(name) if name in batch.schema.names else pa.nulls(batch.num_rows, kind)

    return assemble(
        columns,
        places,
        text_rows(batch.column(columns.text), columns.text, binary_text=columns.binary_text),
        None if columns.id is None else id_rows(column(columns.id, pa.string()), columns.id),
        [typed_rows(column(field.name, field.type), field.type) for field in columns.metadata],
    )


def _open(file: Any, options: ReadOptions) -> pq.ParquetFile:
    return pq.ParquetFile(
        file,
        buffer_size=_STREAM_BYTES,
        pre_buffer=False,
        page_checksum_verification=options.verify_checksums,
    )


def _read_group(
    parquet: pq.ParquetFile, path: str, columns: DocumentColumns, group: int, first_row: int
) -> Iterator[ReadBatch]:
    done = 0
    try:
        for batch in _batches(parquet, group, columns.names):
            rows = np.arange(done, done + batch.num_rows)
            places = Places(path, first_row + rows, join_text(f"row group {group}, row ", rows))
            yield documents_from_batch(batch, columns, places)
            done += batch.num_rows
    except Exception as error:  # noqa: BLE001 - whatever the decoder finds wrong is this row group's failure
        lost = f"rows {done} to {parquet.metadata.row_group(group).num_rows - 1} of the row group are lost: "
        failure = Failure.of(error, path, f"row group {group}", scope="row_group", context=lost)
        yield ReadBatch(failures=(failure,))


def _batches(parquet: pq.ParquetFile, group: int, names: list[str]) -> Iterator[pa.RecordBatch]:
    metadata = parquet.metadata.row_group(group)
    rows = _rows_for(_FIRST_ROWS, metadata.total_byte_size / max(metadata.num_rows, 1))
    # Threads would decode columns at once: one column is most of a document, and others have work for the
    # cores.
    for batch in parquet.iter_batches(rows, row_groups=[group], columns=names, use_threads=False):
        yield batch
        rows = _rows_for(min(rows * _GROWTH, _MOST_ROWS), _decoded_bytes(batch) / max(batch.num_rows, 1))
        parquet.reader.set_batch_size(rows)


def _decoded_bytes(batch: pa.RecordBatch) -> float:
    return sum(map(_column_bytes, batch.columns))


def _column_bytes(array: pa.Array[Any]) -> float:
    """Bytes that a column has, or will have once its dictionary, which every batch carries whole, is decoded."""
    if is_list(array.type):
        return _column_bytes(array.flatten())
    if isinstance(array, pa.DictionaryArray):
        return float(len(array) * array.dictionary.nbytes) / max(len(array.dictionary), 1)
    return float(array.nbytes)


def _rows_for(most: int, row_bytes: float) -> int:
    return max(1, min(most, int(_TARGET_BYTES / max(row_bytes, 1))))
