"""Tables -> the bytes of one file: Parquet, Arrow IPC or JSON Lines. No Beam; the caller opens the file."""

from __future__ import annotations

import base64
import io
from collections.abc import Callable, Iterable
from typing import Any, Literal, Protocol, cast, get_args

import orjson
import pyarrow as pa
import pyarrow.parquet as pq

from pipeline.json_types import json_table, temporal_as_text
from pipeline.schemas import TEXT

Format = Literal["parquet", "arrow", "jsonl"]
FORMATS: tuple[Format, ...] = get_args(Format)

ROW_GROUP_ROWS = 1 << 17
ROW_GROUP_BYTES = 32 << 20
"""A row group is written when its rows, or their bytes in memory, reach one of these."""

_JSON_ROWS = 1 << 13
_JSON_OPTIONS = orjson.OPT_APPEND_NEWLINE | orjson.OPT_NON_STR_KEYS

# Of these columns every value is its own: a dictionary would be built only to be thrown away.
_UNIQUE = frozenset({"chunk_id", "start", "end", TEXT, "text_hash", "message"})


class ByteSink(Protocol):
    """The part of a binary file that is written to."""

    def write(self, data: Any, /) -> Any: ...  # noqa: D102


class ShardFile(Protocol):
    """A file that is being written."""

    def write(self, table: pa.Table) -> None:
        """Append the table's rows."""

    def close(self) -> None:
        """Write what is still held back, and the footer; the sink itself stays open."""


class ParquetShard:
    """Parquet with zstd, in row groups that readers like: not one per table, and not one for all."""

    def __init__(self, sink: ByteSink, schema: pa.Schema) -> None:
        names = schema.names
        self._schema = schema
        self._writer = pq.ParquetWriter(
            sink,
            schema,
            compression="zstd",
            use_dictionary=[name for name in names if name not in _UNIQUE],
            write_statistics=[name for name in names if name not in (TEXT, "message")],
        )
        self._held: list[pa.Table] = []
        self._held_rows = self._held_bytes = 0

    def write(self, table: pa.Table) -> None:
        """Append the table's rows; they reach the file with their row group."""
        self._held.append(table)
        self._held_rows += table.num_rows
        self._held_bytes += table.nbytes
        if self._held_rows >= ROW_GROUP_ROWS or self._held_bytes >= ROW_GROUP_BYTES:
            self._flush()

    def close(self) -> None:
        """Write the last row group and the footer."""
        self._flush()
        self._writer.close()

    def _flush(self) -> None:
        if self._held_rows:
            self._writer.write_table(pa.concat_tables(self._held), row_group_size=self._held_rows)
        self._held = []
        self._held_rows = self._held_bytes = 0


class ArrowShard:
    """An Arrow IPC file (Feather 2) with zstd."""

    def __init__(self, sink: ByteSink, schema: pa.Schema) -> None:
        options = pa.ipc.IpcWriteOptions(compression="zstd")
        self._writer = pa.ipc.new_file(sink, schema, options=options)

    def write(self, table: pa.Table) -> None:
        """Append the table's rows."""
        self._writer.write_table(table)

    def close(self) -> None:
        """Write the footer."""
        self._writer.close()


class JsonLinesShard:
    """A JSON object a row. What JSON cannot say: times as ISO 8601, bytes as base64, the rest as `str`.

    What Python cannot say either is written as `json_table` gives it.
    """

    def __init__(self, sink: ByteSink, schema: pa.Schema) -> None:
        del schema  # an object a row needs none
        self._sink = sink

    def write(self, table: pa.Table) -> None:
        """Append the table's rows."""
        table = json_table(table)
        for start in range(0, table.num_rows, _JSON_ROWS):
            self._sink.write(b"".join(map(json_line, _rows(table.slice(start, _JSON_ROWS)))))

    def close(self) -> None:
        """Nothing is held back."""


def _rows(table: pa.Table) -> list[dict[str, Any]]:
    try:
        return cast(list[dict[str, Any]], table.to_pylist())
    except (ValueError, OverflowError):  # a date that Python has no value for
        return cast(list[dict[str, Any]], temporal_as_text(table).to_pylist())


_SHARDS: dict[str, Callable[[ByteSink, pa.Schema], ShardFile]] = {
    "parquet": ParquetShard,
    "arrow": ArrowShard,
    "jsonl": JsonLinesShard,
}


def open_shard(sink: ByteSink, schema: pa.Schema, file_format: Format) -> ShardFile:
    """A file of that format, written to the sink.

    Args:
        sink: An open binary file.
        schema: The schema of all tables that will be written.
        file_format: `parquet`, `arrow` or `jsonl`, which is also the ending of the file's name.
    """
    return _SHARDS[file_format](sink, schema)


def check_format(file_format: str) -> Format:
    """The format itself, if there is such a one.

    Raises:
        ValueError: If there is not.
    """
    for known in FORMATS:
        if known == file_format:
            return known
    raise ValueError(f"format must be one of {', '.join(map(repr, FORMATS))}, got {file_format!r}")


def check_storable(fields: Iterable[pa.Field[Any]], file_format: str) -> None:
    """Make sure that files of a format can hold columns, before there is anything to write.

    Raises:
        ValueError: If they cannot hold one; the message names it.

    Example:
        >>> check_storable([pa.field("n", pa.int64())], "parquet")
    """
    for field in fields:
        try:
            open_shard(io.BytesIO(), pa.schema([field]), check_format(file_format)).close()
        except pa.ArrowException as error:
            raise ValueError(
                f"metadata_columns: {field.name!r} has the type {field.type}, which {file_format} files cannot hold; "
                "leave it out, or write files of another format (arrow, jsonl)"
            ) from error


def json_line(row: dict[str, Any]) -> bytes:
    r"""One row as a line of JSON.

    Example:
        >>> json_line({"start": 0, "text": "é"}).decode()
        '{"start":0,"text":"é"}\n'
    """
    return orjson.dumps(row, default=_plain, option=_JSON_OPTIONS)


def _plain(value: object) -> str:
    return base64.b64encode(value).decode() if isinstance(value, bytes) else str(value)
