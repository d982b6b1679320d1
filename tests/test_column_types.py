"""Types of metadata columns."""

import pyarrow as pa
import pytest

from pipeline.column_types import (
    check_sampled,
    common_type,
    json_schema,
    metadata_schema,
    requested_types,
    typed_schema,
)
from pipeline.documents import DocumentColumns

DICTIONARY = pa.dictionary(pa.int32(), pa.string())


@pytest.mark.parametrize(
    ("types", "expected"),
    [
        ([], pa.string()),
        ([pa.null()], pa.string()),
        ([pa.null(), pa.int32()], pa.int32()),
        ([pa.int32(), pa.int64()], pa.int64()),
        ([pa.int64(), pa.float64()], pa.float64()),
        ([pa.int64(), pa.string()], pa.string()),
        ([pa.bool_(), pa.timestamp("us")], pa.string()),
        ([DICTIONARY, pa.string()], pa.string()),
        ([pa.string_view()], pa.string()),
        ([pa.string(), pa.large_string()], pa.large_string()),
        ([pa.list_(pa.string_view())], pa.list_(pa.string())),
        ([pa.timestamp("us", "UTC")], pa.timestamp("us", "UTC")),
        ([pa.struct([("a", pa.int64())]), pa.int64()], pa.struct([("a", pa.int64())])),
    ],
    ids=str,
)
def test_the_type_that_all_values_fit_in(types, expected):
    assert common_type(types) == expected


def test_given_types_stand_and_others_are_found():
    samples = [pa.schema([("a", pa.null()), ("b", pa.int8())]), pa.schema([("a", pa.int64())])]
    requested = requested_types({"a": None, "b": "double", "c": None, "d": pa.date32()})
    assert metadata_schema(requested, samples) == pa.schema(
        [("a", pa.int64()), ("b", pa.float64()), ("c", pa.string()), ("d", pa.date32())]
    )


def test_types_of_json_values():
    records = [{"s": "x", "i": 1, "f": 1, "b": True, "n": None, "o": {}}, {"f": 0.5, "i": 2**70, "m": 1}, {"m": "x"}]
    assert json_schema(records) == pa.schema(
        [
            ("s", pa.string()),
            ("i", pa.string()),
            ("f", pa.float64()),
            ("b", pa.bool_()),
            ("n", pa.null()),
            ("o", pa.string()),
            ("m", pa.string()),
        ]
    )


def test_mistakes_are_named():
    with pytest.raises(ValueError, match="'n' has the type 'number', which Arrow does not know"):
        requested_types({"n": "number"})
    with pytest.raises(TypeError, match=r"give a list of names: \['lang'\]"):
        requested_types("lang")
    with pytest.raises(ValueError, match="'lang' has no type; give one"):
        typed_schema(requested_types(["lang"]))
    with pytest.raises(ValueError, match="no column 'txt' in the input; its columns are text, id"):
        check_sampled(DocumentColumns("txt"), [], [pa.schema([("text", pa.string()), ("id", pa.string())])])


def test_without_samples_nothing_can_be_missing():
    check_sampled(DocumentColumns("txt", "id"), ["lang"], [])
