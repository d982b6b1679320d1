"""WriteToPgvector and SkipLoaded, in pipelines of any shape: every document whole, once."""

import apache_beam as beam
import psycopg
import pyarrow as pa
import pytest
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.runners.portability.fn_api_runner.fn_runner import FnApiRunner
from apache_beam.testing.util import assert_that, equal_to

from llm_splitter import SplitOptions
from pipeline import pgvector
from pipeline.chunk import ChunkDocuments
from pipeline.pgvector import SkipLoaded, WriteToPgvector
from pipeline.postgres.merge import load_documents
from pipeline.postgres.registry import LoadSettings
from tests.chunk_tables import SCHEMA
from tests.postgres import SETTINGS, make_table, rows_of, version

TABLES = [pa.concat_tables([version(f"{number}{letter}", "x ", "y ", "z") for letter in "abc"]) for number in range(4)]


def tables(pipeline, values, label="Create"):
    return pipeline | label >> beam.Create(values).with_output_types(pa.Table)


def write(server, namespace, values=TABLES, options=None, expected=None, **settings):
    settings = {"settings": SETTINGS, **settings}
    with beam.Pipeline(runner=FnApiRunner(), options=options) as pipeline:
        step = WriteToPgvector(server, SCHEMA, namespace=namespace, **settings)
        outputs = tables(pipeline, values) | step
        if expected is not None:
            assert_that(outputs["counts"], equal_to([expected]))
    return step.target.layout


def everything(connection, layout):
    return rows_of(connection, layout, "doc_id", "chunk_index", "text", "start", "end")


EVERYTHING = sorted(
    (f"{number}{letter}", index, text, 2 * index, 2 * index + len(text))
    for number in range(4)
    for letter in "abc"
    for index, text in enumerate(("x ", "y ", "z"))
)


def test_all_rows_are_loaded_and_counted(server, connection, namespace):
    layout = write(server, namespace, expected={"documents_new": 12, "chunks_loaded": 36})
    assert everything(connection, layout) == EVERYTHING
    write(server, namespace, expected={"documents_unchanged": 12})


@pytest.mark.parametrize("size", [1, 2, 4, 5, 100])
def test_documents_that_lie_across_tables_are_joined(server, connection, namespace, size):
    rows = pa.concat_tables(TABLES)
    cut = [rows.slice(start, size) for start in range(0, rows.num_rows, size)]
    layout = write(server, namespace, cut, expected={"documents_new": 12, "chunks_loaded": 36})
    assert everything(connection, layout) == EVERYTHING


@pytest.mark.parametrize("mode", ["multi_threading", pytest.param("multi_processing", marks=pytest.mark.slow)])
def test_several_workers_load_the_same_rows(server, connection, namespace, mode):
    options = PipelineOptions([f"--direct_running_mode={mode}", "--direct_num_workers=3"])
    layout = write(server, namespace, [*TABLES, *TABLES], options)
    assert everything(connection, layout) == EVERYTHING


def test_a_bundle_that_fails_half_way_and_is_tried_again(server, connection, namespace, monkeypatch):
    """The connection is lost inside the transaction of the second set; the step tries again."""
    monkeypatch.setattr(pgvector, "SET_ROWS", 9)
    calls = []

    def lose_connection(own, **arguments):
        calls.append(own)
        if len(calls) == 2:
            with own.transaction():
                load_documents(own, **arguments)
                own.execute("SELECT pg_terminate_backend(pg_backend_pid())")
        return load_documents(own, **arguments)

    monkeypatch.setattr(pgvector, "load_documents", lose_connection)
    layout = write(server, namespace)
    assert len(calls) > 4
    assert everything(connection, layout) == EVERYTHING


def test_a_job_that_dies_half_way_is_completed_by_the_next(server, connection, namespace, monkeypatch):
    calls = []

    def die(own, **arguments):
        calls.append(own)
        if len(calls) == 2:
            raise RuntimeError("the worker is gone")
        return load_documents(own, **arguments)

    monkeypatch.setattr(pgvector, "SET_ROWS", 9)
    monkeypatch.setattr(pgvector, "load_documents", die)
    with pytest.raises(RuntimeError, match="the worker is gone"):
        write(server, namespace)
    layout = make_table(connection, namespace)
    found = everything(connection, layout)
    assert 0 < len(found) < len(EVERYTHING)
    assert all(len([row for row in found if row[0] == doc_id]) == 3 for doc_id, *_ in found)
    monkeypatch.undo()
    write(server, namespace)
    assert everything(connection, layout) == EVERYTHING


def test_two_versions_of_a_document_in_pieces_are_a_failure(server, connection, namespace):
    pieces = [version("a", "x ", "y"), version("a", "x ", of=2), version("b", "z")]
    with beam.Pipeline(runner=FnApiRunner()) as pipeline:
        outputs = tables(pipeline, pieces) | WriteToPgvector(server, SCHEMA, namespace=namespace)
        failed = outputs["failures"] | beam.FlatMap(lambda table: table.select(["doc_id", "stage"]).to_pylist())
        assert_that(failed, equal_to([{"doc_id": "a", "stage": "load"}]))
    assert rows_of(connection, make_table(connection, namespace), "doc_id") == [("b",)]


def test_what_is_loaded_is_skipped_before_it_is_chunked(server, connection, namespace):
    documents = pa.table({"doc_id": ["a", "b", "c"], "text": ["one two three", "four", ""]})
    chunk = ChunkDocuments(SplitOptions(splitter="words", chunk_size=2))
    layout = make_table(connection, namespace, chunk.schema)

    def run(documents, fresh, expected):
        write_chunks = WriteToPgvector(server, chunk.schema, namespace=namespace, settings=LoadSettings("s"))
        with beam.Pipeline(runner=FnApiRunner()) as pipeline:
            step = SkipLoaded(write_chunks.target.prepared(create=True))
            left = tables(pipeline, [documents]) | step
            ids = left.documents | beam.FlatMap(lambda table: table.column("doc_id").to_pylist())
            assert_that(ids, equal_to(fresh))
            chunks = left.documents | chunk
            written = {"chunks": chunks.chunks, "empty": chunks.empty} | write_chunks
            assert_that(written["counts"], equal_to([expected]), "counts")

    run(documents, ["a", "b", "c"], {"documents_new": 3, "chunks_loaded": 3})
    run(documents, [], {})
    changed = documents.set_column(1, "text", pa.array(["one two three", "", "five"]))
    run(changed, ["b", "c"], {"documents_changed": 2, "chunks_loaded": 1})
    assert rows_of(connection, layout, "doc_id", "text") == [("a", "one two "), ("a", "three"), ("c", "five")]


def test_the_index_is_made_when_the_rows_are_there(server, connection, namespace):
    write(server, namespace, dimension=3, vector_index="hnsw")
    indexes = connection.execute("SELECT indexdef FROM pg_indexes WHERE schemaname = %s", [namespace]).fetchall()
    assert any("USING hnsw (embedding vector_cosine_ops)" in definition for (definition,) in indexes)


def test_a_table_that_is_missing_is_told_before_anything_runs(server, namespace):
    with pytest.raises(ValueError, match="there is no"):
        write(server, namespace, create=False)


def test_a_role_that_may_only_what_the_readme_grants_can_load(server, connection, namespace):
    layout = make_table(connection, namespace)
    connection.execute("DROP ROLE IF EXISTS loader")
    connection.execute("CREATE ROLE loader LOGIN")
    connection.execute(f'GRANT USAGE ON SCHEMA "{namespace}" TO loader')
    for table in ("chunks", "chunks_documents"):
        connection.execute(f'GRANT SELECT, INSERT, UPDATE, DELETE ON "{namespace}".{table} TO loader')
    url = server._url().replace("postgres:@", "loader@")
    write(type(server)(url), namespace, [version("a", "x ", "y"), version("b", "z")], create=False)
    write(type(server)(url), namespace, [version("a", "x", of=2), version("b", "z")], create=False)
    assert rows_of(connection, layout, "doc_id", "text") == [("a", "x"), ("b", "z")]
    with psycopg.connect(url) as own, pytest.raises(psycopg.errors.InsufficientPrivilege):
        own.execute(f'DROP TABLE "{namespace}".chunks')
    connection.execute("DROP OWNED BY loader; DROP ROLE loader")
