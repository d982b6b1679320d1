"""The table of loaded documents: what is there, claiming documents for a transaction, and retiring them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

import psycopg
from psycopg import sql

from pipeline.postgres.document_sets import Document
from pipeline.postgres.layout import TableLayout


class LoadedAs(NamedTuple):
    """What the chunk rows of a document were made from.

    Attributes:
        doc_hash: Hash of the text.
        settings: Fingerprint of everything that decides the rows, but for the document.
        metadata_hash: Hash of the metadata.
        embedder: What made the vectors; "" where some are missing, so that the next run tries again.
        corpus: Which collection the document belongs to; only documents of one's own are retired.
    """

    doc_hash: str
    settings: str
    metadata_hash: str
    embedder: str
    corpus: str


class LoadSettings(NamedTuple):
    """What all documents of a run have in common.

    Attributes:
        settings: As in `LoadedAs`.
        embedder: What makes the vectors; "" for none.
        corpus: As in `LoadedAs`.
        run: A name that no other run has.
    """

    settings: str = ""
    embedder: str = ""
    corpus: str = ""
    run: str = ""

    def loaded_as(self, doc_hash: str, metadata_hash: str) -> LoadedAs:
        """What the table will say of a document that this run has loaded in full."""
        return LoadedAs(doc_hash, self.settings, metadata_hash, self.embedder, self.corpus)


def loaded_documents(
    connection: psycopg.Connection, layout: TableLayout, doc_ids: Sequence[str], *, lock: bool = False
) -> dict[str, LoadedAs]:
    """What is known of some documents; `lock` keeps others from changing it until the transaction ends."""
    query = sql.SQL(
        "SELECT doc_id, doc_hash, settings, metadata_hash, embedder, corpus FROM {registry} WHERE doc_id = ANY(%s)"
    ).format(registry=layout.registry)
    if lock:
        query += sql.SQL(" ORDER BY doc_id FOR UPDATE")
    rows = connection.execute(query, [list(doc_ids)], binary=True)
    return {doc_id: LoadedAs(*known) for doc_id, *known in rows}


def claim(
    connection: psycopg.Connection, layout: TableLayout, documents: Sequence[Document], settings: LoadSettings
) -> dict[str, LoadedAs | None]:
    """Lock documents until the transaction ends; what they were loaded as, or None for those that are new.

    Whoever claims the same documents waits for this transaction. Rows are taken in the order of their ids,
    new ones first, so that no two transactions wait for each other.
    """
    ordered = sorted(documents)
    columns = [list(column) for column in zip(*ordered, strict=True)] if ordered else [[]] * 4
    new = connection.execute(
        sql.SQL(
            """
            INSERT INTO {registry} (doc_id, doc_hash, metadata_hash, chunks, settings, embedder, corpus, run)
            SELECT doc_id, doc_hash, metadata_hash, chunks, %s, %s, %s, %s
            FROM unnest(%s::text[], %s::text[], %s::text[], %s::integer[])
                AS given (doc_id, doc_hash, metadata_hash, chunks)
            ON CONFLICT (doc_id) DO NOTHING RETURNING doc_id
            """
        ).format(registry=layout.registry),
        [settings.settings, settings.embedder, settings.corpus, settings.run, *columns],
    ).fetchall()
    claimed: dict[str, LoadedAs | None] = {doc_id: None for (doc_id,) in new}
    others = [document.doc_id for document in ordered if document.doc_id not in claimed]
    if others:
        claimed.update(loaded_documents(connection, layout, others, lock=True))
    return claimed


def record(
    connection: psycopg.Connection,
    layout: TableLayout,
    documents: Sequence[Document],
    settings: LoadSettings,
    incomplete: Collection[str] = (),
) -> None:
    """Say that documents are loaded as they are now; those that lack vectors will be tried again."""
    rows = [
        (
            document.doc_hash,
            document.metadata_hash,
            document.chunks,
            settings.settings,
            "" if document.doc_id in incomplete else settings.embedder,
            settings.corpus,
            settings.run,
            document.doc_id,
        )
        for document in sorted(documents)
    ]
    columns = [list(column) for column in zip(*rows, strict=True)] if rows else [[]] * 8
    connection.execute(
        sql.SQL(
            """
            UPDATE {registry} AS known SET doc_hash = given.doc_hash, metadata_hash = given.metadata_hash,
                chunks = given.chunks, settings = given.settings, embedder = given.embedder,
                corpus = given.corpus, run = given.run
            FROM unnest(%s::text[], %s::text[], %s::integer[], %s::text[], %s::text[], %s::text[], %s::text[],
                %s::text[]) AS given (doc_hash, metadata_hash, chunks, settings, embedder, corpus, run, doc_id)
            WHERE known.doc_id = given.doc_id
            """
        ).format(registry=layout.registry),
        columns,
    )


def mark_seen(connection: psycopg.Connection, layout: TableLayout, doc_ids: Collection[str], run: str) -> None:
    """Say that a run has met documents, so that it will not retire them."""
    connection.execute(
        sql.SQL(
            "UPDATE {registry} SET run = %s WHERE doc_id IN "
            "(SELECT doc_id FROM {registry} WHERE doc_id = ANY(%s) AND run <> %s ORDER BY doc_id FOR UPDATE)"
        ).format(registry=layout.registry),
        [run, list(doc_ids), run],
    )


def retire_documents(connection: psycopg.Connection, layout: TableLayout, doc_ids: Sequence[str]) -> int:
    """Delete documents with all their chunk rows, in one transaction; how many there were.

    Example:
        >>> retire_documents(connection, layout, ["en-bread"])
        1
    """
    with connection.transaction():
        loaded_documents(connection, layout, doc_ids, lock=True)
        return _delete(connection, layout, doc_ids)


def retire_unseen(connection: psycopg.Connection, layout: TableLayout, corpus: str, run: str) -> int:
    """Delete those documents of a corpus that a run has not met, a thousand in each transaction."""
    retired = 0
    while True:
        with connection.transaction():
            unseen = connection.execute(
                sql.SQL(
                    "SELECT doc_id FROM {registry} WHERE corpus = %s AND run <> %s "
                    "ORDER BY doc_id LIMIT 1000 FOR UPDATE"
                ).format(registry=layout.registry),
                [corpus, run],
            ).fetchall()
            retired += _delete(connection, layout, [doc_id for (doc_id,) in unseen])
        if not unseen:
            return retired


def _delete(connection: psycopg.Connection, layout: TableLayout, doc_ids: Sequence[str]) -> int:
    for table, column in ((layout.target, layout.column("doc_id")), (layout.registry, sql.Identifier("doc_id"))):
        deleted = connection.execute(
            sql.SQL("DELETE FROM {table} WHERE {column} = ANY(%s)").format(table=table, column=column), [list(doc_ids)]
        )
    return deleted.rowcount
