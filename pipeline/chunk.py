"""ChunkDocuments: document tables -> chunk tables, failure tables and counts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Literal

import apache_beam as beam
import pyarrow as pa
from apache_beam.metrics.metric import Metrics
from apache_beam.pvalue import PCollection, TaggedOutput
from apache_beam.utils.shared import Shared

from llm_splitter import Chunker, SplitOptions
from pipeline.by_value import ship_by_value
from pipeline.chunk_rows import ChunkedDocuments
from pipeline.counters import NAMESPACE, TOKEN_COUNT, count
from pipeline.schemas import chunk_schema
from pipeline.table_coder import TABLE

Engine = Literal["auto", "quicktok", "tiktoken"]

CHUNKS, FAILURES, COUNTS, EMPTY = "chunks", "failures", "counts", "empty"


class ChunkDocuments(beam.PTransform[Any, Any]):
    """Cuts the documents of each table into chunks.

    In: a PCollection of document tables (`chunk_documents` says which columns), of a few megabytes each: a
    table is worked on in memory as a whole.
    Out: `.chunks`, tables of chunk rows, in the order of their documents within a table; `.failures`, tables
    of `FAILURE_SCHEMA`, a row for each document that the splitter failed on; `.counts`, a dict for each
    document table with the names of `ChunkCounts`; `.empty`, tables of `doc_id`, `doc_hash` and metadata of
    the documents that have no chunk. With an `error_handler` the failures go there, and the output is the
    PCollection of chunk tables alone.

    Each table is worked on alone, without state, in whatever window it comes; a retry gives the same rows and
    ids. The tokenizer is loaded where the pipeline is built, and once in each worker process.

    Args:
        options: How to split, or a chunker; or give the fields of `SplitOptions` by name.
        include_text: Whether chunk rows carry their text.
        metadata_fields: The metadata columns of the chunks and their types. Default: those that a table has.
        engine: Which package encodes tokens (`auto`, `quicktok`, `tiktoken`); the chunks are the same.
        error_handler: Takes the failures, as `apache_beam.transforms.error_handling` describes.
        **split_options: Fields of `SplitOptions`, in place of `options`.

    Raises:
        TypeError, ValueError: If an option is wrong, or the tokenizer cannot be had.

    Example:
        >>> outputs = documents | ChunkDocuments(splitter="cl100k_base", chunk_size=512, chunk_overlap=64)
        >>> outputs.chunks | WriteChunks("out", schema)
    """

    def __init__(
        self,
        options: SplitOptions | Chunker | None = None,
        *,
        include_text: bool = True,
        metadata_fields: Iterable[pa.Field] | None = None,
        engine: Engine = "auto",
        error_handler: Any = None,
        **split_options: Any,
    ) -> None:
        super().__init__()
        self.chunker = _chunker(options, split_options, engine)
        ship_by_value(self.chunker.options.splitter)
        self._include_text = include_text
        self._schema = None if metadata_fields is None else self._with_metadata(metadata_fields)
        self._error_handler = error_handler

    @property
    def schema(self) -> pa.Schema:
        """The schema of the chunk tables, for `WriteChunks`, with the `metadata_fields` that were given."""
        return self._schema or self._with_metadata(())

    def expand(self, documents: PCollection[pa.Table]) -> Any:
        """Chunk each table; three outputs, or with an error handler one."""
        step = beam.ParDo(_ChunkTables(self.chunker, self._include_text, self._schema))
        outputs = documents | "Chunk" >> step.with_outputs(FAILURES, COUNTS, EMPTY, main=CHUNKS)
        outputs[CHUNKS].element_type = outputs[FAILURES].element_type = outputs[EMPTY].element_type = TABLE
        outputs[COUNTS].element_type = dict[str, int]
        if self._error_handler is None:
            return outputs
        self._error_handler.add_error_pcollection(outputs[FAILURES])
        return outputs[CHUNKS]

    def _with_metadata(self, fields: Iterable[pa.Field]) -> pa.Schema:
        return chunk_schema(self.chunker, fields, include_text=self._include_text)


class _ChunkTables(beam.DoFn):
    """`chunk_documents` over tables, its rows in tables of bounded size."""

    def __init__(self, chunker: Chunker, include_text: bool, schema: pa.Schema | None) -> None:
        self._chunker, self._include_text, self._schema = chunker, include_text, schema
        self._shared = Shared()
        self._token_count = Metrics.distribution(NAMESPACE, TOKEN_COUNT)

    def setup(self) -> None:
        # every thread of a worker unpickles this object; vocabularies are kept once
        self._chunker = self._shared.acquire(lambda: self._chunker)

    def process(self, documents: pa.Table) -> Iterator[Any]:
        chunked = ChunkedDocuments(documents, self._chunker, include_text=self._include_text, schema=self._schema)
        yield from chunked.tables()
        if chunked.arrays.errors:
            yield TaggedOutput(FAILURES, chunked.failures())
        counts = chunked.counts().as_dict()
        if counts["documents_empty"]:
            yield TaggedOutput(EMPTY, chunked.empty())
        yield TaggedOutput(COUNTS, counts)
        self._report(counts)
        for tokens in chunked.arrays.token_count.tolist():
            self._token_count.update(tokens)

    def _report(self, counts: dict[str, int]) -> None:
        for name, amount in counts.items():
            if name != "documents":
                count(name, amount)
        count("failures_chunk", counts["documents_failed"])


def _chunker(options: SplitOptions | Chunker | None, split_options: dict[str, Any], engine: Engine) -> Chunker:
    if options is None:
        return Chunker(SplitOptions(**split_options), engine=engine)
    if split_options:
        raise TypeError(f"give options, or their fields by name, not both; got options and {sorted(split_options)}")
    return options if isinstance(options, Chunker) else Chunker(options, engine=engine)
