"""What is in the database, as tables: chunk rows, and the documents of a table of one's own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import psycopg
import pyarrow as pa
from psycopg import sql

from pipeline.postgres.layout import TableLayout, check_name
from pipeline.schemas import DOC_ID, TEXT, TEXT_TYPE

_ROWS = 20_000
_BYTES = 8 << 20
ROW_SCHEMA = pa.schema(
    [
        ("chunk_id", pa.string()),
        (DOC_ID, pa.string()),
        ("start", pa.int64()),
        ("end", pa.int64()),
        ("text_hash", pa.string()),
        ("doc_hash", pa.string()),
    ]
)
"""The columns of chunk rows that lead back to the text."""


def stored_rows(connection: psycopg.Connection, layout: TableLayout) -> Iterator[pa.Table]:
    """The chunk rows of a table, as many at a time as memory likes."""
    query = sql.SQL("SELECT {columns} FROM {table}").format(
        columns=sql.SQL(", ").join(map(layout.column, ROW_SCHEMA.names)), table=layout.target
    )
    with connection.transaction(), connection.cursor("llm_splitter_rows", binary=True) as cursor:
        cursor.execute(query)
        while rows := cursor.fetchmany(_ROWS):
            yield _table(rows, ROW_SCHEMA)


def stored_row(connection: psycopg.Connection, layout: TableLayout, chunk_id: str) -> dict[str, Any] | None:
    """One chunk row by its id."""
    query = sql.SQL("SELECT {columns} FROM {table} WHERE {key} = %s").format(
        columns=sql.SQL(", ").join(map(layout.column, ROW_SCHEMA.names)),
        table=layout.target,
        key=layout.column("chunk_id"),
    )
    row = connection.execute(query, [chunk_id]).fetchone()
    return None if row is None else dict(zip(ROW_SCHEMA.names, row, strict=True))


class StoredDocuments:
    """The documents in a table of Postgres.

    Args:
        table: `name` or `schema.name`.
        id_column: Column with the id; values of other types count as the text Postgres makes of them.
        text_column: Column with the text.

    Example:
        >>> next(StoredDocuments("articles", "id", "body").texts(connection, ["en-bread"]))
    """

    def __init__(self, table: str, id_column: str, text_column: str = "text") -> None:
        names = table.split(".", 1)
        for name in (*names, id_column, text_column):
            check_name(name)
        self._parts = {
            "table": sql.Identifier(*names),
            "id": sql.Identifier(id_column),
            "text": sql.Identifier(text_column),
        }

    def tables(self, connection: psycopg.Connection) -> Iterator[pa.Table]:
        """All documents, in tables of a few megabytes."""
        query = sql.SQL("SELECT {id}::text, {text} FROM {table}").format(**self._parts)
        with connection.transaction(), connection.cursor("llm_splitter_documents", binary=True) as cursor:
            cursor.itersize = 200
            cursor.execute(query)
            yield from _bounded(cursor)

    def texts(self, connection: psycopg.Connection, doc_ids: Sequence[str]) -> pa.Table:
        """Some documents, each by the index of its id."""
        query = sql.SQL("SELECT {id}::text, {text} FROM {table} WHERE {id} = %s").format(**self._parts)
        return _documents([row for doc_id in doc_ids for row in connection.execute(query, [doc_id])])


def _bounded(rows: Iterator[Any]) -> Iterator[pa.Table]:
    waiting, size = [], 0
    for row in rows:
        waiting.append(row)
        size += len(row[1] or "")
        if size >= _BYTES:
            yield _documents(waiting)
            waiting, size = [], 0
    if waiting:
        yield _documents(waiting)


def _documents(rows: Sequence[Any]) -> pa.Table:
    return _table(rows, pa.schema([(DOC_ID, pa.string()), (TEXT, TEXT_TYPE)]))


def _table(rows: Sequence[Any], schema: pa.Schema) -> pa.Table:
    columns = zip(*rows, strict=True) if rows else [()] * len(schema)
    arrays = [pa.array(values, kind) for values, kind in zip(columns, schema.types, strict=True)]
    return pa.Table.from_arrays(arrays, schema=schema)
