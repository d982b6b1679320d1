"""White space: one set, and the ways over it."""

from __future__ import annotations

import sys
import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from llm_splitter import whitespace
from tests import contract
from tests.text_strategies import PIECES, well_formed_texts

SPACES = PIECES["white_space"] + PIECES["odd_space"]
spaced_texts = st.one_of(
    well_formed_texts(), st.lists(st.sampled_from([*SPACES, *SPACES, "a", "中", " " * 40, "\u3000" * 40])).map("".join)
)


def test_it_is_what_ecmascript_calls_white_space():
    """TAB to CR, the BOM, the separators, and all of Unicode's category Zs."""
    assert set(whitespace.WHITESPACE) == set(contract.WHITESPACE)
    # what Python calls white space and ECMAScript does not, and the other way round
    pythons = {chr(code) for code in range(sys.maxunicode + 1) if chr(code).isspace()}
    assert pythons - set(whitespace.WHITESPACE) == set("\x1c\x1d\x1e\x1f\x85")
    assert set(whitespace.WHITESPACE) - pythons == {"\ufeff"}


def positions_in(text, data):
    indices = sorted(data.draw(st.lists(st.integers(0, len(text)))))
    return indices, np.array([len(text[:index].encode()) for index in indices], dtype=np.int64)


def in_bytes(text, indices):
    return [len(text[:index].encode()) for index in indices]


@given(text=spaced_texts, data=st.data())
def test_next_content(text, data):
    indices, positions = positions_in(text, data)
    expected = [index + len(text[index:]) - len(text[index:].lstrip(contract.WHITESPACE)) for index in indices]
    found = whitespace.next_content(np.frombuffer(text.encode(), dtype=np.uint8), positions)
    assert found.tolist() == in_bytes(text, expected)


@given(text=spaced_texts, data=st.data())
def test_content_ends(text, data):
    indices, positions = positions_in(text, data)
    expected = [len(text[:index].rstrip(contract.WHITESPACE)) for index in indices]
    found = whitespace.content_ends(np.frombuffer(text.encode(), dtype=np.uint8), positions)
    assert found.tolist() == in_bytes(text, expected)


@pytest.mark.parametrize("space", list(whitespace.WHITESPACE), ids=ascii)
@pytest.mark.parametrize("length", [1, 12, 13, 24, 25, 300])
def test_runs_of_each_character(space, length):
    data = np.frombuffer(f"a{space * length}b".encode(), dtype=np.uint8)
    assert whitespace.next_content(data, np.array([1])).tolist() == [len(data) - 1]
    assert whitespace.content_ends(data, np.array([len(data) - 1])).tolist() == [1]


def test_long_white_space_takes_little_memory():
    """The module `re` keeps a hundred bytes for each repetition of a group until the match is through."""
    text = "a" + "\u3000" * 200_000 + " " * 200_000 + "b"
    data = np.frombuffer(text.encode(), dtype=np.uint8)
    tracemalloc.start()
    found = whitespace.next_content(data, np.array([1]))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert found.tolist() == [len(data) - 1]
    assert peak < len(data)
