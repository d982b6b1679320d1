"""Batches of text as buffers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from llm_splitter import Chunker, SplitOptions, TextBatch
from llm_splitter.texts import merged
from tests.text_strategies import documents, options, well_formed_texts


def buffer(text):
    return np.frombuffer(text.encode(), dtype=np.uint8)


def test_strings_become_one_buffer():
    batch = TextBatch.from_strings(["añ", ["b", "", "👋"], "", []])
    assert batch.data.tobytes().decode() == "añb👋"
    assert batch.part_offsets.tolist() == [0, 3, 4, 4, 8, 8]
    assert batch.doc_parts.tolist() == [0, 1, 4, 5, 5]
    assert batch.doc_offsets.tolist() == [0, 3, 8, 8, 8]
    assert len(batch) == 4
    assert [batch.part(index) for index in range(5)] == ["añ", "b", "", "👋", ""]


def test_buffers_without_doc_parts_hold_a_document_a_part():
    batch = TextBatch.from_buffers(buffer("añb"), np.array([0, 3, 4]))
    assert len(batch) == 2
    assert batch.is_single_part
    assert [batch.part(index) for index in range(2)] == ["añ", "b"]


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("a\udbc0 b", "a\ufffd b"),
        ("\ud83d\ude00", "\ufffd\ufffd"),
        ("\udfff", "\ufffd"),
        ("\ufffd\ud800퟿", "\ufffd\ufffd퟿"),
    ],
    ids=ascii,
)
def test_a_lone_surrogate_is_seen_as_u_fffd(text, seen):
    batch = TextBatch.from_strings([text])
    assert batch.data.tobytes().decode() == seen
    assert batch.part(0) == text


def test_nothing():
    batch = TextBatch.from_strings([])
    for splitter in ("characters", "words", "sentences", "lines", "cl100k_base", list):
        for strategy in ("character", "paragraph"):
            arrays = Chunker(SplitOptions(splitter=splitter, chunk_strategy=strategy)).chunk(batch)
            assert len(arrays) == 0
            assert arrays.doc_offsets.tolist() == [0]


def test_the_types_of_arrays():
    arrays = Chunker(SplitOptions(splitter="words", chunk_size=1)).chunk(TextBatch.from_strings(["a b", ""]))
    assert arrays.doc_offsets.dtype == arrays.start.dtype == arrays.end.dtype == np.int64
    assert arrays.byte_start.dtype == arrays.byte_end.dtype == np.int64
    assert arrays.token_count.dtype == np.int32
    assert arrays.over_budget.dtype == np.bool_
    assert len(arrays) == 2


@pytest.mark.parametrize("splitter", ["characters", "words", "sentences", "lines", "cl100k_base", "code points"])
@given(sources=st.lists(well_formed_texts(6), max_size=4), around=st.tuples(well_formed_texts(3), well_formed_texts(3)),
       given_options=options(6))  # fmt: skip
def test_a_batch_may_lie_inside_of_a_larger_buffer(splitter, sources, around, given_options):
    """As the text of a slice of an Arrow column does."""
    chunker = Chunker(SplitOptions(splitter=list if splitter == "code points" else splitter, **given_options))
    before, behind = around
    offsets = np.cumsum([len(before.encode()), *(len(text.encode()) for text in sources)])
    inside = chunker.chunk(TextBatch.from_buffers(buffer("".join([before, *sources, behind])), offsets))
    alone = chunker.chunk(TextBatch.from_strings(sources))
    for column in ("doc_offsets", "start", "end", "token_count", "over_budget"):
        assert getattr(inside, column).tolist() == getattr(alone, column).tolist()
    assert (inside.byte_start - offsets[0]).tolist() == alone.byte_start.tolist()
    assert (inside.byte_end - offsets[0]).tolist() == alone.byte_end.tolist()


@pytest.mark.parametrize("splitter", ["words", "cl100k_base"])
@given(sources=st.lists(documents(6), max_size=4), given_options=options(6))
def test_byte_positions_cut_the_text_of_chunks(splitter, sources, given_options):
    batch = TextBatch.from_strings(sources)
    arrays = Chunker(SplitOptions(splitter=splitter, offset_unit="utf8", **given_options)).chunk(batch)
    origins = np.repeat(batch.doc_offsets[:-1], np.diff(arrays.doc_offsets))
    assert (arrays.byte_start - origins).tolist() == arrays.start.tolist()
    assert (arrays.byte_end - origins).tolist() == arrays.end.tolist()
    data = batch.data.tobytes()
    for start, end in zip(arrays.byte_start.tolist(), arrays.byte_end.tolist(), strict=True):
        assert data[start:end].decode()


@given(sources=st.lists(documents(6), max_size=6), size=st.integers(0, 60))
def test_groups_are_the_batch_again(sources, size):
    groups = list(TextBatch.from_strings(sources).groups(size))
    assert sum(map(len, groups)) == len(sources)
    parts = [group.part(index) for group in groups for index in range(len(group.part_offsets) - 1)]
    assert parts == [part for source in sources for part in ([source] if isinstance(source, str) else source)]
    assert all(group.part_offsets[0] == 0 for group in groups)


@given(st.lists(st.lists(st.integers(0, 30)).map(sorted), min_size=1, max_size=4))
def test_merged(lists):
    arrays = [np.array(values, dtype=np.int64) for values in lists]
    assert merged(*arrays).tolist() == sorted({value for values in lists for value in values})
