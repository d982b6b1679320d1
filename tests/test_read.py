"""ReadDocuments in a pipeline."""

import json
import pickle

import apache_beam as beam
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from apache_beam.testing.test_pipeline import TestPipeline
from apache_beam.testing.util import assert_that, equal_to
from apache_beam.transforms.error_handling import CollectingErrorHandler

from pipeline.document_files import DocumentFiles
from pipeline.documents import ReadOptions
from pipeline.formats import ReadUnit
from pipeline.input_files import match_files
from pipeline.read import ReadAllDocuments, ReadDocuments, read_documents
from pipeline.schemas import FAILURE_SCHEMA, document_schema
from tests.graphs import fused_stages


@pytest.fixture
def folder(tmp_path):
    pq.write_table(pa.table({"text": list("abcdef"), "lang": ["x"] * 6}), tmp_path / "a.parquet", row_group_size=2)
    lines = [json.dumps({"text": f"line {n}"}) for n in range(1000)]
    (tmp_path / "b.jsonl").write_text("\n".join([*lines[:500], "broken", *lines[500:]]))
    (tmp_path / "broken.parquet").write_bytes(b"nothing")
    return tmp_path


def rows(table):
    return table.to_pylist()


def run_and_count(build):
    """The counters of a pipeline that `build` makes."""
    pipeline = TestPipeline()
    build(pipeline)
    result = pipeline.run()
    result.wait_until_finish()
    return {metric.key.metric.name: metric.committed for metric in result.metrics().query()["counters"]}


def check(outputs, folder):
    texts = [*"abcdef", *(f"line {n}" for n in range(1000))]
    documents = outputs.documents | "Rows" >> beam.FlatMap(rows)
    assert_that(documents | beam.Map(lambda row: row["text"]), equal_to(texts), label="documents")
    failures = outputs.failures | "Failed rows" >> beam.FlatMap(rows)
    places = failures | beam.Map(lambda row: (row["source"], row["position"], row["stage"]))
    expected = [
        (f"{folder}/broken.parquet", "", "read"),
        (f"{folder}/b.jsonl", "line 501, byte 10390", "read"),
    ]
    assert_that(places, equal_to(expected), label="failures")


@pytest.mark.parametrize("split_bytes", [1, 1000, 1 << 26])
def test_documents_failures_and_counters(folder, split_bytes):
    def build(pipeline):
        check(pipeline | ReadDocuments(f"{folder}/*", split_bytes=split_bytes), folder)

    counters = run_and_count(build)
    assert counters["documents_read"] == 1007
    assert counters["documents_failed"] == 1
    assert counters["failures_read"] == 2
    assert counters["failures_files"] == 1


def test_counts_are_an_output_too(folder):
    with TestPipeline() as pipeline:
        outputs = pipeline | ReadDocuments(str(folder))
        total = outputs.counts | beam.Map(lambda counts: counts["documents_read"]) | beam.CombineGlobally(sum)
        assert_that(total, equal_to([1007]))


def test_paths_as_elements(folder):
    with TestPipeline() as pipeline:
        paths = pipeline | beam.Create([f"{folder}/*.parquet", f"{folder}/b.jsonl"])
        check(paths | ReadAllDocuments(), folder)


def test_files_of_one_pattern_are_planned_on_any_worker():
    pipeline = TestPipeline()
    pipeline | beam.Create(["docs/*"]) | ReadAllDocuments()
    stages = fused_stages(pipeline.to_runner_api())
    [listing] = [steps for steps in stages if "ReadAllDocuments/List files" in steps]
    [planning] = [steps for steps in stages if "ReadAllDocuments/Plan units" in steps]
    [reading] = [steps for steps in stages if "ReadAllDocuments/Read/ParDo(_ReadUnits)" in steps]
    assert listing != planning != reading != listing


def test_a_path_that_matches_nothing_is_a_failure_when_it_arrives_as_an_element(folder):
    with TestPipeline() as pipeline:
        outputs = pipeline | beam.Create([f"{folder}/nothing.parquet"]) | ReadAllDocuments()
        failed = outputs.failures | beam.FlatMap(rows) | beam.Map(lambda row: row["error"])
        assert_that(failed, equal_to(["FileNotFoundError"]))


def test_an_error_handler_takes_the_failures(folder):
    handler = CollectingErrorHandler()
    with TestPipeline() as pipeline:
        with handler:
            documents = pipeline | ReadDocuments(str(folder), error_handler=handler)
        assert_that(documents | beam.Map(lambda table: table.schema), each_is(document_schema()), label="schema")
        assert_that(handler.output() | beam.Map(lambda table: table.schema), each_is(FAILURE_SCHEMA), label="failed")


def each_is(expected):
    def check(elements):
        assert elements
        assert all(element == expected for element in elements)

    return check


def test_metadata_types_are_found_before_the_job_runs(folder):
    transform = ReadDocuments(f"{folder}/*", metadata_columns=["lang"])
    assert transform.metadata == pa.schema([("lang", pa.string())])
    assert ReadDocuments(f"{folder}/*", metadata_columns={"n": "int32"}).metadata.field("n").type == pa.int32()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"patterns": "nothing/*"}, "no file matches"),
        ({"text_column": "body"}, "no column 'body' in the input; its columns are text, lang"),
        ({"id_column": "url"}, "no column 'url'"),
        ({"metadata_columns": ["date"]}, "no column 'date'"),
        ({"metadata_columns": {"lang": "text"}}, "which Arrow does not know"),
        ({"metadata_columns": {"doc_id": "string"}}, "doc_id"),
        ({"format": "xml"}, "format is 'xml'"),
        ({"max_line_bytes": 0}, "max_line_bytes is 0"),
        ({"split_bytes": 0}, "split_bytes is 0"),
    ],
    ids=str,
)
def test_mistakes_are_errors_before_the_job_runs(folder, arguments, words):
    with pytest.raises(ValueError, match=words):
        ReadDocuments(**{"patterns": f"{folder}/a.parquet", **arguments})


def test_metadata_of_elements_needs_types():
    with pytest.raises(ValueError, match="'lang' has no type"):
        ReadAllDocuments(metadata_columns=["lang"])
    assert ReadAllDocuments(metadata_columns={"lang": "string"}).options.columns.metadata.names == ["lang"]


def test_the_transform_can_be_pickled(folder):
    transform = ReadDocuments(f"{folder}/*", metadata_columns=["lang"])
    assert pickle.loads(pickle.dumps(transform)).metadata == transform.metadata


def test_a_file_that_changes_while_it_is_read_is_a_failure(folder):
    [file] = match_files(f"{folder}/b.jsonl")
    with (folder / "b.jsonl").open("a") as handle:
        handle.write('\n{"text": "late"}\n')
    (failure,) = (failure for batch in read_documents(ReadUnit(file), ReadOptions()) for failure in batch.failures)
    assert failure.message.startswith("the file changed while it was read")


def test_the_graph_does_not_grow_with_the_files(tmp_path):
    def graph(files):
        for number in range(files):
            (tmp_path / f"{number}.txt").write_text(f"document {number}")
        pipeline = beam.Pipeline()
        assert pipeline | ReadDocuments(f"{tmp_path}/*.txt")
        return pipeline.to_runner_api().SerializeToString()

    assert abs(len(graph(300)) - len(graph(3))) < 300  # what is random in it may be told in more or fewer bytes


def test_overlapping_patterns_give_each_file_once(folder):
    with TestPipeline() as pipeline:
        outputs = pipeline | ReadDocuments([f"{folder}/*.jsonl", str(folder), f"{folder}/b.jsonl"])
        ids = outputs.documents | beam.FlatMap(rows) | beam.Map(lambda row: row["doc_id"])
        once = list(DocumentFiles(f"{folder}/**").tables())
        assert_that(ids, equal_to([doc_id for table in once for doc_id in table.column("doc_id").to_pylist()]))


def test_a_file_that_is_gone_when_the_job_runs_is_a_failure(folder):
    transform = ReadDocuments([f"{folder}/b.jsonl", f"{folder}/a.parquet"])
    (folder / "b.jsonl").unlink()
    with TestPipeline() as pipeline:
        failed = (pipeline | transform).failures | beam.FlatMap(rows) | beam.Map(lambda row: row["error"])
        assert_that(failed, equal_to(["FileNotFoundError"]))
