"""Arrow IPC files and streams (also Feather) -> document tables. No Beam."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from pipeline.documents import DocumentColumns, Failure, Places, ReadBatch, ReadOptions, join_text
from pipeline.parquet_files import check_columns, documents_from_batch

FILE_MAGIC = b"ARROW1"


def read_arrow(file: Any, path: str, options: ReadOptions) -> Iterator[ReadBatch]:
    """The documents of an Arrow IPC file or stream, a record batch at a time.

    A record batch is held whole. From a batch that cannot be read on, the file is lost:
    nobody knows how many rows the batch had, so later rows would be misnumbered.

    Args:
        file: A binary file; seekable for the file format.
        path: Its name, for ids and failures.
        options: How to read.

    Raises:
        KeyError, TypeError: As `check_columns`.
        OSError, ValueError: If the file is neither.
    """
    batch_number = row = 0
    try:
        for batch in _batches(file, options.columns):
            rows = np.arange(batch.num_rows)
            places = Places(path, row + rows, join_text(f"record batch {batch_number}, row ", rows))
            yield documents_from_batch(batch, options.columns, places)
            batch_number, row = batch_number + 1, row + batch.num_rows
    except (pa.ArrowException, OSError, EOFError) as error:
        lost = "the file is lost from here on: "
        failure = Failure.of(error, path, f"record batch {batch_number}", context=lost)
        yield ReadBatch(failures=(failure,))


def arrow_schema(file: Any) -> pa.Schema:
    """The columns of an Arrow IPC file or stream.

    Raises:
        OSError, ValueError: If it is neither.
    """
    return _open(file).schema


def _batches(file: Any, columns: DocumentColumns) -> Iterator[pa.RecordBatch]:
    reader = _open(file)
    check_columns(reader.schema, columns)
    in_file = isinstance(reader, pa.ipc.RecordBatchFileReader)
    for batch in map(reader.get_batch, range(reader.num_record_batches)) if in_file else reader:
        wanted = batch.select([name for name in batch.schema.names if name in columns.names])
        _check_structure(wanted)
        yield wanted


def _open(file: Any) -> Any:
    if not file.seekable():  # compressed as a whole: only a stream can be read front to back
        return pa.ipc.open_stream(file)
    file.seek(0)
    is_file = file.read(len(FILE_MAGIC)) == FILE_MAGIC
    file.seek(0)
    return pa.ipc.open_file(file) if is_file else pa.ipc.open_stream(file)


def _check_structure(batch: pa.RecordBatch) -> None:
    """Whether offsets and indices stay inside their buffers; invalid UTF-8 is left to the rows.

    Raises:
        ArrowInvalid: If they do not.
    """
    try:
        batch.validate(full=True)
    except pa.ArrowInvalid as error:
        if "UTF8" not in str(error):
            raise
