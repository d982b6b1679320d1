"""Making the tables and indexes, and finding out what those that are there look like."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import psycopg
from psycopg import sql

from pipeline.postgres.layout import EMBEDDING, TableLayout

_NOT_NULL = frozenset({"doc_id", "chunk_index", "start", "end", "token_count", "text_hash", "doc_hash"})
_TYPES = """
    SELECT attname, format_type(atttypid, atttypmod)
    FROM pg_attribute JOIN pg_class ON pg_class.oid = attrelid JOIN pg_namespace ON pg_namespace.oid = relnamespace
    WHERE nspname = %s AND relname = %s AND attnum > 0 AND NOT attisdropped
"""
_LOCK = 0x6C6C6D73
"""Number of the advisory lock under which tables are made: two workers that begin at once make them once."""


def create_tables(connection: psycopg.Connection, layout: TableLayout) -> None:
    """Make the table of chunk rows, the table of loaded documents and an index by document, where missing.

    Needs CREATE on the schema; the extension is made only if the layout has vectors and it is not there.
    """
    with connection.transaction():
        connection.execute("SELECT pg_advisory_xact_lock(%s)", [_LOCK])
        if layout.dimension is not None:
            _create_extension(connection)
        connection.execute(_chunk_table(layout))
        connection.execute(_registry_table(layout))
        connection.execute(
            sql.SQL("CREATE INDEX IF NOT EXISTS {name} ON {target} ({doc_id})").format(
                name=sql.Identifier(_index_name(layout, "doc_id")), target=layout.target, doc_id=layout.column("doc_id")
            )
        )


def create_vector_index(connection: psycopg.Connection, layout: TableLayout) -> None:
    """Make the index of the vector column, where one is wanted and missing: after loading, as it is faster so."""
    if layout.dimension is None or layout.vector_index == "none":
        return
    with connection.transaction():
        connection.execute("SELECT pg_advisory_xact_lock(%s)", [_LOCK])
        connection.execute(
            sql.SQL("CREATE INDEX IF NOT EXISTS {name} ON {target} USING {kind} ({column} {operators})").format(
                name=sql.Identifier(_index_name(layout, EMBEDDING)),
                target=layout.target,
                kind=sql.SQL(layout.vector_index),
                column=layout.column(EMBEDDING),
                operators=layout.operator_class,
            )
        )


def existing_layout(connection: psycopg.Connection, layout: TableLayout) -> TableLayout:
    """The layout with the types that the columns of the existing table have.

    Raises:
        ValueError: If a table or column is missing, or has a type that rows cannot be sent as.
    """
    _column_types(connection, layout, layout.registry_name, list(REGISTRY_COLUMNS))
    names = [column.name for column in layout.all_columns]
    found = _column_types(connection, layout, layout.table, names)
    types = {column.source: found[column.name] for column in layout.all_columns if column.source != EMBEDDING}
    if layout.dimension is not None:
        _check_vector(layout, found)
    return replace(layout, types=types)


REGISTRY_COLUMNS = {
    "doc_id": "text PRIMARY KEY",
    "doc_hash": "text NOT NULL",
    "settings": "text NOT NULL",
    "metadata_hash": "text NOT NULL",
    "embedder": "text NOT NULL",
    "corpus": "text NOT NULL",
    "chunks": "integer NOT NULL",
    "run": "text NOT NULL",
}
"""The table of loaded documents: which content and settings its chunk rows were made from."""


def _create_extension(connection: psycopg.Connection) -> None:
    if connection.execute("SELECT FROM pg_extension WHERE extname = 'vector'").rowcount == 0:
        connection.execute("CREATE EXTENSION IF NOT EXISTS vector")


def _chunk_table(layout: TableLayout) -> sql.Composed:
    columns = [
        sql.SQL("{name} {type}{rule}").format(
            name=column.identifier, type=sql.SQL(column.type), rule=sql.SQL(_rule(column.source))
        )
        for column in layout.all_columns
    ]
    return sql.SQL("CREATE TABLE IF NOT EXISTS {table} ({columns})").format(
        table=layout.target, columns=sql.SQL(", ").join(columns)
    )


def _rule(source: str) -> str:
    if source == "chunk_id":
        return " PRIMARY KEY"
    return " NOT NULL" if source in _NOT_NULL else ""


def _registry_table(layout: TableLayout) -> sql.Composed:
    columns = [sql.SQL(f"{name} {kind}") for name, kind in REGISTRY_COLUMNS.items()]
    return sql.SQL("CREATE TABLE IF NOT EXISTS {table} ({columns})").format(
        table=layout.registry, columns=sql.SQL(", ").join(columns)
    )


def _index_name(layout: TableLayout, suffix: str) -> str:
    return f"{layout.table[:50]}_{suffix}"


def column_names(connection: psycopg.Connection, namespace: str, table: str) -> set[str]:
    """The columns of a table; none if there is no such table."""
    return {name for name, _ in connection.execute(_TYPES, [namespace, table])}


def _column_types(
    connection: psycopg.Connection, layout: TableLayout, table: str, needed: Sequence[str]
) -> dict[str, str]:
    """Name and type of each column of a table, once those that are needed are known to be there."""
    place = f"{layout.namespace}.{table}"
    found: dict[str, str] = dict(connection.execute(_TYPES, [layout.namespace, table]).fetchall())
    if not found:
        raise ValueError(
            f"table: there is no {place} that this user can see; set create: true, or make it as the README shows"
        )
    if missing := [name for name in needed if name not in found]:
        raise ValueError(
            f"table: {place} has no column {missing[0]!r}; it has {', '.join(sorted(found))}. "
            "Name columns with `columns`, or load into another table"
        )
    return found


def _check_vector(layout: TableLayout, found: Mapping[str, str]) -> None:
    name = next(column.name for column in layout.all_columns if column.source == EMBEDDING)
    if found[name] not in ("vector", f"vector({layout.dimension})"):
        raise ValueError(
            f"table: column {name!r} of {layout.namespace}.{layout.table} is {found[name]}, "
            f"and vectors of {layout.dimension} numbers need vector({layout.dimension})"
        )
