"""`llm-splitter load`: documents, chunked as for `run`, into PostgreSQL with pgvector."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter
from rich.console import Console
from rich.table import Table

from pipeline.commands.database import DatabaseFlags, database_errors, job_with_database
from pipeline.config import JobConfig
from pipeline.exit_codes import ExitCode
from pipeline.flags import flags
from pipeline.progress import ProgressLine, watch

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

      llm-splitter load configs/pgvector.yaml

      LLM_SPLITTER_DATABASE_URL=postgresql://app@db/articles llm-splitter load job.yaml --table passages

      llm-splitter load job.yaml --chunks out

    Args:
        config: A YAML file with settings; configs/ has examples.
        beam_options: After `--`, options for Apache Beam.
        chunks: Load the rows of this output folder, which `run` has left, instead of chunking anew.
        quiet: Show neither progress nor summary.
        database: Settings of the section `database`.
        settings: The same names as in the file.
    """
    job, flags_for_beam = job_with_database(config, beam_options, settings, database)
    result = _run(job, chunks, flags_for_beam, quiet)
    if result.error:
        sys.stderr.write(f"llm-splitter: {_why(result)}\n")
    if result.report is not None and not quiet:
        Console().print(load_table(result.report, job.database.table if job.database else ""))
    return result.exit_code


def load_table(report: LoadReport, table: str) -> Table:
    """The end of a load on one screen."""
    shown = Table.grid(padding=(0, 2))
    shown.add_column(style="cyan", no_wrap=True)
    shown.add_column()
    for outcome in ("new", "changed", "unchanged", "retired"):
        shown.add_row(f"documents {outcome}", f"{report.counts.get(f'documents_{outcome}', 0):,}")
    shown.add_row("chunk rows written", f"{report.counts.get('chunks_loaded', 0):,}")
    failed = f"{report.failures:,}" + (f", see {report.folder}" if report.failures else "")
    shown.add_row("failures", failed, style="bold red" if report.failures else "")
    if report.kept:
        shown.add_row("", "nothing was retired: what failed to be read is not known to be gone")
    shown.add_row("table", table)
    return shown


def _run(job: JobConfig, chunks: str | None, beam_args: tuple[str, ...], quiet: bool) -> LoadResult:
    with database_errors():
        from pipeline.counters import LIVE  # noqa: PLC0415 - Beam takes seconds to load, help should not wait
        from pipeline.load import run_load  # noqa: PLC0415

        with nullcontext() if quiet else watch(ProgressLine(LIVE.snapshot), Console(stderr=True)):
            return run_load(job, chunks=chunks, beam_args=beam_args)


def _why(result: LoadResult) -> str:
    if result.exit_code == ExitCode.TOO_MANY_FAILURES:
        return result.error
    return f"the load failed: {result.error} (--debug shows more)"
