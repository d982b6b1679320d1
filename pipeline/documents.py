"""Columns of any source -> document tables and failures. Pure: no Beam, no files."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from pipeline.conversion import Converted
from pipeline.limits import MAX_LINE_BYTES
from pipeline.schemas import FAILURE_SCHEMA, PARTS_TYPE, document_schema

MiB = 1 << 20
_LONGEST_MESSAGE = 1000
_MOST_FAILURES = 10_000
SURROGATES = re.compile("[\ud800-\udfff]")
"""What stands in a `str` for bytes that are no text, and cannot be written as UTF-8."""

Scope = Literal["document", "row_group", "file"]
Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True)
class DocumentColumns:
    """Which columns of the input make a document.

    Attributes:
        text: Column with the text, or with a list of texts (a document in parts).
        id: Column with the document's id. Without one, and where it is null, ids are `path#number`.
        metadata: Columns that travel with the document, each with the one type it has in every table.
        binary_text: Whether a text column of type binary is taken as UTF-8.

    Raises:
        ValueError: If a metadata column has the name of a chunk column, or is named twice.
    """

    text: str = "text"
    id: str | None = None
    metadata: pa.Schema = field(default_factory=lambda: pa.schema([]))
    binary_text: bool = False

    def __post_init__(self) -> None:
        document_schema(self.metadata)

    @property
    def names(self) -> list[str]:
        """Every column that is read, once."""
        own = [self.text] if self.id is None else [self.text, self.id]
        return list(dict.fromkeys([*own, *self.metadata.names]))


@dataclass(frozen=True)
class ReadOptions:
    """How files are read.

    Attributes:
        columns: Which columns make a document.
        verify_checksums: Whether the page checksums of Parquet files are checked.
        max_line_bytes: A longer JSON line or text file fails, that one alone; of CSV records, one of a quarter of it.
        batch_bytes: Document tables hold about this many bytes; a single larger document is a table of its
            own.
        split_bytes: Large files are read in units of about this many bytes.

    Raises:
        ValueError: If a number is less than 1.
    """

    columns: DocumentColumns = field(default_factory=DocumentColumns)
    verify_checksums: bool = False
    max_line_bytes: int = MAX_LINE_BYTES
    batch_bytes: int = 8 * MiB
    split_bytes: int = 64 * MiB

    def __post_init__(self) -> None:
        for name in ("max_line_bytes", "batch_bytes", "split_bytes"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} is {getattr(self, name)}; it must be at least 1 byte")


@dataclass(frozen=True)
class Failure:
    """A document, row group or file that could not be read: a row of the failure table.

    Attributes:
        source: The file.
        position: Where in the file, such as "row group 0, row 12" or "line 2, byte 17"; "" for all of it.
        error: The error's type.
        message: What is wrong, in words.
        doc_id: The document's id, where it is known.
        scope: What is lost: one document, the rest of a row group, or the rest of a file.
    """

    source: str
    position: str
    error: str
    message: str
    doc_id: str | None = None
    scope: Scope = "document"

    @classmethod
    def of(
        cls,
        error: BaseException,
        source: str,
        position: str = "",
        *,
        scope: Scope = "file",
        context: str = "",
    ) -> Failure:
        """The failure that an exception stands for; `context` leads the message."""
        words = str(error.args[0]) if isinstance(error, KeyError) and error.args else str(error)
        return cls(source, position, type(error).__name__, context + (words or "no further reason"), scope=scope)


class ReadBatch(NamedTuple):
    """What came out of a piece of a file.

    Attributes:
        documents: A document table, or None.
        failures: What could not be read.
        notes: Counts of what was mended on the way, by counter name.
    """

    documents: pa.Table | None = None
    failures: tuple[Failure, ...] = ()
    notes: Mapping[str, int] = {}

    @property
    def documents_read(self) -> int:
        """How many documents were recognised: the good ones, and those that failed on their own."""
        good = self.documents.num_rows if self.documents is not None else 0
        return good + sum(failure.scope == "document" for failure in self.failures)


@dataclass(frozen=True)
class Places:
    """Where the rows of a batch stand: number i identifies row i in its file, position i says it in words."""

    source: str
    numbers: Numbers
    positions: pa.Array[Any]

    def take(self, rows: Sequence[int]) -> Places:
        """The places of some of the rows."""
        return Places(self.source, self.numbers[rows], self.positions.take(pa.array(rows, pa.int64())))

    def ids(self) -> pa.Array[Any]:
        """Document ids made of path and number."""
        return join_text(printable(self.source) + "#", self.numbers)

    def fail(self, row: int, error: BaseException, doc_id: str | None, context: str = "") -> Failure:
        """The failure of one row."""
        position = self.positions[row].as_py()
        failure = Failure.of(error, self.source, position, scope="document", context=context)
        return replace(failure, doc_id=doc_id)


def join_text(*pieces: str | Numbers) -> pa.Array[Any]:
    """Strings made of constant pieces and numbers, one for each number.

    Example:
        >>> join_text("line ", np.array([1, 2]), ", byte ", np.array([0, 17])).to_pylist()
        ['line 1, byte 0', 'line 2, byte 17']
    """
    columns = [piece if isinstance(piece, str) else pa.array(piece).cast(pa.string()) for piece in pieces]
    return pc.binary_join_element_wise(*columns, "")


def printable(text: str) -> str:
    r"""The text as valid Unicode: file names may hold bytes that are none.

    Example:
        >>> printable("caf\udce9")
        'caf�'
    """
    return SURROGATES.sub("\ufffd", text)


def assemble(
    columns: DocumentColumns,
    places: Places,
    text: Converted,
    ids: Converted | None,
    metadata: Sequence[Converted],
) -> ReadBatch:
    """The documents of a batch whose columns are converted, and the failures of the other rows.

    Args:
        columns: Which columns these are.
        places: Where the rows stand.
        text: Large strings, or large lists of them.
        ids: Strings; null where the row has no id. None: no row has one.
        metadata: Arrays of the types that `columns` gives.

    Returns:
        A batch in which every row is either a document or a failure. Its notes count `ids_from_position`,
        the rows whose id was null although there is an id column.
    """
    doc_ids = _doc_ids(ids, places)
    errors = _first_errors(columns, text, ids, metadata)
    schema = document_schema(columns.metadata, parts=text.array.type == PARTS_TYPE)
    source = pa.repeat(printable(places.source), len(doc_ids))
    arrays = [doc_ids, source, places.positions, text.array, *(column.array for column in metadata)]
    table = pa.Table.from_arrays(arrays, schema=schema)
    without_id = ids.array.null_count - len(ids.errors) if ids and columns.id is not None else 0
    notes = {"ids_from_position": without_id} if without_id else {}
    if not errors:
        return ReadBatch(table, (), notes)
    known = doc_ids if columns.id is None or ids is None else ids.array
    failures = tuple(
        places.fail(row, error, known[row].as_py(), f"column {name!r}: ")
        for row, (name, error) in sorted(errors.items())
    )
    good = np.ones(len(doc_ids), bool)
    good[list(errors)] = False
    return ReadBatch(table.filter(pa.array(good)), failures, notes)


def _doc_ids(ids: Converted | None, places: Places) -> pa.Array[Any]:
    if ids is None:
        return places.ids()
    return pc.coalesce(ids.array, places.ids()) if ids.array.null_count else ids.array


def _first_errors(
    columns: DocumentColumns, text: Converted, ids: Converted | None, metadata: Sequence[Converted]
) -> dict[int, tuple[str, Exception]]:
    """By row: the first column that failed there, and why."""
    named = [(columns.text, text), *zip(columns.metadata.names, metadata, strict=True)]
    if ids is not None and columns.id is not None:
        named.insert(1, (columns.id, ids))
    errors: dict[int, tuple[str, Exception]] = {}
    for name, converted in named:
        for row, error in converted.errors.items():
            errors.setdefault(row, (name, error))
    return errors


def failure_table(failures: Iterable[Failure], stage: str = "read") -> pa.Table:
    """Failures as a table of `FAILURE_SCHEMA`. Messages are cut after 1,000 characters."""
    rows = [
        (
            printable(failure.source),
            failure.position,
            failure.doc_id,
            stage,
            failure.error,
            printable(failure.message[:_LONGEST_MESSAGE]),
        )
        for failure in failures
    ]
    columns = zip(*rows, strict=True) if rows else [()] * len(FAILURE_SCHEMA)
    arrays = [pa.array(values, kind) for values, kind in zip(columns, FAILURE_SCHEMA.types, strict=True)]
    return pa.Table.from_arrays(arrays, schema=FAILURE_SCHEMA)


def rebatch(batches: Iterable[ReadBatch], batch_bytes: int) -> Iterator[ReadBatch]:
    """The same documents and failures in tables of about `batch_bytes`, each contiguous in memory.

    Plain documents and documents in parts stay in tables of their own.
    """
    waiting: dict[pa.Schema, _Waiting] = {}
    failures: list[Failure] = []
    for batch in batches:
        failures += batch.failures
        if batch.notes or len(failures) >= _MOST_FAILURES:
            yield ReadBatch(None, tuple(failures), batch.notes)
            failures = []
        if batch.documents is not None and batch.documents.num_rows:
            tables = waiting.setdefault(batch.documents.schema, _Waiting(batch_bytes))
            yield from map(ReadBatch, tables.add(batch.documents))
    for tables in waiting.values():
        yield from map(ReadBatch, tables.give())
    if failures:
        yield ReadBatch(None, tuple(failures))


class _Waiting:
    """Tables that are joined before they reach a size."""

    def __init__(self, most_bytes: int) -> None:
        self._most_bytes = most_bytes
        self._tables: list[pa.Table] = []
        self._bytes = 0

    def add(self, table: pa.Table) -> Iterator[pa.Table]:
        """Tables that are complete now that another one comes."""
        size = table.nbytes
        if self._bytes + size > self._most_bytes:
            yield from self.give()
        if size > self._most_bytes:
            yield from _halves(table, self._most_bytes)
        else:
            self._tables.append(table)
            self._bytes += size

    def give(self) -> Iterator[pa.Table]:
        """What waits, as one table, if there is anything."""
        tables, self._tables, self._bytes = self._tables, [], 0
        if tables:
            yield pa.concat_tables(tables).combine_chunks() if len(tables) > 1 else tables[0]


def _halves(table: pa.Table, batch_bytes: int) -> Iterator[pa.Table]:
    if table.num_rows <= 1 or table.nbytes <= batch_bytes:
        yield table
        return
    middle = table.num_rows // 2
    yield from _halves(table.slice(0, middle), batch_bytes)
    yield from _halves(table.slice(middle), batch_bytes)
