"""The main job: its graph as one expression, and running it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import apache_beam as beam
from apache_beam.io.filesystems import FileSystems
from apache_beam.options.pipeline_options import PipelineOptions, StandardOptions
from apache_beam.pvalue import PCollection

from pipeline import folders
from pipeline.beam_runs import is_local_runner, pipeline_options, prompt_threads, quiet_beam, runner_of
from pipeline.chunk import ChunkDocuments
from pipeline.config import DocumentSettings, JobConfig
from pipeline.counters import LIVE
from pipeline.exit_codes import ExitCode
from pipeline.job_errors import cause_of, is_interrupt
from pipeline.launch_checks import check_output
from pipeline.manifest import FAILURES_TO_READ, MANIFEST_NAME, Manifest, parse_manifest
from pipeline.publish import NothingChunked, Output, TooManyFailures, discard, is_output_name
from pipeline.read import ReadDocuments
from pipeline.shard_files import check_storable
from pipeline.wording import plural
from pipeline.worker_paths import check_paths
from pipeline.write import WriteChunks


@dataclass(frozen=True)
class JobResult:
    """How a job ended.

    Attributes:
        exit_code: Fine, failed, or more failures than `max_failures` allows. A job that chunked nothing while
            there were failures has failed; its output is published only where there was none before.
        counters: Sums over the job; empty if it did not finish.
        manifest: What the output folder holds; None if the job did not finish.
        error: Why it did not finish or has failed, in words.
    """

    exit_code: ExitCode
    counters: Mapping[str, int]
    manifest: Manifest | None = None
    error: str = ""


class Job:
    """The three steps of the main job, built from its settings.

    Args:
        config: The settings.
        expect_input: Whether files and columns must be there; see `ReadDocuments`.

    Raises:
        ValueError: If a setting cannot be worked with: no such file, column or encoding, or an output or a type
            that cannot be written.
    """

    def __init__(self, config: JobConfig, *, expect_input: bool = True) -> None:
        check_output(config.output)
        self.read = read_step(config, expect_input=expect_input)
        check_storable(self.read.metadata, config.format)
        self.chunk = ChunkDocuments(config.chunker(), include_text=config.text, metadata_fields=self.read.metadata)
        self.write = WriteChunks(
            config.output,
            self.chunk.schema,
            format=config.format,
            settings=_recorded(config),
            max_failures=config.max_failures,
        )
        _check_apart((file.path for file in self.read.files), self.write.output)

    def build(self, root: Any) -> PCollection[str]:
        """The whole graph: documents -> chunks -> files."""
        documents = root | "Read" >> self.read
        chunks = documents.documents | "Chunk" >> self.chunk
        written: PCollection[str] = {
            "chunks": chunks.chunks,
            "failures": (documents.failures, chunks.failures) | "Join failures" >> beam.Flatten(),
            "counts": (documents.counts, chunks.counts) | "Join counts" >> beam.Flatten(),
        } | "Write" >> self.write
        return written


def read_step(config: DocumentSettings, *, expect_input: bool = True) -> ReadDocuments:
    """The first step: the documents that the settings name.

    Raises:
        ValueError: If there is no such file or column where they are expected.
    """
    return ReadDocuments(
        config.input,
        id_column=config.id_column,
        text_column=config.text_column,
        metadata_columns=config.metadata_columns,
        format=config.input_format,
        binary_text=config.binary_text,
        verify_checksums=config.verify_checksums,
        max_line_bytes=config.max_line_bytes,
        expect_input=expect_input,
    )


def build_pipeline(root: Any, config: JobConfig) -> PCollection[str]:
    """The main job in a pipeline: read, chunk, write.

    Args:
        root: The pipeline.
        config: The job's settings.

    Returns:
        A PCollection with one element, the path of the manifest.

    Raises:
        ValueError: If a setting cannot be worked with: no such file, column or encoding.

    Example:
        >>> with beam.Pipeline() as pipeline:  # doctest: +SKIP
        ...     build_pipeline(pipeline, JobConfig(input="docs/*.parquet", output="out"))
    """
    return Job(config).build(root)


def run_job(config: JobConfig, *, beam_args: Sequence[str] = (), expect_input: bool = True) -> JobResult:
    """Run the main job to its end, in this process unless Beam options name a runner.

    While it runs, `pipeline.counters.LIVE.snapshot()` tells how far it is. A job that fails or is interrupted
    leaves the output folder as it was.

    Args:
        config: The job's settings.
        beam_args: Options for Beam such as `--runner=FlinkRunner`, after those of the settings.
        expect_input: Whether files and columns must be there; see `ReadDocuments`.

    Raises:
        ValueError: If a setting cannot be worked with; nothing ran then.
    """
    options = prepared_options(config, beam_args)
    job = Job(config, expect_input=expect_input)
    LIVE.clear()
    try:
        with quiet_beam(), prompt_threads():
            _run(job, options)
    except Exception as error:
        with suppress(Exception):  # where writing failed, clearing up may fail as well
            discard(job.write.output)
        if is_interrupt(error):
            raise KeyboardInterrupt from error
        return _failed(error)
    except BaseException:
        discard(job.write.output)
        raise
    return _finished(job.write.output)


def prepared_options(config: JobConfig, beam_args: Sequence[str] = ()) -> PipelineOptions:
    """The Beam options of a job, known to the file systems too: they say such as where a bucket is.

    Raises:
        ValueError: If other machines are to do the work, and a path is one of this machine.
    """
    options = pipeline_options([*config.beam_options, *beam_args])
    FileSystems.set_options(options)
    if not is_local_runner(options.view_as(StandardOptions).runner):
        check_paths("input", config.input)
        check_paths("output", [config.output])
    return options


def _check_apart(inputs: Iterable[str], output: Output) -> None:
    """Make sure that no earlier output of the job is among its documents.

    Raises:
        ValueError: If one is.
    """
    for path in inputs:
        if is_output_name(folders.base_name(path)) and folders.are_same(folders.parent(path), output.folder):
            raise ValueError(
                f"input: {path!r} is a file of the output folder {output.folder!r}; name the documents more narrowly, "
                "or another output"
            )


def _run(job: Job, options: PipelineOptions) -> None:
    with beam.Pipeline(runner_of(options), options=options) as pipeline:
        job.build(pipeline)


def _recorded(config: JobConfig) -> dict[str, Any]:
    """The settings that the manifest keeps: those that decide what the output holds."""
    return config.model_dump(mode="json", exclude={"beam_options", "database"})


def _finished(output: Output) -> JobResult:
    with folders.open_file(output.path(MANIFEST_NAME)) as file:
        manifest = parse_manifest(file.read())
    counters = manifest.counters
    if counters["documents_chunked"] or not counters["failures"]:
        return JobResult(ExitCode.FINE, counters, manifest)
    why = (
        f"nothing was chunked: {plural(counters['documents_read'], 'document')} read, "
        f"{plural(counters['failures'], 'failure')}; see {output.path(FAILURES_TO_READ)}"
    )
    return JobResult(ExitCode.JOB_FAILED, counters, manifest, why)


def _failed(error: Exception) -> JobResult:
    cause = cause_of(error)
    if cause.name == TooManyFailures.__name__:
        return JobResult(ExitCode.TOO_MANY_FAILURES, {}, error=cause.message)
    if cause.name == NothingChunked.__name__:
        return JobResult(ExitCode.JOB_FAILED, {}, error=cause.message)
    return JobResult(ExitCode.JOB_FAILED, {}, error=str(cause))
