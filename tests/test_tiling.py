"""Token pieces that share characters, placed by reading the text along with them."""

from __future__ import annotations

from functools import partial
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llm_splitter.tiling import tile
from tests.offline_encodings import OFFLINE, tiktoken_encoding
from tests.text_strategies import well_formed_texts

ENCODINGS = {name: partial(tiktoken_encoding, name) for name in OFFLINE}


@pytest.mark.parametrize(
    ("text", "pieces", "expected"),
    [
        (" 显示", [" \ufffd", "\ufffd示"], [(0, 2), (2, 3)]),
        ("a显b", ["a\ufffd", "\ufffdb"], [(0, 2), (2, 3)]),
        ("a显b", ["a", "显", "b"], [(0, 1), (1, 2), (2, 3)]),
        ("显", ["\ufffd", "\ufffd", "\ufffd"], []),
        ("a\ufffdb", ["a", "\ufffd", "b"], [(0, 1), (1, 2), (2, 3)]),
    ],
)
def test_pieces(text, pieces, expected):
    assert tile(text, pieces) == expected


@pytest.mark.parametrize(
    ("text", "pieces"),
    [("ab", ["a"]), ("ab", ["b", "a"]), ("ab", ["a", "b", "c"]), ("ab", ["A", "b"]), ("a显", ["a", "\ufffd", "x"])],
)
def test_pieces_that_do_not_tile(text, pieces):
    assert tile(text, pieces) is None


@pytest.mark.parametrize("name", ENCODINGS)
@given(text=st.one_of(well_formed_texts(), st.text("显示设置灯塔한국어👋🏻 s", max_size=40)))
def test_tokens_tile_their_text(name, text):
    encoding = ENCODINGS[name]()
    tokens = encoding.encode_ordinary(text)
    spans = tile(text, [encoding.decode([token]) for token in tokens])
    if spans is None:  # pieces of one byte each are taken for no tokens
        return
    assert all(start < end for start, end in spans)
    assert spans == sorted(spans)
    assert all(before[1] <= after[0] for before, after in pairwise(spans))
