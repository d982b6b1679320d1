"""A chunker travels to workers with everything it needs, whatever its splitter is."""

from __future__ import annotations

import functools
import pickle
import subprocess
import sys

import pytest

from llm_splitter import Chunker, Part, SplitOptions, TextBatch
from tests.offline_encodings import byte_encoding, tiktoken_encoding

TEXTS = ["One two, three.\n\nFour 显示 five 👋🏻 six.", ["seven eight", " nine"], "", "ten"]


def words(text):
    return text.split()


def pieces(text, size):
    return [text[index : index + size] for index in range(0, len(text), size)]


class Cutter:
    def __init__(self, separator):
        self.separator = separator

    def cut(self, text):
        return text.split(self.separator)

    def __call__(self, text):
        return [Part(word, text.index(word)) for word in text.split(self.separator)]


def closure():
    separators = [" "]
    return lambda text: text.split(separators[0])


def hugging_face():
    tokenizers = pytest.importorskip("tokenizers")
    vocabulary = {token: index for index, token in enumerate(["[UNK]", "one", "two", "three", ",", "."])}
    tokenizer = tokenizers.Tokenizer(tokenizers.models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer = tokenizers.normalizers.Lowercase()
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
    return tokenizer


PLAIN = {
    "characters": lambda: "characters",
    "words": lambda: "words",
    "sentences": lambda: "sentences",
    "lines": lambda: "lines",
    "cl100k_base": lambda: "cl100k_base",
    "o200k_base": lambda: "o200k_base",
    "an encoding": lambda: tiktoken_encoding("cl100k_base"),
    "an encoding of one's own": byte_encoding,
    "a Hugging Face tokenizer": hugging_face,
    "a function": lambda: words,
    "a bound method": lambda: Cutter(" ").cut,
    "a callable object": lambda: Cutter(" "),
    "a partial": lambda: functools.partial(pieces, size=3),
    "a built-in": lambda: str.split,
}
NEEDS_CLOUDPICKLE = {
    "a lambda": lambda: lambda text: text.split("o"),
    "a closure": closure,
    "a partial of a lambda": lambda: functools.partial(lambda separator, text: text.split(separator), " "),
}


def outcome(chunker):
    arrays = chunker.chunk(TextBatch.from_strings(TEXTS))
    columns = (arrays.doc_offsets, arrays.start, arrays.end, arrays.token_count, arrays.over_budget)
    return [column.tolist() for column in columns]


def check_round_trip(splitter, dumps, engine="auto"):
    chunker = Chunker(SplitOptions(chunk_size=3, chunk_overlap=1, splitter=splitter), engine)
    expected = outcome(chunker)
    copy = pickle.loads(dumps(chunker))
    assert outcome(copy) == expected
    assert (copy.fingerprint, copy.tokenizer_name) == (chunker.fingerprint, chunker.tokenizer_name)
    assert outcome(pickle.loads(dumps(copy))) == expected
    return chunker


@pytest.mark.parametrize("kind", PLAIN)
def test_round_trip(kind):
    check_round_trip(PLAIN[kind](), pickle.dumps)


@pytest.mark.parametrize("kind", [*PLAIN, *NEEDS_CLOUDPICKLE])
def test_round_trip_by_cloudpickle(kind):
    """Beam's default pickler is its own copy of cloudpickle."""
    cloudpickle = pytest.importorskip("apache_beam.internal.cloudpickle").cloudpickle
    check_round_trip({**PLAIN, **NEEDS_CLOUDPICKLE}[kind](), cloudpickle.dumps)


@pytest.mark.parametrize("engine", ["quicktok", "tiktoken"])
def test_round_trip_of_each_engine(engine):
    check_round_trip("cl100k_base", pickle.dumps, engine)


def test_quicktok_travels_light_and_tiktoken_by_value():
    size = {
        engine: len(pickle.dumps(Chunker(SplitOptions(splitter="cl100k_base"), engine)))
        for engine in ("quicktok", "tiktoken")
    }
    assert size["quicktok"] < 10_000  # the worker has the wheel
    assert size["tiktoken"] > 500_000  # the worker needs no vocabulary of its own


ON_A_WORKER = """
import pickle, socket, sys
def refuse(*args, **kwargs):
    raise SystemExit("a worker tried the network")
socket.socket.connect = refuse
from llm_splitter import TextBatch
chunker = pickle.loads(sys.stdin.buffer.read())
print(chunker.chunk(TextBatch.from_strings(["one two three"])).token_count.tolist())
"""


@pytest.mark.parametrize("engine", ["quicktok", "tiktoken"])
def test_a_worker_in_another_process_loads_nothing(engine, tmp_path):
    sent = pickle.dumps(Chunker(SplitOptions(chunk_size=2, splitter="cl100k_base"), engine))
    environment = {"PYTHONPATH": ":".join(sys.path), "TIKTOKEN_CACHE_DIR": str(tmp_path / "empty")}
    done = subprocess.run(
        [sys.executable, "-c", ON_A_WORKER], input=sent, env=environment, capture_output=True, check=False
    )
    assert done.stdout.decode().strip() == "[2, 1]", done.stderr.decode()
