"""``get_chunk``: offsets back to text, in three units."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llm_splitter import get_chunk
from tests import contract
from tests.text_strategies import documents, texts

TEXT = "Hello world! This is a test."
PARTS = ["Hello world!", "This is a test."]
WIDE = "añ👋z"  # offsets of its four characters: 0 1 2 3, 0 1 2 4, 0 1 3 7


@pytest.mark.parametrize(
    ("start", "end", "expected"),
    [
        (0, 12, "Hello world!"),
        (0, 28, TEXT),
        (0, 999, TEXT),
        (-5, 5, "Hello"),
        (5, 5, ""),
        (28, 30, ""),
        (99, 100, ""),
        (0, -2, ""),
        (-9, -1, ""),
        (9, 3, ""),
    ],
)
def test_of_a_string(start, end, expected):
    for unit in ("codepoint", "utf16", "utf8"):
        assert get_chunk(TEXT, start, end, offset_unit=unit) == expected


@pytest.mark.parametrize(
    ("start", "end", "expected"),
    [
        (0, 16, ["Hello world!", "This"]),
        (0, 12, ["Hello world!"]),
        (12, 27, ["This is a test."]),
        (11, 13, ["!", "T"]),
        (0, 999, PARTS),
        (-3, 2, ["He"]),
        (12, 12, []),
        (5, 5, [""]),  # inside a part; between two of them there is none
        (27, 40, []),
        (99, 100, []),
        (0, -2, []),
        (9, 3, []),
    ],
)
def test_of_parts(start, end, expected):
    for unit in ("codepoint", "utf16", "utf8"):
        assert get_chunk(PARTS, start, end, offset_unit=unit) == expected
        assert get_chunk(tuple(PARTS), start, end, offset_unit=unit) == expected


def test_empty_parts_count_inside_of_a_range_only():
    assert get_chunk(["", "ab", "", "c", ""], 0, 3) == ["ab", "", "c"]
    assert get_chunk([], 0, 3) == []
    assert get_chunk("", 0, 3) == ""


@pytest.mark.parametrize(
    ("unit", "bounds"), [("codepoint", [0, 1, 2, 3, 4]), ("utf16", [0, 1, 2, 4, 5]), ("utf8", [0, 1, 3, 7, 8])]
)
def test_units(unit, bounds):
    for index, character in enumerate(WIDE):
        assert get_chunk(WIDE, bounds[index], bounds[index + 1], offset_unit=unit) == character
        assert get_chunk(["x", WIDE], bounds[index] + 1, bounds[index + 1] + 1, offset_unit=unit) == [character]


@pytest.mark.parametrize(
    ("start", "end", "expected"), [(2, 3, "ñ"), (1, 5, "ñ"), (4, 6, ""), (5, 7, "👋"), (6, 8, "👋z")]
)
def test_a_byte_inside_a_character_counts_as_its_start(start, end, expected):
    assert get_chunk(WIDE, start, end, offset_unit="utf8") == expected


def test_a_position_between_surrogates_is_taken_at_its_word():
    assert get_chunk(WIDE, 2, 3, offset_unit="utf16") == "\ud83d"
    assert get_chunk(WIDE, 3, 5, offset_unit="utf16") == "\udc4bz"


def test_lone_surrogates_survive():
    text = "a\udbc0 b"
    assert get_chunk(text, 1, 2) == get_chunk(text, 1, 2, offset_unit="utf16") == "\udbc0"
    assert get_chunk(text, 1, 4, offset_unit="utf8") == "\udbc0"


@pytest.mark.parametrize("text", [None, 5, b"abc", {"a"}], ids=repr)
def test_only_strings_and_lists_of_strings(text):
    with pytest.raises(TypeError, match="text must be a str or a list of str"):
        get_chunk(text, 0, 1)


@pytest.mark.parametrize("place", [0, 1, 2])
def test_every_item_is_a_string_in_the_range_or_not(place):
    parts = ["ab", "cd", "ef"]
    parts[place] = None
    with pytest.raises(TypeError, match=f"item {place} is NoneType"):
        get_chunk(parts, 2, 3)


@given(text=texts(), start=st.integers(-3, 30), end=st.integers(-3, 30))
def test_code_points_are_slices_without_negative_indices(text, start, end):
    assert get_chunk(text, start, end) == text[max(start, 0) : max(end, 0)]


@given(source=documents(), data=st.data(), unit=st.sampled_from(["codepoint", "utf16", "utf8"]))
def test_neighbouring_ranges_join(source, data, unit):
    whole = contract.joined(source)
    indices = sorted(data.draw(st.lists(st.integers(0, len(whole)), max_size=4)))
    bounds = [0, *(contract.length(whole[:index], unit) for index in indices), contract.length(whole, unit)]
    pieces = [get_chunk(source, start, end, offset_unit=unit) for start, end in pairwise(bounds)]
    assert "".join(map(contract.joined, pieces)) == whole
