"""`llm-splitter verify`: every promise of a finished output, checked against the documents."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Console

from pipeline.config_errors import SettingsError
from pipeline.exit_codes import ExitCode

if TYPE_CHECKING:
    from pipeline.verify import Report


def verify_command(chunks: str, /, *documents: str) -> int:
    """Check a finished output against its documents: every offset, hash, id and token count again.

    Prints what breaks, if anything; the exit code is 1 then.

    Try it:

      llm-splitter verify out

      llm-splitter verify out 'docs/*.parquet'

    Args:
        chunks: The output folder of a job.
        documents: Paths and patterns of the documents; by default those that the job read.
    """
    from pipeline.verify import verify_output  # noqa: PLC0415 - Beam takes seconds to load, help should not wait

    try:
        report = verify_output(chunks, documents)
    except (ValueError, OSError) as error:
        raise SettingsError(str(error)) from error
    _print(report, Console())
    return ExitCode.FINE if report.is_clean else ExitCode.JOB_FAILED


def _print(report: Report, console: Console) -> None:
    console.print(f"{report.documents:,} documents, {report.chunks:,} chunks", highlight=False)
    for check, amount in sorted(report.broken.items()):
        console.print(f"{check}: broken {amount:,} times", highlight=False)
    for found in report.examples:
        console.print(f"  {found}", highlight=False, markup=False, soft_wrap=True)
    if report.is_clean:
        console.print("every promise is kept")
