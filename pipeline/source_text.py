"""Chunk rows without text, and the documents -> the exact text of each row. Pure: no Beam, no files.

Rows say where a chunk lies in its document (`start`, `end`) and which document that was (`doc_hash`), so a
document that has changed since is refused, and never gives a text that is slightly off.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from llm_splitter import get_chunk
from llm_splitter.types import OffsetUnit
from pipeline.documents import Failure, failure_table
from pipeline.hashing import hash_bytes, hash_slices, hex_strings
from pipeline.schemas import DOC_ID, TEXT
from pipeline.text_buffers import DocumentText, document_text, gather_text

Positions = npt.NDArray[np.int64]
ROW_COLUMNS = (DOC_ID, "start", "end", "doc_hash")
"""What a row must have for its text to be found."""


class ChangedDocument(ValueError):  # noqa: N818 - named for what was found
    """A document that is not the one that was chunked."""


class Recovered(NamedTuple):
    """Rows with their text, and a failure row for each that has none."""

    rows: pa.Table
    failures: pa.Table


def recover_text(
    document: str | Sequence[str],
    start: int,
    end: int,
    *,
    doc_hash: str | None = None,
    offset_unit: OffsetUnit = "codepoint",
) -> str:
    """The text of one chunk row, out of its document.

    Args:
        document: The document's text, or its parts.
        start: Where the chunk begins, in the offset unit.
        end: Where it ends.
        doc_hash: The row's `doc_hash`; without one nothing is checked.
        offset_unit: The unit of the row's offsets.

    Raises:
        ChangedDocument: If the document is not the one that was chunked.

    Example:
        >>> recover_text("Hello wörld!", 6, 11)
        'wörld'
    """
    text = document if isinstance(document, str) else "".join(document)
    if doc_hash is not None and hash_bytes(text.encode("utf-8", "surrogatepass")) != doc_hash:
        raise ChangedDocument(_changed(f"has another text than when it was chunked (doc_hash {doc_hash})"))
    return get_chunk(text, start, end, offset_unit=offset_unit)


def recover(rows: pa.Table, documents: pa.Table, *, offset_unit: OffsetUnit | None = None) -> Recovered:
    """Chunk rows with a column `text`, in their order; those without a matching document are failures.

    Args:
        rows: Columns `doc_id`, `start`, `end`, `doc_hash`, and any others, which stay.
        documents: Columns `doc_id` and `text` (strings, or lists of strings).
        offset_unit: Unit of the offsets; default: what the rows' schema says, else code points.

    Raises:
        KeyError: If a column is missing.

    Example:
        >>> doc_hash = hash_bytes("Hello wörld!".encode())
        >>> rows = pa.table({"doc_id": ["a"], "start": [6], "end": [11], "doc_hash": [doc_hash]})
        >>> recover(rows, pa.table({"doc_id": ["a"], "text": ["Hello wörld!"]})).rows.column("text").to_pylist()
        ['wörld']
    """
    plan = Recovery(rows, offset_unit)
    tables = [plan.recover_from(documents)]
    tables.append(plan.not_found())
    found = pa.concat_tables([table.rows for table in tables])
    order = np.argsort(np.concatenate([table.places for table in tables]), kind="stable")
    return Recovered(found.take(pa.array(order)), pa.concat_tables([table.failures for table in tables]))


class RecoveredPart(NamedTuple):
    """What one table of documents gives.

    Attributes:
        rows: Rows with text.
        places: Where each stands in the table of all rows.
        failures: Rows whose document has changed.
    """

    rows: pa.Table
    places: Positions
    failures: pa.Table


class Recovery:
    """The rows whose text is wanted, ready for documents that come a table at a time.

    Args:
        rows: As for `recover`.
        offset_unit: As for `recover`.
    """

    def __init__(self, rows: pa.Table, offset_unit: OffsetUnit | None = None) -> None:
        for name in ROW_COLUMNS:
            rows.column(name)
        self._rows = rows.drop_columns([TEXT]) if TEXT in rows.column_names else rows
        self._unit: OffsetUnit = offset_unit or unit_of(rows.schema)
        ids = rows.column(DOC_ID).combine_chunks().dictionary_encode()
        self._ids = ids.dictionary
        codes = ids.indices.to_numpy()
        self._order = np.argsort(codes, kind="stable")
        self._bounds = np.searchsorted(codes[self._order], np.arange(len(self._ids) + 1))
        self._met = np.zeros(len(self._ids), bool)

    def recover_from(self, documents: pa.Table) -> RecoveredPart:
        """The texts of the rows of these documents. A document that was met before is passed over."""
        codes = pc.index_in(documents.column(DOC_ID).combine_chunks(), self._ids)
        wanted = np.flatnonzero(codes.is_valid().to_numpy(zero_copy_only=False))
        found = codes.to_numpy(zero_copy_only=False)[wanted].astype(np.int64)
        _, first = np.unique(found, return_index=True)
        keep = np.sort(first[~self._met[found[first]]])
        wanted, found = wanted[keep], found[keep]
        self._met[found] = True
        return self._cut(document_text(documents.column(TEXT).take(pa.array(wanted))), found)

    def not_found(self) -> RecoveredPart:
        """No rows, and a failure for each row of a document that no table had."""
        places = self._places(np.flatnonzero(~self._met))
        return self._failed(places, "KeyError", "there is no such document in the input; name the files that hold it")

    def _cut(self, text: DocumentText, codes: Positions) -> RecoveredPart:
        places = self._places(codes)
        document = np.repeat(np.arange(len(codes)), self._bounds[codes + 1] - self._bounds[codes])
        rows = self._rows.take(pa.array(places))
        offsets = text.doc_offsets
        hashes = hex_strings(hash_slices(text.data, offsets[:-1], offsets[1:])).take(pa.array(document))
        same = pc.equal(rows.column("doc_hash"), hashes).to_numpy(zero_copy_only=False).astype(bool)
        begins, ends = (
            byte_positions(text.data, offsets, document[same], rows.column(name).to_numpy()[same], self._unit)
            for name in ("start", "end")
        )
        kept = rows.filter(pa.array(same)).append_column(
            pa.field(TEXT, pa.large_string(), nullable=False), gather_text(text.data, begins, ends)
        )
        message = _changed("has another text than when it was chunked")
        return RecoveredPart(
            kept, places[same], self._failed(places[~same], ChangedDocument.__name__, message).failures
        )

    def _places(self, codes: Positions) -> Positions:
        pieces = [self._order[self._bounds[code] : self._bounds[code + 1]] for code in codes.tolist()]
        return np.concatenate([np.zeros(0, np.int64), *pieces])

    def _failed(self, places: Positions, error: str, message: str) -> RecoveredPart:
        rows = self._rows.take(pa.array(places))
        names = rows.column("chunk_id") if "chunk_id" in rows.column_names else rows.column(DOC_ID)
        failures = [
            Failure("", f"chunk {name}", error, message, doc_id)
            for name, doc_id in zip(names.to_pylist(), rows.column(DOC_ID).to_pylist(), strict=True)
        ]
        empty = self._rows.schema.append(pa.field(TEXT, pa.large_string(), nullable=False)).empty_table()
        return RecoveredPart(empty, np.zeros(0, np.int64), failure_table(failures, "recover"))


def recover_tables(rows: pa.Table, documents: Iterable[pa.Table]) -> Iterator[Recovered]:
    """The same for documents that come a table at a time: memory holds the rows and one table of documents.

    Rows come in the order of the documents; those that no document has are failures, told last.
    """
    recovery = Recovery(rows)
    for table in documents:
        part = recovery.recover_from(table)
        yield Recovered(part.rows, part.failures)
    missing = recovery.not_found()
    yield Recovered(missing.rows, missing.failures)


def unit_of(schema: pa.Schema) -> OffsetUnit:
    """The offset unit that a schema of chunk rows records; code points where it records none."""
    return (schema.metadata or {}).get(b"llm_splitter.offset_unit", b"codepoint").decode()  # type: ignore[no-any-return]


def byte_positions(
    data: npt.NDArray[np.uint8], doc_offsets: Positions, documents: Positions, offsets: Positions, unit: OffsetUnit
) -> Positions:
    """Where in the buffer offsets lie that are counted in a unit from the start of their document.

    Args:
        data: Valid UTF-8, documents end to end.
        doc_offsets: Document d is `data[doc_offsets[d]:doc_offsets[d + 1]]`.
        documents: The document of each offset.
        offsets: The offsets; those behind the end of a document count as its end.
        unit: What they count.
    """
    if unit == "utf8":
        ends: Positions = np.minimum(doc_offsets[documents] + offsets, doc_offsets[documents + 1])
        return ends
    begins = data.view(np.int8) >= -64
    if unit == "utf16":
        begins[2:] |= data[:-2] >= 0xF0  # a character of four bytes is two units: its third byte stands for the second
    units = np.append(np.flatnonzero(begins), len(data))
    first = np.searchsorted(units, doc_offsets)
    positions: Positions = units[np.minimum(first[documents] + offsets, first[documents + 1])]
    return positions


def _changed(what: str) -> str:
    return f"the document {what}; chunk it again, or recover from the version that was chunked"
