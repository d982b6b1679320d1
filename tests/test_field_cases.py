"""What went wrong in the field, in other splitters and here upstream: one test a case, named after it."""

from __future__ import annotations

import functools
import re
from itertools import pairwise

import numpy as np
import pytest

from llm_splitter import Chunker, SplitOptions, TextBatch, split
from tests import contract
from tests.offline_encodings import byte_encoding, quicktok, tiktoken_encoding


def spans(text, **options):
    chunks = split(text, **options)
    contract.check(text, chunks, may_skip=contract.is_whitespace)
    return contract.spans(chunks)


def tokens(text, name="cl100k_base"):
    return tiktoken_encoding(name).encode_ordinary(text)


PROSE = "\n\n".join(
    [
        "The harbour lies open to the west, and in winter the swell comes straight in. " * 3,
        "Most of the boats are drawn up on the shingle before November; what stays afloat is watched day and night. "
        * 4,
        "On the hill above stands the light. Its keeper writes down the weather every hour, in ink, in a large book. "
        * 5,
    ]
)


def test_fc_d_001_repeated_text_is_placed_in_order():
    text = "echo echo echo echo"
    assert spans(text, chunk_size=2, chunk_overlap=1, splitter="words") == [(0, 9), (5, 14), (10, 19)]
    assert spans(text, chunk_size=2, chunk_overlap=1, splitter=str.split) == [(0, 9), (5, 14), (10, 19)]


def test_fc_d_002_adjacent_chunks_share_the_overlap_in_tokens():
    found = spans(PROSE, chunk_size=16, chunk_overlap=5, splitter="cl100k_base")
    assert len(PROSE.split()) > 200
    assert [start for start, _ in found] == sorted({start for start, _ in found})
    bounds = np.cumsum([0, *(len(tiktoken_encoding("cl100k_base").decode([token])) for token in tokens(PROSE))])
    for (_, end), (start, _) in pairwise(found):
        assert np.searchsorted(bounds, end) - np.searchsorted(bounds, start) == 5


def test_fc_d_003_dropped_spaces_belong_to_the_chunk_before():
    splitter = functools.partial(re.split, r"(?<=[.!?])\s+")
    assert spans("One.  Two.   Three.", chunk_size=1, splitter=splitter) == [(0, 6), (6, 13), (13, 19)]
    assert spans("One.  Two.   Three.", chunk_size=1, splitter="sentences") == [(0, 6), (6, 13), (13, 19)]


def test_fc_d_004_no_boundary_inside_a_character():
    text = "Öl für Maß und Größe"
    for splitter in (byte_encoding(), "cl100k_base"):
        chunks = split(text, chunk_size=1, splitter=splitter)
        contract.check(text, chunks)
        assert all(chunk.text and "\ufffd" not in chunk.text for chunk in chunks)
        assert chunks[-1].end == 20


def test_fc_d_005_offsets_count_code_points():
    text = "“it’s”—“ok”…  é"
    found = spans(text, chunk_size=4)
    assert found[-1][1] == 15
    assert found[0] == (0, 4)


def test_fc_d_006_overlap_in_words():
    text = "red fox one. red fox two. red fox six."
    assert spans(text, chunk_size=4, chunk_overlap=1, splitter="words") == [(0, 16), (13, 29), (26, 38)]


def test_fc_d_007_no_last_chunk_of_what_is_covered():
    splitter = functools.partial(re.findall, r"[^.]+\.")
    assert spans("s1.s2.s3.", chunk_size=3, chunk_overlap=1, splitter=splitter) == [(0, 9)]


def test_fc_d_008_overlap_without_separators():
    assert spans("abcdefghij", chunk_size=5, chunk_overlap=2) == [(0, 5), (3, 8), (6, 10)]


def test_fc_d_009_no_overlap():
    assert spans("a" * 30, chunk_size=10, chunk_overlap=0) == [(0, 10), (10, 20), (20, 30)]


def test_fc_d_010_parts_and_emoji():
    parts = ["hello", "world", "👋🏻", " ¦"]
    chunks = split(parts, chunk_size=2, splitter="cl100k_base")
    contract.check(parts, chunks)
    assert chunks[0].start == 0
    assert chunks[-1].end == 14
    assert "".join(contract.joined(chunk.text) for chunk in chunks) == "".join(parts)


def test_fc_d_011_leading_white_space():
    text = "\n\n\nA b"
    assert spans(text, chunk_size=5, chunk_strategy="paragraph", splitter="words") == [(3, 6)]
    assert spans(text, chunk_size=5, splitter="words") == [(0, 6)]


def test_fc_d_012_text_without_separators():
    found = spans("x" * 5000, chunk_size=100)
    assert found == [(start, start + 100) for start in range(0, 5000, 100)]


def test_fc_d_013_a_paragraph_longer_than_the_budget():
    middle = "This is the rather longer sentence that on its own needs many more than ten tokens to say."
    text = f"A short one here.\n\n{middle}\n\nEnd now."
    chunks = split(text, chunk_size=10, chunk_strategy="paragraph", splitter="cl100k_base")
    contract.check(text, chunks)
    assert all(len(tokens(chunk.text)) <= 10 for chunk in chunks)
    assert chunks[0].text.strip() == "A short one here."
    assert chunks[-1].text == "End now."
    assert len(chunks) > 3


def test_fc_d_014_overlap_keeps_the_budget():
    found = spans("aa  bb  cc  dd", chunk_size=4, chunk_overlap=2)
    assert found == [(0, 4), (2, 6), (4, 8), (6, 10), (8, 12), (10, 14)]


def test_fc_d_015_a_character_larger_than_the_budget():
    assert len(tokens("🚀")) > 1
    arrays = Chunker(SplitOptions(chunk_size=1, splitter="cl100k_base")).chunk(TextBatch.from_strings(["🚀"]))
    assert (arrays.start.tolist(), arrays.end.tolist()) == ([0], [1])
    assert arrays.over_budget.tolist() == [True]


def test_fc_d_016_a_small_text_stays_whole():
    text = "\n".join(f"Line {number} of a log that nobody reads until something breaks." for number in range(75))
    assert 900 < len(tokens(text)) < 3950
    assert spans(text, chunk_size=3950, chunk_overlap=100, splitter="cl100k_base") == [(0, len(text))]


def test_fc_d_017_special_tokens_are_text():
    text = "see <|endoftext|> here and <|fim_prefix|> there"
    found = spans(text, chunk_size=4, splitter="cl100k_base")
    assert len(found) == -(-len(tokens(text)) // 4)


def test_fc_d_018_a_lone_surrogate():
    """The library keeps it; what it takes to write it down is the reader's to decide."""
    text = "a\udbc0 b"
    for splitter in ("characters", "words", "cl100k_base", list):
        assert "".join(chunk.text for chunk in split(text, chunk_size=1, splitter=splitter)) == text


def test_fc_d_019_an_astral_character_at_a_boundary():
    assert spans("a😀b", chunk_size=2) == [(0, 2), (2, 3)]
    assert [chunk.text.encode() for chunk in split("a😀b", chunk_size=2)] == ["a😀".encode(), b"b"]


class Reporting:
    """A tokenizer object that answers with given offsets."""

    class Encoded:
        offsets = ((0, 1), (1, 2), (2, 3), (2, 3), (2, 3), (3, 4), (4, 5))

    def encode(self, text):
        assert text == "i ⭢ j"
        return self.Encoded


def test_fc_d_020_tokens_that_share_a_character_stay_together():
    assert spans("i ⭢ j", chunk_size=2, splitter=Reporting()) == [(0, 2), (2, 3), (3, 5)]
    arrays = Chunker(SplitOptions(chunk_size=2, splitter=Reporting())).chunk(TextBatch.from_strings(["i ⭢ j"]))
    assert arrays.token_count.tolist() == [2, 3, 2]
    assert arrays.over_budget.tolist() == [False, True, False]


def test_fc_d_021_a_part_that_is_not_in_the_text_is_named():
    with pytest.raises(ValueError, match=r"does not hold.*'\?'"):
        split("？……", chunk_size=1, splitter=lambda _: ["?", "......"])


def test_fc_d_022_a_full_stop_without_a_space():
    text = "猫坐着。狗跑了。"
    splitter = lambda text: [piece for piece in text.split("。") if piece]  # noqa: E731 - as the case has it
    assert spans(text, chunk_size=1, splitter=splitter) == [(0, 4), (4, 8)]
    assert spans(text, chunk_size=1, splitter="sentences") == [(0, 4), (4, 8)]


def test_fc_d_023_a_blank_line_of_crlf():
    options = {"chunk_size": 4, "chunk_strategy": "paragraph", "paragraph_break": "blank_line"}
    for splitter in ("words", str.split):
        assert spans("a b\r\n\r\nc d e", splitter=splitter, **options) == [(0, 7), (7, 12)]


def test_fc_d_024_a_blank_tail():
    assert spans("p q r   ", chunk_size=2, splitter="words") == [(0, 4), (4, 8)]


def test_fc_d_025_empty_documents():
    options = SplitOptions(chunk_size=5, chunk_strategy="paragraph", splitter="words")
    arrays = Chunker(options).chunk(TextBatch.from_strings(["", "a b", " ", "\n\n\t", "c"]))
    assert arrays.doc_offsets.tolist() == [0, 0, 1, 1, 1, 2]
    assert (arrays.start.tolist(), arrays.end.tolist()) == ([0, 0], [3, 1])


def test_fc_d_026_empty_parts():
    assert spans("a\n\nb\n", chunk_size=1, splitter=lambda text: text.split("\n")) == [(0, 3), (3, 5)]


@pytest.mark.parametrize("name", ["cl100k_base", "o200k_base"])
def test_fc_d_027_a_long_run(name):
    check_budgets("^" * 1_000_000, name, 512)


@pytest.mark.parametrize("dashes", [32768, 65536])
def test_fc_d_028_a_long_merge(dashes):
    check_budgets("Hello" + "-" * dashes, "o200k_base", 256)


def check_budgets(text, name, size):
    arrays = Chunker(SplitOptions(chunk_size=size, splitter=name)).chunk(TextBatch.from_strings([text]))
    assert arrays.start[0] == 0
    assert arrays.end[-1] == len(text)
    assert np.array_equal(arrays.start[1:], arrays.end[:-1])
    assert arrays.token_count.max() <= size
    count = quicktok.get_encoding(name).count
    for start, end, counted in zip(
        arrays.start.tolist(), arrays.end.tolist(), arrays.token_count.tolist(), strict=True
    ):
        assert count(text[start:end]) == counted


@pytest.mark.slow
def test_fc_d_029_a_very_large_document():
    """Ten times the text gives ten times the chunks; what each takes is counted in test_hard_inputs."""
    options = SplitOptions(chunk_size=1500, chunk_overlap=100, splitter="words")
    counts = []
    for megabytes in (2, 20):
        text = PROSE * (megabytes * 1_000_000 // len(PROSE))
        arrays = Chunker(options).chunk(TextBatch.from_strings([text]))
        assert arrays.end[-1] == len(text)
        assert arrays.token_count.max() <= 1500
        counts.append(len(arrays))
    assert counts[1] == pytest.approx(10 * counts[0], rel=0.01)


def test_fc_d_049_the_same_text_twice_has_two_places():
    options = {"chunk_size": 2, "chunk_strategy": "paragraph", "splitter": "words"}
    assert spans("same line\n\nsame line", **options) == [(0, 11), (11, 20)]
