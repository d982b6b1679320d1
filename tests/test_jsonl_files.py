"""JSON Lines: what a line may hold, and what happens to lines, streams and files that are broken."""

import gzip
import json

import pyarrow as pa
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from pipeline.jsonl_files import read_jsonl
from tests.reading import Outcome, options, read, read_lines


@pytest.mark.parametrize(
    ("line", "text"),
    [
        (b'{"text": "a"}', "a"),
        (b'{"text": null}', None),
        (b'{"text": ""}', ""),
        (b'{"text": "a"}\r', "a"),
        (b'  {"text": "a"}\t', "a"),
        (b'\xef\xbb\xbf{"text": "a"}', "a"),
        (b'{"text": "old", "text": "new"}', "new"),
        ('{"text": "a\u2028b\u2029c\u0085d"}'.encode(), "a\u2028b\u2029c\u0085d"),
        (b'{"text": "\\u0000\\n"}', "\x00\n"),
        (b'{"text": "a", "score": NaN, "most": Infinity, "least": -Infinity}', "a"),
        (b'{"text": "a", "n": 123456789012345678901234567890}', "a"),
        (b'{"text": "\\ud83d\\ude80"}', "🚀"),
        (b'{"text": ["a", "b"]}', ["a", "b"]),
        (b'{"text": []}', []),
        (b'{"text": ["a", null]}', ["a", ""]),
    ],
)
def test_a_line_that_is_a_document(line, text):
    outcome = read_lines(line)
    assert (outcome.texts, outcome.failures) == ([text], [])


@pytest.mark.parametrize(
    ("line", "error", "words"),
    [
        (b'{"text": "unterminated', "JSONDecodeError", "unexpected end of data: column"),
        (b'{"text": "a"} TRAILER', "JSONDecodeError", ""),
        (b"{'text': 'a'}", "JSONDecodeError", ""),
        (b"\x00\x00\x00", "JSONDecodeError", ""),
        (b'{"text": "\xff"}', "UnicodeDecodeError", "byte 0xff in position 10"),
        (b'{"text": "\xed\xa0\x80"}', "UnicodeDecodeError", "byte 0xed"),
        (b'{"text": 17}', "TypeError", "key 'text' holds a number (17)"),
        (b'{"text": true}', "TypeError", "a boolean"),
        (b'{"text": {"a": 1}}', "TypeError", "an object"),
        (b'{"text": ["a", 1]}', "TypeError", "a list"),
        (b'{"text": [["a"]]}', "TypeError", "a list"),
        (b'{"body": "a"}', "KeyError", "there is no key 'text'; the keys are body"),
        (b"{}", "KeyError", "the keys are none"),
        (b'"text"', "TypeError", "found a string ('text'); a document is a JSON object"),
        (b"[]", "TypeError", "found a list"),
        (b"null", "TypeError", "found null"),
        (b"[" * 100_000, "JSONDecodeError", ""),
        (b'{"text": "a", "n": ' + b"9" * 5000 + b', "m": NaN}', "ValueError", "4300"),
    ],
)
def test_a_bad_line_fails_alone(line, error, words):
    outcome = read_lines(b'{"text": "before"}', line, b'{"text": "after"}')
    assert outcome.texts == ["before", "after"]
    assert outcome.failed == [("line 2, byte 19", error)]
    assert words in outcome.failures[0].message
    assert outcome.failures[0].doc_id == "f.jsonl#2"
    assert outcome.documents_read == 3


def test_deep_nesting_is_a_document_or_a_failure():
    outcome = read_lines(b'{"text": "a", "deep": ' + b"[" * 5000 + b"]" * 5000 + b"}")
    assert outcome.documents_read == 1


def test_blank_lines_are_no_documents_but_are_counted_as_lines():
    outcome = read_lines(b"", b'{"text": "a"}', b"\r", b"  \t", b'{"text": "b"}')
    assert outcome.column("doc_id") == ["f.jsonl#2", "f.jsonl#5"]
    assert outcome.column("_position") == ["line 2, byte 1", "line 5, byte 21"]
    assert outcome.documents_read == 2


@pytest.mark.parametrize("ending", [b"\n", b"\r\n"])
@pytest.mark.parametrize("last", [True, False], ids=["with a last line end", "without"])
def test_line_ends(ending, last):
    content = ending.join([b'{"text": "a"}', b'{"text": "b"}'] + [b""] * last)
    assert Outcome(read_jsonl([content], "f", options())).texts == ["a", "b"]


def test_a_lone_surrogate_becomes_the_replacement_character_and_is_counted(tmp_path):
    outcome = read_lines(
        b'{"id": "s1", "text": "a\\udbc0 b", "by": "x\\ud800"}',
        b'{"id": "s\\udc00", "text": ["\\ud83d", "ok"]}',
        b'{"id": "s3", "text": "fine"}',
        id="id",
        metadata=[("by", pa.string())],
    )
    assert outcome.notes["surrogates_replaced"] == 2
    assert {row["doc_id"]: (row["text"], row["by"]) for row in outcome.rows} == {
        "s1": ("a\ufffd b", "x\ufffd"),
        "s\ufffd": (["\ufffd", "ok"], None),
        "s3": ("fine", None),
    }


def test_plain_documents_and_documents_in_parts_stand_in_tables_of_their_own():
    outcome = read_lines(b'{"text": "a"}', b'{"text": ["b", "c"]}', b'{"text": "d"}', b'{"text": null}')
    assert [table.column("text").to_pylist() for table in outcome.tables] == [["a", "d", None], [["b", "c"]]]
    assert outcome.tables[1].column("doc_id").to_pylist() == ["f.jsonl#2"]


def test_failures_know_the_id_where_the_line_could_be_read():
    outcome = read_lines(b'{"id": "x", "text": 1}', b"{", id="id")
    assert [failure.doc_id for failure in outcome.failures] == ["x", None]


def test_lines_and_files_whose_keys_differ_give_one_schema(tmp_path):
    contents = [
        b'{"id": 1, "text": "a"}\n',
        b'{"id": 2, "text": "b", "lang": "de"}\n',
        b'{"id": 3, "text": 17}\n{"id": 4, "text": null}\n{"id": 5, "text": ["a", "b"]}\n',
    ]
    rows, failures = {}, []
    for number, content in enumerate(contents):
        path = tmp_path / f"{number}.jsonl"
        path.write_bytes(content)
        outcome = read(path, options(id="id", metadata=[("lang", pa.string())]))
        rows |= {row["doc_id"]: (row["text"], row["lang"]) for row in outcome.rows}
        failures += [failure.doc_id for failure in outcome.failures]
    assert rows == {"1": ("a", None), "2": ("b", "de"), "4": (None, None), "5": (["a", "b"], None)}
    assert failures == ["3"]


@pytest.mark.parametrize("compress", [lambda data: data, gzip.compress, zstandard.compress], ids=["plain", "gz", "zst"])
def test_a_line_longer_than_any_block(tmp_path, compress):
    lines = [{"text": "a"}, {"text": "é" * 6_000_000}, {"text": "b"}]
    path = tmp_path / "a.jsonl"
    path.write_bytes(compress(b"\n".join(json.dumps(line, ensure_ascii=False).encode() for line in lines)))
    assert read(path).texts == [line["text"] for line in lines]


@pytest.mark.parametrize("compress", [lambda data: data, gzip.compress, zstandard.compress], ids=["plain", "gz", "zst"])
@pytest.mark.parametrize("size", [2000, 5_000_000])
def test_a_line_past_the_limit_fails_alone(tmp_path, compress, size):
    content = b'{"text": "a"}\n{"text": "' + b"x" * size + b'"}\n{"text": "b"}\n'
    path = tmp_path / "a.jsonl"
    path.write_bytes(compress(content))
    outcome = read(path, options(max_line_bytes=1000))
    assert outcome.texts == ["a", "b"]
    assert outcome.failed == [("line 2, byte 14", "ValueError")]
    assert outcome.failures[0].message == f"the line has {size + 12} bytes; at most 1000 are read (max_line_bytes)"


@pytest.mark.parametrize("compress", [gzip.compress, zstandard.compress], ids=["gz", "zst"])
def test_several_members_are_one_content(tmp_path, compress):
    path = tmp_path / "a.jsonl.gz"
    halves = [b"".join(b'{"text": "%d"}\n' % n for n in range(start, start + 1000)) for start in (0, 1000)]
    path.write_bytes(b"".join(map(compress, halves)))
    assert read(path).texts == [str(n) for n in range(2000)]


@pytest.mark.parametrize("compress", [gzip.compress, zstandard.compress], ids=["gz", "zst"])
def test_a_truncated_stream_keeps_the_rows_before_the_cut(tmp_path, compress):
    texts = [f"{n * n * 7919:x}" * 20 for n in range(20_000)]
    content = b"".join(b'{"text": "%s"}\n' % text.encode() for text in texts)
    path = tmp_path / "a.jsonl.zst"
    compressed = compress(content)
    path.write_bytes(compressed[: len(compressed) * 2 // 3])
    outcome = read(path)
    kept = len(outcome.texts)
    assert kept > 5000
    assert outcome.texts == texts[:kept]
    assert [(failure.error, failure.scope) for failure in outcome.failures] == [("EOFError", "file")]
    assert outcome.failures[0].position.startswith(f"line {kept + 1}, byte ")
    assert outcome.failures[0].source == str(path)


@pytest.mark.parametrize("spoil", [lambda data: data[:-8] + bytes(8), lambda data: data + b"garbage"])
def test_a_damaged_gzip_end_fails_the_file_and_keeps_its_rows(tmp_path, spoil):
    path = tmp_path / "a.jsonl.gz"
    path.write_bytes(spoil(gzip.compress(b'{"text": "a"}\n' * 10)))
    outcome = read(path)
    assert len(outcome.texts) == 10
    assert [failure.scope for failure in outcome.failures] == ["file"]


def test_a_small_file_that_inflates_without_end_fails_its_line_in_bounded_memory(tmp_path):
    tracemalloc = pytest.importorskip("tracemalloc")
    path = tmp_path / "a.jsonl.gz"
    with gzip.open(path, "wb", compresslevel=9) as file:
        file.write(b'{"text": "a"}\n{"text": "')
        for _ in range(300):
            file.write(bytes(1 << 20))
        file.write(b'"}\n{"text": "b"}\n')
    assert path.stat().st_size < 1 << 20
    tracemalloc.start()
    outcome = read(path, options(max_line_bytes=16 << 20))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert (outcome.texts, len(outcome.failures)) == (["a", "b"], 1)
    assert peak < 64 << 20


def test_an_empty_file_has_no_documents(tmp_path):
    (tmp_path / "a.jsonl").write_bytes(b"")
    outcome = read(tmp_path / "a.jsonl")
    assert (outcome.documents_read, outcome.failures) == (0, [])


LINES = st.lists(
    st.sampled_from(
        [b"", b"\r", b'{"text":"a"}', b'{"text":"' + "日本".encode() * 20 + b'"}', b"{broken", b'{"text":1}']
    )
)


@given(lines=LINES, last=st.booleans(), split_bytes=st.integers(1, 200))
def test_ranges_give_the_rows_of_a_single_reader(tmp_path_factory, lines, last, split_bytes):
    path = tmp_path_factory.mktemp("ranges") / "a.jsonl"
    path.write_bytes(b"\n".join(lines) + b"\n" * last)
    whole, ranges = read(path), read(path, split_bytes=split_bytes)
    assert ranges.rows == whole.rows
    assert ranges.failures == whole.failures
