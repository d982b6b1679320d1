"""WriteToPgvector: chunk tables -> rows of PostgreSQL with pgvector. SkipLoaded: documents that are not there yet."""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import Any

import apache_beam as beam
import pyarrow as pa
import pyarrow.compute as pc
from apache_beam.pvalue import PCollection, TaggedOutput
from apache_beam.transforms.window import GlobalWindows
from apache_beam.utils.windowed_value import WindowedValue

from pipeline.counters import count
from pipeline.hashing import hash_slices, hex_strings
from pipeline.join_pieces import FAILURES, WHOLE, JoinPieces, Piece, load_failures
from pipeline.manifest import add_counts
from pipeline.postgres.address import DatabaseAddress
from pipeline.postgres.document_sets import (
    Document,
    metadata_hashes,
    sets_without_repeats,
    split_whole,
)
from pipeline.postgres.layout import TableLayout
from pipeline.postgres.merge import Loaded, load_documents, load_empty_documents
from pipeline.postgres.registry import LoadSettings, loaded_documents, mark_seen
from pipeline.postgres.tables import create_vector_index
from pipeline.postgres.target import Session, Target
from pipeline.schemas import DOC_ID, TEXT
from pipeline.table_coder import TABLE
from pipeline.text_buffers import document_text

COUNTS, PIECES, DOCUMENTS = "counts", "pieces", "documents"
SET_ROWS = 10_000
"""About how many rows are written in one transaction; a document is never divided."""

Counts = dict[str, int]


class WriteToPgvector(beam.PTransform[Any, Any]):
    """Loads chunk tables into a table of PostgreSQL with pgvector.

    In: a PCollection of chunk tables, or a mapping: `chunks`, and as wanted `empty`, the documents without
    chunks that `ChunkDocuments` emits, whose earlier rows are removed. A table may have a column `embedding`
    with vectors. Rows of a document stand together, in one table or in several, as `ChunkDocuments` emits them.
    Out: `["counts"]`, one dict with `documents_new`, `documents_changed`, `documents_unchanged`, `chunks_loaded`, or
    for a stream many that add up; `["failures"]`, tables of `FAILURE_SCHEMA` with the documents that the database
    refuses.

    Documents are written in sets, each in a transaction, so that nobody ever sees a part of one. A set that
    is written again changes nothing, whoever writes it. A document that has changed keeps only its new rows;
    where a text stays the same, so does its vector. U+0000 is sent as U+2400, the picture of it, which leaves
    lengths and offsets as they are.

    A stream may be in any windows, or in none. Of a document that comes in several versions, the one that arrives
    last stays. What `ChunkDocuments` emits is written at once; from elsewhere, the last document of a table waits
    up to a minute for more of its rows. No vector index is made.

    Args:
        address: A `DatabaseAddress`, or a URL.
        schema: The schema of the chunk tables, from `chunk_schema`.
        create: Whether missing tables and indexes are made.
        settings: What the documents have in common; `run` is filled in.
        **layout: Fields of `TableLayout`: `table`, `namespace`, `columns`, `types`, `metadata_as`, `dimension`,
            `distance`, `vector_index`.

    Raises:
        ValueError: If a name or type is wrong, or when it is applied, if a table or a column is missing.

    Example:
        >>> chunk = ChunkDocuments(splitter="cl100k_base")
        >>> chunks = documents | chunk
        >>> chunks.chunks | WriteToPgvector("postgresql://app@db/articles", chunk.schema, table="passages")
    """

    def __init__(
        self,
        address: DatabaseAddress | str,
        schema: pa.Schema,
        *,
        create: bool = True,
        settings: LoadSettings | None = None,
        **layout: Any,
    ) -> None:
        super().__init__()
        where = DatabaseAddress(address) if isinstance(address, str) else address
        made_by = (schema.metadata or {}).get(b"llm_splitter.fingerprint", b"").decode()
        common = settings or LoadSettings(settings=made_by)
        self.target = Target(where, TableLayout(schema, **layout), common._replace(run=common.run or uuid.uuid4().hex))
        self._create = create

    def expand(self, inputs: Any) -> Any:
        """Write whole documents at once; join what lies across tables, then write it."""
        given = dict(inputs) if isinstance(inputs, Mapping) else {"chunks": inputs}
        target = self.target.prepared(create=self._create)
        divided = given["chunks"] | "Divide" >> beam.FlatMap(_divide).with_outputs(PIECES, main=WHOLE)
        divided[WHOLE].element_type, divided[PIECES].element_type = TABLE, Piece
        joined = divided[PIECES] | "Join pieces" >> JoinPieces()
        written = [
            _apply(_WriteDocuments(target), "Write", divided[WHOLE]),
            _apply(_WriteDocuments(target), "Write joined", joined[WHOLE]),
            *([_apply(_WriteEmpty(target), "Write empty", given["empty"])] if "empty" in given else []),
        ]
        counts = [outputs[COUNTS] for outputs in written] | "Join counts" >> beam.Flatten()
        failures = [joined[FAILURES], *(outputs[FAILURES] for outputs in written)] | "Join failures" >> beam.Flatten()
        return {COUNTS: counts | "Finish" >> _Finish(target), FAILURES: failures}


class SkipLoaded(beam.PTransform[Any, Any]):
    """Drops the documents that are loaded already with the same text, metadata and settings.

    In: a PCollection of document tables. Out: `.documents`, tables of those that are not loaded so;
    `.counts`, dicts with `documents_unchanged`. Nothing is tokenized to find out.

    Args:
        target: Where the documents will be loaded.
        mark: Whether to note in the database which documents were met, so that others can be retired.
    """

    def __init__(self, target: Target, *, mark: bool = False) -> None:
        super().__init__()
        self._target, self._mark = target, mark

    def expand(self, documents: PCollection[pa.Table]) -> Any:
        """Ask the database about each table."""
        step = beam.ParDo(_SkipLoaded(self._target, self._mark)).with_outputs(COUNTS, main=DOCUMENTS)
        outputs = documents | "Skip" >> step
        outputs[DOCUMENTS].element_type, outputs[COUNTS].element_type = TABLE, Counts
        return outputs


class _Session(beam.DoFn):
    """A step with a connection of its own."""

    def __init__(self, target: Target) -> None:
        self._target = target
        self._session = Session(target.address)

    def setup(self) -> None:
        self._session = Session(self._target.address)

    def teardown(self) -> None:
        self._session.close()

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_session": None}


class _WriteDocuments(_Session):
    """Tables of whole documents -> the database, in sets of about `SET_ROWS` rows."""

    def start_bundle(self) -> None:
        self._waiting: list[pa.Table] = []
        self._window: Any = None

    def process(self, table: TABLE, window: Any = beam.DoFn.WindowParam) -> Iterator[Any]:
        if self._waiting and window != self._window:
            yield from self._write()
        self._waiting.append(table)
        self._window = window
        if sum(waiting.num_rows for waiting in self._waiting) >= SET_ROWS:
            yield from self._write()

    def finish_bundle(self) -> Iterator[Any]:
        if self._waiting:
            yield from self._write()

    def _write(self) -> Iterator[Any]:
        """Write what waits; what became of it, in the window that it was in."""
        tables, self._waiting = self._waiting, []
        target, window = self._target, self._window
        for rows in sets_without_repeats(tables, SET_ROWS):
            work = partial(load_documents, layout=target.layout, rows=rows, settings=target.settings)
            for output in _report(self._session.run(work)):
                yield TaggedOutput(output.tag, WindowedValue(output.value, window.max_timestamp(), (window,)))


class _WriteEmpty(_Session):
    """Tables of documents without chunks -> the database."""

    def process(self, table: TABLE) -> Iterator[Any]:
        names = self._target.layout.metadata_names
        columns = (table.column(DOC_ID).to_pylist(), table.column("doc_hash").to_pylist())
        documents = map(Document, *columns, metadata_hashes(table, names), [0] * table.num_rows)
        unique = list({document.doc_id: document for document in documents}.values())
        target = self._target
        work = partial(load_empty_documents, layout=target.layout, documents=unique, settings=target.settings)
        yield from _report(self._session.run(work))


class _SkipLoaded(_Session):
    """Document tables -> what is not loaded yet."""

    def __init__(self, target: Target, mark: bool) -> None:
        super().__init__(target)
        self._mark = mark

    def process(self, documents: TABLE) -> Iterator[Any]:
        settings, names = self._target.settings, self._target.layout.metadata_names
        doc_ids = documents.column(DOC_ID).to_pylist()
        known = self._session.run(partial(loaded_documents, layout=self._target.layout, doc_ids=_sendable(doc_ids)))
        now = map(settings.loaded_as, document_hashes(documents), metadata_hashes(documents, names))
        same = [known.get(doc_id) == state for doc_id, state in zip(doc_ids, now, strict=True)]
        unchanged = sum(same)
        if self._mark and unchanged:
            seen = [doc_id for doc_id, is_same in zip(doc_ids, same, strict=True) if is_same]
            self._session.run(partial(mark_seen, layout=self._target.layout, doc_ids=seen, run=settings.run))
        if unchanged:
            count("documents_unchanged", unchanged)
            yield TaggedOutput(COUNTS, {"documents_unchanged": unchanged})
        if unchanged < len(same):
            yield documents.filter(pc.invert(pa.array(same))) if unchanged else documents


class _Finish(beam.PTransform[Any, Any]):
    """Adds the counts up; when all rows of a bounded input are there, makes the vector index."""

    def __init__(self, target: Target) -> None:
        super().__init__()
        self._target = target

    def expand(self, counts: PCollection[Counts]) -> PCollection[Counts]:
        if not counts.is_bounded:
            return counts
        total: PCollection[Counts] = (
            counts
            | beam.WindowInto(GlobalWindows())
            | "Add" >> beam.CombineGlobally(add_counts).with_output_types(Counts)
            | "Index" >> beam.Map(_make_index, self._target).with_output_types(Counts)
        )
        return total


def document_hashes(documents: pa.Table) -> list[str]:
    """The `doc_hash` of each document of a table."""
    text = document_text(documents.column(TEXT))
    offsets = text.doc_offsets
    return hex_strings(hash_slices(text.data, offsets[:-1], offsets[1:])).to_pylist()  # type: ignore[no-any-return]


def _sendable(doc_ids: Iterable[str]) -> list[str]:
    """Ids that the database can be asked about; it holds none with U+0000."""
    return [doc_id for doc_id in doc_ids if "\0" not in doc_id]


def _divide(table: TABLE) -> Iterator[Any]:
    whole, pieces = split_whole(table)
    if whole.num_rows:
        yield whole
    for doc_id, piece in pieces:
        yield TaggedOutput(PIECES, (doc_id, piece))


def _report(loaded: Loaded) -> Iterator[Any]:
    counts = Counter(loaded.counts)
    if loaded.failures:
        counts["documents_refused"] += len(loaded.failures)
        yield TaggedOutput(FAILURES, load_failures(loaded.failures))
    for name, amount in counts.items():
        count(name, amount)
    yield TaggedOutput(COUNTS, dict(counts))


def _apply(step: beam.DoFn, label: str, tables: PCollection[pa.Table]) -> Any:
    outputs = tables | label >> beam.ParDo(step).with_outputs(FAILURES, COUNTS)
    outputs[FAILURES].element_type, outputs[COUNTS].element_type = TABLE, Counts
    return outputs


def _make_index(counts: Counts, target: Target) -> Counts:
    Session(target.address).run(partial(create_vector_index, layout=target.layout))
    return counts
