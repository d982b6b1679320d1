"""The view of one text's chunks."""

from __future__ import annotations

import io
import json

import pytest
from rich.console import Console

from llm_splitter import Chunker, SplitOptions, split
from pipeline.split_view import json_line, print_chunks, shown_chunks

TEXT = "one two three\n\nvier 🐟🐟 fünf\u3002六 \x1b[31mred\u202e tail \n"


def shown(text: str, counted: str = "words", *, colour: bool = False, **options: object) -> str:
    out = io.StringIO()
    console = Console(file=out, width=60, force_terminal=colour, color_system="truecolor" if colour else None)
    print_chunks(list(shown_chunks(text, Chunker(SplitOptions(**options)))), counted, console)
    return out.getvalue()


@pytest.mark.parametrize("unit", ["codepoint", "utf16", "utf8"])
@pytest.mark.parametrize(("size", "overlap"), [(1, 0), (3, 0), (3, 2), (100, 0)])
@pytest.mark.parametrize("splitter", ["characters", "words"])
def test_chunks_are_those_of_split(splitter, size, overlap, unit):
    options = {"splitter": splitter, "chunk_size": size, "chunk_overlap": overlap, "offset_unit": unit}
    chunks = list(shown_chunks(TEXT, Chunker(SplitOptions(**options))))
    assert [(c.repeated + c.fresh, c.start, c.end) for c in chunks] == [
        (c.text, c.start, c.end) for c in split(TEXT, **options)
    ]
    assert "".join(c.fresh for c in chunks) == TEXT


def test_what_a_chunk_repeats_is_marked_without_colour_too():
    assert shown("one two three four", splitter="words", chunk_size=3, chunk_overlap=1).splitlines() == [
        "chunk 0  [0:13]  3 words",
        "  one two three",
        "",
        "chunk 1  [8:18]  2 words, 5 characters repeated",
        "  ⟪three⟫ four",
        "",
        "2 chunks; words in a chunk: min 2, median 2, max 3",
    ]


def test_what_a_chunk_repeats_is_marked_with_colour():
    assert "\x1b[30;43m⟪three⟫\x1b[0m" in shown(
        "one two three four", splitter="words", chunk_size=3, chunk_overlap=1, colour=True
    )


def test_white_space_at_the_end_of_a_chunk_can_be_seen():
    assert "  one·↵↵" in shown("one \n\ntwo", splitter="words", chunk_size=1).splitlines()


def test_characters_that_a_terminal_would_obey_are_pictures():
    view = shown("a\x1b[2Jb\x07c\x9bd\u202ee\x7ff", splitter="words", chunk_size=9)
    assert "  a␛[2Jb␇c␦d␦e␦f" in view.splitlines()


def test_text_that_looks_like_markup_stays_as_it_is():
    assert "  [bold]x[/] :smile:" in shown("[bold]x[/] :smile:", splitter="words", chunk_size=9).splitlines()


@pytest.mark.parametrize("text", ["", "  \n"])
def test_a_text_without_content(text):
    assert "0 chunks: the text is empty or blank" in shown(text, splitter="words", chunk_strategy="paragraph")


def test_json_lines_have_the_names_of_chunk_rows():
    chunks = shown_chunks("one two three", Chunker(SplitOptions(splitter="words", chunk_size=2, chunk_overlap=1)))
    assert [json.loads(json_line(chunk)) for chunk in chunks] == [
        {"chunk_index": 0, "start": 0, "end": 7, "token_count": 2, "text": "one two"},
        {"chunk_index": 1, "start": 4, "end": 13, "token_count": 2, "text": "two three"},
    ]
