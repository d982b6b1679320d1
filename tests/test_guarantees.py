"""The six promises of a split, for every splitter, strategy and unit, on generated text.

1. Offsets lead back to the text.
2. No character is unowned, but for white space that leads the source where paragraphs are kept.
3. Ends increase, starts never decrease, and the last end is the source's.
4. A chunk has at most ``chunk_size`` parts; with a tokenizer, its own text encoded alone has.
5. No U+FFFD that the source does not hold.
6. Same input and options, same chunks: in any batch, by any entry point.
"""

from __future__ import annotations

import pickle
import re
from functools import cache, partial

import numpy as np
import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from llm_splitter import Chunker, Part, SplitOptions, TextBatch, split
from tests import contract, reference
from tests.offline_encodings import OFFLINE, byte_encoding, decoded_one_by_one, quicktok, tiktoken_encoding
from tests.text_strategies import documents, offset_units, options, texts, well_formed_texts

BUILT_IN = ["characters", "words", "sentences", "lines", *OFFLINE]


def alternately(text):
    """Words, every other one saying itself where it stands."""
    words = list(re.finditer(r"\S+", text))
    return [word[0] if index % 2 else Part(word[0], word.start()) for index, word in enumerate(words)]


# Those that keep every character, and those that drop some.
LOSSLESS = {
    "code points": list,
    "pairs of code points": lambda text: [text[index : index + 2] for index in range(0, len(text), 2)],
    "graphemes": lambda text: regex.findall(r"\X", text),
    "lines with their ends": lambda text: text.splitlines(keepends=True),
    "the whole text": lambda text: (text,),
    "reported code points": lambda text: [Part(character, index) for index, character in enumerate(text)],
    "words behind their space": lambda text: re.findall(r"\s*\S+|\s+$", text),
}
LOSSY = {
    "words": str.split,
    "words, alternately reported": alternately,
    "reported words": lambda text: [Part(word[0], word.start()) for word in re.finditer(r"\w+", text)],
    "letters": lambda text: re.findall(r"[^\W\d_]+", text),
    "between commas": lambda text: re.split("[,，]", text),
    "sentences": lambda text: re.split(r"[.!?。]+", text),
    "every other character": lambda text: [Part(text[index], index) for index in range(0, len(text), 2)],
}
TOKEN_PIECES = {
    "cl100k_base pieces": decoded_one_by_one(partial(tiktoken_encoding, "cl100k_base")),
    "o200k_base pieces": decoded_one_by_one(partial(tiktoken_encoding, "o200k_base")),
    "bytes": decoded_one_by_one(byte_encoding),
}
CUSTOM = {**LOSSLESS, **LOSSY, **TOKEN_PIECES}


def leading_space_may_be_left(given_options):
    return contract.is_whitespace if given_options["chunk_strategy"] == "paragraph" else None


# --- 1, 2, 3 and 5


@pytest.mark.parametrize("name", BUILT_IN)
@given(source=documents(), given_options=options(), unit=offset_units)
def test_built_in_splitters(name, source, given_options, unit):
    chunks = split(source, splitter=name, offset_unit=unit, **given_options)
    contract.check(source, chunks, unit, may_skip=leading_space_may_be_left(given_options))
    if contract.has_content(source):
        assert chunks
    elif given_options["chunk_strategy"] == "paragraph":
        assert chunks == []


@pytest.mark.parametrize("name", LOSSLESS)
@given(source=documents(), given_options=options(), unit=offset_units)
def test_custom_splitters_that_keep_all(name, source, given_options, unit):
    chunks = split(source, splitter=CUSTOM[name], offset_unit=unit, **given_options)
    contract.check(source, chunks, unit, may_skip=leading_space_may_be_left(given_options))


@pytest.mark.parametrize("name", [*LOSSY, *TOKEN_PIECES])
@given(source=documents(), given_options=options(), unit=offset_units)
def test_custom_splitters_that_drop_some(name, source, given_options, unit):
    chunks = split(source, splitter=CUSTOM[name], offset_unit=unit, **given_options)
    contract.check(source, chunks, unit, may_skip=lambda _: True)


# --- 4


def replaced(text):
    """What a tokenizer sees of a lone surrogate."""
    return re.sub("[\ud800-\udfff]", "\ufffd", contract.joined(text))


@pytest.mark.parametrize("name", OFFLINE)
@given(source=documents(), given_options=options())
def test_a_chunks_own_text_keeps_the_budget(name, source, given_options):
    chunks = split(source, splitter=name, **given_options)
    arrays = Chunker(SplitOptions(splitter=name, **given_options)).chunk(TextBatch.from_strings([source]))
    for chunk, count, is_over in zip(chunks, arrays.token_count.tolist(), arrays.over_budget.tolist(), strict=True):
        text = replaced(chunk.text)
        assert len(tiktoken_encoding(name).encode_ordinary(text)) == count
        assert quicktok.get_encoding(name).count(text) == count
        assert is_over == (count > given_options["chunk_size"])
        assert not is_over or len(text) == 1


@pytest.mark.parametrize("name", sorted(reference.BUILT_IN))
@given(source=documents(), given_options=options())
def test_a_chunk_holds_at_most_so_many_parts(name, source, given_options):
    kept = given_options["paragraph_break"] if given_options["chunk_strategy"] == "paragraph" else None
    groups = reference.grouped_parts(source, reference.BUILT_IN[name], kept)
    starts = [start for group in groups for start, _ in group]
    for chunk in split(source, splitter=name, **given_options):
        assert sum(chunk.start <= start < chunk.end for start in starts) <= given_options["chunk_size"]


@pytest.mark.parametrize("name", CUSTOM)
@given(source=documents(), given_options=options())
def test_a_chunk_holds_at_most_so_many_parts_of_a_custom_splitter(name, source, given_options):
    arrays = Chunker(SplitOptions(splitter=CUSTOM[name], **given_options)).chunk(TextBatch.from_strings([source]))
    assert (arrays.token_count > 0).all()
    assert (arrays.token_count <= given_options["chunk_size"]).all()
    assert not arrays.over_budget.any()


# --- 6


def rows(arrays, document):
    chunks = slice(*arrays.doc_offsets[document : document + 2])
    columns = (arrays.start, arrays.end, arrays.token_count, arrays.over_budget)
    return list(zip(*(column[chunks].tolist() for column in columns), strict=True))


@pytest.mark.parametrize("name", BUILT_IN)
@given(source=documents(), others=st.lists(documents(6), max_size=3), given_options=options(), unit=offset_units)
def test_a_document_has_the_same_chunks_in_any_batch(name, source, others, given_options, unit):
    chunker = Chunker(SplitOptions(splitter=name, offset_unit=unit, **given_options))
    alone = rows(chunker.chunk(TextBatch.from_strings([source])), 0)
    for place in range(len(others) + 1):
        batch = TextBatch.from_strings([*others[:place], source, *others[place:]])
        assert rows(chunker.chunk(batch), place) == alone
    assert rows(pickle.loads(pickle.dumps(chunker)).chunk(TextBatch.from_strings([source])), 0) == alone
    assert [row[:2] for row in alone] == contract.spans(split(source, splitter=name, offset_unit=unit, **given_options))


@pytest.mark.parametrize("name", CUSTOM)
@given(source=documents(), other=documents(6), given_options=options(), unit=offset_units)
def test_a_document_has_the_same_chunks_in_any_batch_of_a_custom_splitter(name, source, other, given_options, unit):
    chunker = Chunker(SplitOptions(splitter=CUSTOM[name], offset_unit=unit, **given_options))
    alone = rows(chunker.chunk(TextBatch.from_strings([source])), 0)
    arrays = chunker.chunk(TextBatch.from_strings([source, other, source]))
    assert rows(arrays, 0) == rows(arrays, 2) == alone


@pytest.mark.parametrize("name", [*BUILT_IN, "words behind their space"])
@given(source=st.one_of(well_formed_texts(), st.lists(well_formed_texts(8), max_size=4)), given_options=options())
def test_strings_and_buffers_give_the_same_chunks(name, source, given_options):
    chunker = Chunker(SplitOptions(splitter=CUSTOM.get(name, name), **given_options))
    parts = [part.encode() for part in ([source] if isinstance(source, str) else source)]
    offsets = np.cumsum([0, *map(len, parts)])
    data = np.frombuffer(b"".join(parts), dtype=np.uint8)
    batch = TextBatch.from_buffers(data, offsets, np.array([0, len(parts)]))
    assert rows(chunker.chunk(batch), 0) == rows(chunker.chunk(TextBatch.from_strings([source])), 0)


@pytest.mark.parametrize("name", [*BUILT_IN, "words", "code points"])
@given(text=texts(), given_options=options(), unit=offset_units)
def test_one_part_is_as_good_as_a_string(name, text, given_options, unit):
    given_options = {**given_options, "splitter": CUSTOM.get(name, name), "offset_unit": unit}
    chunks = split(text, **given_options)
    assert contract.spans(split([text], **given_options)) == contract.spans(chunks)
    assert split((text,), **given_options) == split([text], **given_options)


@pytest.mark.parametrize("name", OFFLINE)
@given(sources=st.lists(documents(8), max_size=3), given_options=options())
def test_both_engines_give_the_same_chunks(name, sources, given_options):
    batch = TextBatch.from_strings(sources)
    fast, slow = (chunker_on(engine, name, given_options).chunk(batch) for engine in ("quicktok", "tiktoken"))
    assert all(rows(fast, document) == rows(slow, document) for document in range(len(sources)))


@cache
def built(engine, name):
    return Chunker(SplitOptions(splitter=name), engine)


def chunker_on(engine, name, given_options):
    """Building one on tiktoken takes a while: the options change, the tokenizer stays."""
    chunker = built(engine, name)
    chunker.options = SplitOptions(splitter=name, **given_options)
    return chunker


@pytest.mark.parametrize("name", [*BUILT_IN, *LOSSLESS, *LOSSY])
@given(source=documents(), given_options=options())
def test_the_unit_changes_nothing_but_the_numbers(name, source, given_options):
    given_options = {**given_options, "splitter": CUSTOM.get(name, name)}
    whole = contract.joined(source)
    chunks = split(source, **given_options)
    for unit in ("utf16", "utf8"):
        converted = split(source, offset_unit=unit, **given_options)
        assert [chunk.text for chunk in converted] == [chunk.text for chunk in chunks]
        for chunk, same in zip(chunks, converted, strict=True):
            assert same.start == contract.length(whole[: chunk.start], unit)
            assert same.end == contract.length(whole[: chunk.end], unit)
