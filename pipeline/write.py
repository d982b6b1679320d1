"""WriteChunks: chunk tables and failure tables -> a folder of files, complete or not at all."""

from __future__ import annotations

import os
import time
import uuid
from collections.abc import Iterable, Mapping
from typing import Any

import apache_beam as beam
import pyarrow as pa
from apache_beam.pvalue import AsSingleton, PCollection
from apache_beam.transforms.combiners import ToListCombineFn
from apache_beam.transforms.window import GlobalWindow, GlobalWindows
from apache_beam.utils.windowed_value import WindowedValue

from pipeline.manifest import MANIFEST_NAME, add_counts
from pipeline.publish import Output, publish
from pipeline.shard_files import check_format
from pipeline.shards import Kind, Shard, ShardWriter
from pipeline.table_coder import TABLE

Counts = dict[str, int]


class WriteChunks(beam.PTransform[Any, Any]):
    """Writes chunk tables, and failure tables if there are any, as the content of an output folder.

    In: a PCollection of chunk tables, or a mapping of PCollections: `chunks`, and as wanted `failures`
    (tables of `FAILURE_SCHEMA`) and `counts` (`ChunkDocuments` emits them; without them the manifest knows
    only what rows show). All must be bounded.
    Out: a PCollection with one element, the path of manifest.json, which is written when all else is there.

    The folder then holds `chunks-00000-of-0000N.*`, `failures-00000-of-0000N.parquet`, `failures.jsonl` and
    `manifest.json`; an earlier run's files of these names are gone, all others are left alone. A file holds
    the rows of one bundle, or a part of them. A bundle that is tried again does not double its rows, and a
    job that fails leaves the folder as it was, but for a hidden folder that the next finished run removes.

    Args:
        path: The output folder, on any file system that Beam knows.
        schema: The schema of the chunk tables, from `chunk_schema`.
        format: `parquet` (zstd), `arrow` (IPC file, zstd) or `jsonl`.
        settings: What the manifest is to say about the job's settings; values that JSON knows.
        max_failures: Fail the job, publishing nothing, if there are more failure rows: a count (int), or a
            share of the documents read (float from 0 to 1).

    Raises:
        ValueError: If the format is unknown or a PCollection is unbounded.

    Example:
        >>> chunk = ChunkDocuments(splitter="cl100k_base", metadata_fields=[pa.field("lang", pa.string())])
        >>> outputs = documents | chunk
        >>> {"chunks": outputs.chunks, "failures": outputs.failures} | WriteChunks("out", chunk.schema)
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        schema: pa.Schema,
        *,
        format: str = "parquet",  # noqa: A002 - the name that the setting has everywhere
        settings: Mapping[str, Any] | None = None,
        max_failures: int | float | None = None,
    ) -> None:
        super().__init__()
        self.output = Output(
            folder=os.fspath(path),
            schema=schema,
            file_format=check_format(format),
            run=uuid.uuid4().hex,
            settings=dict(settings or {}),
            max_failures=max_failures,
            started=time.time(),
        )

    def expand(self, inputs: Any) -> PCollection[str]:
        """Write each bundle's tables to files of its own, then publish all of them at once."""
        given = _by_name(inputs)
        shards = [
            given[kind]
            | f"Window {kind}" >> beam.WindowInto(GlobalWindows())
            | f"Write {kind}" >> beam.ParDo(_WriteShards(self.output, kind)).with_output_types(Shard)
            for kind in ("chunks", "failures")
            if kind in given
        ]
        manifest_path: PCollection[str] = (
            shards
            | "Join shards" >> beam.Flatten()
            | "List shards" >> beam.CombineGlobally(ToListCombineFn())
            | "Publish" >> beam.Map(_publish, self.output, _sum_of_counts(given)).with_output_types(str)
        )
        return manifest_path


class _WriteShards(beam.DoFn):
    """Tables of a bundle -> files in the staging folder, named downstream when the bundle is done."""

    def __init__(self, output: Output, kind: Kind) -> None:
        self._output, self._kind = output, kind
        self._writer: ShardWriter | None = None

    def start_bundle(self) -> None:
        self._abandon()
        self._writer = self._output.writer(self._kind)

    def process(self, table: TABLE) -> None:
        assert self._writer is not None
        self._writer.write(table)

    def finish_bundle(self) -> Iterable[WindowedValue]:
        assert self._writer is not None
        window = GlobalWindow()
        shards, self._writer = self._writer.finish(), None
        for shard in shards:
            yield WindowedValue(shard, window.max_timestamp(), (window,))

    def teardown(self) -> None:
        self._abandon()

    def _abandon(self) -> None:
        if self._writer is not None:
            self._writer.abandon()
        self._writer = None


def _by_name(inputs: Any) -> dict[str, Any]:
    """The PCollections by what they hold.

    Raises:
        ValueError: If a name is unknown, chunks are missing, or a PCollection is unbounded.
    """
    given = dict(inputs) if isinstance(inputs, Mapping) else {"chunks": inputs}
    if "chunks" not in given or set(given) - {"chunks", "failures", "counts"}:
        raise ValueError(f"WriteChunks takes chunks, and as wanted failures and counts; it was given {sorted(given)}")
    for name, collection in given.items():
        if not collection.is_bounded:
            raise ValueError(
                f"WriteChunks publishes when all {name} are there, and this PCollection has no end; "
                "write the windows of a stream with apache_beam.io.fileio.WriteToFiles"
            )
    return given


def _sum_of_counts(given: Mapping[str, Any]) -> AsSingleton | Counts:
    if "counts" not in given:
        return {}
    total = (
        given["counts"]
        | "Window counts" >> beam.WindowInto(GlobalWindows())
        | "Add counts" >> beam.CombineGlobally(add_counts).with_output_types(Counts)
    )
    return AsSingleton(total)


def _publish(shards: list[Shard], output: Output, counts: Mapping[str, int]) -> str:
    publish(output, shards, counts)
    return output.path(MANIFEST_NAME)
