"""Streams: messages through windows into files, with late, repeated and bad ones, timers and restarts."""

from __future__ import annotations

import json
import random
import re

import apache_beam as beam
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.runners.direct.direct_runner import BundleBasedDirectRunner
from apache_beam.testing.test_stream import TestStream as Stream
from apache_beam.testing.util import assert_that, equal_to
from apache_beam.transforms.window import FixedWindows, TimestampedValue

from llm_splitter import Chunker, SplitOptions
from pipeline.chunk import ChunkDocuments
from pipeline.chunk_rows import chunk_documents
from pipeline.documents import DocumentColumns, ReadOptions
from pipeline.messages import Message, documents_from_messages
from pipeline.read_messages import BatchLimits, ReadMessages, as_message
from pipeline.schemas import FAILURE_SCHEMA
from pipeline.window_files import WriteWindows, write_file

OPTIONS = SplitOptions(splitter="words", chunk_size=3, chunk_overlap=1)
STREAMING = PipelineOptions(streaming=True)


def message(doc_id, text="one two three four five", **fields):
    return json.dumps({"id": doc_id, "text": text, **fields}).encode()


def at(second, *messages):
    return [TimestampedValue(each, second) for each in messages]


def run(stream, folder, limits=None, **windows):
    """A stream through all of it, into files of windows of 60 seconds.

    The runner that plays streams does not hold the watermark back for timers as others do: what a window's end
    sets free goes on behind it, so that streams here go on for a while before they end.
    """
    chunk = ChunkDocuments(OPTIONS, metadata_fields=[pa.field("lang", pa.string())])
    read = ReadMessages("topic", id_column="id", metadata_columns={"lang": "string"}, limits=limits, keys=2)
    with beam.Pipeline(runner=BundleBasedDirectRunner(), options=STREAMING) as pipeline:
        documents = pipeline | stream | beam.WindowInto(FixedWindows(60), allowed_lateness=600) | read
        outputs = documents.documents | chunk
        outputs.chunks | WriteWindows(folder, chunk.schema, seconds=60, allowed_lateness=600, **windows)
        failures = (documents.failures, outputs.failures) | beam.Flatten()
        failures | "Failures" >> WriteWindows(folder, FAILURE_SCHEMA, name="failures", seconds=60)


def files(folder, name="chunks"):
    return sorted(re.sub(r"-[0-9a-f]{8}-(\d+-of)", r"-RUN-\1", path.name) for path in folder.glob(f"{name}-*"))


def rows(folder, name="chunks"):
    return [row for path in sorted(folder.glob(f"{name}-*")) for row in pq.read_table(path).to_pylist()]


def doc_ids(folder, name="chunks"):
    return sorted({row["doc_id"] for row in rows(folder, name)})


def test_each_window_is_a_complete_file(tmp_path):
    stream = (
        Stream()
        .add_elements(at(5, message("a"), message("b", lang="de")))
        .advance_watermark_to(61)
        .add_elements(at(70, message("c")))
        .advance_watermark_to(200)
        .advance_watermark_to_infinity()
    )
    run(stream, tmp_path)
    assert files(tmp_path) == [
        "chunks-19700101T000000Z-60s-RUN-0-of-1.parquet",
        "chunks-19700101T000100Z-60s-RUN-0-of-1.parquet",
    ]
    assert doc_ids(tmp_path) == ["a", "b", "c"]
    assert not list(tmp_path.glob(".*"))


def test_late_messages_make_a_file_of_their_own(tmp_path):
    stream = (
        Stream()
        .add_elements(at(5, message("a")))
        .advance_watermark_to(100)
        .add_elements(at(6, message("late")))
        .advance_watermark_to(200)
        .advance_watermark_to_infinity()
    )
    run(stream, tmp_path)
    assert files(tmp_path) == [
        "chunks-19700101T000000Z-60s-RUN-0-of-1.parquet",
        "chunks-19700101T000000Z-60s-late-1-RUN-0-of-1.parquet",
    ]
    assert doc_ids(tmp_path) == ["a", "late"]


def test_a_message_that_comes_twice_gives_the_same_ids_twice(tmp_path):
    stream = (
        Stream()
        .add_elements(at(5, message("a")))
        .advance_watermark_to(61)
        .add_elements(at(70, message("a")))
        .advance_watermark_to(200)
        .advance_watermark_to_infinity()
    )
    run(stream, tmp_path)
    ids = [row["chunk_id"] for row in rows(tmp_path)]
    assert len(ids) == 4
    assert len(set(ids)) == 2


def test_bad_messages_are_failures_and_stop_nothing(tmp_path):
    bad = [Message(b"{bad", "m1"), Message(b'{"id": "x", "text": 5}', "m2"), Message(b"\xff", "m3"), b"", b"[1]"]
    stream = Stream().add_elements(at(5, *bad, message("a"))).advance_watermark_to(100).advance_watermark_to_infinity()
    run(stream, tmp_path)
    assert doc_ids(tmp_path) == ["a"]
    failures = rows(tmp_path, "failures")
    assert {row["source"] for row in failures} == {"topic"}
    assert {"m1", "m2", "m3"} <= {row["position"] for row in failures}
    assert all(row["stage"] == "read" for row in failures)


def gathered(stream, limits, expected):
    read = ReadMessages("topic", id_column="id", limits=limits, keys=1)
    with beam.Pipeline(runner=BundleBasedDirectRunner(), options=STREAMING) as pipeline:
        sizes = (pipeline | stream | read).documents | beam.Map(lambda table: table.num_rows)
        assert_that(sizes, equal_to(expected))


def test_batches_are_bounded_in_rows():
    stream = Stream().add_elements(at(1, *map(message, "abcd"))).advance_watermark_to_infinity()
    gathered(stream, BatchLimits(rows=2), [2, 2])


def test_batches_are_bounded_in_bytes():
    small, large = message("a"), message("b", "long " * 100)
    stream = Stream().add_elements(at(1, large, small, small, large)).advance_watermark_to_infinity()
    gathered(stream, BatchLimits(bytes=500), [1, 3])


def test_batches_are_bounded_in_seconds():
    stream = (
        Stream()
        .add_elements(at(1, message("a"), message("b")))
        .advance_processing_time(2_000_000_000)
        .add_elements(at(1, message("c")))
        .advance_watermark_to_infinity()
    )
    gathered(stream, BatchLimits(seconds=5), [2, 1])


@pytest.mark.parametrize("limit", ["rows", "bytes", "seconds"])
def test_limits_are_positive(limit):
    with pytest.raises(ValueError, match=f"^{limit} is 0"):
        BatchLimits(**{limit: 0})


def test_a_stream_needs_ids():
    with pytest.raises(ValueError, match=r"^id_column: a stream needs one"):
        documents_from_messages([], "topic", ReadOptions())


@pytest.mark.parametrize(
    ("element", "expected"),
    [
        pytest.param(b"{}", (b"{}", ""), id="bytes"),
        pytest.param((b"key", b"{}"), (b"{}", "key"), id="Kafka"),
        pytest.param((None, None), (b"", ""), id="Kafka: a tombstone"),
        pytest.param(Message(b"{}", "7"), (b"{}", "7"), id="message"),
        pytest.param(beam.io.PubsubMessage(b"{}", {}, "17"), (b"{}", "17"), id="Pub/Sub"),
    ],
)
def test_elements_of_all_connectors(element, expected):
    assert as_message(element) == expected


def test_messages_may_span_lines():
    [batch] = documents_from_messages(
        [Message(b'{\n "id": "a",\n "text": "b\\nc"\n}')], "t", ReadOptions(DocumentColumns(id="id"))
    )
    assert batch.documents["text"].to_pylist() == ["b\nc"]


def test_a_file_that_fails_leaves_nothing_under_its_name(tmp_path):
    with pytest.raises(ValueError, match=r"does not have the schema"):
        write_file(str(tmp_path / "a.parquet"), [pa.table({"x": [1]})], FAILURE_SCHEMA, "parquet")
    assert not (tmp_path / "a.parquet").exists()


def batch_rows(messages):
    [documents] = [
        batch.documents
        for batch in documents_from_messages(
            [Message(each) for each in messages], "t", ReadOptions(DocumentColumns(id="id"))
        )
    ]
    return chunk_documents(documents, Chunker(OPTIONS)).chunks.to_pylist()


@pytest.mark.slow
def test_ten_thousand_documents_with_restarts_are_those_of_the_batch_run(tmp_path):
    """A stream that stops twice, each time being delivered again from before the place where it stopped."""
    random.seed(1)
    messages = [message(f"d{number}", "w " * random.randrange(1, 12)) for number in range(10_000)]
    for first, end in ((0, 4000), (3500, 7000), (6200, 10_000)):
        stream = Stream()
        for start in range(first, end, 100):
            due = [TimestampedValue(each, start // 10) for each in messages[start : min(start + 100, end)]]
            stream = stream.add_elements(due).advance_watermark_to(start // 10)
        run(stream.advance_watermark_to(1200).advance_watermark_to_infinity(), tmp_path, BatchLimits(rows=64), shards=2)
    merged = {row["chunk_id"]: row for row in rows(tmp_path)}
    expected = {row["chunk_id"]: row for row in batch_rows(messages)}
    assert merged.keys() == expected.keys()
    assert len({row["doc_id"] for row in merged.values()}) == 10_000
    columns = ("doc_id", "chunk_index", "start", "end", "token_count", "text", "text_hash", "doc_hash")
    for chunk_id, row in merged.items():
        assert [row[name] for name in columns] == [expected[chunk_id][name] for name in columns]
