"""WriteChunks, in pipelines of any shape: all rows once, or the folder as it was."""

import json

import apache_beam as beam
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.runners.portability.fn_api_runner.fn_runner import FnApiRunner
from apache_beam.testing.test_stream import TestStream as Stream
from apache_beam.testing.util import assert_that, equal_to
from apache_beam.transforms.window import FixedWindows

from llm_splitter import SplitOptions
from pipeline.chunk import ChunkDocuments
from pipeline.publish import STAGING_PREFIX, TooManyFailures
from pipeline.write import WriteChunks, _WriteShards
from tests.chunk_tables import SCHEMA, chunk_table, failure_table

TABLES = [chunk_table(f"d{number}", "one ", "two") for number in range(5)]


def tables(pipeline, values, label="Create"):
    return pipeline | label >> beam.Create(values).with_output_types(pa.Table)


def published(folder):
    return pa.concat_tables([pq.read_table(path) for path in sorted(folder.glob("chunks-*.parquet"))])


def write(folder, values=TABLES, failures=None, runner=None, options=None, **settings):
    with beam.Pipeline(runner=runner or FnApiRunner(), options=options) as pipeline:
        inputs = {"chunks": tables(pipeline, values)}
        if failures is not None:
            inputs["failures"] = tables(pipeline, failures, "Create failures")
        inputs | WriteChunks(folder, SCHEMA, **settings)


def test_all_rows_are_written_and_the_manifest_is_named(tmp_path):
    with beam.Pipeline(runner=FnApiRunner()) as pipeline:
        manifest = tables(pipeline, TABLES) | WriteChunks(tmp_path, SCHEMA)
        assert_that(manifest, equal_to([str(tmp_path / "manifest.json")]))
    rows = sorted(published(tmp_path).to_pylist(), key=lambda row: row["chunk_id"])
    assert rows == pa.concat_tables(TABLES).to_pylist()
    assert list(tmp_path.glob(f"{STAGING_PREFIX}*")) == []


def test_the_outputs_of_chunk_documents_make_an_output(tmp_path):
    documents = pa.table({"doc_id": ["a", "b", "c"], "text": ["one two three", "", "x"]})
    chunk = ChunkDocuments(SplitOptions(splitter="words", chunk_size=2))
    with beam.Pipeline(runner=FnApiRunner()) as pipeline:
        outputs = tables(pipeline, [documents]) | chunk
        inputs = {name: outputs[name] for name in ("chunks", "failures", "counts")}
        inputs | WriteChunks(tmp_path, chunk.schema, settings={"mine": 1})
    manifest = json.loads((tmp_path / "manifest.json").read_bytes())
    assert manifest["settings"] == {"mine": 1}
    assert manifest["counters"] == {
        "documents_read": 3,
        "documents_chunked": 2,
        "documents_empty": 1,
        "documents_failed": 0,
        "duplicate_ids": 0,
        "surrogates_replaced": 0,
        "tokens": 4,
        "text_bytes": 14,
        "over_budget_chunks": 0,
        "failures": 0,
        "chunks": 3,
    }
    assert manifest["token_count"] == {"min": 1, "median": 1, "p95": 2, "max": 2}


@pytest.mark.parametrize("mode", ["in_memory", "multi_threading"])
def test_several_workers_write_the_same_rows(tmp_path, mode):
    options = PipelineOptions([f"--direct_running_mode={mode}", "--direct_num_workers=3"])
    write(tmp_path, options=options)
    rows = sorted(published(tmp_path).to_pylist(), key=lambda row: row["chunk_id"])
    assert rows == pa.concat_tables(TABLES).to_pylist()


def test_no_elements_make_an_output_without_rows(tmp_path):
    write(tmp_path, [], [])
    assert published(tmp_path).schema.equals(SCHEMA, check_metadata=True)
    assert (tmp_path / "failures-00000-of-00001.parquet").exists()


def test_windows_do_not_divide_an_output(tmp_path):
    with beam.Pipeline(runner=FnApiRunner()) as pipeline:
        stamped = tables(pipeline, TABLES) | beam.Map(
            lambda table: beam.window.TimestampedValue(table, int(table["doc_id"][0].as_py()[1:]) * 100)
        ).with_output_types(pa.Table)
        stamped | beam.WindowInto(FixedWindows(60)) | WriteChunks(tmp_path, SCHEMA)
    assert published(tmp_path).num_rows == 10


@pytest.mark.parametrize(("file_format", "count"), [("arrow", 1), ("jsonl", 1), ("parquet", 1)])
def test_every_format_replaces_the_others(tmp_path, file_format, count):
    for earlier in ("parquet", "arrow", "jsonl"):
        write(tmp_path, format=earlier)
    write(tmp_path, format=file_format)
    assert [path.suffix for path in tmp_path.glob("chunks-*")] == [f".{file_format}"] * count


def test_a_failing_job_leaves_the_folder_as_it_was(tmp_path):
    write(tmp_path)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    bad = chunk_table("x", "y").drop_columns(["lang"])
    with pytest.raises(ValueError, match="does not have the schema"):
        write(tmp_path, [*TABLES, bad])
    after = {path.name: path.read_bytes() for path in tmp_path.iterdir() if path.is_file()}
    assert after == before


def test_too_many_failures(tmp_path):
    with pytest.raises(TooManyFailures, match="max_failures=1"):
        write(tmp_path, failures=[failure_table("line 1"), failure_table("line 2")], max_failures=1)
    assert not (tmp_path / "manifest.json").exists()
    write(tmp_path, failures=[failure_table("line 1")], max_failures=1)
    assert (tmp_path / "manifest.json").exists()


def test_a_bundle_that_is_tried_again_does_not_double_rows(tmp_path):
    """The first attempt dies after half its tables; as on Dataflow or Flink, a new instance takes the bundle."""
    transform = WriteChunks(tmp_path, SCHEMA)
    first = _WriteShards(transform.output, "chunks")
    first.start_bundle()
    first.process(TABLES[0])
    write_with(transform, TABLES)
    assert published(tmp_path).num_rows == 10
    first.teardown()
    assert list(tmp_path.glob(f"{STAGING_PREFIX}*")) == []


def test_a_bundle_that_finished_but_was_not_accepted_is_not_published(tmp_path):
    """Two workers run one bundle to its end, and the runner takes the output of one."""
    transform = WriteChunks(tmp_path, SCHEMA)
    speculative = _WriteShards(transform.output, "chunks")
    speculative.start_bundle()
    for table in TABLES:
        speculative.process(table)
    assert len(list(speculative.finish_bundle())) == 1
    write_with(transform, TABLES)
    assert published(tmp_path).num_rows == 10
    assert list(tmp_path.glob(f"{STAGING_PREFIX}*")) == []


def test_one_instance_that_tries_a_bundle_again_forgets_the_first_attempt(tmp_path):
    writer = _WriteShards(WriteChunks(tmp_path, SCHEMA).output, "chunks")
    writer.start_bundle()
    writer.process(TABLES[0])
    writer.start_bundle()
    writer.process(TABLES[1])
    (shard,) = (each.value for each in writer.finish_bundle())
    assert shard.rows == 2
    assert len(list(tmp_path.glob(f"{STAGING_PREFIX}*/*"))) == 1


def write_with(transform, values):
    with beam.Pipeline(runner=FnApiRunner()) as pipeline:
        tables(pipeline, values) | transform


def test_an_endless_collection_is_refused(tmp_path):
    pipeline = beam.Pipeline(options=PipelineOptions(["--streaming"]))
    stream = pipeline | Stream(coder=beam.coders.registry.get_coder(pa.Table))
    with pytest.raises(ValueError, match="has no end"):
        stream | WriteChunks(tmp_path, SCHEMA)


@pytest.mark.parametrize("names", [["failures"], ["chunks", "documents"]], ids=str)
def test_unknown_inputs_are_refused(tmp_path, names):
    pipeline = beam.Pipeline()
    inputs = {name: tables(pipeline, TABLES, name) for name in names}
    with pytest.raises(ValueError, match="takes chunks, and as wanted failures and counts"):
        inputs | WriteChunks(tmp_path, SCHEMA)


def test_an_unknown_format_fails_before_anything_runs(tmp_path):
    with pytest.raises(ValueError, match="format must be one of"):
        WriteChunks(tmp_path, SCHEMA, format="csv")
