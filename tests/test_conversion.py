"""Arrays of any type to arrays of one type, row by row where a row is bad."""

import pyarrow as pa
import pytest

from pipeline.conversion import convert_rows, id_rows, text_rows, typed_rows


def test_only_bad_rows_fail_and_good_ones_keep_their_place():
    texts = [b"good"] * 1000
    for row in (0, 17, 500, 999):
        texts[row] = b"\xff"
    converted = text_rows(pa.array(texts).view(pa.string()))
    assert sorted(converted.errors) == [0, 17, 500, 999]
    assert converted.array.null_count == 4
    assert converted.array[501].as_py() == "good"


def test_the_work_for_a_bad_row_is_logarithmic():
    calls = []

    def convert(array):
        calls.append(len(array))
        if 777 in array.to_pylist():
            raise ValueError
        return array

    convert_rows(pa.array(range(1024)), pa.int64(), convert)
    assert len(calls) <= 2 * 10 + 1


@pytest.mark.parametrize("start", [0, 1, 3])
@pytest.mark.parametrize(
    "column",
    [
        pa.array(["a", None, "b", "", "c"]),
        pa.array([["a"], None, [], ["b", None], ["c"]]),
        pa.array(["a", None, "b", "a", "c"]).dictionary_encode(),
        pa.array([["a", "b"], None, ["c", None], ["d", "e"], None], pa.list_(pa.string(), 2)),
    ],
    ids=lambda column: str(column.type),
)
def test_slices(column, start):
    whole = text_rows(column).array.to_pylist()
    assert text_rows(column.slice(start)).array.to_pylist() == whole[start:]


@pytest.mark.skipif(not hasattr(pa, "json_"), reason="this pyarrow has no JSON type")
def test_extension_types_are_read_as_what_they_store():
    column = pa.ExtensionArray.from_storage(pa.json_(pa.string()), pa.array(['{"a": 1}']))
    assert text_rows(column).array.to_pylist() == ['{"a": 1}']


@pytest.mark.parametrize(
    ("column", "target", "expected", "bad"),
    [
        (pa.array([1, 2]), pa.string(), ["1", "2"], []),
        (pa.array(["1", "x"]), pa.int64(), [1, None], [1]),
        (pa.array([1, 2**40]), pa.int32(), [1, None], [1]),
        (pa.array([1.0, 1.5]), pa.int64(), [1, None], [1]),
        (pa.nulls(2), pa.float64(), [None, None], []),
        (pa.array([[1], [2]]), pa.int64(), [None, None], [0, 1]),
    ],
    ids=str,
)
def test_casts_lose_nothing(column, target, expected, bad):
    converted = typed_rows(column, target)
    assert (converted.array.to_pylist(), sorted(converted.errors)) == (expected, bad)
    assert converted.array.type == target


def test_nested_ids_are_refused():
    with pytest.raises(TypeError, match=r"column 'key' has type list<.*>; an id is a string, a number or a date"):
        id_rows(pa.array([["a"]]), "key")
