"""`llm-splitter load`: documents, chunked as for `run`, into PostgreSQL with pgvector."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import nullcontext
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter
from rich.console import Console
from rich.text import Text

from pipeline.commands.arguments import settings_errors, settings_file
from pipeline.commands.database import DatabaseFlags, job_with_database
from pipeline.config import JobConfig
from pipeline.exit_codes import ExitCode
from pipeline.extras import require
from pipeline.flags import flags
from pipeline.progress import ProgressLine, watch
from pipeline.summary import Row, aligned

if TYPE_CHECKING:
    from pipeline.load import LoadResult
    from pipeline.load_report import LoadReport

LoadFlags: Any = dict[str, Any] if TYPE_CHECKING else flags(JobConfig)


def load_command(
    config: str | None = None,
    /,
    *beam_options: str,
    chunks: Annotated[str | None, Parameter(show_default=False)] = None,
    quiet: Annotated[bool, Parameter(negative=(), show_default=False)] = False,
    database: Annotated[DatabaseFlags, Parameter(name="*")] = {},  # noqa: B006 (never changed)
    settings: Annotated[LoadFlags, Parameter(name="*")] = {},  # noqa: B006 (never changed)
) -> int:
    """Chunk documents into a table of PostgreSQL with pgvector, as often as they change.

    Documents that are loaded already are skipped, changed ones are replaced as a whole. Where no database is
    named, a server of your own is started.

    Try it:

      llm-splitter load job.yaml

      LLM_SPLITTER_DATABASE_URL=postgresql://app@db/articles llm-splitter load job.yaml --table passages

      llm-splitter load job.yaml --chunks out

    Args:
        config: A YAML file with settings.
        beam_options: After `--`, options for Apache Beam.
        chunks: Load the rows of this output folder, which `run` has left, instead of chunking anew.
        quiet: Show neither progress nor summary.
        database: Settings of the section `database`.
        settings: The same names as in the file.
    """
    file, flags_for_beam = settings_file(config, beam_options)
    job = job_with_database(file, settings, database)
    with settings_errors([*settings, *database]):
        result = _run(job, chunks, flags_for_beam, quiet)
    if result.report is not None and not quiet:
        table = job.database.table if job.database else ""
        Console().print(load_summary(result.report, table), soft_wrap=True)
    if result.error:
        sys.stderr.write(f"llm-splitter: {_why(result)}\n")
    return result.exit_code


def load_summary(report: LoadReport, table: str) -> Text:
    """The end of a load on one screen."""
    return aligned(_rows(report, table))


def _rows(report: LoadReport, table: str) -> Iterator[Row]:
    for outcome in ("new", "changed", "unchanged", "retired"):
        yield Row(f"documents {outcome}", f"{report.counts.get(f'documents_{outcome}', 0):,}")
    yield Row("chunk rows written", f"{report.counts.get('chunks_loaded', 0):,}")
    failed = f"{report.failures:,}" + (f", see {report.folder}" if report.failures else "")
    yield Row("failures", failed, is_bad=report.failures > 0)
    if report.kept:
        yield Row("", "nothing was retired: what failed to be read is not known to be gone")
    yield Row("table", table)


def _run(job: JobConfig, chunks: str | None, beam_args: tuple[str, ...], quiet: bool) -> LoadResult:
    require("load", "pgvector", "psycopg", "pgvector")
    from pipeline.counters import LIVE  # noqa: PLC0415 - Beam takes seconds to load, help should not wait
    from pipeline.load import run_load  # noqa: PLC0415

    with nullcontext() if quiet else watch(ProgressLine(LIVE.snapshot), Console(stderr=True)):
        return run_load(job, chunks=chunks, beam_args=beam_args)


def _why(result: LoadResult) -> str:
    if result.exit_code == ExitCode.TOO_MANY_FAILURES or result.report is not None:
        return result.error
    return f"the load failed: {result.error} (--debug shows more)"
