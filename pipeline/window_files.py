"""WriteWindows: tables of a stream -> files, each complete, named by the window whose rows it holds."""

from __future__ import annotations

import os
import random
import uuid
from collections.abc import Iterable, Iterator
from datetime import datetime, timezone
from typing import Any

import apache_beam as beam
import pyarrow as pa
from apache_beam.pvalue import PCollection
from apache_beam.transforms.trigger import AccumulationMode, AfterCount, AfterWatermark
from apache_beam.transforms.window import FixedWindows

from pipeline import folders
from pipeline.measured_file import MeasuredFile
from pipeline.shard_files import Format, check_format, open_shard
from pipeline.shards import check_schema
from pipeline.table_coder import TABLE

DAY = 24 * 3600


class WriteWindows(beam.PTransform[Any, Any]):
    """Writes the tables of each window of time as files in a folder.

    In: a PCollection of tables, bounded or not. Out: a PCollection of the paths of the files.

    A file appears under its name, such as `chunks-20260131T120000Z-60s-1f2e3d4c-0-of-2.parquet`, when it is
    complete, by renaming. The name holds a mark of the job: a bundle that is tried again writes the same rows
    under the same name and makes no second file, and a job that is started anew, with a part of the stream
    delivered to it again, replaces no file of the one before. Rows that come after their window has passed, but
    within `allowed_lateness`, make files of their own, `...-late-1-...`; what comes later still may be dropped,
    as the runner counts in `droppedDueToLateness`. Rows that are delivered twice are written twice, with equal
    `chunk_id`s: keep one of each when reading, or load them into a database, whose key they are.

    Args:
        path: The folder, on any file system that Beam knows.
        schema: The schema of the tables.
        name: What the files' names begin with.
        seconds: Length of a window.
        allowed_lateness: How long after its window's end a row is still taken, in seconds.
        shards: Files of a window, written side by side.
        format: `parquet`, `arrow` or `jsonl`.

    Raises:
        ValueError: If a number is not positive or the format unknown.

    Example:
        >>> chunks | WriteWindows("gs://bucket/chunks", chunk.schema, seconds=300, shards=4)
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        schema: pa.Schema,
        *,
        name: str = "chunks",
        seconds: int = 60,
        allowed_lateness: int = 7 * DAY,
        shards: int = 1,
        format: str = "parquet",  # noqa: A002 - the name that the setting has everywhere
    ) -> None:
        super().__init__()
        if min(seconds, shards) < 1 or allowed_lateness < 0:
            raise ValueError(f"seconds={seconds}, shards={shards}: at least 1; allowed_lateness={allowed_lateness}: 0")
        self._windows = FixedWindows(seconds)
        self._allowed_lateness, self._shards = allowed_lateness, shards
        self._write = _WriteFile(os.fspath(path), schema, name, check_format(format), shards)

    def expand(self, tables: PCollection[pa.Table]) -> PCollection[str]:
        """A file for each shard of each firing of each window."""
        paths: PCollection[str] = (
            tables
            | "Window"
            >> beam.WindowInto(
                self._windows,
                trigger=AfterWatermark(late=AfterCount(1)),
                accumulation_mode=AccumulationMode.DISCARDING,
                allowed_lateness=self._allowed_lateness,
            )
            | "Share out" >> beam.Map(_with_shard, self._shards).with_output_types(tuple[int, TABLE])
            | "Gather" >> beam.GroupByKey()
            | "Write" >> beam.ParDo(self._write).with_output_types(str)
        )
        return paths


def _with_shard(table: pa.Table, shards: int) -> tuple[int, pa.Table]:
    return random.randrange(shards), table


class _WriteFile(beam.DoFn):
    """The tables of one firing and shard -> one file."""

    def __init__(self, folder: str, schema: pa.Schema, name: str, file_format: Format, shards: int) -> None:
        self._folder, self._schema, self._name = folder, schema, name
        self._run = uuid.uuid4().hex[:8]
        self._format, self._shards = file_format, shards

    def process(
        self,
        keyed: tuple[int, Iterable[pa.Table]],
        window: Any = beam.DoFn.WindowParam,
        pane: Any = beam.DoFn.PaneInfoParam,
    ) -> Iterator[str]:
        shard, tables = keyed
        title = file_title(self._name, float(window.start), float(window.end), pane.index)
        path = folders.join(self._folder, f"{title}-{self._run}-{shard}-of-{self._shards}.{self._format}")
        write_file(path, tables, self._schema, self._format)
        yield path


def file_title(name: str, start: float, end: float, firing: int) -> str:
    """What a window's files are called; times in seconds since 1970.

    >>> file_title("chunks", 0.0, 60.0, 0), file_title("chunks", 0.0, 60.0, 2)
    ('chunks-19700101T000000Z-60s', 'chunks-19700101T000000Z-60s-late-2')
    """
    begun = datetime.fromtimestamp(start, timezone.utc).strftime("%Y%m%dT%H%M%SZ")
    return f"{name}-{begun}-{end - start:g}s" + (f"-late-{firing}" if firing else "")


def write_file(path: str, tables: Iterable[pa.Table], schema: pa.Schema, file_format: Format) -> None:
    """A complete file under its name, or none; one that is there already is replaced.

    Raises:
        ValueError: If a table does not have the schema.
    """
    staged = folders.join(folders.parent(path), f".{folders.base_name(path)}.{uuid.uuid4().hex}.part")
    file = MeasuredFile(staged)
    shard = open_shard(file, schema, file_format)
    for table in tables:
        check_schema(table.schema, schema)
        shard.write(table)
    shard.close()
    file.close()
    folders.rename({staged: path})
