"""CSV: quoted fields, records that fail alone, types."""

import csv
import gzip

import pyarrow as pa
import pytest

from pipeline.csv_files import csv_schema, read_csv
from tests.reading import Outcome, options, read


def read_bytes(content, **columns):
    return Outcome(read_csv([content], "f.csv", options(**columns)))


@pytest.mark.parametrize(
    ("content", "texts"),
    [
        (b"id,text\n1,a\n2,b\n", ["a", "b"]),
        (b"id,text\r\n1,a\r\n2,b", ["a", "b"]),
        (b"\xef\xbb\xbftext\na\n", ["a"]),
        (b'text\n"one\ntwo\r\nthree"\n"say ""hi"""\n', ["one\ntwo\r\nthree", 'say "hi"']),
        (b'"text"\n"a,b"\n\n""\n', ["a,b", ""]),
        ("text\n\u2028x\u0085y\n".encode(), ["\u2028x\u0085y"]),
        (b"text\n", []),
    ],
    ids=["plain", "CRLF", "byte order mark", "line ends in quotes", "blank line, empty text", "only LF", "no rows"],
)
def test_records_are_documents(content, texts):
    outcome = read_bytes(content)
    assert (outcome.texts, outcome.failures) == (texts, [])


@pytest.mark.parametrize(
    ("record", "words"),
    [
        (b"b", "the record has 1 fields, the header 2"),
        (b"b,b,b", "the record has 3 fields, the header 2"),
        (b"b,\xff", "the record is not UTF-8"),
        (b'"b"b,b', "',' expected after '\"'"),
        (b"b," + b"x" * 2000, "at most 1000 are read"),
    ],
)
def test_a_bad_record_fails_alone(record, words):
    outcome = read_bytes(b"id,text\nx,a\n" + record + b"\ny,c\n", max_line_bytes=4000)
    assert outcome.texts == ["a", "c"]
    assert [failure.position for failure in outcome.failures] == ["row 1, line 3"]
    assert words in outcome.failures[0].message
    assert outcome.column("doc_id") == ["f.csv#0", "f.csv#2"]
    assert outcome.failures[0].doc_id == "f.csv#1"
    assert outcome.documents_read == 3


def test_a_quote_that_is_never_closed_fails_its_record():
    outcome = read_bytes(b'id,text\n1,a\n2,"b\n3,c\n')
    assert outcome.texts == ["a"]
    assert len(outcome.failures) == 1


@pytest.mark.parametrize("last", ['of ""it""",1', 'of it"', '"'])
def test_a_field_of_many_lines_past_the_limit_fails_its_record(last):
    least = csv.field_size_limit()  # which other readers in this process may need
    field = "\n".join(f'line {number} of ""many""' for number in range(least // 15))
    outcome = read_bytes(f'id,text\nx,a\ny,"{field}\n{last}\nz,c\n'.encode(), max_line_bytes=4 * 1000)
    assert outcome.texts == ["a", "c"]
    assert [failure.message for failure in outcome.failures] == [
        f"field larger than field limit ({least}): a quarter of max_line_bytes"
    ]


def test_ids_and_metadata_with_types():
    outcome = read_bytes(
        b"id,text,n,s\nx,a,1,007\n,b,,\ny,c,many,z\n",
        id="id",
        metadata=[("n", pa.int64()), ("s", pa.string()), ("other", pa.string())],
    )
    assert outcome.column("doc_id") == ["x", ""]
    assert [(row["n"], row["s"], row["other"]) for row in outcome.rows] == [(1, "007", None), (None, "", None)]
    assert [failure.doc_id for failure in outcome.failures] == ["y"]


def test_tabs_and_compression(tmp_path):
    path = tmp_path / "a.tsv.gz"
    path.write_bytes(gzip.compress(b"id\ttext\n1\ta, b\n"))
    assert read(path).texts == ["a, b"]


def test_many_records(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("text\n" + "".join(f"{n}\n" for n in range(50_000)))
    outcome = read(path)
    assert outcome.texts == [str(n) for n in range(50_000)]
    assert outcome.column("_position")[-1] == "row 49999, line 50001"


@pytest.mark.parametrize(
    ("content", "error"), [(b"", "ValueError"), (b"a,b\n1,2\n", "KeyError"), (b"text,text\n", "KeyError")]
)
def test_a_header_that_will_not_do_fails_the_file(tmp_path, content, error):
    (tmp_path / "a.csv").write_bytes(content)
    assert read(tmp_path / "a.csv").failed == [("", error)]


def test_a_truncated_stream_fails_the_file_and_keeps_what_came_before(tmp_path):
    content = gzip.compress(b"text\n" + b"".join(b"%x\n" % (n * n) for n in range(400_000)))
    (tmp_path / "a.csv.gz").write_bytes(content[: len(content) // 2])
    outcome = read(tmp_path / "a.csv.gz")
    assert len(outcome.texts) > 100_000
    assert [failure.error for failure in outcome.failures] == ["EOFError"]


def test_the_schema_is_strings():
    assert csv_schema([b"a,b\n1,2\n"], options()) == pa.schema([("a", pa.string()), ("b", pa.string())])
