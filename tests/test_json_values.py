"""Values of JSON objects as ids and as metadata of given types."""

import pyarrow as pa
import pytest

from tests.reading import read_lines


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
