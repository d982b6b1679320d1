"""Safe cuts: where a text is cut, both sides have the tokens that they had together."""

from __future__ import annotations

import itertools
import unicodedata

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from llm_splitter import Chunker, SplitOptions, TextBatch
from llm_splitter.loading import load_encoding, load_object
from llm_splitter.safe_cuts import is_safe_cut
from llm_splitter.tokenizers import _cut_up
from tests.offline_encodings import gpt2_like, quicktok, tiktoken_encoding
from tests.text_strategies import well_formed_texts

FAST = ("cl100k_base", "o200k_base", "llama3")
REFERENCE = {
    "cl100k_base": lambda: tiktoken_encoding("cl100k_base"),
    "o200k_base": lambda: tiktoken_encoding("o200k_base"),
    "gpt2-like": gpt2_like,
}

# Characters of every class, several where patterns and Unicode tables could tell them apart.
CHARACTERS = [
    *"aZßéÀ",  # letters
    *"ſKİıςẞﬁǅʰªº",  # letters with odd cases, modifiers
    *"中あアー한ก्नमمש𝔗𐐷𠮷",  # letters without case, a mark of category Mn
    *"sSmMtTdDlLvVrReE",  # what contractions are made of
    *"019½²Ⅷ٣𝟘〇",  # numbers of all three categories
    *"\u0301\u0903\u20dd\u093f\u0e31\ufe0f",  # marks
    *" \u00a0\u3000\u2009\t\v\f",  # white space
    *"\n\r",
    *"\u0085\u2028\u2029\ufeff\u200b\x1c\u180e",  # white space to some
    *'.,!?-_()[]{}"’“«¡·、。「',  # punctuation
    *"$+<=>^`|~€©→😀🏻\ufffd",  # symbols
    *"'/",
    *"\x00\x1b\x7f\u200d\u200e\u00ad",  # controls and formats
    *"\ue000\U0010fffd\uffff\u0378",  # private use and unassigned
]
BEFORE = [
    "",
    "a",
    "Ab",
    "1",
    "12",
    " ",
    "  ",
    "\n",
    "\n\n",
    " \n",
    "'",
    "a'",
    ".",
    "!!",
    "/",
    "中",
    "e\u0301",
    "\u00a0",
]
AFTER = [
    "",
    "a",
    "s ",
    "S",
    "1",
    "23",
    " ",
    "  ",
    "\n",
    "\n\n",
    " a",
    "\n a",
    "'s",
    "'",
    ".",
    "/",
    "//\n",
    "\u0301",
    "文",
]


def cut_texts(befores, afters):
    """Left and right sides of every safe cut between two characters, in every neighbourhood."""
    pairs = [pair for pair in itertools.product(CHARACTERS, repeat=2) if is_safe_cut(*pair)]
    assert len(pairs) > 1000
    for (first, second), before, after in itertools.product(pairs, befores, afters):
        yield before + first, second + after


def check_with_quicktok(name, sides):
    """All at once: the ids of the sides, one after the other, are those of the whole texts."""
    encode = quicktok.get_encoding(name).encode_batch
    wholes = [(left + right).encode() for left, right in sides]
    ids, offsets = encode(wholes)
    side_ids, side_offsets = encode([side.encode() for pair in sides for side in pair])
    wrong = np.flatnonzero(np.diff(offsets) != np.diff(side_offsets[::2]))
    assert not len(wrong), f"not safe: {sides[wrong[0]]}"
    wrong = np.searchsorted(offsets, np.flatnonzero(ids != side_ids), side="right") - 1
    assert not len(wrong), f"not safe: {sides[wrong[0]]}"


def check_with_tiktoken(encoding, sides):
    encode = encoding.encode_ordinary
    for left, right in sides:
        assert encode(left) + encode(right) == encode(left + right), f"not safe: {(left, right)}"


@pytest.mark.parametrize("name", FAST)
def test_between_characters_of_all_classes(name):
    check_with_quicktok(name, list(cut_texts(BEFORE[::2], AFTER[::2])))


@pytest.mark.parametrize("name", REFERENCE)
def test_between_characters_of_all_classes_on_tiktoken(name):
    check_with_tiktoken(REFERENCE[name](), cut_texts(["", "\n", "a"], ["", "s", "\n"]))


@pytest.mark.slow
@pytest.mark.parametrize("name", FAST)
def test_between_characters_of_all_classes_in_every_neighbourhood(name):
    check_with_quicktok(name, list(cut_texts(BEFORE, AFTER)))


@pytest.mark.slow
@pytest.mark.parametrize("name", REFERENCE)
def test_between_characters_of_all_classes_in_every_neighbourhood_on_tiktoken(name):
    check_with_tiktoken(REFERENCE[name](), cut_texts(BEFORE, AFTER))


# --- all of Unicode

NEIGHBOURS = ["a", "S", "1", " ", "\n", ".", "'", "/", "\u0301", "中"]


def code_points(step=1):
    """Characters that are assigned, of the large uniform blocks only some."""
    for code in range(0, 0x110000):
        is_uniform = 0x3400 <= code <= 0x9FFF or 0xAC00 <= code <= 0xD7A3 or code >= 0x20000
        if code % (199 if is_uniform else step) == 0 and unicodedata.category(chr(code)) not in ("Cs", "Cn", "Co"):
            yield chr(code)


def sweep(step, neighbours):
    sides = []
    for character in code_points(step):
        for neighbour in neighbours:
            if is_safe_cut(neighbour, character):
                sides.append(("x" + neighbour, character + "y"))
            if is_safe_cut(character, neighbour):
                sides.append(("x" + character, neighbour + "y"))
    return sides


@pytest.mark.parametrize("name", FAST)
def test_next_to_characters_of_all_unicode(name):
    check_with_quicktok(name, sweep(7, NEIGHBOURS))


@pytest.mark.slow
@pytest.mark.parametrize("name", FAST)
def test_next_to_every_character_of_unicode(name):
    check_with_quicktok(name, sweep(1, NEIGHBOURS))


@pytest.mark.slow
@pytest.mark.parametrize("name", REFERENCE)
def test_next_to_every_character_of_unicode_on_tiktoken(name):
    check_with_tiktoken(REFERENCE[name](), sweep(1, NEIGHBOURS))


# --- between tokens

TOKENIZERS = {
    "cl100k_base": lambda: load_encoding("cl100k_base"),
    "o200k_base": lambda: load_encoding("o200k_base"),
    "gpt2-like": lambda: load_object(gpt2_like()),
}


@pytest.fixture(scope="module", params=TOKENIZERS)
def tokenizer(request):
    return request.param, TOKENIZERS[request.param]()


def safe_cuts(spans):
    tokens = np.arange(1, max(len(spans.starts), 1))
    return tokens[spans.is_safe_cut(tokens)].tolist()


@given(text=well_formed_texts())
@settings(max_examples=4 * settings().max_examples)
def test_between_tokens_of_generated_text(tokenizer, text):
    name, product = tokenizer
    data = text.encode()
    spans = product.spans(TextBatch.from_strings([text]))
    encode = REFERENCE[name]().encode_ordinary
    whole = encode(text)
    for token in safe_cuts(spans):
        place = int(spans.starts[token])
        assert encode(data[:place].decode()) + encode(data[place:].decode()) == whole
    assert len(whole) == len(spans.starts)


def test_some_cuts_are_found(tokenizer):
    _, product = tokenizer
    spans = product.spans(TextBatch.from_strings(["one two, three 4 five\nsix 'seven' 8/9"]))
    assert len(safe_cuts(spans)) > 4


@pytest.mark.parametrize(
    "paragraph",
    ["one two  three, 'four'. \n\n five\t6 ", "猫坐着。狗跑了。", "a \r\n", "x" * 50 + " ", "- "],
    ids=["prose", "no spaces", "line ends", "long words", "dashes"],
)
@pytest.mark.parametrize("name", ["cl100k_base", "o200k_base"])
@given(extra=st.integers(0, 9))
@settings(max_examples=2)
def test_long_texts_are_encoded_as_if_in_one_piece(name, paragraph, extra):
    text = paragraph * (1_200_000 // len(paragraph.encode())) + "z" * extra
    spans = load_encoding(name).spans(TextBatch.from_strings([text]))
    ids, _ = quicktok.get_encoding(name).encode_batch([text.encode()])
    lengths = load_encoding(name)._lengths
    assert np.array_equal(spans.ends, np.cumsum(lengths[ids]))


@pytest.mark.parametrize("text", ["one, two\x00 ~ three. ", "猫坐着，狗跑了。 中䶶。鿿，", "a 天。b，。，"])
def test_long_texts_are_cut_where_that_is_safe(monkeypatch, text):
    monkeypatch.setattr("llm_splitter.tokenizers._PIECE_BYTES", 1)
    pieces = _cut_up((text * 3).encode())
    assert len(pieces) > 3
    assert b"".join(pieces) == (text * 3).encode()
    for left, right in itertools.pairwise(piece.decode() for piece in pieces):
        assert is_safe_cut(left[-1], right[0])


@pytest.mark.parametrize("constant", ["_BLOCK_TOKENS", "_LONG"])
@pytest.mark.parametrize("size", [1, 2, 3, 7])
def test_long_texts_are_worked_on_in_blocks_and_in_larger_numbers(monkeypatch, constant, size):
    text = "One two, three's  four/five\n\nsix 7 八。" * 3
    options = SplitOptions(splitter="cl100k_base", chunk_size=4, chunk_overlap=1)
    whole = Chunker(options).chunk(TextBatch.from_strings([text, "", "a", text]))
    monkeypatch.setattr(f"llm_splitter.tokenizers.{constant}", size)
    pieced = Chunker(options).chunk(TextBatch.from_strings([text, "", "a", text]))
    assert (pieced.start.tolist(), pieced.end.tolist()) == (whole.start.tolist(), whole.end.tolist())
    assert pieced.token_count.tolist() == whole.token_count.tolist()
