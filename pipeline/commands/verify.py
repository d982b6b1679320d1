"""`llm-splitter verify`: every promise of a finished output, checked against the documents."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter
from rich.console import Console

from pipeline.commands.arguments import settings_errors
from pipeline.exit_codes import ExitCode
from pipeline.wording import plural

if TYPE_CHECKING:
    from pipeline.verify import Report

_Optional = Annotated[str | None, Parameter(show_default=False)]


def verify_command(
    output: str,
    /,
    *documents: str,
    id_column: _Optional = None,
    text_column: _Optional = None,
    input_format: _Optional = None,
) -> int:
    """Check a finished output against its documents: every offset, hash, id and token count again.

    Prints what breaks, if anything. The output of a pipeline of your own does not say which documents it is made of:
    name them, and their columns.

    Try it:

      llm-splitter verify out

      llm-splitter verify out 'docs/*.parquet' --id-column url

    Args:
        output: The output folder of a job.
        documents: Paths and patterns of the documents; by default those that the job read.
        id_column: Column with the documents' ids, where it is not the job's.
        text_column: Column with their text, where it is not the job's.
        input_format: What the files are, where it is not the job's.
    """
    given = {"id_column": id_column, "text_column": text_column, "input_format": input_format}
    with settings_errors(name for name, value in given.items() if value is not None):
        from pipeline.verify import verify_output  # noqa: PLC0415 - Beam takes seconds to load, help should not wait

        report = verify_output(output, documents, **given)
    _print(report, Console())
    return ExitCode.FINE if report.is_clean else ExitCode.JOB_FAILED


def _print(report: Report, console: Console) -> None:
    for line in _lines(report):
        console.print(line, highlight=False, markup=False, soft_wrap=True)


def _lines(report: Report) -> list[str]:
    lines = [f"{plural(report.documents, 'document')} and {plural(report.chunks, 'chunk')} checked"]
    if report.repeated:
        lines.append(f"{plural(report.repeated, 'document')} with the id of an earlier one; each has its chunks")
    if report.is_clean:
        return [*lines, *report.notes, "every promise is kept"]
    lines += [f"{check}: {plural(amount, 'break')}" for check, amount in sorted(report.broken.items())]
    lines += [f"  {found}" for found in report.examples]
    if (more := report.broken.total() - len(report.examples)) > 0:
        lines.append(f"  and {more:,} more")
    return lines + report.notes
