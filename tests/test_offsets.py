"""Positions in bytes to positions in each unit, against counting characters."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from llm_splitter.offsets import from_bytes, to_character_starts
from llm_splitter.unit_index import UnitIndex
from tests import contract
from tests.text_strategies import well_formed_texts


def buffer(text):
    return np.frombuffer(text.encode(), dtype=np.uint8)


@pytest.mark.parametrize("unit", ["codepoint", "utf16", "utf8"])
@given(text=well_formed_texts(), data=st.data())
def test_from_bytes(unit, text, data):
    indices = data.draw(st.lists(st.integers(0, len(text))))
    positions = np.array([len(text[:index].encode()) for index in indices], dtype=np.int64)
    expected = [contract.length(text[:index], unit) for index in indices]
    assert from_bytes(buffer(text), positions, unit).tolist() == expected


@pytest.mark.parametrize("length", [0, 1, 62, 63, 64, 65, 127, 128, 129])
def test_from_bytes_at_the_ends_of_words(length):
    text = "a" * length + "👋"
    positions = np.array([0, length, length + 4], dtype=np.int64)
    assert from_bytes(buffer(text), positions, "codepoint").tolist() == [0, length, length + 1]
    assert from_bytes(buffer(text), positions, "utf16").tolist() == [0, length, length + 2]


@pytest.mark.parametrize("unit", ["codepoint", "utf16"])
def test_from_bytes_over_blocks(monkeypatch, unit):
    text = "a👋é中" * 40
    positions = np.array([len(text[:index].encode()) for index in range(len(text) + 1)], dtype=np.int64)
    whole = from_bytes(buffer(text), positions, unit)
    monkeypatch.setattr("llm_splitter.unit_index._BLOCK", 64)
    assert from_bytes(buffer(text), positions, unit).tolist() == whole.tolist()


@pytest.mark.parametrize("many", [0, 10**9], ids=["looked up", "listed"])
@given(text=well_formed_texts(80), data=st.data())
def test_the_positions_of_some_characters(many, text, data):
    numbers = data.draw(st.lists(st.integers(0, len(text))))
    index = UnitIndex(buffer(text))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("llm_splitter.unit_index._MANY", many)
        found = index.positions(np.array(numbers, dtype=np.int64)).tolist()
    assert len(index) == len(text)
    assert found == [len(text[:number].encode()) for number in numbers]


@given(text=well_formed_texts(), data=st.data())
def test_to_character_starts(text, data):
    encoded = text.encode()
    positions = data.draw(st.lists(st.integers(0, len(encoded))))
    starts = np.cumsum([0, *(len(character.encode()) for character in text)]).tolist()
    expected = [max(start for start in starts if start <= position) for position in positions]
    assert to_character_starts(buffer(text), np.array(positions, dtype=np.int64)).tolist() == expected
