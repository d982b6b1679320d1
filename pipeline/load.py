"""The load: documents, or chunk rows that a job has left, into the database; its graph, and running it."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import apache_beam as beam
import orjson
import pyarrow as pa
from apache_beam.pvalue import AsSingleton, PCollection
from apache_beam.transforms.combiners import ToListCombineFn

from pipeline.beam_runs import pipeline_options, prompt_threads, quiet_beam, runner_of
from pipeline.build import read_step
from pipeline.chunk import ChunkDocuments
from pipeline.config import JobConfig
from pipeline.counters import LIVE
from pipeline.database_settings import DatabaseSettings
from pipeline.embed_chunks import EmbedChunks
from pipeline.embedding import Embedding, EmbedOptions
from pipeline.exit_codes import ExitCode
from pipeline.finished_chunks import ReadChunks
from pipeline.hashing import hash_bytes
from pipeline.job_errors import cause_of, is_interrupt
from pipeline.load_report import LoadReport, finish_load, read_report
from pipeline.manifest import add_counts
from pipeline.pgvector import SkipLoaded, WriteToPgvector
from pipeline.postgres.address import DatabaseAddress
from pipeline.postgres.registry import LoadSettings
from pipeline.postgres.target import Target
from pipeline.schemas import TEXT
from pipeline.wording import plural


@dataclass(frozen=True)
class LoadResult:
    """How a load ended.

    Attributes:
        exit_code: Fine, failed, or more failures than `max_failures` allows (what was loaded stays).
        report: What became of the documents; None if the load did not finish.
        error: Why it did not finish, in words.
    """

    exit_code: ExitCode
    report: LoadReport | None = None
    error: str = ""


@dataclass(frozen=True)
class _Collections:
    """What the steps of a load leave behind."""

    failures: list[PCollection[pa.Table]] = field(default_factory=list)
    counts: list[PCollection[dict[str, int]]] = field(default_factory=list)


class Load:
    """The steps of a load, built from its settings; the tables are there when this is.

    Args:
        config: The settings.
        chunks: The output folder of a finished job, whose rows are loaded instead of those of the documents.

    Raises:
        ValueError: If a setting cannot be worked with.
        psycopg.Error: If the database cannot be reached, or does not allow what is needed.
    """

    def __init__(self, config: JobConfig, chunks: str | None = None) -> None:
        self.config = config
        self.database = config.database or DatabaseSettings.model_validate({})
        self._from_chunks = None if chunks is None else ReadChunks(chunks)
        if self.database.retire and self._from_chunks is not None and self._from_chunks.is_round:
            raise ValueError(
                f"retire: {chunks!r} is a round of `watch` and holds only what had arrived, so that the documents of "
                "other rounds would be retired; load it with --no-retire"
            )
        self._embedding = _embedding(self.database)
        self.dimension = self.database.dimension or (self._embedding.dimension() if self._embedding else None)
        if self._from_chunks is None:
            self._read = read_step(config)
            self._chunk = ChunkDocuments(
                config.chunker(),
                include_text=config.text or self._embedding is not None,
                metadata_fields=self._read.metadata,
            )
        schema = self._schema()
        if self._embedding is not None and self._from_chunks is not None and TEXT not in schema.names:
            raise ValueError("embedder: the chunk rows carry no text to embed; load the documents, or rows with text")
        self.write = WriteToPgvector(
            address_of(self.database),
            schema if config.text or TEXT not in schema.names else schema.remove(schema.get_field_index(TEXT)),
            create=self.database.create,
            settings=self._settings(schema),
            dimension=self.dimension,
            **self.database.layout(),
        )
        self.target: Target = self.write.target.prepared(create=self.database.create)

    def build(self, root: Any, report: str) -> PCollection[str]:
        """The whole graph; one element comes out, the path of the report."""
        done = _Collections()
        chunks, empty = self._chunks(root, done)
        if self._embedding is not None:
            embed = EmbedChunks(self._embedding, dimension=self.dimension, target=self.target)
            embedded = chunks | "Embed" >> embed
            chunks = embedded.chunks
            done.failures.append(embedded.failures)
        written = {"chunks": chunks, **empty} | "Write" >> self.write
        done.failures.append(written["failures"])
        done.counts.append(written["counts"])
        tables = done.failures | "Join failures" >> beam.Flatten()
        failures = tables | "List failures" >> beam.CombineGlobally(ToListCombineFn())
        counts = done.counts | "Join counts" >> beam.Flatten() | "Add counts" >> beam.CombineGlobally(add_counts)
        finished: PCollection[str] = failures | "Finish" >> beam.Map(
            finish_load, AsSingleton(counts), self.target, report, self.database.retire, is_complete=self._is_complete
        ).with_output_types(str)
        return finished

    def _chunks(self, root: Any, done: _Collections) -> tuple[PCollection[pa.Table], dict[str, PCollection[pa.Table]]]:
        if self._from_chunks is not None:
            return root | "Read chunks" >> self._from_chunks, {}
        documents = root | "Read" >> self._read
        fresh = documents.documents | "Skip" >> SkipLoaded(self.target, mark=self.database.retire)
        chunks = fresh.documents | "Chunk" >> self._chunk
        done.failures.extend([documents.failures, chunks.failures])
        done.counts.extend([documents.counts, fresh.counts, chunks.counts])
        return chunks.chunks, {"empty": chunks.empty}

    @property
    def _is_complete(self) -> bool:
        """Whether no document failed before its rows came here."""
        return self._from_chunks is None or not self._from_chunks.failures

    def _schema(self) -> pa.Schema:
        return self._chunk.schema if self._from_chunks is None else self._from_chunks.schema

    def _settings(self, schema: pa.Schema) -> LoadSettings:
        made_by = (schema.metadata or {}).get(b"llm_splitter.fingerprint", b"").decode()
        embedder = self.database.embedder or ""
        fingerprint = hash_bytes(orjson.dumps([made_by, self.config.text, embedder]))
        return LoadSettings(fingerprint, embedder, self.database.corpus, uuid.uuid4().hex)


def run_load(config: JobConfig, *, chunks: str | None = None, beam_args: Sequence[str] = ()) -> LoadResult:
    """Load documents into the database, in this process unless Beam options name a runner.

    Documents that are loaded with the same text, metadata and settings are skipped. What was loaded stays,
    however the job ends: a document is there as a whole, or as it was before.

    Args:
        config: The settings; `database` says where to.
        chunks: The output folder of a finished job, whose rows are loaded; nothing is chunked then.
        beam_args: Options for Beam, after those of the settings.

    Raises:
        ValueError: If a setting cannot be worked with; nothing was loaded then.
        psycopg.Error: If the database cannot be reached, or does not allow what is needed.
    """
    options = pipeline_options([*config.beam_options, *beam_args])
    load = Load(config, chunks)
    path = LoadReport.path_in(config.output)
    LIVE.clear()
    try:
        with quiet_beam(), prompt_threads(), beam.Pipeline(runner_of(options), options=options) as pipeline:
            load.build(pipeline, path)
    except Exception as error:
        if is_interrupt(error):
            raise KeyboardInterrupt from error
        return LoadResult(ExitCode.JOB_FAILED, error=str(cause_of(error)))
    return _finished(read_report(path), config.max_failures)


def address_of(database: DatabaseSettings) -> DatabaseAddress:
    """Where the database of the settings is."""
    return DatabaseAddress(database.url, database.url_file, database.url_variable, database.folder)


def _finished(report: LoadReport, max_failures: int | float | None) -> LoadResult:
    failures = plural(report.failures, "failure")
    if report.failures > _most_failures(max_failures, report.counts):
        why = f"{failures}: more than max_failures={max_failures} allows; what could be loaded is loaded, and the "
        return LoadResult(ExitCode.TOO_MANY_FAILURES, report, f"{why}failures are in {report.folder}")
    if report.failures and not any(report.counts.get(f"documents_{end}") for end in ("new", "changed", "unchanged")):
        return LoadResult(ExitCode.JOB_FAILED, report, f"nothing was loaded: {failures}; see {report.folder}")
    return LoadResult(ExitCode.FINE, report)


def _most_failures(max_failures: int | float | None, counts: Mapping[str, int]) -> float:
    if max_failures is None:
        return float("inf")
    return max_failures if isinstance(max_failures, int) else max_failures * counts.get("documents_read", 0)


def _embedding(database: DatabaseSettings) -> Embedding | None:
    if database.embedder is None:
        return None
    options = EmbedOptions(database.embed_batch, database.embed_retries, database.embed_per_second)
    return Embedding(database.embedder, options)
