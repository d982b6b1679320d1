"""Formats of input files: known by name, planned into units, read as documents. No Beam."""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import PurePosixPath
from typing import Any, Literal, get_args

import pyarrow as pa

from pipeline.arrow_files import FILE_MAGIC, arrow_schema, read_arrow
from pipeline.column_types import json_schema
from pipeline.compression import Compression, detect_compression, read_blocks
from pipeline.csv_files import csv_schema, read_csv
from pipeline.documents import ReadBatch, ReadOptions
from pipeline.json_files import first_items, read_json, spans_lines
from pipeline.jsonl_files import first_records, read_jsonl
from pipeline.lines import ByteRange, plan_ranges
from pipeline.parquet_files import RowGroups, parquet_schema, plan_parquet, read_parquet
from pipeline.text_files import read_text

Format = Literal["parquet", "jsonl", "csv", "arrow", "text"]

_ENDINGS: dict[str, Format] = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".parq": "parquet",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "jsonl",
    ".csv": "csv",
    ".tsv": "csv",
    ".arrow": "arrow",
    ".arrows": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
    ".txt": "text",
    ".md": "text",
}
_COMPRESSED = (".gz", ".zst", ".zstd")
KNOWN_NAMES = f"*{', *'.join(_ENDINGS)} (.gz and .zst may follow)"
"""The names that tell what a file is, for people."""

_HEAD_BYTES = 8
_SNIFFED_BYTES = 4096
_OTHER_FORMATS = {
    b"PAR1": "a Parquet file",
    b"PARE": "an encrypted Parquet file",
    FILE_MAGIC: "an Arrow file",
}


@dataclass(frozen=True)
class InputFile:
    """A file to read, as it was when it was listed.

    Attributes:
        path: Where it is, for Beam's file systems.
        size: Its bytes.
        modified: When it was last changed, in seconds since 1970; 0.0 where the file system does not say.
        format: What it is; None if its name does not tell.
    """

    path: str
    size: int
    modified: float = 0.0
    format: Format | None = None


@dataclass(frozen=True)
class ReadUnit:
    """A file, or the part of a file, that is read in one go; without a part, all of it."""

    file: InputFile
    part: RowGroups | ByteRange | None = None

    @property
    def position(self) -> str:
        """Where the unit begins, for failures."""
        if isinstance(self.part, RowGroups):
            first, last = self.part.first, self.part.end - 1
            return f"row group {first}" if first == last else f"row groups {first} to {last}"
        return "" if self.part is None else f"line {self.part.first_line}, byte {self.part.start}"


def checked_format(format: str) -> str:  # noqa: A002 - the setting's name everywhere
    """The format setting.

    Raises:
        ValueError: If it is neither "auto" nor a known format.
    """
    if format != "auto" and format not in get_args(Format):
        raise ValueError(f"format is {format!r}; it must be one of auto, {', '.join(get_args(Format))}")
    return format


def detect_format(path: str) -> Format:
    """The format that a file's name says; `.gz` and `.zst` may follow.

    Raises:
        ValueError: If the ending is not known.

    Example:
        >>> detect_format("docs/part-0.jsonl.gz")
        'jsonl'
    """
    name = PurePosixPath(path.replace("\\", "/")).name.lower()
    suffix = PurePosixPath(_stem(name)).suffix
    if suffix not in _ENDINGS:
        raise ValueError(
            f"input_format: what {path!r} is cannot be told from its name; set it to one of "
            f"{', '.join(get_args(Format))}, or name it {KNOWN_NAMES}"
        )
    return _ENDINGS[suffix]


def _stem(name: str) -> str:
    """The file name without an ending that says how it is compressed."""
    for ending in _COMPRESSED:
        name = name.removesuffix(ending)
    return name


def plan_units(handle: Any, file: InputFile, options: ReadOptions) -> list[ReadUnit]:
    """Units of about `split_bytes` that together are the file: row groups, or ranges of lines.

    Args:
        handle: The open file.
        file: What it is.
        options: How it will be read. Compressed and small files, CSV, Arrow and text are one unit.

    Raises:
        Exception: If the file cannot be planned; reading it whole will then say why.
    """
    if file.format == "parquet":
        return [ReadUnit(file, groups) for groups in plan_parquet(handle, options)]
    if file.format == "jsonl" and file.size > options.split_bytes and _has_lines(handle, file):
        return [ReadUnit(file, part) for part in plan_ranges(handle, file.size, options.split_bytes)]
    return [ReadUnit(file)]


def _has_lines(handle: Any, file: InputFile) -> bool:
    """Whether a JSON file is plain and has an object a line, so that it can be cut."""
    if _compression(handle, file) != "none":
        return False
    handle.seek(0)
    return not spans_lines(handle.read(_SNIFFED_BYTES))


def read_unit(handle: Any, unit: ReadUnit, options: ReadOptions) -> Iterator[ReadBatch]:
    """The documents and failures of a unit, in batches of about a MiB.

    Args:
        handle: The open file.
        unit: What to read of it.
        options: How to read.

    Raises:
        Exception: If the unit cannot be read at all; batches may have come before.
    """
    path, part = unit.file.path, unit.part
    if (unit.file.format or detect_format(path)) == "parquet":
        return read_parquet(handle, path, options, part if isinstance(part, RowGroups) else None)
    compression = _compression(handle, unit.file)
    if unit.file.format == "arrow":
        handle.seek(0)
        plain = handle if compression == "none" else pa.CompressedInputStream(handle, compression)
        return read_arrow(plain, path, options)
    if isinstance(part, ByteRange):
        blocks = read_blocks(handle, compression, part.start, part.end)
        return read_jsonl(blocks, path, options, part.first_line, part.start)
    return _read_blocks(read_blocks(handle, compression), unit.file, options)


def _read_blocks(blocks: Iterator[bytes], file: InputFile, options: ReadOptions) -> Iterator[ReadBatch]:
    if file.format == "jsonl":
        head, blocks = _peek(blocks)
        return (read_json if spans_lines(head) else read_jsonl)(blocks, file.path, options)
    if file.format == "csv":
        return read_csv(blocks, file.path, options, _delimiter(file))
    return read_text(blocks, file.path, options)


def _peek(blocks: Iterator[bytes]) -> tuple[bytes, Iterator[bytes]]:
    """The first block, and all blocks. An error in the first is left to whoever reads them."""
    try:
        head = next(blocks, b"")
    except Exception as error:  # noqa: BLE001 - see above
        return b"", map(_raise, [error])
    return head, chain([head], blocks)


def _raise(error: Exception) -> bytes:
    raise error


def _delimiter(file: InputFile) -> str:
    return "\t" if _stem(file.path.lower()).endswith(".tsv") else ","


def _compression(handle: Any, file: InputFile) -> Compression:
    """How a file is compressed, by its first bytes.

    Raises:
        ValueError: If they show that the file is something else than its name or the `format` setting says.
    """
    handle.seek(0)
    head = handle.read(_HEAD_BYTES)
    for magic, what in _OTHER_FORMATS.items():
        if head.startswith(magic) and not (magic == FILE_MAGIC and file.format == "arrow"):
            raise ValueError(f"the file is taken as {file.format}, but is {what} by its first bytes")
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) and file.format != "arrow":
        raise ValueError("the file is UTF-16 by its first bytes; convert it to UTF-8")
    return detect_compression(head)


def sample_schema(handle: Any, file: InputFile, options: ReadOptions) -> pa.Schema:
    """The columns of a file, as its footer, header or first lines show them.

    Raises:
        Exception: If the file cannot be read.
    """
    if (file.format or detect_format(file.path)) == "parquet":
        return parquet_schema(handle, options)
    compression = _compression(handle, file)
    if file.format == "arrow":
        handle.seek(0)
        return arrow_schema(handle if compression == "none" else pa.CompressedInputStream(handle, compression))
    if file.format == "text":
        return pa.schema([(options.columns.text, pa.string())])
    blocks = read_blocks(handle, compression)
    if file.format == "jsonl":
        head, blocks = _peek(blocks)
        return json_schema((first_items if spans_lines(head) else first_records)(blocks, options))
    return csv_schema(blocks, options, _delimiter(file))
