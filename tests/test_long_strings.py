"""Long strings of JSON lines: read in pieces, with the outcome that they have when read at once."""

import json
import tracemalloc

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pipeline import jsonl_files, long_strings
from pipeline.documents import Places
from pipeline.jsonl_files import documents_from_lines
from tests.reading import options, read_lines

TEXTS = st.text(st.sampled_from('aé中🚀"\\/\n\x00\u2028\ufffd') | st.characters(exclude_categories=["Cs"]), max_size=60)
VALUES = TEXTS | st.lists(TEXTS | st.none(), max_size=3) | st.none() | st.integers() | st.dictionaries(TEXTS, TEXTS)
RECORDS = st.fixed_dictionaries({"text": VALUES}, optional={"id": TEXTS, "by": VALUES, "score": st.floats()})
SURROGATES = ("\\ud83d", "\\ude80", "\\ud83d\\ude80", "\\\\ud83d", "\\\\\\ud83d")


def read_in_pieces(size, line):
    with pytest.MonkeyPatch.context() as patch:
        for module in (jsonl_files, long_strings):
            patch.setattr(module, "LONG_BYTES", size)
        patch.setattr(long_strings, "_PIECE_BYTES", size)
        return read_lines(line, id="id", metadata=[("by", pa.string())])


def assert_same(size, line):
    at_once, in_pieces = read_in_pieces(1 << 20, line), read_in_pieces(size, line)
    assert in_pieces.rows == at_once.rows
    assert in_pieces.notes == at_once.notes
    assert in_pieces.documents_read == at_once.documents_read
    assert [failure.position for failure in in_pieces.failures] == [failure.position for failure in at_once.failures]


@given(record=RECORDS, as_ascii=st.booleans(), size=st.integers(1, 40))
@example(record={"text": "🚀" * 20}, as_ascii=True, size=1)
@example(record={"text": "\\" * 40 + '"'}, as_ascii=False, size=3)
def test_any_object(record, as_ascii, size):
    assert_same(size, json.dumps(record, ensure_ascii=as_ascii).encode())


@given(pieces=st.lists(st.sampled_from([*SURROGATES, "a", "é", "\\n", "bcdefghijklmno"])), size=st.integers(1, 20))
def test_lone_surrogates(pieces, size):
    assert_same(size, ('{"text": "' + "".join(pieces) + '"}').encode())


@given(record=RECORDS, size=st.integers(1, 40), data=st.data())
def test_what_is_broken(record, size, data):
    line = json.dumps(record, ensure_ascii=False).encode()
    at = data.draw(st.integers(0, len(line)))
    cut = data.draw(st.sampled_from([0, 1, len(line)]))
    assert_same(
        size, line[:at] + data.draw(st.sampled_from([b"", b"\xff", b"\x01", b'"', b"\\", b"\\x"])) + line[at + cut :]
    )


LONG = "é\t" * (long_strings.LONG_BYTES // 2)


@pytest.mark.parametrize(
    ("line", "error", "words"),
    [
        (
            '{"text": "' + LONG.replace("\t", " "),
            "JSONDecodeError",
            "the string that begins at byte 9 of the line has no end",
        ),
        (f'{{"text": {json.dumps(LONG)}, }}', "JSONDecodeError", "in a line of "),
        (f'{{"text": {json.dumps("a" + LONG)[:-1]}\\x"}}', "JSONDecodeError", "Invalid"),
        (f"[{json.dumps(LONG)}]", "TypeError", "found no object in a line of "),
        (f'{{"body": {json.dumps(LONG)}}}', "KeyError", "there is no key 'text'; the keys are body"),
        (f'{{"text": {{"a": {json.dumps(LONG)}}}}}', "TypeError", "an object"),
    ],
)
def test_a_long_line_that_is_bad_says_why(line, error, words):
    outcome = read_lines(b'{"text": "before"}', line.encode(), b'{"text": "after"}')
    assert outcome.texts == ["before", "after"]
    assert outcome.failed == [("line 2, byte 19", error)]
    assert words in outcome.failures[0].message


def test_a_byte_that_is_no_text_is_named_by_its_place():
    line = b'{"text": "' + b"a" * (long_strings.LONG_BYTES + 5) + b'\xff"}'
    [failure] = read_lines(line).failures
    assert failure.message.startswith(f"byte 0xff in position {line.index(0xFF)} of the line is not UTF-8")


CONTENT = json.dumps("🚀" + "Ordinary words, line after line.\n" * 250_000, ensure_ascii=False)


@pytest.mark.parametrize("text", [CONTENT, f'[{CONTENT}, "b", null]'], ids=["one string", "parts"])
@pytest.mark.parametrize("left_out", [0, 100], ids=["good", "cut off"])
def test_a_text_with_wide_characters_takes_no_more_than_its_bytes(text, left_out):
    line = bytearray(f'{{"id": 1, "text": {text}}}'.encode())
    del line[len(line) - left_out :]
    places = Places("f.jsonl", np.array([1]), pa.array(["line 1, byte 0"]))
    tracemalloc.start()
    [batch] = documents_from_lines([line], places, options())
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert (batch.documents is None) == bool(left_out)
    assert most < (0.1 if left_out else 2.6 if text.startswith("[") else 1.6) * len(line)
