"""EmbedChunks: chunk tables -> chunk tables with vectors."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import apache_beam as beam
import pyarrow as pa
import pyarrow.compute as pc
from apache_beam.pvalue import PCollection, TaggedOutput
from apache_beam.utils.shared import Shared

from pipeline.counters import count
from pipeline.documents import failure_table
from pipeline.embedding import Embedder, Embedding, EmbedOptions
from pipeline.postgres.embedded_rows import embedded_rows
from pipeline.postgres.target import Session, Target
from pipeline.schemas import DOC_ID
from pipeline.table_coder import TABLE

CHUNKS, FAILURES = "chunks", "failures"


class EmbedChunks(beam.PTransform[Any, Any]):
    """Gives chunk rows a column `embedding`.

    In: a PCollection of chunk tables with text. Out: `.chunks`, the same tables with vectors; `.failures`,
    tables of `FAILURE_SCHEMA` with the chunks whose embedding failed, again and again and alone: their vector
    is null.

    Args:
        embedder: A function `list[str] -> float32 matrix`, where it is to be found
            (`package.module:function`), or one of Beam's embedding transforms
            (`apache_beam.ml.transforms.embeddings`).
        dimension: The length of the vectors; default: found by asking the embedder for one.
        options: Batches, retries and pace.
        target: Where the rows will be loaded; texts that have a vector there are not embedded again, and the
            merge keeps that vector.

    Raises:
        ValueError: If there is no such embedder.

    Example:
        >>> chunks | EmbedChunks("pipeline.hash_embedding:embed")
    """

    def __init__(
        self,
        embedder: Embedder | str | Any,
        *,
        dimension: int | None = None,
        options: EmbedOptions | None = None,
        target: Target | None = None,
    ) -> None:
        super().__init__()
        self._embedding = embedder if isinstance(embedder, Embedding) else Embedding(embedder, options)
        self.dimension = dimension or self._embedding.dimension()
        self._target = target

    def expand(self, chunks: PCollection[pa.Table]) -> Any:
        """Embed each table."""
        step = beam.ParDo(_EmbedTables(self._embedding, self.dimension, self._target))
        outputs = chunks | "Embed" >> step.with_outputs(FAILURES, main=CHUNKS)
        outputs[CHUNKS].element_type = outputs[FAILURES].element_type = TABLE
        return outputs


class _EmbedTables(beam.DoFn):
    """`Embedding.embed_chunks` over tables."""

    def __init__(self, embedding: Embedding, dimension: int, target: Target | None) -> None:
        self._embedding, self._dimension, self._target = embedding, dimension, target
        self._shared = Shared()
        self._session: Session | None = None

    def setup(self) -> None:
        self._embedding = self._shared.acquire(lambda: self._embedding)  # a model is kept once in a process
        self._session = Session(self._target.address) if self._target else None

    def process(self, chunks: TABLE) -> Iterator[Any]:
        embedded = self._embedding.embed_chunks(chunks, self._dimension, self._known(chunks))
        count("chunks_embedded", chunks.num_rows - embedded.rows.column("embedding").null_count)
        if embedded.failures:
            count("failures_embed", len(embedded.failures))
            yield TaggedOutput(FAILURES, failure_table(embedded.failures, "embed"))
        yield embedded.rows

    def teardown(self) -> None:
        if self._session is not None:
            self._session.close()

    def _known(self, chunks: pa.Table) -> set[tuple[str, str]]:
        if self._session is None or self._target is None:
            return set()
        doc_ids = pc.unique(chunks.column(DOC_ID)).to_pylist()
        return self._session.run(partial(embedded_rows, target=self._target, doc_ids=doc_ids))
