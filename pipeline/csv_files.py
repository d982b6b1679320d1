"""CSV and TSV files -> document tables: a record is a document, and a bad record fails alone. No Beam."""

from __future__ import annotations

import codecs
import csv
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from pipeline.conversion import Converted, typed_rows
from pipeline.documents import Failure, MiB, Places, ReadBatch, ReadOptions, assemble, join_text
from pipeline.lines import LineSplitter, LongLine
from pipeline.parquet_files import check_columns
from pipeline.plain_types import is_string
from pipeline.schemas import TEXT_TYPE

_BATCH_CHARACTERS = MiB
_BATCH_ROWS = 16_384
_TOO_LARGE = "field larger than field limit"  # in the csv module's words
_LIMIT_SHARE = 4  # Python's csv module holds a field at four bytes a character


def read_csv(blocks: Iterable[bytes], path: str, options: ReadOptions, delimiter: str = ",") -> Iterator[ReadBatch]:
    """The documents of a CSV file whose first record names the columns.

    Fields may be quoted with `"` and then hold line ends. Every field is a string, until metadata columns
    are cast to their types (an empty field is null there). Records are counted from 0, blank lines left
    out.

    Args:
        blocks: The file's bytes, in UTF-8.
        path: Its name, for ids and failures.
        options: How to read; a quarter of `max_line_bytes` bounds a line and a field.
        delimiter: What stands between fields.

    Raises:
        ValueError: If there is no header.
        KeyError: If the header has no text column, or a wanted column twice.
    """
    records = _Records(blocks, options, delimiter)
    check_columns(_schema(records.header), options.columns)
    rows = _Rows(records.header, path, options)
    for number, line, record in records:
        rows.add(number, line, record)
        if rows.full:
            yield rows.batch()
            rows = _Rows(records.header, path, options)
    yield rows.batch()


def csv_schema(blocks: Iterable[bytes], options: ReadOptions, delimiter: str = ",") -> pa.Schema:
    """The columns of a CSV file, all of them strings.

    Raises:
        ValueError: If there is no header.
    """
    return _schema(_Records(blocks, options, delimiter).header)


def _schema(header: list[str]) -> pa.Schema:
    return pa.schema([(name, pa.string()) for name in header])


class _TextLines:
    """The lines as text, with their ends; bytes that are no UTF-8 are kept as lone surrogates.

    An iterator that goes on after an error, as a generator would not.
    """

    def __init__(self, blocks: Iterable[bytes], max_line_bytes: int) -> None:
        self._lines = self._raw(LineSplitter(blocks, max_line_bytes))
        self._limit = max_line_bytes
        self._last = ""
        self.count = 0

    def __iter__(self) -> _TextLines:
        return self

    def __next__(self) -> str:
        line = next(self._lines)
        self.count += 1
        if isinstance(line, LongLine):
            raise csv.Error(
                f"the line has {len(line)} bytes; at most {self._limit} are read (of CSV a quarter of max_line_bytes)"
            )
        self._last = str(line, "utf-8", "surrogateescape") + "\n"
        return self._last

    def leave_quotes(self) -> None:
        """Go on behind the line that ends the quoted field which the last line is a part of."""
        while self._last.count('"') % 2 == 0:
            try:
                next(self)
            except (csv.Error, StopIteration):
                return

    @staticmethod
    def _raw(splitter: LineSplitter) -> Iterator[Any]:
        for lines in splitter:
            if lines.byte == 0 and not isinstance(lines.lines[0], LongLine):
                lines.lines[0] = lines.lines[0].removeprefix(codecs.BOM_UTF8)
            yield from lines.lines


class _Records:
    """The records of a CSV file after its header: number, last line, and the fields or why there are none.

    Raises:
        ValueError: If there is no header.
    """

    def __init__(self, blocks: Iterable[bytes], options: ReadOptions, delimiter: str) -> None:
        limit = max(1, options.max_line_bytes // _LIMIT_SHARE)
        csv.field_size_limit(int(max(csv.field_size_limit(), min(limit, 2**31 - 1))))
        self._lines = _TextLines(blocks, limit)
        self._reader = csv.reader(self._lines, delimiter=delimiter, strict=True)
        self.header: list[str] = next(self._reader, [])
        if not self.header:
            raise ValueError("the file is empty; a CSV file begins with a line that names its columns")

    def __iter__(self) -> Iterator[tuple[int, int, list[str] | Exception]]:
        number = 0
        while (record := self._next()) is not None:
            if record:
                yield number, self._lines.count, record
                number += 1

    def _next(self) -> list[str] | Exception | None:
        try:
            return next(self._reader, None)
        except csv.Error as error:
            if _TOO_LARGE not in str(error):
                return error
            self._lines.leave_quotes()  # a field is longer than any line only where it goes over several
            return csv.Error(f"{error}: a quarter of max_line_bytes")


@dataclass
class _Rows:
    """Records gathered for a table."""

    header: list[str]
    path: str
    options: ReadOptions
    numbers: list[int] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)
    records: list[list[str]] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)
    characters: int = 0

    @property
    def full(self) -> bool:
        return self.characters >= _BATCH_CHARACTERS or len(self.records) + len(self.failures) >= _BATCH_ROWS

    def add(self, number: int, line: int, record: list[str] | Exception) -> None:
        error = record if isinstance(record, Exception) else _record_error(record, len(self.header))
        if error is None and isinstance(record, list):
            self.numbers.append(number)
            self.lines.append(line)
            self.records.append(record)
            self.characters += sum(map(len, record))
        elif error is not None:
            place = Places(self.path, np.array([number]), pa.array([f"row {number}, line {line}"]))
            doc_id = place.ids()[0].as_py() if self.options.columns.id is None else None
            self.failures.append(place.fail(0, error, doc_id))

    def batch(self) -> ReadBatch:
        columns = self.options.columns
        numbers = np.array(self.numbers, np.int64)
        positions = join_text("row ", numbers, ", line ", np.array(self.lines, np.int64))
        good = assemble(
            columns,
            Places(self.path, numbers, positions),
            Converted(self._column(columns.text, TEXT_TYPE), {}),
            None if columns.id is None else Converted(self._column(columns.id, pa.string()), {}),
            [self._typed(wanted) for wanted in columns.metadata],
        )
        return good._replace(failures=(*self.failures, *good.failures))

    def _column(self, name: str, kind: pa.DataType) -> pa.Array[Any]:
        if name not in self.header:
            return pa.nulls(len(self.records), kind)
        index = self.header.index(name)
        return pa.array([record[index] for record in self.records], kind)

    def _typed(self, wanted: pa.Field[Any]) -> Converted:
        if is_string(wanted.type) or wanted.name not in self.header:
            return Converted(self._column(wanted.name, wanted.type), {})
        index = self.header.index(wanted.name)
        values = [record[index] or None for record in self.records]
        return typed_rows(pa.array(values, pa.string()), wanted.type)


def _record_error(record: list[str], fields: int) -> Exception | None:
    if len(record) != fields:
        return ValueError(f"the record has {len(record)} fields, the header {fields}")
    try:
        "".join(record).encode()
    except UnicodeEncodeError:
        return ValueError("the record is not UTF-8")
    return None
