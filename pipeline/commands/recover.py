"""`llm-splitter recover`: the exact text of chunk rows that carry none."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from pipeline.commands.arguments import settings_errors, settings_file
from pipeline.commands.database import DatabaseFlags, job_with_database
from pipeline.commands.load import LoadFlags
from pipeline.config_errors import SettingsError
from pipeline.exit_codes import ExitCode
from pipeline.wording import plural


def recover_command(
    config: str | None = None,
    /,
    *,
    rows: Annotated[Literal["output", "database"], Parameter(show_choices=True)] = "output",
    chunk: Annotated[str | None, Parameter(show_default=False)] = None,
    documents_table: Annotated[str | None, Parameter(show_default=False)] = None,
    to: Annotated[str | None, Parameter(show_default=False)] = None,
    database: Annotated[DatabaseFlags, Parameter(name="*")] = {},  # noqa: B006 (never changed)
    settings: Annotated[LoadFlags, Parameter(name="*")] = {},  # noqa: B006 (never changed)
) -> int:
    """Find the exact text of chunk rows that carry none, in the documents that they were made from.

    A document that is no longer the one that was chunked is refused; its rows are told, and the exit code is 1.

    Try it:

      llm-splitter recover job.yaml --rows database --to out/texts.parquet

      llm-splitter recover job.yaml --chunk 0f1e2d3c4b5a69788796a5b4c3d2e1f0:0:210

    Args:
        config: The settings file of the job that made the rows.
        rows: Where the rows are: in the job's output folder, or in its database.
        chunk: Print the text of this one row.
        documents_table: The documents are in this table of the database, in id_column and text_column; by default
            they are the job's input.
        to: The Parquet file to write: the rows with their text.
        database: Settings of the section `database`.
        settings: The same names as in the file.
    """
    file, _ = settings_file(config)
    job = job_with_database(file, settings, database)
    with settings_errors([*settings, *database]):
        from pipeline.recover_job import Source, recover_all, recover_one  # noqa: PLC0415 - Beam takes seconds to load

        source = Source(job, rows, documents_table)
        if chunk is not None:
            sys.stdout.write(recover_one(source, chunk) + "\n")
            return ExitCode.FINE
        if to is None:
            raise SettingsError("--to: is needed: the Parquet file to write; or name one row with --chunk")
        found, failed = recover_all(source, Path(to))
    sys.stderr.write(f"{plural(found, 'row')} with text in {to}; {len(failed):,} without\n")
    for message in failed[:10]:
        sys.stderr.write(f"llm-splitter: {message}\n")
    return ExitCode.JOB_FAILED if failed else ExitCode.FINE
