"""The documents of files, all in tables, or one by its id. No Beam pipeline: for those who look things up."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from pipeline.config import JobConfig
from pipeline.documents import DocumentColumns, ReadOptions
from pipeline.formats import Format, InputFile
from pipeline.input_files import match_files, open_file
from pipeline.jsonl_files import objects
from pipeline.read import plan_file, read_documents
from pipeline.schemas import DOC_ID, DOC_POSITION, TEXT

_PARQUET_PLACE = re.compile(r"row group (\d+), row (\d+)")
_LINE_PLACE = re.compile(r"line \d+, byte (\d+)")


class _Place(NamedTuple):
    file: InputFile
    position: str


class DocumentFiles:
    """The documents of files.

    Args:
        patterns: Paths, patterns or folders.
        id_column: Column with the document's id; without one, ids are `path#number`.
        text_column: Column with the text.
        format: What the files are; "auto" goes by their names.
        binary_text: Whether a text column of type binary is taken as UTF-8.

    Raises:
        ValueError: If a pattern matches nothing.

    Example:
        >>> DocumentFiles("docs/*.parquet", id_column="url").text("https://example.org/")  # doctest: +SKIP
    """

    def __init__(
        self,
        patterns: str | Sequence[str],
        *,
        id_column: str | None = None,
        text_column: str = "text",
        format: Format | str = "auto",  # noqa: A002 - the setting's name everywhere
        binary_text: bool = False,
    ) -> None:
        self._files = match_files(patterns, format)
        self._options = ReadOptions(DocumentColumns(text_column, id_column, binary_text=binary_text))
        self._places: dict[str, _Place] | None = None
        self._column = lru_cache(maxsize=4)(self._read_column)

    @classmethod
    def of(cls, config: JobConfig) -> DocumentFiles:
        """The documents of a job."""
        return cls(
            config.input,
            id_column=config.id_column,
            text_column=config.text_column,
            format=config.input_format,
            binary_text=config.binary_text,
        )

    def tables(self) -> Iterator[pa.Table]:
        """All documents that can be read, in tables of a few megabytes."""
        for _, table in self._tables():
            yield table

    def text(self, doc_id: str) -> str | list[str]:
        """The text of one document, or its parts.

        The first call looks through all files and remembers where each document is; a later one takes
        milliseconds where a document can be read by itself, as in Parquet and plain JSON Lines.

        Raises:
            KeyError: If there is no such document.
        """
        if self._places is None:
            self._places = {
                found: _Place(file, position)
                for file, table in self._tables()
                for found, position in zip(
                    table.column(DOC_ID).to_pylist(), table.column(DOC_POSITION).to_pylist(), strict=True
                )
            }
        if doc_id not in self._places:
            raise KeyError(f"no document {doc_id!r} in the input")
        text: str | list[str] = self._read_at(self._places[doc_id], doc_id)
        return text

    def _tables(self) -> Iterator[tuple[InputFile, pa.Table]]:
        for file in self._files:
            for unit in plan_file(file, self._options):
                for batch in read_documents(unit, self._options):
                    if batch.documents is not None:
                        yield file, batch.documents

    def _read_at(self, place: _Place, doc_id: str) -> Any:
        if place.file.format == "parquet" and (found := _PARQUET_PLACE.fullmatch(place.position)):
            value = self._column(place.file.path, int(found[1]))[int(found[2])].as_py()
            return value.decode() if isinstance(value, bytes) else value
        if _is_plain_file(place.file) and (found := _LINE_PLACE.fullmatch(place.position)):
            return self._read_line(place.file.path, int(found[1]))
        return self._scan(place.file, doc_id)

    def _read_column(self, path: str, group: int) -> pa.ChunkedArray:
        with open_file(path) as handle:
            parquet = pq.ParquetFile(handle)
            return parquet.read_row_group(group, columns=[self._options.columns.text]).column(0)

    def _read_line(self, path: str, start: int) -> Any:
        with Path(path).open("rb") as file:
            file.seek(start)
            (record,) = objects([file.readline().rstrip(b"\r\n")], self._options)
        text = record[self._options.columns.text]
        return [_string(part) for part in text] if isinstance(text, list) else _string(text)

    def _scan(self, file: InputFile, doc_id: str) -> Any:
        for unit in plan_file(file, self._options):
            for batch in read_documents(unit, self._options):
                if batch.documents is not None and (row := _row_of(batch.documents, doc_id)) is not None:
                    return batch.documents.column(TEXT)[row].as_py()
        raise KeyError(f"document {doc_id!r} is not in {file.path!r} any more")


def _string(text: Any) -> Any:
    return text.decode() if isinstance(text, bytearray) else text


def _is_plain_file(file: InputFile) -> bool:
    """Whether positions in the documents' text are positions in a file on this machine."""
    return file.format == "jsonl" and Path(file.path).suffix in (".jsonl", ".ndjson") and Path(file.path).is_file()


def _row_of(documents: pa.Table, doc_id: str) -> int | None:
    row = pc.index(documents.column(DOC_ID), doc_id).as_py()
    return None if row < 0 else int(row)
