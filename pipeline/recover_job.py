"""Recovering for a job: where its rows and documents are, all rows at once, and one by its id."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from pipeline.chunk_files import open_chunk_file
from pipeline.config import JobConfig
from pipeline.database_settings import DatabaseSettings
from pipeline.document_files import DocumentFiles
from pipeline.finished_chunks import chunk_paths
from pipeline.source_text import recover_tables, recover_text, unit_of

RowsIn = Literal["output", "database"]


@dataclass(frozen=True)
class Source:
    """Where rows and documents are.

    Attributes:
        job: The settings of the job that made the rows.
        rows: Whether they are in the job's output folder or in its database.
        documents_table: The table of the database with the documents; None: they are the job's input.
    """

    job: JobConfig
    rows: RowsIn = "output"
    documents_table: str | None = None

    def all_rows(self) -> pa.Table:
        """Every row, as far as it is needed to find the text."""
        tables = list(self._stored() if self.rows == "database" else self._written())
        return pa.concat_tables(tables)

    def row(self, chunk_id: str) -> dict[str, Any]:
        """One row by its id.

        Raises:
            ValueError: If there is none.
        """
        if self.rows == "database":
            from pipeline.postgres.stored import stored_row  # noqa: PLC0415 - needs an optional package

            with self._connect() as connection:
                found = stored_row(connection, self._layout(), chunk_id)
        else:
            rows = self.all_rows()
            found = next(iter(rows.filter(pc.equal(rows.column("chunk_id"), chunk_id)).to_pylist()), None)
        if found is None:
            raise ValueError(f"chunk: there is no row {chunk_id!r}")
        return found

    def documents(self) -> Iterator[pa.Table]:
        """All documents."""
        if self.documents_table is None:
            yield from DocumentFiles.of(self.job).tables()
            return
        with self._connect() as connection:
            yield from self._documents_table().tables(connection)

    def document(self, doc_id: str) -> str | list[str]:
        """The text of one document.

        Raises:
            ValueError: If there is none.
        """
        if self.documents_table is None:
            try:
                return DocumentFiles.of(self.job).text(doc_id)
            except KeyError as error:
                raise ValueError(f"input: {error.args[0]}") from error
        with self._connect() as connection:
            texts = self._documents_table().texts(connection, [doc_id]).column("text").to_pylist()
        if not texts:
            raise ValueError(f"documents_table: there is no document {doc_id!r} in {self.documents_table}")
        return texts[0]  # type: ignore[no-any-return]

    def _written(self) -> Iterator[pa.Table]:
        for path in chunk_paths(self.job.output):
            file = open_chunk_file(path)
            for block in range(len(file)):
                table = file.read(block)
                yield table.drop_columns([name for name in ("text",) if name in table.column_names])

    def _stored(self) -> Iterator[pa.Table]:
        from pipeline.postgres.stored import ROW_SCHEMA, stored_rows  # noqa: PLC0415 - needs an optional package

        schema = ROW_SCHEMA.with_metadata({"llm_splitter.offset_unit": self.job.offset_unit})
        yield schema.empty_table()
        with self._connect() as connection:
            for table in stored_rows(connection, self._layout()):
                yield table.replace_schema_metadata(schema.metadata)

    def _database(self) -> DatabaseSettings:
        return self.job.database or DatabaseSettings.model_validate({})

    def _connect(self) -> Any:
        from pipeline.load import address_of  # noqa: PLC0415 - needs an optional package

        return address_of(self._database()).connect()

    def _layout(self) -> Any:
        from pipeline.postgres.layout import TableLayout  # noqa: PLC0415 - needs an optional package
        from pipeline.postgres.stored import ROW_SCHEMA  # noqa: PLC0415

        database = self._database()
        known = {name: column for name, column in database.columns.items() if name in ROW_SCHEMA.names}
        return TableLayout(ROW_SCHEMA, database.table, database.table_schema, known)

    def _documents_table(self) -> Any:
        from pipeline.postgres.stored import StoredDocuments  # noqa: PLC0415 - needs an optional package

        return StoredDocuments(self.documents_table or "", self.job.id_column or "id", self.job.text_column)


def recover_all(source: Source, path: Path) -> tuple[int, list[str]]:
    """Write all rows with their text to a Parquet file; how many, and a line for each row without text."""
    rows = source.all_rows()
    schema = rows.schema.append(pa.field("text", pa.large_string(), nullable=False))
    found, failed = 0, []
    path.parent.mkdir(parents=True, exist_ok=True)
    with pq.ParquetWriter(path, schema, compression="zstd") as writer:
        for recovered in recover_tables(rows, source.documents()):
            if recovered.rows.num_rows:
                writer.write_table(recovered.rows)
            found += recovered.rows.num_rows
            failed += [
                f"{row['position']} of {row['doc_id']!r}: {row['message']}" for row in recovered.failures.to_pylist()
            ]
    return found, failed


def recover_one(source: Source, chunk_id: str) -> str:
    """The text of one row.

    Raises:
        ValueError: If there is no such row or document, or the document has changed.
    """
    row = source.row(chunk_id)
    unit = source.job.offset_unit if source.rows == "database" else _written_unit(source)
    return recover_text(
        source.document(row["doc_id"]), row["start"], row["end"], doc_hash=row["doc_hash"], offset_unit=unit
    )


def _written_unit(source: Source) -> Any:
    schema = open_chunk_file(chunk_paths(source.job.output)[0]).schema
    return source.job.offset_unit if schema is None else unit_of(schema)
