"""Chunk tables -> documents that are whole, and pieces that must find each other first. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import orjson
import pyarrow as pa
import pyarrow.compute as pc

from pipeline.hashing import hash_bytes
from pipeline.schemas import DOC_ID
from pipeline.table_ends import End, end_of, with_end

Rows = npt.NDArray[np.int64]


class IncompleteDocument(ValueError):  # noqa: N818 - named for what was found
    """Chunk rows that are not all rows of one version of a document."""


class Document(NamedTuple):
    """A document whose chunk rows are all there.

    Attributes:
        doc_id: Its id.
        doc_hash: The hash of its text.
        metadata_hash: A hash over its metadata.
        chunks: How many chunk rows it has.
    """

    doc_id: str
    doc_hash: str
    metadata_hash: str
    chunks: int


def split_whole(table: pa.Table) -> tuple[pa.Table, list[tuple[str, pa.Table]]]:
    """The documents whose rows are surely all in the table, and the pieces of others, by document.

    Rows of a document stand together and in order, in one table or in several, as `ChunkDocuments` emits them
    and its files hold them. So a document between two others is whole, and the last one of a table may go on
    elsewhere, unless the table says that it does not. The last piece says of itself what the table says.

    Example:
        >>> table = pa.table({"doc_id": ["a", "a", "b", "c"], "chunk_index": [4, 5, 0, 0]})
        >>> whole, pieces = split_whole(table)
        >>> whole.column("doc_id").to_pylist(), [doc_id for doc_id, _ in pieces]
        (['b'], ['a', 'c'])
    """
    starts = document_starts(table)
    ends = np.append(starts[1:], table.num_rows)
    index = table.column("chunk_index").to_numpy()
    in_order = np.append(np.diff(index) == 1, True)  # of each row with the next; what ends a run is not asked
    whole = index[starts] == 0 if len(starts) else np.zeros(0, bool)
    for run in np.unique(np.searchsorted(starts, np.flatnonzero(~in_order), side="right") - 1).tolist():
        whole[run] &= bool(in_order[starts[run] : ends[run] - 1].all())
    end = end_of(table)
    whole[-1:] &= end is End.DOCUMENT
    keep = np.repeat(whole, ends - starts)
    doc_ids = table.column(DOC_ID)
    pieces = [
        (doc_ids[start].as_py(), table.slice(start, stop - start))
        for start, stop in zip(starts[~whole].tolist(), ends[~whole].tolist(), strict=True)
    ]
    if len(whole) and not whole[-1]:
        doc_id, last = pieces[-1]
        pieces[-1] = doc_id, with_end(last, end)
    return table.filter(pa.array(keep)), pieces


def join_pieces(pieces: Sequence[pa.Table]) -> pa.Table:
    """The rows of one document out of its pieces, each once, in order.

    Raises:
        IncompleteDocument: If rows are missing, or belong to different versions of the document.
    """
    rows = pa.concat_tables(pieces)
    numbered = rows.append_column("_row", pa.array(np.arange(rows.num_rows)))
    first = numbered.group_by(["chunk_id", "doc_hash"]).aggregate([("_row", "min")])
    rows = rows.take(first.column("_row_min")).sort_by("chunk_index")
    index = rows.column("chunk_index").to_numpy()
    in_order = np.array_equal(index, np.arange(len(index)))
    if not in_order or pc.count_distinct(rows.column("doc_hash")).as_py() != 1 or len(index) < rows_known(pieces):
        raise IncompleteDocument(
            f"the {len(index)} chunk rows are not all rows of one version of the document: "
            "two documents have this id, or rows are missing"
        )
    return rows


def rows_known(pieces: Iterable[pa.Table]) -> int:
    """How many rows a document has at least, by what its pieces say of their ends; 0 if they say nothing.

    Example:
        >>> piece = pa.table({"chunk_index": [4, 5]})
        >>> [rows_known([with_end(piece, end)]) for end in (End.DOCUMENT, End.PART, End.UNKNOWN)]
        [6, 7, 0]
    """
    return max(map(_rows_known, pieces), default=0)


def has_all_rows(pieces: Sequence[pa.Table]) -> bool:
    """Whether the pieces of one version of a document are surely all there, some perhaps twice."""
    indexes = pa.chunked_array([chunk for piece in pieces for chunk in piece.column("chunk_index").chunks], pa.int32())
    return 0 < rows_known(pieces) <= int(pc.count_distinct(indexes).as_py())


def _rows_known(piece: pa.Table) -> int:
    end = end_of(piece)
    if end is End.UNKNOWN:
        return 0
    return int(pc.max(piece.column("chunk_index")).as_py()) + (2 if end is End.PART else 1)


def sets_without_repeats(tables: Iterable[pa.Table], most_rows: int) -> Iterator[pa.Table]:
    """Tables of whole documents, joined or cut to about `most_rows`, none with the same document twice."""
    waiting: list[pa.Table] = []
    seen: set[str] = set()
    rows = 0
    for table, doc_ids in _without_repeats(_cut(tables, most_rows)):
        if waiting and (rows + table.num_rows > most_rows or not seen.isdisjoint(doc_ids)):
            yield pa.concat_tables(waiting)
            waiting, seen, rows = [], set(), 0
        waiting.append(table)
        seen.update(doc_ids)
        rows += table.num_rows
    if waiting:
        yield pa.concat_tables(waiting)


def document_starts(table: pa.Table) -> Rows:
    """The rows at which the rows of another document begin."""
    if table.num_rows == 0:
        return np.zeros(0, np.int64)
    doc_ids = table.column(DOC_ID).combine_chunks()
    changes = pc.not_equal(doc_ids[1:], doc_ids[:-1]).to_numpy(zero_copy_only=False)
    again = table.column("chunk_index").to_numpy()[1:] == 0
    return np.flatnonzero(np.concatenate(([True], changes | again)))


def documents_of(table: pa.Table, metadata_names: Sequence[str]) -> list[Document]:
    """The documents of a table of whole documents."""
    starts = document_starts(table)
    first = table.take(pa.array(starts))
    chunks = np.diff(np.append(starts, table.num_rows)).tolist()
    columns = (first.column(DOC_ID).to_pylist(), first.column("doc_hash").to_pylist())
    return list(map(Document, *columns, metadata_hashes(first, metadata_names), chunks))


def metadata_hashes(rows: pa.Table, names: Sequence[str]) -> list[str]:
    """A hash over the metadata of each row."""
    if not names:
        return [""] * rows.num_rows
    return [hash_bytes(_metadata_bytes(row)) for row in rows.select(list(names)).to_pylist()]


def _metadata_bytes(row: dict[str, Any]) -> bytes:
    return orjson.dumps(row, default=repr, option=orjson.OPT_NON_STR_KEYS | orjson.OPT_SORT_KEYS)


def _cut(tables: Iterable[pa.Table], most_rows: int) -> Iterator[pa.Table]:
    """The tables, those of more rows cut between documents."""
    for table in tables:
        ends = np.append(document_starts(table)[1:], table.num_rows)
        first = 0
        while first < table.num_rows:
            last = int(ends[np.searchsorted(ends, min(first + most_rows, table.num_rows))])
            yield table.slice(first, last - first)
            first = last


def _without_repeats(tables: Iterable[pa.Table]) -> Iterator[tuple[pa.Table, list[str]]]:
    """Each table with the ids of its documents; one that holds a document twice is taken apart."""
    for table in tables:
        starts = document_starts(table)
        doc_ids = table.column(DOC_ID).take(pa.array(starts)).to_pylist()
        if len(set(doc_ids)) == len(doc_ids):
            yield table, doc_ids
            continue
        ends = [*starts[1:].tolist(), table.num_rows]
        for doc_id, start, end in zip(doc_ids, starts.tolist(), ends, strict=True):
            yield table.slice(start, end - start), [doc_id]
