"""The rows nearest to a vector."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import psycopg
from pgvector.psycopg import register_vector
from psycopg import sql

from pipeline.postgres.layout import EMBEDDING, TableLayout

_COLUMNS = ("chunk_id", "doc_id", "start", "end", "doc_hash")


class Hit(NamedTuple):
    """A row that is near.

    Attributes:
        chunk_id: Its id.
        doc_id: Its document.
        start: Where it begins there, in the offset unit.
        end: Where it ends.
        doc_hash: The hash of the document's text.
        text: Its text, where the table holds it.
        distance: How far its vector is, as pgvector counts.
    """

    chunk_id: str
    doc_id: str
    start: int
    end: int
    doc_hash: str
    text: str | None
    distance: float


def nearest(
    connection: psycopg.Connection, layout: TableLayout, vector: npt.NDArray[np.float32], most: int
) -> list[Hit]:
    """The rows whose vectors are nearest, the nearest first.

    Args:
        connection: A connection.
        layout: The table; its distance says what near means.
        vector: As long as those of the table.
        most: How many rows at most.

    Raises:
        psycopg.errors.DataError: If the vector has another length.
    """
    register_vector(connection)
    text = layout.column("text") if layout.has("text") else sql.SQL("NULL")
    rows = connection.execute(
        sql.SQL(
            "SELECT {columns}, {text}, {embedding} {operator} %(vector)s AS distance FROM {table} "
            "WHERE {embedding} IS NOT NULL ORDER BY {embedding} {operator} %(vector)s LIMIT %(most)s"
        ).format(
            columns=sql.SQL(", ").join(map(layout.column, _COLUMNS)),
            text=text,
            embedding=layout.column(EMBEDDING),
            operator=layout.operator,
            table=layout.target,
        ),
        {"vector": vector, "most": most},
    )
    return [Hit(*row) for row in rows]
