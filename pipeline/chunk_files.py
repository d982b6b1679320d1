"""Finished chunk files -> tables, a block of rows at a time. Reads what `shard_files` wrote; no Beam."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Protocol

import orjson
import pyarrow as pa
import pyarrow.parquet as pq

from pipeline import folders

_LINES = 1 << 14


class ChunkFile(Protocol):
    """A chunk file, open for reading."""

    schema: pa.Schema | None

    def __len__(self) -> int:
        """How many blocks of rows there are."""

    def read(self, block: int, columns: Sequence[str] | None = None) -> pa.Table:
        """The rows of a block, or some columns of them."""


class ParquetChunks:
    """A Parquet file; its blocks are the row groups."""

    def __init__(self, path: str) -> None:
        self._file = pq.ParquetFile(folders.open_file(path))
        self.schema = self._file.schema_arrow

    def __len__(self) -> int:
        return int(self._file.num_row_groups)

    def read(self, block: int, columns: Sequence[str] | None = None) -> pa.Table:
        """See `ChunkFile`."""
        return self._file.read_row_group(block, columns=None if columns is None else list(columns))


class ArrowChunks:
    """An Arrow IPC file; its blocks are the record batches."""

    def __init__(self, path: str) -> None:
        self._file = pa.ipc.open_file(folders.open_file(path))
        self.schema = self._file.schema

    def __len__(self) -> int:
        return int(self._file.num_record_batches)

    def read(self, block: int, columns: Sequence[str] | None = None) -> pa.Table:
        """See `ChunkFile`."""
        table = pa.Table.from_batches([self._file.get_batch(block)])
        return table if columns is None else table.select(list(columns))


class JsonLinesChunks:
    """A JSON Lines file; its blocks are runs of lines. It has no schema."""

    schema = None

    def __init__(self, path: str) -> None:
        self._path = path
        self._starts = [start for start, _ in self._runs()]

    def __len__(self) -> int:
        return len(self._starts)

    def read(self, block: int, columns: Sequence[str] | None = None) -> pa.Table:
        """See `ChunkFile`."""
        with folders.open_file(self._path) as file:
            file.seek(self._starts[block])
            rows = [orjson.loads(line) for line, _ in zip(file, range(_LINES), strict=False)]
        names = columns or list(rows[0])
        return pa.table({name: [row[name] for row in rows] for name in names})

    def _runs(self) -> Iterator[tuple[int, Any]]:
        position = 0
        with folders.open_file(self._path) as file:
            for number, line in enumerate(file):
                if number % _LINES == 0:
                    yield position, line
                position += len(line)


def open_chunk_file(path: str) -> ChunkFile:
    """A chunk file by the ending of its name.

    Raises:
        ValueError: If the ending is none of those that chunk files have, or the file is damaged.
    """
    kinds: dict[str, type[ParquetChunks | ArrowChunks | JsonLinesChunks]] = {
        "parquet": ParquetChunks,
        "arrow": ArrowChunks,
        "jsonl": JsonLinesChunks,
    }
    ending = path.rpartition(".")[2]
    if ending not in kinds:
        raise ValueError(f"{path!r} is no chunk file: those end in {', '.join(kinds)}")
    return kinds[ending](path)
