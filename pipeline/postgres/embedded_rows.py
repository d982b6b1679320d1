"""Which rows have a vector that a new run would make again."""

from __future__ import annotations

from collections.abc import Sequence

import psycopg
from psycopg import sql

from pipeline.postgres.layout import EMBEDDING
from pipeline.postgres.target import Target


def embedded_rows(connection: psycopg.Connection, target: Target, doc_ids: Sequence[str]) -> set[tuple[str, str]]:
    """Pairs of document id and text hash for which there is a vector of the target's embedder."""
    layout, settings = target.layout, target.settings
    rows = connection.execute(
        sql.SQL(
            """
            SELECT loaded.{doc_id}, {text_hash} FROM {target} AS loaded JOIN {registry} AS known
                ON known.doc_id = loaded.{doc_id}
            WHERE loaded.{doc_id} = ANY(%s) AND {embedding} IS NOT NULL
                AND (known.embedder = %s OR known.settings = %s)
            """
        ).format(
            doc_id=layout.column("doc_id"),
            text_hash=layout.column("text_hash"),
            target=layout.target,
            registry=layout.registry,
            embedding=layout.column(EMBEDDING),
        ),
        [[doc_id for doc_id in doc_ids if "\0" not in doc_id], settings.embedder, settings.settings],
    )
    return {(doc_id, text_hash) for doc_id, text_hash in rows}
