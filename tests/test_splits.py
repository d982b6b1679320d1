"""However the input is cut into units, the rows are the same."""

from __future__ import annotations

import json

import apache_beam as beam
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from apache_beam.runners.portability.fn_api_runner.fn_runner import FnApiRunner

from pipeline.chunk import ChunkDocuments
from pipeline.documents import ReadOptions
from pipeline.input_files import match_files
from pipeline.read import ReadDocuments, plan_file
from pipeline.write import WriteChunks

LINES = [json.dumps({"id": f"d{number:03}", "text": f"line {number:03} is one of many. " * 20}) for number in range(80)]


def rows(source, output, split_bytes):
    chunk = ChunkDocuments(splitter="words", chunk_size=16, chunk_overlap=3)
    with beam.Pipeline(FnApiRunner()) as pipeline:
        documents = pipeline | ReadDocuments(str(source), id_column="id", split_bytes=split_bytes)
        chunks = documents.documents | chunk
        {"chunks": chunks.chunks, "failures": documents.failures} | WriteChunks(str(output), chunk.schema)
    tables = [pq.read_table(path) for path in output.glob("chunks-*.parquet")]
    return pa.concat_tables(tables).sort_by("chunk_id")


@pytest.mark.parametrize("units", [2, 8])
@pytest.mark.parametrize("kind", ["jsonl", "parquet"])
def test_rows_do_not_depend_on_the_units(tmp_path, kind, units):
    source = tmp_path / f"docs.{kind}"
    if kind == "jsonl":
        source.write_text("\n".join(LINES) + "\n")
    else:
        pq.write_table(
            pa.Table.from_pylist(list(map(json.loads, LINES))), source, row_group_size=10, compression="none"
        )
    [file] = match_files(str(source))
    split_bytes = file.size // units + 1 if kind == "jsonl" else {2: file.size // 2, 8: 1}[units]
    planned = plan_file(file, ReadOptions(split_bytes=split_bytes))
    assert len(planned) == units
    assert rows(source, tmp_path / "cut", split_bytes).equals(rows(source, tmp_path / "whole", 1 << 26))
