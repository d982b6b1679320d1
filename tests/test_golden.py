"""Real output over short texts, kept in files that are read as diffs.

``pytest tests/test_golden.py --regenerate-golden`` writes them anew.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from llm_splitter import Chunker, SplitOptions, TextBatch, get_chunk, split
from tests import contract
from tests.golden_texts import TEXTS

FOLDER = Path(__file__).parent / "golden"

OPTION_SETS = {
    "characters_40": {"splitter": "characters", "chunk_size": 40, "chunk_overlap": 5},
    "words_8": {"splitter": "words", "chunk_size": 8, "chunk_overlap": 2},
    "words_12_paragraphs": {
        "splitter": "words",
        "chunk_size": 12,
        "chunk_strategy": "paragraph",
        "paragraph_break": "blank_line",
    },
    "sentences_1": {"splitter": "sentences", "chunk_size": 1},
    "lines_2_utf8": {"splitter": "lines", "chunk_size": 2, "offset_unit": "utf8"},
    "cl100k_16": {"splitter": "cl100k_base", "chunk_size": 16, "chunk_overlap": 4},
    "cl100k_2": {"splitter": "cl100k_base", "chunk_size": 2},
    "o200k_24_paragraphs": {
        "splitter": "o200k_base",
        "chunk_size": 24,
        "chunk_overlap": 3,
        "chunk_strategy": "paragraph",
        "paragraph_break": "blank_line",
        "offset_unit": "utf16",
    },
}
CASES = [(text, options) for text in TEXTS for options in OPTION_SETS]


def shown(text):
    """Text on one line: what cannot be seen is escaped."""
    return "".join(character if character.isprintable() else ascii(character)[1:-1] for character in text)


def rendered(source, options):
    """A line a chunk: offsets, parts, and the text between bars, which part boundaries are too."""
    arrays = Chunker(SplitOptions(**options)).chunk(TextBatch.from_strings([source]))
    counts = zip(arrays.token_count.tolist(), arrays.over_budget.tolist(), strict=True)
    lines = []
    for chunk, (count, is_over) in zip(split(source, **options), counts, strict=True):
        text = [chunk.text] if isinstance(chunk.text, str) else chunk.text
        mark = "!" if is_over else " "
        lines.append(f"{chunk.start:>4} {chunk.end:>4} {count:>3}{mark}|{'|'.join(map(shown, text))}|")
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize(("text", "options"), CASES, ids=[f"{text}-{options}" for text, options in CASES])
def test_golden(text, options, request):
    path = FOLDER / f"{text}.{options}.txt"
    found = rendered(TEXTS[text], OPTION_SETS[options])
    if request.config.getoption("--regenerate-golden"):
        path.write_text(found, encoding="utf-8", newline="\n")
    assert path.read_text(encoding="utf-8") == found


def test_no_file_is_left_over():
    assert {path.name for path in FOLDER.iterdir()} == {f"{text}.{options}.txt" for text, options in CASES}


@pytest.mark.parametrize(("text", "options"), CASES, ids=[f"{text}-{options}" for text, options in CASES])
def test_what_is_written_is_true(text, options):
    """The files are no better than the promises: offsets read back from them give the text."""
    source, unit = TEXTS[text], OPTION_SETS[options].get("offset_unit", "codepoint")
    for line in (FOLDER / f"{text}.{options}.txt").read_text(encoding="utf-8").splitlines():
        start, end = map(int, line.split()[:2])
        chunk = get_chunk(source, start, end, offset_unit=unit)
        assert line.endswith(f"|{'|'.join(map(shown, [chunk] if isinstance(chunk, str) else chunk))}|")
        assert contract.joined(chunk)
