"""The engines: equal ids, equal chunks, and vocabularies that are never fetched by surprise."""

from __future__ import annotations

import hashlib
import re
import socket
import threading
from pathlib import Path

import numpy as np
import pytest
import tiktoken
import tiktoken_ext.openai_public as published
from hypothesis import given, settings
from hypothesis import strategies as st

from llm_splitter import Chunker, SplitOptions, TextBatch, loading, split
from llm_splitter.encodings import CL100K_PATTERN, ENCODINGS
from llm_splitter.tokenizers import QuicktokEngine, TiktokenEngine
from tests import contract
from tests.offline_encodings import OFFLINE, byte_encoding, quicktok, rank_file, ranks, tiktoken_encoding
from tests.text_strategies import NEW_CHARACTERS, well_formed_texts

TEXT = "The café 显示s 한국어, don't stop: 12345 <|endoftext|> 👨‍👩‍👧 न\u0301\n\n  x\r\n"


@pytest.fixture(scope="module", params=OFFLINE)
def engines(request):
    name = request.param
    return QuicktokEngine(name), TiktokenEngine(name, ENCODINGS[name].pattern, ranks(name))


@pytest.fixture
def no_network(monkeypatch, tmp_path):
    """Any connection fails, and no vocabulary is kept on disk."""

    def refuse(*_, **__):
        raise OSError("the network is refused here")

    monkeypatch.setattr(socket, "socket", refuse)
    monkeypatch.setattr(socket, "create_connection", refuse)
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path / "empty"))
    monkeypatch.setattr(tiktoken.registry, "ENCODINGS", {})


@pytest.fixture
def without_quicktok(monkeypatch):
    monkeypatch.setattr(loading, "has_quicktok", lambda: False)


def chunks(options, engine="auto", text=TEXT):
    arrays = Chunker(options, engine).chunk(TextBatch.from_strings([text]))
    return arrays.start.tolist(), arrays.end.tolist(), arrays.token_count.tolist()


def by_name(name, **others):
    return SplitOptions(chunk_size=4, chunk_overlap=1, splitter=name, **others)


# --- equal ids


@given(texts=st.lists(well_formed_texts(), max_size=4))
@settings(max_examples=3 * settings().max_examples)
def test_engines_give_equal_ids(engines, texts):
    encoded = [text.encode() for text in texts]
    (fast_ids, fast_offsets), (ids, offsets) = (engine.encode_batch(encoded) for engine in engines)
    assert np.array_equal(fast_ids, ids)
    assert np.array_equal(fast_offsets, offsets)


IS_NEW = re.compile(f"[{NEW_CHARACTERS}]")


def check_every_character(engines, characters, surroundings):
    encoded = [surrounding.replace("#", character).encode() for character in characters for surrounding in surroundings]
    (fast_ids, fast_offsets), (ids, offsets) = (engine.encode_batch(encoded) for engine in engines)
    wrong = np.flatnonzero(fast_offsets != offsets)
    assert not len(wrong), f"differ on {encoded[wrong[0] - 1].decode()!r}"
    assert np.array_equal(fast_ids, ids)


SURROUNDINGS = ["x#y", "#:A", " #1", "\n#\n", "a#'S", "A#b#", "1#2", ".#/"]


def test_engines_agree_on_characters_of_all_unicode(engines):
    characters = [chr(code) for code in range(0, 0x33000, 61) if not 0xD800 <= code < 0xE000]
    check_every_character(engines, [c for c in characters if not IS_NEW.match(c)], SURROUNDINGS[:4])


@pytest.mark.slow
def test_engines_agree_on_every_character_that_both_know(engines):
    planes = [range(0xD800), range(0xE000, 0x34000), range(0x34000, 0x110000, 251)]  # the last hold hardly any
    known = [chr(code) for codes in planes for code in codes if not IS_NEW.match(chr(code))]
    for surrounding in SURROUNDINGS:
        check_every_character(engines, known, [surrounding])


@pytest.mark.parametrize("name", OFFLINE)
@pytest.mark.parametrize("strategy", ["character", "paragraph"])
def test_engines_give_equal_chunks_and_fingerprints(name, strategy):
    options = by_name(name, chunk_strategy=strategy)
    assert chunks(options, "quicktok") == chunks(options, "tiktoken") == chunks(options)
    fast, slow = Chunker(options, "quicktok"), Chunker(options, "tiktoken")
    assert fast.fingerprint == slow.fingerprint
    assert fast.tokenizer_name == slow.tokenizer_name == name
    assert fast.engine.startswith("quicktok ")
    assert slow.engine.startswith("tiktoken ")


def test_o200k_harmony_is_o200k_base_to_a_document():
    assert chunks(by_name("o200k_harmony")) == chunks(by_name("o200k_base"))


# --- what is known of the encodings is what tiktoken publishes


@pytest.mark.parametrize("name", sorted(set(ENCODINGS) - {"llama3"}))
def test_patterns_and_hashes_are_tiktokens(name, monkeypatch):
    hashes = []

    def note_hash(_, expected_hash=None):
        hashes.append(expected_hash)
        return {}

    monkeypatch.setattr(published, "load_tiktoken_bpe", note_hash)
    monkeypatch.setattr(published, "data_gym_to_mergeable_bpe_ranks", lambda *_, **__: {})
    described = getattr(published, name)()
    assert described["pat_str"] == ENCODINGS[name].pattern
    if name != "gpt2":  # published in another format
        assert hashes == [ENCODINGS[name].sha256]


def test_every_encoding_of_tiktoken_is_known():
    assert set(published.ENCODING_CONSTRUCTORS) <= set(ENCODINGS)


# --- rank files


@pytest.fixture(scope="module", params=OFFLINE)
def ranks_on_disk(request, tmp_path_factory):
    path = tmp_path_factory.mktemp("ranks") / f"{request.param}.tiktoken"
    path.write_bytes(rank_file(request.param))
    return path


def test_a_rank_file_serves_as_the_encoding_it_is_named_after(ranks_on_disk, no_network):
    name = ranks_on_disk.stem
    assert hashlib.sha256(ranks_on_disk.read_bytes()).hexdigest() == ENCODINGS[name].sha256
    for splitter in (ranks_on_disk, str(ranks_on_disk)):
        assert chunks(by_name(splitter)) == chunks(by_name(name))
        assert Chunker(by_name(splitter)).fingerprint == Chunker(by_name(name)).fingerprint


def test_a_rank_file_with_another_content_is_refused(tmp_path):
    path = tmp_path / "o200k_base.tiktoken"
    path.write_bytes(b"IQ== 0\n")
    with pytest.raises(ValueError, match=r"o200k_base\.tiktoken is not the vocabulary of 'o200k_base'") as caught:
        Chunker(by_name(path))
    assert ENCODINGS["o200k_base"].sha256 in str(caught.value)
    assert hashlib.sha256(b"IQ== 0\n").hexdigest() in str(caught.value)


def test_a_rank_file_that_is_not_there(tmp_path):
    with pytest.raises(ValueError, match=r"cannot read the rank file .*p50k_base\.tiktoken: No such file"):
        Chunker(by_name(tmp_path / "p50k_base.tiktoken"))


def test_a_rank_file_of_no_known_encoding(tmp_path):
    (tmp_path / "mine.tiktoken").write_bytes(b"IQ== 0\n")
    with pytest.raises(ValueError, match="unknown token encoding 'mine'; known are cl100k_base, gpt2"):
        Chunker(by_name(tmp_path / "mine.tiktoken"))


# --- the network


@pytest.mark.parametrize("engine", ["auto", "quicktok", "tiktoken"])
@pytest.mark.parametrize("name", OFFLINE)
def test_encodings_in_the_wheel_need_no_network(name, engine, no_network):
    assert chunks(by_name(name), engine)[0][0] == 0


@pytest.mark.parametrize("name", ["p50k_base", "r50k_base", "gpt2"])
def test_an_encoding_that_cannot_be_loaded_names_the_ways_out(name, no_network):
    with pytest.raises(ValueError, match=f"cannot load the vocabulary of '{name}'") as caught:
        Chunker(by_name(name))
    for way_out in ("TIKTOKEN_CACHE_DIR", f"{ENCODINGS[name].vocabulary}.tiktoken", "cl100k_base", "o200k_base"):
        assert way_out in str(caught.value)


def test_a_download_that_does_not_end_is_given_up(monkeypatch):
    monkeypatch.setattr(loading, "_DOWNLOAD_SECONDS", 0.1)
    ended = threading.Event()
    monkeypatch.setattr(tiktoken, "get_encoding", lambda name: ended.wait(60))
    with pytest.raises(
        ValueError, match=r"downloading it failed \(it took more than 0.1 seconds\).*TIKTOKEN_CACHE_DIR"
    ):
        Chunker(by_name("p50k_base"))
    assert not ended.is_set()
    ended.set()


def test_without_quicktok_the_message_names_the_ways_out_too(no_network, without_quicktok):
    with pytest.raises(ValueError, match="cannot load the vocabulary of 'cl100k_base'"):
        Chunker(by_name("cl100k_base"))


def test_a_filled_cache_folder_is_enough(no_network, without_quicktok, monkeypatch, tmp_path):
    address = "https://openaipublic.blob.core.windows.net/encodings/cl100k_base.tiktoken"
    (tmp_path / hashlib.sha1(address.encode()).hexdigest()).write_bytes(rank_file("cl100k_base"))
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    chunker = Chunker(by_name("cl100k_base"))
    assert chunker.engine.startswith("tiktoken ")
    assert chunker.fingerprint == Chunker(by_name(tiktoken_encoding("cl100k_base"))).fingerprint


# --- names that are not known, engines that do not serve


@pytest.mark.parametrize("name", ["cl100k", "gpt-4", "", "CL100K_BASE"])
def test_an_unknown_name_lists_the_known_ones(name):
    with pytest.raises(ValueError, match=f"unknown splitter '{name}'") as caught:
        Chunker(by_name(name))
    for known in ("characters", "words", "sentences", "lines", *ENCODINGS, "tokenizer.json", ".tiktoken"):
        assert known in str(caught.value)


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("cl100k", "did you mean 'cl100k_base'?"),
        ("Word", "did you mean 'words'?"),
        ("gpt-4o-mini", "that is a model, and its encoding is o200k_base."),
        ("text-embedding-3-small", "that is a model, and its encoding is cl100k_base."),
        ("xyz", "in settings package.module:callable"),
    ],
)
def test_an_unknown_name_comes_with_a_hint(name, hint):
    with pytest.raises(ValueError, match="unknown splitter") as caught:
        Chunker(by_name(name))
    assert hint in str(caught.value)


def test_an_unknown_engine():
    with pytest.raises(ValueError, match="engine must be 'auto', 'quicktok' or 'tiktoken', got 'fast'"):
        Chunker(by_name("cl100k_base"), "fast")


def test_quicktok_does_not_serve_all():
    with pytest.raises(ValueError, match=r"quicktok does not know 'p50k_base' \(it knows cl100k_base, llama3, o200k"):
        Chunker(by_name("p50k_base"), "quicktok")


def test_quicktok_may_be_missing(without_quicktok):
    with pytest.raises(ValueError, match="pip install quicktok-v1"):
        Chunker(by_name("cl100k_base"), "quicktok")


def test_tiktoken_does_not_serve_all():
    with pytest.raises(ValueError, match="tiktoken does not know 'llama3'"):
        Chunker(by_name("llama3"), "tiktoken")


# --- Encoding objects


@pytest.mark.parametrize("name", OFFLINE)
def test_an_encoding_object_equals_its_name(name):
    encoding = tiktoken_encoding(name)
    assert chunks(by_name(encoding)) == chunks(by_name(name))
    assert Chunker(by_name(encoding)).fingerprint == Chunker(by_name(name)).fingerprint


def test_a_quicktok_object_equals_its_name():
    assert chunks(by_name(quicktok.get_encoding("o200k_base"))) == chunks(by_name("o200k_base"))


def test_an_encoding_of_bytes_cuts_no_character():
    found = split("añ显👋b", splitter=byte_encoding(), chunk_size=4)
    assert [chunk.text for chunk in found] == ["añ", "显", "👋", "b"]
    found = split("añ显👋b", splitter=byte_encoding(), chunk_size=2)
    assert [chunk.text for chunk in found] == ["a", "ñ", "显", "👋", "b"]


def test_characters_over_budget_are_reported():
    arrays = Chunker(SplitOptions(chunk_size=2, splitter=byte_encoding())).chunk(TextBatch.from_strings(["añ显👋b"]))
    assert arrays.token_count.tolist() == [1, 2, 3, 4, 1]
    assert arrays.over_budget.tolist() == [False, False, True, True, False]


def test_encodings_that_differ_have_different_fingerprints():
    few = {token: rank for token, rank in ranks("cl100k_base").items() if rank < 1000}
    fingerprints = {
        Chunker(by_name(splitter)).fingerprint
        for splitter in (
            "cl100k_base",
            "o200k_base",
            byte_encoding(),
            tiktoken.Encoding("cl100k_base", pat_str=CL100K_PATTERN, mergeable_ranks=few, special_tokens={}),
            tiktoken.Encoding("cl100k_base", pat_str=r"\s+|\S+", mergeable_ranks=few, special_tokens={}),
            tiktoken.Encoding("mine", pat_str=r"\s+|\S+", mergeable_ranks=few, special_tokens={}),
        )
    }
    assert len(fingerprints) == 6


def test_a_pattern_of_ones_own_has_no_safe_cuts():
    """Words that hold white space: what is known of other patterns does not hold."""
    encoding = tiktoken.Encoding(
        "lines", pat_str=r"[^\n]+|\n+", mergeable_ranks=ranks("cl100k_base"), special_tokens={}
    )
    text = "to be or not to be, that is the question\n" * 20
    arrays = Chunker(SplitOptions(chunk_size=7, splitter=encoding)).chunk(TextBatch.from_strings([text]))
    for start, end, count in zip(arrays.start, arrays.end, arrays.token_count.tolist(), strict=True):
        assert len(encoding.encode_ordinary(text[start:end])) == count <= 7


def test_special_tokens_are_ordinary_text(engines):
    for engine in engines:
        ids, _ = engine.encode_batch([b"a<|endoftext|>b"])
        assert len(ids) > 5
    encoding = tiktoken_encoding("cl100k_base")
    assert chunks(by_name(encoding), text="<|endoftext|>" * 3) == chunks(
        by_name("cl100k_base"), text="<|endoftext|>" * 3
    )


def test_no_path_is_read_for_a_name(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    Path("words").write_text("not a tokenizer")
    assert contract.spans(split("a b", splitter="words", chunk_size=1)) == [(0, 2), (2, 3)]


def test_an_encoding_object_is_read_once(monkeypatch):
    """Reading its vocabulary takes a second, and ``split`` builds a chunker on every call."""
    read = []
    monkeypatch.setattr(loading, "TiktokenEngine", lambda *args: read.append(args) or TiktokenEngine(*args))
    few = {bytes([byte]): byte for byte in range(256)}
    encoding = tiktoken.Encoding("once", pat_str=r"\S+|\s+", mergeable_ranks=few, special_tokens={})
    for _ in range(3):
        assert len(split("one two", splitter=encoding, chunk_size=3)) > 1
    assert len(read) == 1


def test_a_document_that_an_engine_gives_up_on_is_collected():
    """tiktoken's regular expression runs out of stack on a million spaces; quicktok has no such limit."""
    batch = TextBatch.from_strings(["one two", " " * 1_000_000, "three"])
    assert Chunker(by_name("o200k_base"), "quicktok").chunk(batch).errors == []
    arrays = Chunker(by_name("o200k_base"), "tiktoken").chunk(batch, on_error="collect")
    assert [document for document, _ in arrays.errors] == [1]
    assert arrays.doc_offsets.tolist() == [0, 1, 1, 2]
    assert (arrays.start.tolist(), arrays.end.tolist()) == ([0, 0], [7, 5])
