"""Document tables -> chunk tables with ids and hashes; the one place where the core meets Arrow. No Beam."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from llm_splitter import Chunker, TextBatch
from pipeline.chunk_ids import chunk_id_prefixes, chunk_ids
from pipeline.hashing import Digests, hash_slices, hex_strings
from pipeline.schemas import (
    CHUNK_COLUMNS,
    DOC_ID,
    DOC_POSITION,
    DOC_SOURCE,
    DOCUMENT_COLUMNS,
    FAILURE_SCHEMA,
    TEXT,
    chunk_schema,
)
from pipeline.table_ends import End, with_end
from pipeline.text_buffers import Positions, document_text, gather_text

MAX_TABLE_ROWS = 1 << 16
MAX_TABLE_TEXT = 16 << 20
"""Most rows, and most bytes of text, in one chunk table of `ChunkedDocuments.tables` (but always a row)."""


@dataclass(frozen=True)
class ChunkCounts:
    """What happened to the documents of one table: `documents == chunked + empty + failed`.

    Attributes:
        documents: Documents in the table.
        documents_chunked: Documents that have chunks.
        documents_empty: Documents without a chunk: null, empty or blank.
        documents_failed: Documents that the splitter failed on.
        duplicate_ids: Documents whose id an earlier document of this table has. Across tables nobody looks:
            that would need all ids of the corpus in one place.
        chunks: Chunk rows.
        text_bytes: UTF-8 bytes of the documents.
        tokens: Sum of `token_count` over the chunks; tokens in an overlap count twice.
        over_budget_chunks: Chunks of a single character that needs more than `chunk_size` tokens.
    """

    documents: int
    documents_chunked: int
    documents_empty: int
    documents_failed: int
    duplicate_ids: int
    chunks: int
    text_bytes: int
    tokens: int
    over_budget_chunks: int

    def as_dict(self) -> dict[str, int]:
        """The counts by name."""
        return asdict(self)


@dataclass(frozen=True)
class ChunkedTable:
    """The chunk rows and failure rows of one document table, and what was counted."""

    chunks: pa.Table
    failures: pa.Table
    counts: ChunkCounts


def chunk_documents(
    documents: pa.Table,
    chunker: Chunker,
    *,
    include_text: bool = True,
    schema: pa.Schema | None = None,
) -> ChunkedTable:
    """The chunks of a table of documents, in the documents' order, and a row for each failed document.

    Args:
        documents: Columns `doc_id` and `text` (any string type, or lists of strings), and if known `_source`
            and `_position`, for failures; every other column is metadata and is repeated in the chunk rows.
        chunker: Cuts the texts.
        include_text: Whether chunk rows carry their text.
        schema: The schema of the chunks, from `chunk_schema`; metadata columns are cast to it, and those that
            it does not name are left out. Default: made from the table's own metadata columns.

    Raises:
        TypeError: If the text column holds no text.
        KeyError: If a column is missing.

    Example:
        >>> table = pa.table({"doc_id": ["a"], "text": ["one two three"]})
        >>> chunker = Chunker(SplitOptions(chunk_size=2, splitter="words"))
        >>> chunk_documents(table, chunker).chunks.select(["start", "end", "text"]).to_pylist()
        [{'start': 0, 'end': 8, 'text': 'one two '}, {'start': 8, 'end': 13, 'text': 'three'}]
    """
    chunked = ChunkedDocuments(documents, chunker, include_text=include_text, schema=schema)
    return ChunkedTable(chunked.table(), chunked.failures(), chunked.counts())


class ChunkedDocuments:
    """A document table whose chunks are known, and are made into rows piece by piece.

    `tables()` is for those who must not hold all rows at once: with small chunks or large overlaps, rows can
    take a hundred times the memory of their documents. Arguments are those of `chunk_documents`.
    """

    def __init__(
        self,
        documents: pa.Table,
        chunker: Chunker,
        *,
        include_text: bool = True,
        schema: pa.Schema | None = None,
    ) -> None:
        self._documents = documents
        self._text = document_text(documents.column(TEXT))
        self.schema = schema or chunk_schema(chunker, _metadata_fields(documents), include_text=include_text)
        batch = TextBatch.from_buffers(self._text.data, self._text.part_offsets, self._text.doc_parts)
        self.arrays = chunker.chunk(batch, on_error="collect")
        self._scope = chunker.fingerprint

    @property
    def rows(self) -> int:
        """How many chunk rows there are."""
        return len(self.arrays.start)

    def table(self) -> pa.Table:
        """All chunk rows in one table."""
        tables = [self._rows(rows) for rows in self._table_rows()]
        return pa.concat_tables(tables) if tables else self.schema.empty_table()

    def tables(self) -> Iterator[pa.Table]:
        """The chunk rows in order, in tables of at most `MAX_TABLE_ROWS` rows and `MAX_TABLE_TEXT` bytes.

        Each says whether its last document goes on in the next one; see `end_of`.
        """
        for rows in self._table_rows():
            is_whole = rows.stop in self.arrays.doc_offsets
            yield with_end(self._rows(rows), End.DOCUMENT if is_whole else End.PART)

    def _table_rows(self) -> Iterator[slice]:
        first = 0
        text_ends = np.cumsum(self.arrays.byte_end - self.arrays.byte_start)
        while first < self.rows:
            limit = (text_ends[first - 1] if first else 0) + MAX_TABLE_TEXT
            by_text = int(np.searchsorted(text_ends, limit, side="right"))
            last = min(max(by_text, first + 1), first + MAX_TABLE_ROWS)
            yield slice(first, last)
            first = last

    def failures(self) -> pa.Table:
        """A row for each document that the splitter failed on."""
        return chunk_failures(self._documents, self.arrays.errors)

    def empty(self) -> pa.Table:
        """The documents without a chunk that did not fail: `doc_id`, `doc_hash` and the metadata columns."""
        without = np.diff(self.arrays.doc_offsets) == 0
        without[[document for document, _ in self.arrays.errors]] = False
        rows = pa.array(np.flatnonzero(without))
        if not len(rows):
            return self._carried.slice(0, 0).append_column("doc_hash", pa.array([], pa.string()))
        return self._carried.take(rows).append_column("doc_hash", self._doc_hashes.take(rows))

    def counts(self) -> ChunkCounts:
        """What happened to the documents."""
        documents, failed = self._documents.num_rows, len(self.arrays.errors)
        chunked = int(np.count_nonzero(np.diff(self.arrays.doc_offsets)))
        return ChunkCounts(
            documents=documents,
            documents_chunked=chunked,
            documents_empty=documents - chunked - failed,
            documents_failed=failed,
            duplicate_ids=documents - pc.count_distinct(self._carried.column(DOC_ID)).as_py(),
            chunks=self.rows,
            text_bytes=len(self._text.data),
            tokens=int(self.arrays.token_count.sum(dtype=np.int64)),
            over_budget_chunks=int(np.count_nonzero(self.arrays.over_budget)),
        )

    def _rows(self, rows: slice) -> pa.Table:
        arrays = self.arrays
        document = self._document_of_row[rows]
        start, end = arrays.start[rows], arrays.end[rows]
        columns: dict[str, Any] = {
            "chunk_id": chunk_ids(self._id_prefixes.take(pa.array(document)), start, end),
            "chunk_index": np.arange(rows.start, rows.stop) - arrays.doc_offsets[document],
            "start": start,
            "end": end,
            "token_count": arrays.token_count[rows],
            "text_hash": hex_strings(self._text_digests(rows, document)),
            "doc_hash": self._doc_hashes.take(pa.array(document)),
        }
        if TEXT in self.schema.names:
            columns[TEXT] = gather_text(self._text.data, arrays.byte_start[rows], arrays.byte_end[rows])
        carried = self._carried.take(pa.array(document))
        return _table(self.schema, columns | dict(zip(carried.column_names, carried.columns, strict=True)))

    def _text_digests(self, rows: slice, document: Positions) -> Digests:
        """Digests of the chunks' texts; a chunk that is its whole document takes the document's."""
        starts, ends = self.arrays.byte_start[rows], self.arrays.byte_end[rows]
        offsets = self._text.doc_offsets
        digests = self._doc_digests[document]
        parts = np.flatnonzero((starts != offsets[document]) | (ends != offsets[document + 1]))
        digests[parts] = hash_slices(self._text.data, starts[parts], ends[parts])
        return digests

    @cached_property
    def _document_of_row(self) -> Positions:
        return np.repeat(np.arange(self._documents.num_rows), np.diff(self.arrays.doc_offsets))

    @cached_property
    def _carried(self) -> pa.Table:
        return _carried_columns(self._documents, self.schema)

    @cached_property
    def _doc_digests(self) -> Digests:
        offsets = self._text.doc_offsets
        return hash_slices(self._text.data, offsets[:-1], offsets[1:])

    @cached_property
    def _doc_hashes(self) -> pa.StringArray:
        return hex_strings(self._doc_digests)

    @cached_property
    def _id_prefixes(self) -> pa.StringArray:
        return chunk_id_prefixes(self._carried.column(DOC_ID).to_pylist(), self._scope)


def chunk_failures(documents: pa.Table, errors: list[tuple[int, BaseException]]) -> pa.Table:
    """Failure rows of the stage `chunk`, a row for each (row of the document table, error)."""
    places = [name for name in (DOC_SOURCE, DOC_POSITION, DOC_ID) if name in documents.column_names]
    failed = documents.select(places).take(pa.array([row for row, _ in errors], pa.int64()))
    nothing = pa.nulls(len(errors), pa.string()).fill_null("")
    return pa.Table.from_arrays(
        [
            failed.column(DOC_SOURCE) if DOC_SOURCE in failed.column_names else nothing,
            failed.column(DOC_POSITION) if DOC_POSITION in failed.column_names else nothing,
            failed.column(DOC_ID).cast(pa.string()),
            pa.array(["chunk"] * len(errors), pa.string()),
            pa.array([type(error).__name__ for _, error in errors], pa.string()),
            pa.array([printable(str(error)) for _, error in errors], pa.string()),
        ],
        schema=FAILURE_SCHEMA,
    )


def printable(message: str) -> str:
    """A message as text that can be written: what is no Unicode text (lone surrogates) is escaped."""
    return message.encode("utf-8", "backslashreplace").decode()


def _metadata_fields(documents: pa.Table) -> list[pa.Field[Any]]:
    return [field for field in documents.schema if field.name not in DOCUMENT_COLUMNS]


def _carried_columns(documents: pa.Table, schema: pa.Schema) -> pa.Table:
    """What chunk rows repeat from their document, id and metadata, with the types of the chunks."""
    own = set(CHUNK_COLUMNS) - {DOC_ID}
    fields = [pa.field(field.name, field.type) for field in schema if field.name not in own]
    return documents.select([field.name for field in fields]).cast(pa.schema(fields))


def _table(schema: pa.Schema, columns: dict[str, Any]) -> pa.Table:
    return pa.Table.from_arrays([_column(columns[field.name], field.type) for field in schema], schema=schema)


def _column(values: Any, kind: pa.DataType) -> Any:
    if isinstance(values, np.ndarray):
        values = pa.array(values)
    return values if values.type == kind else values.cast(kind)
