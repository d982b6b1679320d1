"""Inputs that bring splitters to their knees. What is bounded is counted work, never the clock."""

from __future__ import annotations

import importlib
import json
import math
from functools import cache
from pkgutil import iter_modules

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import llm_splitter
from llm_splitter import Chunker, SplitOptions, TextBatch, get_chunk, loading, tokenizers
from tests import contract
from tests.offline_encodings import OFFLINE, quicktok
from tests.text_strategies import documents, options

BUILT_IN = ["characters", "words", "sentences", "lines", *OFFLINE]


def prose(size):
    """Text of so many bytes, no two paragraphs of it alike."""
    words = [
        "harbour",
        "light",
        "keeper",
        "of",
        "the",
        "winter's",
        "swell;",
        "comes",
        "1,024",
        "in.",
        "näher",
        "灯塔",
        "👋🏻",
    ]
    pieces, length, number = [], 0, 10**6
    while length < size:
        number += 1
        piece = f"{number} " + " ".join(words[(number * step) % len(words)] for step in range(1, 40)) + "\n\n"
        pieces.append(piece)
        length += len(piece.encode())
    return "".join(pieces)


MILLION = 1_000_000
SIZE = 300_000
HARD = {
    "one letter": "a" * MILLION,
    "one accent": "^" * MILLION,
    "a word and dashes": "Hello" + "-" * 65536,
    "one space": " " * SIZE,
    "line ends": "\n" * SIZE,
    "crlf": "\r\n" * (SIZE // 2),
    "NUL": "\x00" * SIZE,
    "combining marks": "\u0301" * (SIZE // 2),
    "marks of all kinds": "\u0301\u0903\u20dd" * (SIZE // 8),
    "characters of four bytes": "𓀀𓀁𓀂" * (SIZE // 12),
    "emoji families": "👨‍👩‍👧‍👦" * (SIZE // 25),
    "ideographs": "灯塔的守护人" * (SIZE // 18),
    "Hangul without spaces": "어젯밤바다에는" * (SIZE // 21),
    "digits": "1234567890" * (SIZE // 10),
    "base64": "QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVo" * (SIZE // 36),
    "JSON in one line": json.dumps([{"id": number, "text": "náv", "ok": True} for number in range(6_000)]),
    "U+FFFD": "\ufffd" * (SIZE // 3),
    "prose": prose(SIZE),
}
OVERLAPPING = {"chunk_size": 512, "chunk_overlap": 64}


def chunk(text, splitter, **others):
    return Chunker(SplitOptions(splitter=splitter, **others)).chunk(TextBatch.from_strings([text]))


def check_arrays(text, arrays, size):
    """The guarantees, at the speed of arrays."""
    assert arrays.start[0] == 0
    assert arrays.end[-1] == len(text)
    assert (arrays.start[1:] <= arrays.end[:-1]).all()
    assert (np.diff(arrays.start) >= 0).all()
    assert (np.diff(arrays.end) > 0).all()
    assert (arrays.token_count > 0).all()
    assert (arrays.token_count <= size).all()
    for index in {0, len(arrays) // 2, len(arrays) - 1}:
        start, end = int(arrays.start[index]), int(arrays.end[index])
        assert get_chunk(text, start, end) == text[start:end] != ""


@pytest.mark.parametrize("kind", HARD)
@pytest.mark.parametrize("splitter", ["characters", "words", "sentences", "lines"])
def test_splitters_of_text(kind, splitter):
    text = HARD[kind]
    arrays = chunk(text, splitter, **OVERLAPPING)
    if splitter == "characters" or contract.has_content(text):
        check_arrays(text, arrays, 512)
    else:
        assert len(arrays) == 0


@pytest.mark.parametrize("kind", HARD)
@pytest.mark.parametrize("splitter", OFFLINE)
def test_tokens(kind, splitter):
    text = HARD[kind]
    arrays = chunk(text, splitter, **OVERLAPPING)
    check_arrays(text, arrays, 512)
    pieces = [text[start:end].encode() for start, end in zip(arrays.start.tolist(), arrays.end.tolist(), strict=True)]
    _, offsets = quicktok.get_encoding(splitter).encode_batch(pieces)
    assert np.array_equal(np.diff(offsets), arrays.token_count)


@pytest.mark.parametrize("kind", ["one letter", "line ends", "crlf", "ideographs", "a word and dashes", "prose"])
@pytest.mark.parametrize("splitter", BUILT_IN)
def test_paragraphs(kind, splitter):
    text = HARD[kind]
    arrays = chunk(text, splitter, chunk_strategy="paragraph", **OVERLAPPING)
    if contract.has_content(text):
        check_arrays(text, arrays, 512)
    else:
        assert len(arrays) == 0


# --- counted work


class Work:
    """How much the engine was asked to encode, the whole text included."""

    def __init__(self):
        self.texts = 0
        self.bytes = 0


@pytest.fixture
def work(monkeypatch):
    counted = Work()

    class CountingEngine(tokenizers.QuicktokEngine):
        def encode_batch(self, texts, threads=0):
            counted.texts += len(texts)
            counted.bytes += sum(map(len, texts))
            return super().encode_batch(texts, threads)

    monkeypatch.setattr(loading, "QuicktokEngine", CountingEngine)
    return counted


def work_for(text, work, **others):
    work.texts = work.bytes = 0
    arrays = chunk(text, "cl100k_base", **others)
    return len(arrays), work.texts, work.bytes


@pytest.mark.parametrize("strategy", ["character", "paragraph"])
def test_prose_is_hardly_encoded_again(work, strategy):
    """Once as a whole, and then a few bytes at the ends of each chunk."""
    text = HARD["prose"]
    chunks, texts, encoded = work_for(text, work, chunk_strategy=strategy, **OVERLAPPING)
    assert texts < 3 * chunks
    assert encoded < 1.05 * len(text.encode())


@pytest.mark.parametrize("kind", [kind for kind in HARD if kind != "a word and dashes"])
def test_no_text_is_encoded_more_than_a_few_times(work, kind):
    """With no place to cut safely a chunk is encoded whole for each end that is tried; few are."""
    text = HARD[kind]
    chunks, texts, encoded = work_for(text, work, chunk_size=256)
    assert texts < 6 * chunks + 20
    assert encoded < 6 * len(text.encode())


@pytest.mark.parametrize("size", [1, 3, 40])
def test_a_text_all_of_whose_tokens_share_characters(work, size):
    """No place to cut between two tokens: chunks are found by halving, and the rest is not encoded for each."""
    text = "\ud7e4" * 3000
    chunks, _, encoded = work_for(text, work, chunk_size=size)
    assert chunks >= 3 * 3000 / (4 * size)
    assert encoded < len(text.encode()) * (20 + 10 * size)


@pytest.mark.parametrize("kind", ["prose", "one accent", "ideographs", "combining marks", "emoji families"])
@pytest.mark.parametrize("strategy", ["character", "paragraph"])
def test_work_grows_with_the_text(work, kind, strategy):
    text = HARD[kind]
    tenth = text[: len(text) // 10]
    little = work_for(tenth, work, chunk_strategy=strategy, **OVERLAPPING)
    much = work_for(text, work, chunk_strategy=strategy, **OVERLAPPING)
    assert all(ten < 12 * one + 100 for one, ten in zip(little, much, strict=True))


def test_a_chunk_size_larger_than_the_text_costs_nothing(work):
    text = HARD["prose"]
    chunks, _, encoded = work_for(text, work, chunk_size=10**9, chunk_overlap=10**8)
    assert chunks == 1
    assert encoded == len(text.encode())


def test_a_custom_splitter_is_called_once_for_each_paragraph():
    text = prose(20_000)
    calls = []
    Chunker(
        SplitOptions(
            chunk_size=9, chunk_strategy="paragraph", splitter=lambda piece: calls.append(piece) or piece.split()
        )
    ).chunk(TextBatch.from_strings([text]))
    paragraphs = text.split("\n\n")
    assert calls == [paragraph.strip() for paragraph in paragraphs]


# --- what is computed at a time changes nothing


@cache
def sizes_at_a_time():
    """The constants that say how many bytes are worked on at a time."""
    modules = [importlib.import_module(f"llm_splitter.{found.name}") for found in iter_modules(llm_splitter.__path__)]
    found = [(module, name) for module in modules for name in vars(module) if name.endswith("_BYTES")]
    assert {"_GROUP_BYTES", "_PIECE_BYTES"} <= {name for _, name in found}
    return found


@pytest.mark.parametrize("name", BUILT_IN)
@given(sources=st.lists(documents(8), max_size=5), given_options=options(), size=st.sampled_from([1, 7, 40]))
@settings(max_examples=settings().max_examples // 2)
def test_groups_of_any_size_give_the_same_chunks(name, sources, given_options, size):
    chunker = Chunker(SplitOptions(splitter=name, **given_options))
    batch = TextBatch.from_strings(sources)
    expected = chunker.chunk(batch)
    with pytest.MonkeyPatch.context() as patch:
        for module, constant in sizes_at_a_time():
            patch.setattr(module, constant, size)
        arrays = chunker.chunk(batch)
    for column in ("doc_offsets", "start", "end", "byte_start", "byte_end", "token_count", "over_budget"):
        assert getattr(arrays, column).tolist() == getattr(expected, column).tolist()


# --- large


@pytest.mark.slow
@pytest.mark.parametrize("splitter", BUILT_IN)
def test_a_document_of_twenty_megabytes(splitter):
    text = prose(20 * MILLION)
    size = 512 if splitter != "sentences" else 32
    arrays = chunk(text, splitter, chunk_size=size, chunk_overlap=size // 8)
    check_arrays(text, arrays, size)


@pytest.mark.slow
@pytest.mark.parametrize("splitter", OFFLINE)
def test_a_large_document_has_the_chunks_of_its_parts(splitter):
    """Paragraphs as documents of their own, and as parts of one, count the same tokens."""
    parts = prose(8 * MILLION).split("\n\n")
    tokenizer = loading.load_encoding(splitter)
    alone = tokenizer.spans(TextBatch.from_strings(parts))
    together = tokenizer.spans(TextBatch.from_strings([parts]))
    assert np.array_equal(alone.ends, together.ends)
    assert math.isclose(len(chunk("".join(parts), splitter, chunk_size=100)), len(alone.ends) / 100, rel_tol=0.05)
