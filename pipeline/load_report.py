"""What a load leaves beside the database: its failures, and a report of what became of the documents."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial

import orjson
import pyarrow as pa
import pyarrow.parquet as pq

from pipeline import folders
from pipeline.postgres.registry import retire_unseen
from pipeline.postgres.target import Session, Target
from pipeline.schemas import FAILURE_SCHEMA
from pipeline.shard_files import JsonLinesShard

_FOLDER = "load"
_REPORT = "report.json"


@dataclass(frozen=True)
class LoadReport:
    """What became of the documents of a load.

    Attributes:
        counts: Documents read, new, changed, unchanged, retired, refused; chunks loaded.
        failures: Number of failure rows.
        folder: Where report and failures are.
        kept: Whether documents that are not in the input were kept because something failed.
    """

    counts: Mapping[str, int]
    failures: int
    folder: str
    kept: bool = False

    @staticmethod
    def path_in(output: str) -> str:
        """Where the report of a job with that output folder goes."""
        return folders.join(folders.join(output, _FOLDER), _REPORT)


def finish_load(
    failures: Sequence[pa.Table],
    counts: Mapping[str, int],
    target: Target,
    report: str,
    retire: bool,
    *,
    is_complete: bool = True,
) -> str:
    """Retire what is gone from the input, and write report and failures; the path of the report.

    Nothing is retired if anything failed: a file that could not be read is not a file of deleted documents.

    Args:
        failures: Of the load.
        counts: Sums over its steps.
        target: The database.
        report: Where the report goes.
        retire: Whether documents that were not met are retired.
        is_complete: Whether what was loaded are all documents, none of which failed before.
    """
    rows = pa.concat_tables([FAILURE_SCHEMA.empty_table(), *failures])
    keep = retire and (rows.num_rows > 0 or not is_complete)
    retired = 0
    if retire and not keep:
        work = partial(retire_unseen, layout=target.layout, corpus=target.settings.corpus, run=target.settings.run)
        retired = Session(target.address).run(work)
    folder = folders.parent(report)
    _write_failures(folder, rows)
    all_counts = {**counts, "documents_retired": retired}
    _write(
        report,
        orjson.dumps(
            asdict(LoadReport(all_counts, rows.num_rows, folder, keep)),
            option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE,
        ),
    )
    return report


def read_report(path: str) -> LoadReport:
    """The report at a path."""
    with folders.open_file(path) as file:
        return LoadReport(**orjson.loads(file.read()))


def _write_failures(folder: str, rows: pa.Table) -> None:
    table = pa.BufferOutputStream()
    pq.write_table(rows, table, compression="zstd")
    _write(folders.join(folder, "failures.parquet"), table.getvalue())
    lines = pa.BufferOutputStream()
    JsonLinesShard(lines, FAILURE_SCHEMA).write(rows)
    _write(folders.join(folder, "failures.jsonl"), lines.getvalue())


def _write(path: str, content: bytes | pa.Buffer) -> None:
    """Give the file its new content at once: whoever reads it meanwhile sees the old one."""
    part = f"{path}.{os.getpid()}.part"
    with folders.create(part) as file:
        file.write(content)
    folders.rename({part: path})
