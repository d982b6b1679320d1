"""ChunkDocuments: the rows of `chunk_documents`, in anybody's pipeline."""

import apache_beam as beam
import pyarrow as pa
import pytest
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.runners.direct.direct_runner import BundleBasedDirectRunner
from apache_beam.runners.portability.fn_api_runner.fn_runner import FnApiRunner
from apache_beam.testing.test_stream import TestStream as Stream
from apache_beam.testing.util import assert_that, equal_to
from apache_beam.transforms.error_handling import ErrorHandler
from apache_beam.transforms.window import FixedWindows, TimestampedValue

from llm_splitter import Chunker, SplitOptions
from pipeline.chunk import ChunkDocuments
from pipeline.chunk_rows import chunk_documents

OPTIONS = SplitOptions(splitter="words", chunk_size=2, chunk_overlap=1)
TABLES = [
    pa.table({"doc_id": ["a", "b"], "text": ["one two three", ""]}),
    pa.table({"doc_id": ["c", "d"], "text": ["bad", "vier f\u00fcnf \u516d"]}),
]


def no_bad_words(text):
    if text == "bad":
        raise ValueError("a bad word")
    return text.split()


def row_lists(tables, options=OPTIONS):
    return [chunk_documents(table, Chunker(options)).chunks.to_pylist() for table in tables]


def created(pipeline, tables=TABLES):
    return pipeline | beam.Create(tables).with_output_types(pa.Table)


def test_chunks_are_those_of_the_function():
    with beam.Pipeline(runner=FnApiRunner()) as pipeline:
        chunks = (created(pipeline) | ChunkDocuments(OPTIONS)).chunks | beam.Map(pa.Table.to_pylist)
        assert_that(chunks, equal_to(row_lists(TABLES)))


def test_failures_and_counts_have_outputs_of_their_own():
    options = SplitOptions(splitter=no_bad_words, chunk_size=2)
    with beam.Pipeline(runner=FnApiRunner()) as pipeline:
        outputs = created(pipeline) | ChunkDocuments(options)
        failures = outputs.failures | beam.Map(lambda table: table["doc_id"].to_pylist())
        failed = outputs.counts | beam.Map(lambda counts: (counts["documents"], counts["documents_failed"]))
        assert_that(failures, equal_to([["c"]]), label="failures")
        assert_that(failed, equal_to([(2, 0), (2, 1)]), label="counts")


def test_an_error_handler_takes_the_failures():
    options = SplitOptions(splitter=no_bad_words, chunk_size=2)
    with beam.Pipeline(runner=FnApiRunner()) as pipeline:
        with ErrorHandler(beam.Map(lambda table: table["message"].to_pylist())) as handler:
            chunks = created(pipeline) | ChunkDocuments(options, error_handler=handler)
        assert_that(handler.output(), equal_to([["a bad word"]]), label="failures")
        count = chunks | beam.Map(len) | beam.CombineGlobally(sum)
        assert_that(count, equal_to([2 + 2]), label="chunks")


def test_options_by_name():
    with beam.Pipeline(runner=FnApiRunner()) as pipeline:
        chunks = created(pipeline) | ChunkDocuments(splitter="words", chunk_size=2, chunk_overlap=1)
        assert_that(chunks.chunks | beam.Map(pa.Table.to_pylist), equal_to(row_lists(TABLES)))


def test_a_chunker_that_is_there_already():
    with beam.Pipeline(runner=FnApiRunner()) as pipeline:
        chunks = created(pipeline) | ChunkDocuments(Chunker(OPTIONS))
        assert_that(chunks.chunks | beam.Map(pa.Table.to_pylist), equal_to(row_lists(TABLES)))


def test_options_twice_are_refused():
    with pytest.raises(TypeError, match=r"not both; got options and \['chunk_size'\]"):
        ChunkDocuments(OPTIONS, chunk_size=3)


@pytest.mark.parametrize("wrong", [{"chunk_size": 0}, {"splitter": "no_such_base"}, {"chunk_overlap": 512}], ids=str)
def test_wrong_options_fail_where_the_pipeline_is_built(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        ChunkDocuments(**wrong)


def test_the_schema_is_that_of_the_tables():
    transform = ChunkDocuments(OPTIONS, include_text=False, metadata_fields=[pa.field("lang", pa.string())])
    tables = [table.append_column("lang", [["en", None]]) for table in TABLES]
    with beam.Pipeline(runner=FnApiRunner()) as pipeline:
        schemas = (created(pipeline, tables) | transform).chunks | beam.Map(lambda table: table.schema)
        assert_that(schemas, equal_to([transform.schema] * 2))


def test_counters_and_the_distribution_of_tokens():
    with beam.Pipeline(runner=FnApiRunner()) as pipeline:
        created(pipeline) | ChunkDocuments(SplitOptions(splitter=no_bad_words, chunk_size=2))
    metrics = pipeline.result.metrics().query(beam.metrics.MetricsFilter().with_namespace("llm_splitter"))
    counters = {counter.key.metric.name: counter.committed for counter in metrics["counters"]}
    assert counters == {
        "documents_chunked": 2,
        "documents_empty": 1,
        "documents_failed": 1,
        "failures_chunk": 1,
        "chunks": 4,
        "text_bytes": len("one two threebadvier f\u00fcnf \u516d".encode()),
        "tokens": 6,
    }
    (distribution,) = metrics["distributions"]
    assert distribution.key.metric.name == "token_count"
    assert (distribution.committed.count, distribution.committed.sum) == (4, 6)
    assert (distribution.committed.min, distribution.committed.max) == (1, 2)


def test_tables_stay_in_their_windows():
    stream = (
        Stream()
        .advance_watermark_to(0)
        .add_elements([TimestampedValue(TABLES[0], 5), TimestampedValue(TABLES[1], 65)])
        .advance_watermark_to_infinity()
    )
    options = PipelineOptions(["--streaming"])
    with beam.Pipeline(runner=BundleBasedDirectRunner(), options=options) as pipeline:
        chunks = (pipeline | stream | beam.WindowInto(FixedWindows(60)) | ChunkDocuments(OPTIONS)).chunks | beam.Map(
            lambda table, window=beam.DoFn.WindowParam: (int(window.start), table.num_rows)
        )
        assert_that(chunks, equal_to([(0, 2), (60, 3)]))


class Words:
    """A splitter that is a bound method of an object with state."""

    def __init__(self, least):
        self.least = least

    def split(self, text):
        return [word for word in text.split() if len(word) >= self.least]


def splitters_of_every_kind():
    least = 3
    yield pytest.param(lambda text: text.split(), id="lambda")
    yield pytest.param(lambda text: [word for word in text.split() if len(word) >= least], id="closure")
    yield pytest.param(Words(3).split, id="bound method")
    yield pytest.param("cl100k_base", id="encoding")
    yield pytest.param("sentences", id="built in")


@pytest.mark.slow
@pytest.mark.parametrize("splitter", list(splitters_of_every_kind()))
def test_splitters_of_every_kind_reach_other_processes(splitter):
    options = SplitOptions(splitter=splitter, chunk_size=2)
    flags = ["--direct_running_mode=multi_processing", "--direct_num_workers=2"]
    with beam.Pipeline(runner=FnApiRunner(), options=PipelineOptions(flags)) as pipeline:
        documents = created(pipeline) | beam.Reshuffle()
        chunks = (documents | ChunkDocuments(options)).chunks | beam.Map(pa.Table.to_pylist)
        assert_that(chunks, equal_to(row_lists(TABLES, options)))
