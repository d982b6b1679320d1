"""Values of JSON objects as ids and as metadata of given types."""

import json
from datetime import date

import pyarrow as pa
import pytest

from pipeline.read import ReadDocuments
from tests.reading import read, read_lines


@pytest.mark.parametrize(
    ("value", "doc_id"),
    [
        ('"x"', "x"),
        ("7", "7"),
        ("123456789012345678901234567890", "123456789012345678901234567890"),
        ("-9223372036854775809", "-9223372036854775809"),
        ("1.5", "1.5"),
        ("true", "true"),
        ("null", "f.jsonl#1"),
    ],
)
def test_ids_are_written_as_in_json(value, doc_id):
    outcome = read_lines(f'{{"id": {value}, "text": "a"}}'.encode(), id="id")
    assert outcome.column("doc_id") == [doc_id]
    assert outcome.notes == ({"ids_from_position": 1} if value == "null" else {})


def test_an_id_that_is_a_list_fails_the_line_and_a_missing_one_does_not():
    outcome = read_lines(b'{"id": [1], "text": "a"}', b'{"text": "b"}', id="id")
    assert outcome.column("doc_id") == ["f.jsonl#2"]
    assert outcome.failed == [("line 1, byte 0", "TypeError")]


@pytest.mark.parametrize(
    ("kind", "value", "expected"),
    [
        (pa.string(), '"a"', "a"),
        (pa.string(), "17", "17"),
        (pa.string(), "12345678901234567890123", "12345678901234567890123"),
        (pa.string(), '{"a": [1, null, "é"]}', '{"a":[1,null,"é"]}'),
        (pa.string(), "null", None),
        (pa.int64(), "17", 17),
        (pa.int64(), '"17"', 17),
        (pa.float64(), "17", 17.0),
        (pa.float64(), "1.5", 1.5),
        (pa.bool_(), "true", True),
        (pa.list_(pa.string()), '["a", "b"]', ["a", "b"]),
        (pa.int64(), '"many"', "failure"),
        (pa.int64(), "1.5", "failure"),
        (pa.int64(), "12345678901234567890123", "failure"),
        (pa.float64(), '{"a": 1}', "failure"),
    ],
)
def test_metadata_of_a_given_type(kind, value, expected):
    bad, good = f'{{"text": "a", "m": {value}}}'.encode(), b'{"text": "b"}'
    outcome = read_lines(good, bad, good, metadata=[("m", kind)])
    if expected == "failure":
        assert outcome.column("m") == [None, None]
        assert outcome.failed[0][0] == "line 2, byte 14"
        assert "column 'm'" in outcome.failures[0].message
    else:
        assert outcome.column("m") == [None, expected, None]
    assert all(table.schema.field("m").type == kind for table in outcome.tables)


def test_dates_are_read_from_strings_when_asked_for():
    outcome = read_lines(b'{"text": "a", "day": "2024-02-29"}', metadata=[("day", pa.date32())])
    assert str(outcome.column("day")[0]) == "2024-02-29"


def test_types_that_are_not_given_are_found_in_the_first_lines(tmp_path):
    records = [
        {"text": "a", "lang": "de", "n": 1, "price": 1.5, "ok": True, "mixed": 1, "tags": ["x", 1], "big": 10**29},
        {"text": "b", "n": 2, "price": 2, "mixed": "x", "tags": {"y": None}, "big": 3},
    ]
    (tmp_path / "a.jsonl").write_text("\n".join(map(json.dumps, records)))
    columns = ["lang", "n", "price", "ok", "mixed", "tags", "big"]
    step = ReadDocuments(str(tmp_path), metadata_columns=columns)
    kinds = [pa.string(), pa.int64(), pa.float64(), pa.bool_(), pa.string(), pa.string(), pa.string()]
    assert step.metadata == pa.schema(list(zip(columns, kinds, strict=True)))
    first, second = ([row[name] for name in columns] for row in read(tmp_path / "a.jsonl", step.options).rows)
    assert first == ["de", 1, 1.5, True, "1", '["x",1]', "1" + "0" * 29]
    assert second == [None, 2, 2.0, None, "x", '{"y":null}', "3"]


def test_given_types_read_strings_and_fail_what_does_not_fit():
    outcome = read_lines(
        b'{"text": "a", "day": "2024-05-01", "n": "7"}',
        b'{"text": "b", "day": "soon"}',
        b'{"text": "c", "n": 1.5}',
        metadata=[("day", pa.date32()), ("n", pa.int64())],
    )
    assert [(row["day"], row["n"]) for row in outcome.rows] == [(date(2024, 5, 1), 7)]
    assert [failure.position for failure in outcome.failures] == ["line 2, byte 45", "line 3, byte 74"]
