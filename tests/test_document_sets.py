"""Which documents of a table are whole, how pieces find each other, and the sets that are written at once."""

import pyarrow as pa
import pytest

from pipeline.postgres.document_sets import (
    IncompleteDocument,
    has_all_rows,
    join_pieces,
    sets_without_repeats,
    split_whole,
)
from pipeline.table_ends import End, end_of, with_end
from tests.postgres import version

ROWS = pa.concat_tables([version("a", "1 ", "2 ", "3"), version("b", "4"), version("c", "5 ", "6"), version("d", "7")])


@pytest.mark.parametrize(
    ("start", "end", "whole", "pieces"),
    [
        (0, 7, "abc", "d"),
        (1, 7, "bc", "ad"),
        (0, 5, "ab", "c"),
        (3, 4, "", "b"),
        (2, 4, "", "ab"),
        (0, 0, "", ""),
    ],
)
def test_documents_between_others_are_whole(start, end, whole, pieces):
    found, rest = split_whole(ROWS.slice(start, end - start))
    assert sorted(set(found.column("doc_id").to_pylist())) == list(whole)
    assert "".join(doc_id for doc_id, _ in rest) == pieces


def test_rows_out_of_order_are_pieces():
    mixed = pa.concat_tables([ROWS.take([0, 2, 1]), ROWS.slice(3)])
    found, rest = split_whole(mixed)
    assert "a" not in found.column("doc_id").to_pylist()
    assert join_pieces([piece for doc_id, piece in rest if doc_id == "a"]).equals(ROWS.slice(0, 3))


def test_pieces_are_joined_in_order_and_once():
    pieces = [ROWS.slice(2, 1), ROWS.slice(0, 2), ROWS.slice(1, 1)]
    assert join_pieces(pieces).equals(ROWS.slice(0, 3))


@pytest.mark.parametrize(
    "pieces",
    [[ROWS.slice(1, 2)], [ROWS.take([0, 2])], [version("a", "1 "), version("a", "1 ", of=2)]],
    ids=["no beginning", "a gap", "two versions"],
)
def test_what_is_not_one_whole_document_is_told(pieces):
    with pytest.raises(IncompleteDocument, match="two documents have this id, or rows are missing"):
        join_pieces(pieces)


@pytest.mark.parametrize(("most", "sizes"), [(1, [3, 1, 2, 1]), (3, [3, 3, 1]), (4, [4, 3]), (100, [7])])
def test_sets_are_cut_between_documents(most, sizes):
    assert [table.num_rows for table in sets_without_repeats([ROWS], most)] == sizes
    assert pa.concat_tables(sets_without_repeats([ROWS.slice(0, 4), ROWS.slice(4)], most)).equals(ROWS)


def test_no_set_has_a_document_twice():
    twice = [version("a", "1"), version("b", "2"), version("a", "1 ", "2", of=2)]
    sets = list(sets_without_repeats(twice, 100))
    assert [table.column("doc_id").to_pylist() for table in sets] == [["a", "b"], ["a", "a"]]
    assert list(sets_without_repeats([pa.concat_tables(twice)], 100)) == sets


@pytest.mark.parametrize(
    ("end", "whole", "said"),
    [(End.DOCUMENT, "abcd", None), (End.PART, "abc", End.PART), (End.UNKNOWN, "abc", End.UNKNOWN)],
)
def test_the_last_document_is_whole_if_the_table_says_so(end, whole, said):
    found, rest = split_whole(with_end(ROWS, end))
    assert sorted(set(found.column("doc_id").to_pylist())) == list(whole)
    assert [end_of(piece) for _, piece in rest] == [said] * (said is not None)


def test_the_end_of_a_table_is_unknown_when_rows_have_come_or_gone():
    table = with_end(ROWS, End.DOCUMENT)
    changed = [
        table.slice(0, 3),
        table.slice(3),
        pa.concat_tables([table, ROWS]),
        table.filter(pa.array([True] * 6 + [False])),
    ]
    assert [end_of(each) for each in changed] == [End.UNKNOWN] * 4
    assert end_of(table.append_column("more", pa.array(range(7)))) is End.DOCUMENT


PART, LAST = with_end(ROWS.slice(0, 2), End.PART), with_end(ROWS.slice(2, 1), End.DOCUMENT)


@pytest.mark.parametrize(
    ("pieces", "complete"),
    [
        ([PART, LAST], True),
        ([LAST, PART, PART], True),
        ([PART], False),
        ([PART, PART], False),
        ([LAST, LAST, LAST], False),
        ([ROWS.slice(0, 3)], False),
    ],
    ids=["in order", "in disorder, twice", "first", "first, twice", "last, often", "nobody says"],
)
def test_pieces_say_whether_they_are_all_there(pieces, complete):
    assert has_all_rows(pieces) is complete


def test_a_document_that_goes_on_is_not_whole():
    with pytest.raises(IncompleteDocument, match="rows are missing"):
        join_pieces([PART])
    assert join_pieces([PART, LAST]).equals(ROWS.slice(0, 3))
