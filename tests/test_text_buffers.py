"""Text columns of every Arrow type as one buffer, and slices of it as text again."""

import itertools

import numpy as np
import pyarrow as pa
import pytest

from pipeline.text_buffers import document_text, gather_text

TEXTS = ["one", "", "zwei\u00e4", None, "\u4e09\U0001f600"]
STRING_TYPES = [
    pa.string(),
    pa.large_string(),
    pa.string_view(),
    pa.dictionary(pa.int32(), pa.string()),
    pa.dictionary(pa.int8(), pa.large_string()),
]


def texts_of(text):
    offsets = text.doc_offsets.tolist()
    return [text.data[a:b].tobytes().decode() for a, b in itertools.pairwise(offsets)]


def parts_of(text):
    offsets = text.part_offsets.tolist()
    parts = [text.data[a:b].tobytes().decode() for a, b in itertools.pairwise(offsets)]
    return [parts[a:b] for a, b in itertools.pairwise(text.doc_parts)]


@pytest.mark.parametrize("kind", STRING_TYPES, ids=str)
def test_strings_of_every_type(kind):
    column = pa.array(TEXTS).cast(kind)
    assert texts_of(document_text(column)) == ["one", "", "zwei\u00e4", "", "\u4e09\U0001f600"]


@pytest.mark.parametrize("kind", STRING_TYPES, ids=str)
def test_slices_show_their_own_rows_only(kind):
    column = pa.array(TEXTS).cast(kind).slice(2, 3)
    assert texts_of(document_text(column)) == ["zwei\u00e4", "", "\u4e09\U0001f600"]


def test_chunked_columns():
    column = pa.chunked_array([TEXTS[:2], [], TEXTS[2:]], pa.large_string())
    assert texts_of(document_text(column)) == ["one", "", "zwei\u00e4", "", "\u4e09\U0001f600"]


@pytest.mark.parametrize("column", [pa.array([], pa.string()), pa.chunked_array([], pa.large_string())])
def test_no_documents(column):
    assert texts_of(document_text(column)) == []


def test_a_column_of_nulls_is_a_column_of_empty_documents():
    assert texts_of(document_text(pa.nulls(2))) == ["", ""]


def test_nulls_over_bytes_are_empty():
    """Arrow allows a null slot to cover bytes; they are nobody's text."""
    offsets = pa.array([0, 1, 4, 5], pa.int64()).buffers()[1]
    valid = pa.py_buffer(bytes([0b101]))
    column = pa.Array.from_buffers(pa.large_string(), 3, [valid, offsets, pa.py_buffer(b"aXXXb")])
    assert texts_of(document_text(column)) == ["a", "", "b"]


def test_large_strings_are_not_copied():
    column = pa.array(["one", "two"], pa.large_string())
    assert document_text(column).data.ctypes.data == column.buffers()[2].address


@pytest.mark.parametrize(
    "kind",
    [
        pa.list_(pa.string()),
        pa.large_list(pa.large_string()),
        pa.list_(pa.string_view()),
        pa.large_list(pa.string()),
    ],
    ids=str,
)
def test_lists_are_documents_in_parts(kind):
    column = pa.array([["ab", "cd"], [], None, ["x", None, "y"]], kind)
    assert parts_of(document_text(column)) == [["ab", "cd"], [], [], ["x", "", "y"]]
    assert parts_of(document_text(column.slice(1))) == [[], [], ["x", "", "y"]]


def test_null_lists_over_parts_are_empty():
    column = pa.LargeListArray.from_arrays(
        pa.array([0, 1, 3, 4], pa.int64()),
        pa.array(["a", "X", "X", "b"], pa.large_string()),
        mask=pa.array([False, True, False]),
    )
    assert parts_of(document_text(column)) == [["a"], [], ["b"]]


@pytest.mark.parametrize("column", [pa.array([1]), pa.array([b"x"]), pa.array([{"a": 1}])], ids=lambda c: str(c.type))
def test_what_is_no_text_is_refused_with_its_type(column):
    with pytest.raises(TypeError, match="cast it"):
        document_text(column)


DATA = np.frombuffer("a\u00e9\u4e09d".encode(), np.uint8)  # boundaries 0 1 3 6 7


@pytest.mark.parametrize(
    ("bounds", "texts"),
    [
        pytest.param([(0, 3), (3, 7)], ["a\u00e9", "\u4e09d"], id="tiles"),
        pytest.param([(1, 3), (3, 6)], ["\u00e9", "\u4e09"], id="tiles inside"),
        pytest.param([(0, 6), (3, 7)], ["a\u00e9\u4e09", "\u4e09d"], id="overlap"),
        pytest.param([(0, 1), (3, 6)], ["a", "\u4e09"], id="gap"),
        pytest.param([(3, 3), (3, 3)], ["", ""], id="empty"),
        pytest.param([], [], id="none"),
    ],
)
def test_gathered_slices(bounds, texts):
    starts, ends = (np.array([bound[side] for bound in bounds], np.int64) for side in (0, 1))
    column = gather_text(DATA, starts, ends)
    column.validate(full=True)
    assert column.to_pylist() == texts


def test_tiles_share_the_buffer():
    column = gather_text(DATA, np.array([1, 3]), np.array([3, 7]))
    assert column.buffers()[2].address == DATA.ctypes.data + 1
