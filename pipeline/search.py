"""A question -> passages, each shown in its document."""

from __future__ import annotations

from typing import NamedTuple

import psycopg
import pyarrow as pa

from pipeline.config import JobConfig
from pipeline.database_settings import DatabaseSettings
from pipeline.document_files import DocumentFiles
from pipeline.embedding import Embedding
from pipeline.load import address_of
from pipeline.postgres.layout import TableLayout
from pipeline.postgres.search import Hit, nearest
from pipeline.postgres.stored import ROW_SCHEMA
from pipeline.postgres.tables import column_names
from pipeline.schemas import TEXT
from pipeline.source_text import ChangedDocument, recover_text

_AROUND = 160
"""How many characters before and behind a passage are shown."""


class Passage(NamedTuple):
    """A hit in its document.

    Attributes:
        hit: The row.
        before: What stands before it in the document.
        text: The passage.
        behind: What stands behind it.
        note: Why the document is not shown, where it is not.
    """

    hit: Hit
    before: str
    text: str
    behind: str
    note: str = ""


def search(job: JobConfig, question: str, most: int) -> list[Passage]:
    """The passages nearest to a question, the nearest first.

    Args:
        job: The settings that the rows were loaded with.
        question: Any text.
        most: How many passages at most.

    Raises:
        ValueError: If there is no such table, it has no vectors, or no embedder is named.
    """
    database = job.database or DatabaseSettings.model_validate({})
    if database.embedder is None:
        raise ValueError("embedder: is needed, the one that the rows were loaded with")
    with address_of(database).connect() as connection:
        layout = _layout(connection, database)
        hits = nearest(connection, layout, Embedding(database.embedder).vector(question), most)
    documents = DocumentFiles.of(job)
    return [_passage(hit, documents, job) for hit in hits]


def _layout(connection: psycopg.Connection, database: DatabaseSettings) -> TableLayout:
    found = column_names(connection, database.table_schema, database.table)
    if not found:
        raise ValueError(f"table: there is no table {database.table}; load documents first: llm-splitter load CONFIG")
    schema = ROW_SCHEMA
    if database.columns.get(TEXT, TEXT) in found:
        schema = schema.append(pa.field(TEXT, pa.large_string()))
    known = {name: column for name, column in database.columns.items() if name in (*schema.names, "embedding")}
    return TableLayout(schema, database.table, database.table_schema, known, dimension=1, distance=database.distance)


def _passage(hit: Hit, documents: DocumentFiles, job: JobConfig) -> Passage:
    """The hit between what stands around it; the text comes from the document if it is the one that was chunked."""
    try:
        document = documents.text(hit.doc_id)
        text = document if isinstance(document, str) else "".join(document)
        passage = recover_text(text, hit.start, hit.end, doc_hash=hit.doc_hash, offset_unit=job.offset_unit)
    except (KeyError, ChangedDocument) as error:
        return Passage(hit, "", hit.text or "", "", str(error.args[0]))
    start = len(recover_text(text, 0, hit.start, offset_unit=job.offset_unit))
    end = start + len(passage)
    return Passage(hit, text[max(start - _AROUND, 0) : start], passage, text[end : end + _AROUND])
