"""Token chunks against brute force: every count made by encoding the very text."""

from __future__ import annotations

from functools import cache
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from llm_splitter import Chunker, SplitOptions, TextBatch
from tests import contract, reference
from tests.offline_encodings import byte_encoding, gpt2_like, tiktoken_encoding
from tests.text_strategies import documents, options, well_formed_texts

ENCODINGS = {
    "cl100k_base": lambda: tiktoken_encoding("cl100k_base"),
    "o200k_base": lambda: tiktoken_encoding("o200k_base"),
    "gpt2-like": gpt2_like,
    "bytes": byte_encoding,
}


@cache
def token_lengths(encoding, text):
    return [len(encoding.decode_single_token_bytes(token)) for token in encoding.encode_ordinary(text)]


def expected(encoding, source, given_options):
    by_paragraph = given_options["chunk_strategy"] == "paragraph"
    starts = reference.paragraph_bytes(source, given_options["paragraph_break"]) if by_paragraph else None
    return reference.TokenChunks(
        contract.joined(source).encode(),
        reference.byte_spans(source, lambda text: token_lengths(encoding, text)),
        cache(lambda text: len(encoding.encode_ordinary(text.decode()))),
        chunk_size=given_options["chunk_size"],
        chunk_overlap=given_options["chunk_overlap"],
        paragraph_starts=starts,
    ).chunks()


@cache
def splitter(name):
    """By name where the name is known: then the fast engine is compared with the reference one."""
    return name if name.endswith("_base") else ENCODINGS[name]()


def chunks_of(name, sources, given_options):
    chunker = Chunker(SplitOptions(splitter=splitter(name), offset_unit="utf8", **given_options))
    arrays = chunker.chunk(TextBatch.from_strings(sources))
    return arrays, list(zip(arrays.start.tolist(), arrays.end.tolist(), arrays.token_count.tolist(), strict=True))


well_formed_documents = st.one_of(well_formed_texts(), st.lists(well_formed_texts(8), max_size=4))


@pytest.mark.parametrize("name", ENCODINGS)
@given(source=well_formed_documents, given_options=options(24))
@settings(max_examples=settings().max_examples // 2)
def test_chunks_equal_the_reference(name, source, given_options):
    _, chunks = chunks_of(name, [source], given_options)
    assert chunks == expected(ENCODINGS[name](), source, given_options)


@pytest.mark.parametrize("name", ["cl100k_base", "o200k_base"])
@given(sources=st.lists(well_formed_documents, max_size=4), given_options=options(8))
@settings(max_examples=settings().max_examples // 2)
def test_chunks_of_a_batch_equal_those_of_its_documents(name, sources, given_options):
    arrays, chunks = chunks_of(name, sources, given_options)
    alone = [chunks_of(name, [source], given_options)[1] for source in sources]
    bounds = arrays.doc_offsets.tolist()
    assert [chunks[start:end] for start, end in pairwise(bounds)] == alone


@pytest.mark.parametrize("name", ENCODINGS)
@given(source=documents(), given_options=options(8))
@settings(max_examples=settings().max_examples // 2)
def test_a_loose_size_counts_the_tokens_of_the_document(name, source, given_options):
    """With ``strict_size=False`` chunks hold at most so many of the document's tokens, or one shared character."""
    arrays, chunks = chunks_of(name, [source], {**given_options, "strict_size": False})
    for (start, end, count), is_over in zip(chunks, arrays.over_budget.tolist(), strict=True):
        assert start < end
        assert count > 0
        assert is_over == (count > given_options["chunk_size"])
