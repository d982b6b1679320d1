"""A set of whole documents -> the database, in one transaction: new ones by COPY, changed ones by a merge."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

import psycopg
import pyarrow as pa
import pyarrow.compute as pc
from psycopg import errors, sql

from pipeline.documents import Failure
from pipeline.postgres.document_sets import Document, documents_of
from pipeline.postgres.layout import EMBEDDING, TableLayout
from pipeline.postgres.registry import LoadedAs, LoadSettings, claim, mark_seen, record
from pipeline.postgres.values import LONGEST_ID, NUL, column_values, driver_types
from pipeline.schemas import DOC_ID

_STAGING = "llm_splitter_staging"
_BAD_DATA = (errors.DataError, errors.IntegrityError, errors.ProgramLimitExceeded, ValueError, OverflowError)
"""What a value can be guilty of: too long, out of range, forbidden by a constraint of the table."""


class Loaded(NamedTuple):
    """What became of a set of documents.

    Attributes:
        counts: Documents by outcome (`documents_new`, `documents_changed`, `documents_unchanged`) and
            `chunks_loaded`.
        failures: Documents that the database does not take.
    """

    counts: Counter[str]
    failures: tuple[Failure, ...] = ()

    def __add__(self, other: Loaded) -> Loaded:  # type: ignore[override]
        return Loaded(self.counts + other.counts, self.failures + other.failures)


def load_documents(
    connection: psycopg.Connection, layout: TableLayout, rows: pa.Table, settings: LoadSettings
) -> Loaded:
    """Make chunk rows the content of the table for their documents, in one transaction.

    A document that is there with the same content and settings is left alone. One that has changed keeps
    only its new rows; where a text stays the same, so does its vector. If the database refuses a document,
    that document is a failure and the others are loaded.

    Args:
        connection: In autocommit mode.
        layout: From `existing_layout`.
        rows: All chunk rows of some documents, those of each together, no document twice.
        settings: What the documents of the run have in common.
    """
    good, failures = _without_bad_ids(rows)
    documents = documents_of(good, layout.metadata_names)
    loaded = _load_or_divide(connection, layout, good, documents, settings) if documents else Loaded(Counter())
    return Loaded(loaded.counts, (*failures, *loaded.failures))


def load_empty_documents(
    connection: psycopg.Connection, layout: TableLayout, documents: Sequence[Document], settings: LoadSettings
) -> Loaded:
    """Say that documents have no chunks, and remove the rows that they had."""
    with connection.transaction():
        outcomes = _outcomes(documents, claim(connection, layout, documents, settings), settings)
        changed = [document for document in documents if outcomes[document.doc_id] == "changed"]
        if changed:
            _delete_rows(connection, layout, [document.doc_id for document in changed])
            record(connection, layout, changed, settings)
    return Loaded(_counts(outcomes))


def _without_bad_ids(rows: pa.Table) -> tuple[pa.Table, list[Failure]]:
    doc_ids = rows.column(DOC_ID)
    bad = pc.or_(pc.greater(pc.binary_length(doc_ids), LONGEST_ID), pc.match_substring(doc_ids, NUL))
    if not pc.any(bad).as_py():
        return rows, []
    refused = pc.unique(doc_ids.filter(bad)).to_pylist()
    failures = [
        Failure(
            "",
            "",
            "ValueError",
            f"the id of a document in Postgres has at most {LONGEST_ID} bytes and no U+0000; it has "
            f"{len(doc_id.encode())} bytes; give the document another id",
            doc_id,
        )
        for doc_id in refused
    ]
    return rows.filter(pc.invert(bad)), failures


def _load_or_divide(
    connection: psycopg.Connection,
    layout: TableLayout,
    rows: pa.Table,
    documents: Sequence[Document],
    settings: LoadSettings,
) -> Loaded:
    """Load the documents; if there is a bad one among them, halve the set until it stands alone."""
    try:
        return _load(connection, layout, rows, documents, settings)
    except _BAD_DATA as error:
        if len(documents) == 1:
            return Loaded(Counter(), (_failure(documents[0], error),))
    middle = len(documents) // 2
    first = sum(document.chunks for document in documents[:middle])
    return _load_or_divide(connection, layout, rows.slice(0, first), documents[:middle], settings) + _load_or_divide(
        connection, layout, rows.slice(first), documents[middle:], settings
    )


def _load(
    connection: psycopg.Connection,
    layout: TableLayout,
    rows: pa.Table,
    documents: Sequence[Document],
    settings: LoadSettings,
) -> Loaded:
    try:
        return _load_once(connection, layout, rows, documents, settings, copy_new=True)
    except errors.UniqueViolation:  # rows that the table of loaded documents knows nothing of
        return _load_once(connection, layout, rows, documents, settings, copy_new=False)


def _load_once(
    connection: psycopg.Connection,
    layout: TableLayout,
    rows: pa.Table,
    documents: Sequence[Document],
    settings: LoadSettings,
    *,
    copy_new: bool,
) -> Loaded:
    with connection.transaction():
        known = claim(connection, layout, documents, settings)
        outcomes = _outcomes(documents, known, settings)
        new = _rows_of(rows, outcomes, ["new"] if copy_new else [])
        merged = _rows_of(rows, outcomes, ["changed"] if copy_new else ["new", "changed"])
        incomplete = _load_new(connection, layout, new, settings)
        if merged.num_rows:
            incomplete |= _merge(connection, layout, merged, _same_embedder(known, settings), settings)
        _record(connection, layout, documents, settings, outcomes=outcomes, incomplete=incomplete)
    return Loaded(_counts(outcomes) + Counter(chunks_loaded=new.num_rows + merged.num_rows))


def _record(
    connection: psycopg.Connection,
    layout: TableLayout,
    documents: Sequence[Document],
    settings: LoadSettings,
    *,
    outcomes: dict[str, str],
    incomplete: set[str],
) -> None:
    """Write down what changed; claiming has written down new documents as if they were complete."""
    changed = [
        document for document in documents if outcomes[document.doc_id] == "changed" or document.doc_id in incomplete
    ]
    if changed:
        record(connection, layout, changed, settings, incomplete)
    if unchanged := [doc_id for doc_id, outcome in outcomes.items() if outcome == "unchanged"]:
        mark_seen(connection, layout, unchanged, settings.run)


def _outcomes(
    documents: Sequence[Document], known: dict[str, LoadedAs | None], settings: LoadSettings
) -> dict[str, str]:
    outcomes = {}
    for document in documents:
        before = known[document.doc_id]
        now = settings.loaded_as(document.doc_hash, document.metadata_hash)
        outcomes[document.doc_id] = "new" if before is None else "unchanged" if before == now else "changed"
    return outcomes


def _counts(outcomes: dict[str, str]) -> Counter[str]:
    return Counter(f"documents_{outcome}" for outcome in outcomes.values())


def _rows_of(rows: pa.Table, outcomes: dict[str, str], wanted: Sequence[str]) -> pa.Table:
    chosen = [doc_id for doc_id, outcome in outcomes.items() if outcome in wanted]
    if len(chosen) == len(outcomes):
        return rows
    return rows.filter(pc.is_in(rows.column(DOC_ID), pa.array(chosen, pa.string())))


def _same_embedder(known: dict[str, LoadedAs | None], settings: LoadSettings) -> list[str]:
    """The documents whose vectors are of the kind that this run makes.

    A document of which some vectors are missing says "", and those that it has were made by whatever was
    named when it was loaded: settings name the embedder too.
    """
    return [
        doc_id
        for doc_id, before in known.items()
        if before is not None and (before.embedder == settings.embedder or before.settings == settings.settings)
    ]


def _load_new(connection: psycopg.Connection, layout: TableLayout, rows: pa.Table, settings: LoadSettings) -> set[str]:
    """COPY the rows of documents that are not there yet; which of them lack vectors."""
    if rows.num_rows:
        _copy(connection, layout, layout.target, rows)
    return _without_vectors(layout, rows) if settings.embedder else set()


def _without_vectors(layout: TableLayout, rows: pa.Table) -> set[str]:
    if not layout.has(EMBEDDING):
        return set()
    doc_ids = rows.column(DOC_ID)
    if EMBEDDING in rows.column_names:
        doc_ids = doc_ids.filter(rows.column(EMBEDDING).is_null())
    return set(pc.unique(doc_ids).to_pylist())


def _copy(connection: psycopg.Connection, layout: TableLayout, table: sql.Composable, rows: pa.Table) -> None:
    statement = sql.SQL("COPY {table} ({columns}) FROM STDIN (FORMAT BINARY)").format(
        table=table, columns=layout.column_list
    )
    values = column_values(layout, rows)
    with connection.cursor() as cursor, cursor.copy(statement) as copy:
        copy.set_types(driver_types(layout))
        for row in zip(*values, strict=True):
            copy.write_row(row)


def _merge(
    connection: psycopg.Connection,
    layout: TableLayout,
    rows: pa.Table,
    keep_vectors: Sequence[str],
    settings: LoadSettings,
) -> set[str]:
    """Put the rows of documents that are there already in place of those; which of them lack vectors."""
    staging = sql.Identifier(_STAGING)
    names: dict[str, Any] = {"staging": staging, "target": layout.target, "columns": layout.column_list}
    connection.execute(
        sql.SQL("CREATE TEMP TABLE {staging} ON COMMIT DROP AS SELECT {columns} FROM {target} LIMIT 0").format(**names)
    )
    _copy(connection, layout, staging, rows)
    if layout.has(EMBEDDING):
        _keep_vectors(connection, layout, keep_vectors)
    doc_ids = pc.unique(rows.column(DOC_ID)).to_pylist()
    _delete_rows(connection, layout, doc_ids, unless_staged=True)
    connection.execute(
        sql.SQL(
            "INSERT INTO {target} ({columns}) SELECT {columns} FROM {staging} ON CONFLICT ({key}) DO UPDATE SET {set}"
        ).format(**names, key=layout.column("chunk_id"), set=_set_clause(layout))
    )
    return _staged_without_vectors(connection, layout) if settings.embedder and layout.has(EMBEDDING) else set()


def _set_clause(layout: TableLayout) -> sql.Composed:
    return sql.SQL(", ").join(
        sql.SQL("{0} = excluded.{0}").format(column.identifier)
        for column in layout.all_columns
        if column.source != "chunk_id"
    )


def _keep_vectors(connection: psycopg.Connection, layout: TableLayout, doc_ids: Sequence[str]) -> None:
    """Give staged rows without a vector the one that the same text of the same document has already."""
    connection.execute(
        sql.SQL(
            """
            UPDATE {staging} AS staged SET {embedding} = old.{embedding} FROM {target} AS old
            WHERE staged.{embedding} IS NULL AND old.{embedding} IS NOT NULL AND old.{doc_id} = ANY(%s)
                AND old.{doc_id} = staged.{doc_id} AND old.{text_hash} = staged.{text_hash}
            """
        ).format(
            staging=sql.Identifier(_STAGING),
            target=layout.target,
            embedding=layout.column(EMBEDDING),
            doc_id=layout.column(DOC_ID),
            text_hash=layout.column("text_hash"),
        ),
        [list(doc_ids)],
    )


def _delete_rows(
    connection: psycopg.Connection, layout: TableLayout, doc_ids: Collection[str], *, unless_staged: bool = False
) -> None:
    query = sql.SQL("DELETE FROM {target} AS old WHERE old.{doc_id} = ANY(%s)").format(
        target=layout.target, doc_id=layout.column(DOC_ID)
    )
    if unless_staged:
        query += sql.SQL(
            " AND NOT EXISTS (SELECT FROM {staging} AS staged WHERE staged.{chunk_id} = old.{chunk_id})"
        ).format(staging=sql.Identifier(_STAGING), chunk_id=layout.column("chunk_id"))
    connection.execute(query, [list(doc_ids)])


def _staged_without_vectors(connection: psycopg.Connection, layout: TableLayout) -> set[str]:
    rows = connection.execute(
        sql.SQL("SELECT DISTINCT {doc_id} FROM {staging} WHERE {embedding} IS NULL").format(
            doc_id=layout.column(DOC_ID), staging=sql.Identifier(_STAGING), embedding=layout.column(EMBEDDING)
        )
    )
    return {doc_id for (doc_id,) in rows}


def _failure(document: Document, error: Exception) -> Failure:
    message = error.diag.message_primary if isinstance(error, psycopg.Error) else str(error)
    return Failure("", "", type(error).__name__, message or str(error), document.doc_id)
