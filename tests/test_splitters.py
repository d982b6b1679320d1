"""The built-in splitters: what they take for a part, and the arrays against plain Python."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llm_splitter import Chunker, Part, SplitOptions, TextBatch, split
from tests import contract, reference
from tests.text_strategies import documents, options, texts

NAMES = sorted(reference.BUILT_IN)

# Each text with a bar before every part but the first; white space before a bar belongs to no part.
CASES = {
    "words": [
        "one |two\t|three",
        "  lead |and |trail  ",
        "don't |stop-|",  # a hyphen joins
        "a\u00a0|b\u3000|c\u2028|d\ufeff|e",
        "Hello, |world!",
        "猫|坐|着。|狗",
        "「猫」|で|す。",
        "漢|字 |and |kana |カ|モ|メ",
        "東|京|タ|ワー",
        "GPT|は|強|い",
        "เมื่|อ",
        "한국어 |텍스트",
        "नमस्ते |दुनिया।",
        "مرحبا |بالعالم",
        "👨‍👩‍👧 |family",
        "e\u0301 |x",
        "x(猫)|犬",
        "$5 |(five) |[six]",
    ],
    "sentences": [
        "One. |Two! |Three? |Four",
        "One… |Two",
        "He said “go.” |She went.",
        "(Really?) |Yes.",
        "3.14 is pi. |e.g. |this",
        "Mr. |Smith",
        "猫坐着。|狗跑了。|鸟",
        "本当！？|はい。」|と",
        "यह वाक्य है।|यह भी",
        "Heading\n\n|Text of it",
        "Heading\r\n \r\n|Text of it",
        "one line\nnext line",
        "هل هذا؟ |نعم.",
        "wait... |what",
        "Ends.  \n\n  |New",
    ],
    "lines": [
        "one\n|two",
        "one\r\n|two\r|three",
        "one\n\n|two\n \n|three\n",
        "  indented\n|\tby tab",
        "one\u2028still one\n|two\u0085still two",
    ],
    "characters": ["a|b| |👋|🏻|e|\u0301"],
}


def marked(text):
    """The text without its bars, and where they stood."""
    pieces = text.split("|")
    starts = [0]
    for piece in pieces[:-1]:
        starts.append(starts[-1] + len(piece))
    return "".join(pieces), starts


def starts_of_parts(text, name):
    return [chunk.start for chunk in split(text, chunk_size=1, splitter=name)]


@pytest.mark.parametrize(("name", "text"), [(name, text) for name, cases in CASES.items() for text in cases])
def test_parts(name, text):
    plain, starts = marked(text)
    assert starts_of_parts(plain, name) == [start for start in starts if start < len(plain)]


def as_parts(spans_of):
    return lambda text: [Part(text[start:end], start) for start, end in spans_of(text)]


def from_the_beginning(pieces, source):
    """Built-in splitters leave no leading white space unowned, but where paragraphs are kept whole."""
    return [piece._replace(start=0) if index == 0 else piece for index, piece in enumerate(pieces)]


def expected(source, name, given_options):
    pieces = reference.split(source, reference.BUILT_IN[name], **given_options)
    return pieces if given_options["chunk_strategy"] == "paragraph" else from_the_beginning(pieces, source)


@pytest.mark.parametrize("name", NAMES)
@given(source=documents(), given_options=options(12))
def test_chunks_equal_the_reference(name, source, given_options):
    chunks = split(source, splitter=name, **given_options)
    assert contract.spans(chunks) == [(piece.start, piece.end) for piece in expected(source, name, given_options)]


@pytest.mark.parametrize("name", NAMES)
@given(sources=st.lists(documents(8), max_size=4), given_options=options(6))
def test_counts_equal_the_reference_in_a_batch(name, sources, given_options):
    arrays = Chunker(SplitOptions(splitter=name, **given_options)).chunk(TextBatch.from_strings(sources))
    pieces = [piece for source in sources for piece in expected(source, name, given_options)]
    assert arrays.token_count.tolist() == [piece.parts for piece in pieces]
    assert list(zip(arrays.start.tolist(), arrays.end.tolist(), strict=True)) == [piece[:2] for piece in pieces]
    assert not arrays.over_budget.any()


@pytest.mark.parametrize("name", NAMES)
@given(source=documents(), given_options=options(12))
def test_a_custom_splitter_of_the_same_parts_gives_the_same_chunks(name, source, given_options):
    spans_of = reference.BUILT_IN[name]
    chunks = split(source, splitter=as_parts(spans_of), **given_options)
    assert contract.spans(chunks) == [piece[:2] for piece in reference.split(source, spans_of, **given_options)]


@given(text=texts(), paragraph_break=st.sampled_from(["\n\n", "blank_line"]))
def test_paragraphs_given_to_a_custom_splitter(text, paragraph_break):
    calls = []
    split(text, splitter=lambda piece: calls.append(piece) or [piece], chunk_strategy="paragraph",
          paragraph_break=paragraph_break)  # fmt: skip
    spans = reference.paragraphs(text, paragraph_break)
    assert [call for call in calls if call] == [text[start:end] for start, end in spans]
