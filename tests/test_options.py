"""Options are checked when built; what is wrong is named with its value and what would be right."""

from __future__ import annotations

import dataclasses
import math
from operator import attrgetter

import pytest

from llm_splitter import Chunker, SplitOptions, get_chunk, split

type_name = attrgetter("__class__.__name__")  # where a repr holds an address

INTEGERS = [0, -1, 1.0, 1.5, math.nan, math.inf, "5", None, True, False, [1], 10**3 * 1j]


@pytest.mark.parametrize("size", INTEGERS, ids=repr)
def test_chunk_size(size):
    with pytest.raises(ValueError, match="chunk_size must be an integer of at least 1, got ") as caught:
        SplitOptions(chunk_size=size)
    assert str(caught.value).endswith(repr(size))


def test_sizes_fit_the_columns_that_count_them():
    with pytest.raises(ValueError, match="chunk_size must be at most 2147483647, got 2147483648"):
        SplitOptions(chunk_size=2**31)
    assert SplitOptions(chunk_size=2**31 - 1).chunk_size == 2**31 - 1


@pytest.mark.parametrize("overlap", [value for value in INTEGERS if value != 0 or value is False], ids=repr)
def test_chunk_overlap(overlap):
    with pytest.raises(ValueError, match="chunk_overlap must be an integer of at least 0, got ") as caught:
        SplitOptions(chunk_overlap=overlap)
    assert str(caught.value).endswith(repr(overlap))


@pytest.mark.parametrize(("size", "overlap"), [(1, 1), (5, 5), (5, 6), (512, 10**9)])
def test_overlap_is_less_than_size(size, overlap):
    with pytest.raises(
        ValueError, match=f"chunk_overlap must be less than chunk_size, got {overlap} with chunk_size {size}"
    ):
        SplitOptions(chunk_size=size, chunk_overlap=overlap)


@pytest.mark.parametrize("value", ["words", "Character", "", None, 1, ["character"]])
@pytest.mark.parametrize(
    ("name", "allowed"),
    [
        ("chunk_strategy", "'character', 'paragraph'"),
        ("offset_unit", "'codepoint', 'utf16', 'utf8'"),
        ("paragraph_break", r"'\n\n', 'blank_line'"),
    ],
)
def test_choices(name, allowed, value):
    with pytest.raises(ValueError, match=f"{name} must be one of ") as caught:
        SplitOptions(**{name: value})
    assert str(caught.value) == f"{name} must be one of {allowed}, got {value!r}"


@pytest.mark.parametrize("value", [1, 0, None, "yes"])
def test_strict_size(value):
    with pytest.raises(ValueError, match=f"strict_size must be True or False, got {value!r}"):
        SplitOptions(strict_size=value)


@pytest.mark.parametrize("splitter", [5, 1.5, ["words"], object(), b"words", {"splitter": "words"}], ids=type_name)
def test_splitter(splitter):
    with pytest.raises(ValueError, match=r"splitter must be a name \(characters, words, sentences, lines, cl100k_base"):
        Chunker(SplitOptions(splitter=splitter))


@pytest.mark.parametrize("options", [{"chunk_size": 0}, {"chunk_overlap": 512}, {"chunk_strategy": "words"}], ids=str)
def test_split_checks_options_before_the_text(options):
    with pytest.raises(ValueError, match=next(iter(options))):
        split(None, **options)


def test_get_chunk_checks_the_unit():
    with pytest.raises(ValueError, match="offset_unit must be one of 'codepoint', 'utf16', 'utf8', got 'bytes'"):
        get_chunk("abc", 0, 1, offset_unit="bytes")


def test_unknown_options_are_refused():
    with pytest.raises(TypeError, match="chunkSize"):
        split("abc", chunkSize=5)
    with pytest.raises(TypeError):
        split("abc", 5)


def test_defaults():
    assert SplitOptions() == SplitOptions(512, 0, "character", "characters", "codepoint", "\n\n", True)
    assert split("x" * 1000) == split("x" * 1000, chunk_size=512, chunk_overlap=0, splitter="characters")


def test_options_are_frozen():
    options = SplitOptions()
    with pytest.raises(dataclasses.FrozenInstanceError):
        options.chunk_size = 5
    assert hash(options) == hash(SplitOptions())
    assert dataclasses.replace(options, chunk_size=7).chunk_size == 7
    with pytest.raises(ValueError, match="chunk_size"):
        dataclasses.replace(options, chunk_size=0)


# --- the fingerprint


def splitter_of_ones_own(text):
    return text.split()


CHANGES = [
    {"chunk_size": 511},
    {"chunk_overlap": 1},
    {"chunk_strategy": "paragraph"},
    {"splitter": "words"},
    {"splitter": "cl100k_base"},
    {"splitter": splitter_of_ones_own},
    {"offset_unit": "utf16"},
    {"paragraph_break": "blank_line"},
    {"strict_size": False},
]


def test_whatever_changes_chunks_changes_the_fingerprint():
    fingerprints = [Chunker(SplitOptions(**change)).fingerprint for change in [{}, *CHANGES]]
    assert len(set(fingerprints)) == len(fingerprints)
    assert all(len(fingerprint) == 32 and int(fingerprint, 16) >= 0 for fingerprint in fingerprints)


@pytest.mark.parametrize("change", [{}, *CHANGES], ids=[f"change {number}" for number in range(len(CHANGES) + 1)])
def test_equal_options_have_equal_fingerprints(change):
    assert Chunker(SplitOptions(**change)).fingerprint == Chunker(SplitOptions(**change)).fingerprint


def test_the_fingerprint_does_not_depend_on_the_run():
    """Ids of chunks are made of it: a change here makes every id of every user a new one."""
    assert Chunker(SplitOptions()).fingerprint == "c600b96a1a7381e969195a1c54caea87"
