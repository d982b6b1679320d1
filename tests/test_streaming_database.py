"""Streams into PostgreSQL: the table holds what a batch run gives, nothing lost and nothing twice."""

from __future__ import annotations

import json
import random
import uuid
from collections import Counter
from functools import partial
from itertools import pairwise

import apache_beam as beam
import pyarrow as pa
import pytest
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.runners.direct.direct_runner import BundleBasedDirectRunner
from apache_beam.runners.portability.fn_api_runner.fn_runner import FnApiRunner
from apache_beam.testing.test_stream import TestStream as Stream
from apache_beam.testing.util import assert_that, equal_to
from apache_beam.transforms.window import FixedWindows, GlobalWindows, SlidingWindows, TimestampedValue

from llm_splitter import Chunker, SplitOptions
from pipeline import chunk_rows
from pipeline.chunk import ChunkDocuments
from pipeline.chunk_rows import chunk_documents
from pipeline.documents import DocumentColumns, ReadOptions
from pipeline.join_pieces import JoinPieces, Piece
from pipeline.messages import Message, documents_from_messages
from pipeline.pgvector import WriteToPgvector
from pipeline.postgres.document_sets import join_pieces
from pipeline.read_messages import BatchLimits, ReadMessages
from pipeline.table_ends import End, with_end
from tests.postgres import make_table, rows_of, version

OPTIONS = SplitOptions(splitter="words", chunk_size=3, chunk_overlap=1)
LANG = [pa.field("lang", pa.string())]
STREAMING = PipelineOptions(streaming=True)
COLUMNS = ("chunk_id", "doc_id", "chunk_index", "start", "end", "token_count", "text", "text_hash", "doc_hash", "lang")
MINUTES = FixedWindows(60)


def message(doc_id, text="one two three four five six", lang="en"):
    return json.dumps({"id": doc_id, "text": text, "lang": lang}).encode()


def at(second, *messages):
    return [TimestampedValue(each, second) for each in messages]


def append(value, path):
    """A line for each element: steps run on copies of what they are given, so that a list here would stay empty."""
    with path.open("a") as file:
        file.write(json.dumps(value) + "\n")


def lines(path):
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def run(server, namespace, folder, stream, windows=MINUTES, limits=None, runner=BundleBasedDirectRunner):
    """The whole way of a stream; counts and failures of all of it.

    The runner that plays streams does not hold the watermark back for timers as others do: what a window's end sets
    free goes on behind it, so that streams here go on for a while before they end.
    """
    chunk = ChunkDocuments(OPTIONS, metadata_fields=LANG)
    read = ReadMessages("topic", id_column="id", metadata_columns={"lang": "string"}, limits=limits, keys=2)
    write = WriteToPgvector(server, chunk.schema, namespace=namespace)
    counts, failures = (folder / f"{name}-{uuid.uuid4()}" for name in ("counts", "failures"))
    options = STREAMING if runner is BundleBasedDirectRunner else None
    with beam.Pipeline(runner=runner(), options=options) as pipeline:
        documents = pipeline | stream | beam.WindowInto(windows, allowed_lateness=600) | read
        chunks = documents.documents | chunk
        written = {"chunks": chunks.chunks, "empty": chunks.empty} | write
        found = (documents.failures, chunks.failures, written["failures"]) | beam.Flatten()
        found | beam.FlatMap(pa.Table.to_pylist) | "Keep failures" >> beam.Map(append, failures)
        written["counts"] | "Keep counts" >> beam.Map(append, counts)
    return sum(map(Counter, lines(counts)), Counter()), lines(failures)


def ending(stream):
    return stream.advance_watermark_to(2000).advance_watermark_to_infinity()


def batch_rows(*messages):
    """The chunk rows of documents in memory, as the table should hold them."""
    columns = DocumentColumns(id="id", metadata=pa.schema(LANG))
    read = documents_from_messages([Message(each) for each in messages], "topic", ReadOptions(columns))
    rows = [row for batch in read for row in chunk_documents(batch.documents, Chunker(OPTIONS)).chunks.to_pylist()]
    return sorted((tuple(row[name] for name in COLUMNS) for row in rows), key=lambda row: (row[1], row[2]))


@pytest.fixture
def load(server, namespace, tmp_path):
    """`run` into a table of the test's own."""
    return partial(run, server, namespace, tmp_path)


@pytest.fixture
def loaded(connection, namespace):
    """What that table holds."""
    layout = make_table(connection, namespace, ChunkDocuments(OPTIONS, metadata_fields=LANG).schema)
    return partial(rows_of, connection, layout, *COLUMNS)


def lively_stream():
    """Two windows, with a message that comes twice in one, one that comes again in the next, a late and bad ones."""
    return ending(
        Stream()
        .add_elements(at(5, message("a"), message("b", lang="de"), message("a")))
        .add_elements(at(20, b"{bad", message("empty", "")))
        .advance_watermark_to(61)
        .add_elements(at(70, message("c", "one\u0000two three"), message("a"), Message(b"[1]", "m7")))
        .advance_watermark_to(200)
        .add_elements(at(6, message("late", "late " * 9)))
    )


ALL = (message("a"), message("b", lang="de"), message("c", "one\u0000two three"), message("late", "late " * 9))


@pytest.mark.parametrize("table_rows_at_most", [1 << 16, 1])
@pytest.mark.parametrize(
    "windows", [MINUTES, GlobalWindows(), SlidingWindows(60, 30)], ids=["minutes", "none", "sliding"]
)
def test_the_table_holds_the_rows_of_the_batch_run(load, loaded, monkeypatch, windows, table_rows_at_most):
    """Also where documents lie across tables, and after a restart that delivers everything once more."""
    monkeypatch.setattr(chunk_rows, "MAX_TABLE_ROWS", table_rows_at_most)
    expected = [(*row[:6], row[6].replace("\0", "\u2400"), *row[7:]) for row in batch_rows(*ALL)]
    counts, failures = load(lively_stream(), windows)
    assert loaded() == expected
    assert counts["documents_new"] == 5
    assert counts["chunks_loaded"] == len(expected)
    assert {(row["stage"], row["position"]) for row in failures} == {("read", ""), ("read", "m7")}
    counts, _ = load(lively_stream(), windows)
    assert loaded() == expected
    assert counts.keys() == {"documents_unchanged"}


def test_a_stream_and_a_batch_load_the_same(load, loaded):
    """The batch run goes into the table that the stream has filled, and finds nothing to do."""
    load(lively_stream())
    before = loaded()
    counts, _ = load(beam.Create([*ALL, message("empty", "")]), GlobalWindows(), runner=FnApiRunner)
    assert counts == {"documents_unchanged": 5}
    assert loaded() == before


@pytest.mark.parametrize("rows", [1 << 16, 1])
def test_the_version_that_arrives_last_stays(load, loaded, monkeypatch, rows):
    monkeypatch.setattr(chunk_rows, "MAX_TABLE_ROWS", rows)
    stream = (
        Stream()
        .add_elements(at(5, message("a"), message("b"), message("c")))
        .advance_watermark_to(61)
        .add_elements(at(70, message("a", "other words in the next window")))
        .advance_watermark_to(130)
        .add_elements(at(7, message("b", "other words, late"), message("c", "")))
    )
    load(ending(stream))
    expected = batch_rows(message("a", "other words in the next window"), message("b", "other words, late"))
    assert loaded() == expected


def test_a_document_that_the_database_refuses_stops_nothing(load, loaded):
    stream = Stream().add_elements(at(5, message("a"), message("x" * 3000), message("b")))
    counts, failures = load(ending(stream))
    assert loaded() == batch_rows(message("a"), message("b"))
    assert [(row["stage"], row["doc_id"]) for row in failures] == [("load", "x" * 3000)]
    assert counts["documents_refused"] == 1


def joined(stream, expected, failed=(), windows=MINUTES):
    with beam.Pipeline(runner=BundleBasedDirectRunner(), options=STREAMING) as pipeline:
        pieces = pipeline | stream | beam.Map(lambda each: each).with_output_types(Piece)
        outputs = pieces | beam.WindowInto(windows, allowed_lateness=600) | JoinPieces()
        texts = outputs.whole | beam.Map(lambda table: "".join(table.column("text").to_pylist()))
        assert_that(texts, equal_to(expected))
        doc_ids = outputs.failures | beam.Map(lambda table: table.column("doc_id")[0].as_py())
        assert_that(doc_ids, equal_to(list(failed)), "failures")


ROWS = version("a", "1 ", "2 ", "3 ", "4")
PIECES = [
    with_end(ROWS.slice(0, 2), End.PART),
    with_end(ROWS.slice(2, 1), End.PART),
    with_end(ROWS.slice(3), End.DOCUMENT),
]
UNKNOWN = [ROWS.slice(0, 2), ROWS.slice(2)]


def pieces_at(second, *pieces):
    return at(second, *[("a", piece) for piece in pieces])


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 2, 0)])
def test_pieces_of_a_stream_are_joined_when_the_last_has_come(order):
    stream = Stream()
    for place in order:
        stream = stream.add_elements(pieces_at(5, PIECES[place]))
    joined(ending(stream), ["1 2 3 4"])


def test_late_pieces_find_each_other():
    stream = Stream().advance_watermark_to(300)
    for piece in PIECES:
        stream = stream.add_elements(pieces_at(5, piece))
    joined(ending(stream), ["1 2 3 4"])


def test_pieces_that_are_delivered_twice_make_no_failure():
    """Those of two deliveries meet in any order; whatever is left over repeats what was joined."""
    stream = Stream()
    for place in (0, 0, 1, 2, 1):
        stream = stream.add_elements(pieces_at(5, PIECES[place]))
    joined(ending(stream), ["1 2 3 4"])


def test_pieces_of_two_versions_do_not_meet():
    other = version("a", "x ", "y", of=2)
    others = [with_end(other.slice(0, 1), End.PART), with_end(other.slice(1), End.DOCUMENT)]
    stream = Stream()
    for piece in (PIECES[0], others[0], PIECES[1], PIECES[2], others[1]):
        stream = stream.add_elements(pieces_at(5, piece))
    joined(ending(stream), ["1 2 3 4", "x y"])


def test_pieces_of_which_one_never_comes_are_a_failure():
    joined(ending(Stream().add_elements(pieces_at(5, PIECES[0], PIECES[2]))), [], ["a"])
    joined(ending(Stream().add_elements(pieces_at(5, *PIECES[:2]))), [], ["a"])


@pytest.mark.parametrize("windows", [MINUTES, GlobalWindows()], ids=["minutes", "none"])
def test_pieces_that_do_not_say_how_they_end_wait_a_while(windows):
    """What comes after the wait was not waited for."""
    stream = Stream().add_elements(pieces_at(5, UNKNOWN[0])).add_elements(pieces_at(5, UNKNOWN[1]))
    late = stream.advance_processing_time(2_000_000_000).add_elements(pieces_at(6, UNKNOWN[1]))
    joined(ending(late), ["1 2 3 4"], ["a"], windows)


@pytest.mark.parametrize("windows", [MINUTES, GlobalWindows()], ids=["minutes", "none"])
def test_pieces_wait_in_states_and_timers_as_other_runners_keep_them(windows):
    """The runner for local jobs plays no streams, but speaks to steps as distributed runners do."""
    pieces = [("a", PIECES[2]), ("b", version("b", "x ", "y")), ("a", PIECES[0]), ("a", PIECES[1])]
    with beam.Pipeline(runner=FnApiRunner()) as pipeline:
        timed = pipeline | beam.Create(at(5, *pieces)) | beam.Map(lambda each: each).with_output_types(Piece)
        together = JoinPieces._waited_for(timed | beam.WindowInto(windows))
        texts = together | beam.Map(lambda found: "".join(join_pieces(found).column("text").to_pylist()))
        assert_that(texts, equal_to(["1 2 3 4", "x y"]))


@pytest.mark.slow
def test_ten_thousand_documents_with_restarts_are_those_of_the_batch_run(load, loaded, monkeypatch):
    """A stream that stops twice, each time being delivered again from before the place where it stopped."""
    monkeypatch.setattr(chunk_rows, "MAX_TABLE_ROWS", 100)
    random.seed(1)
    messages = [message(f"d{number:05}", "w " * random.randrange(1, 12)) for number in range(10_000)]
    new = 0
    for first, end in ((0, 4000), (3500, 7000), (6200, 10_000)):
        stream = Stream()
        for start, stop in pairwise([*range(first, end, 100), end]):
            stream = stream.add_elements(at(start // 10, *messages[start:stop])).advance_watermark_to(start // 10)
        counts, failures = load(ending(stream), limits=BatchLimits(rows=64))
        assert failures == []
        new += counts["documents_new"]
    assert new == 10_000
    assert loaded() == batch_rows(*messages)
