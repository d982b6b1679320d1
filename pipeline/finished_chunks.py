"""ReadChunks: the chunk rows that a finished job has left, as tables."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import apache_beam as beam
import pyarrow as pa
from apache_beam.pvalue import PCollection

from pipeline import folders
from pipeline.chunk_files import open_chunk_file
from pipeline.earlier_outputs import ROUND_FILES
from pipeline.manifest import MANIFEST_NAME, Manifest, parse_manifest
from pipeline.table_coder import TABLE


class ReadChunks(beam.PTransform[Any, Any]):
    """Reads the chunk rows of a finished output.

    In: the pipeline. Out: a PCollection of chunk tables, one for each row group or record batch.

    Args:
        folder: The output folder of a job.

    Attributes:
        schema: The schema of the rows, which says how they were made.
        is_round: Whether the folder is one of the rounds of `watch`, which hold some of the documents each.
        failures: How many failures the job had.

    Raises:
        ValueError: If the folder holds no finished output, or one in JSON Lines, which has no schema.
    """

    def __init__(self, folder: str) -> None:
        super().__init__()
        self._paths = chunk_paths(folder)
        self.is_round = folders.exists(folders.join(folder, ROUND_FILES))
        self.failures = finished_manifest(folder).counters["failures"]
        schema = open_chunk_file(self._paths[0]).schema
        if schema is None:
            raise ValueError(
                f"{folder!r} holds JSON Lines, which do not say what they were made with; "
                "load an output of format parquet or arrow"
            )
        self.schema = schema

    def expand(self, pipeline: Any) -> PCollection[pa.Table]:
        """List the blocks of the files and read them."""
        tables: PCollection[pa.Table] = (
            pipeline
            | "List files" >> beam.Create(self._paths)
            | "List blocks" >> beam.FlatMap(_blocks)
            | "Spread blocks" >> beam.Reshuffle()
            | "Read" >> beam.MapTuple(_read).with_output_types(TABLE)
        )
        return tables


def finished_manifest(folder: str) -> Manifest:
    """The manifest of a finished output.

    Raises:
        ValueError: If there is no finished output.
    """
    path = folders.join(folder, MANIFEST_NAME)
    if not folders.exists(path):
        raise ValueError(f"{folder!r} holds no finished output: there is no {MANIFEST_NAME}; run the job first")
    with folders.open_file(path) as file:
        return parse_manifest(file.read())


def chunk_paths(folder: str) -> list[str]:
    """The chunk files of a finished output.

    Raises:
        ValueError: If there is no finished output.
    """
    names = [file.name for file in finished_manifest(folder).files if file.name.startswith("chunks-")]
    return [folders.join(folder, name) for name in names]


def _blocks(path: str) -> Iterator[tuple[str, int]]:
    for block in range(len(open_chunk_file(path))):
        yield path, block


def _read(path: str, block: int) -> pa.Table:
    return open_chunk_file(path).read(block)
