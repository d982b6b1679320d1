"""Document tables and failure tables, whatever they were read from."""

import numpy as np
import pyarrow as pa
import pytest

from pipeline.conversion import text_rows
from pipeline.documents import (
    DocumentColumns,
    Failure,
    Places,
    ReadBatch,
    ReadOptions,
    assemble,
    failure_table,
    join_text,
    printable,
    rebatch,
)
from pipeline.schemas import FAILURE_SCHEMA, document_schema


def batch(texts, kind=None):
    numbers = np.arange(len(texts))
    places = Places("f", numbers, join_text("row ", numbers))
    return assemble(DocumentColumns(), places, text_rows(pa.array(texts, kind)), None, [])


def test_every_row_is_a_document_or_a_failure():
    text = pa.array([b"a", b"\xff", None], pa.binary()).view(pa.string())
    numbers = np.array([5, 6, 7])
    result = assemble(DocumentColumns(), Places("f", numbers, join_text("row ", numbers)), text_rows(text), None, [])
    assert result.documents.column("doc_id").to_pylist() == ["f#5", "f#7"]
    assert [failure.doc_id for failure in result.failures] == ["f#6"]
    assert result.documents_read == 3
    assert result.documents.schema == document_schema()


def test_failures_make_a_table():
    failures = [Failure("f", "row 1", "KeyError", "words", "id"), Failure.of(OSError("gone"), "g")]
    table = failure_table(failures)
    assert table.schema == FAILURE_SCHEMA
    assert table.to_pylist() == [
        {"source": "f", "position": "row 1", "doc_id": "id", "stage": "read", "error": "KeyError", "message": "words"},
        {"source": "g", "position": "", "doc_id": None, "stage": "read", "error": "OSError", "message": "gone"},
    ]
    assert failure_table([]).schema == FAILURE_SCHEMA


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (KeyError("no column"), "no column"),
        (ValueError(), "no further reason"),
        (ValueError("\ud800" + "x" * 5000), "\ufffd" + "x" * 999),
    ],
)
def test_messages_are_always_words_that_can_be_written(error, message):
    assert failure_table([Failure.of(error, "f")]).column("message").to_pylist() == [message]


def test_file_names_that_are_not_unicode_can_be_written():
    assert printable("caf\udce9.txt") == "caf\ufffd.txt"
    assert printable("\ud800") == "\ufffd"
    assert failure_table([Failure("\udcff", "", "E", "m")]).column("source").to_pylist() == ["\ufffd"]


def tables(batches, batch_bytes):
    return [batch.documents for batch in rebatch(batches, batch_bytes) if batch.documents is not None]


def test_small_tables_are_joined_and_large_ones_cut():
    small = [batch(["a" * 100] * 10) for _ in range(50)]
    joined = tables(small, 20_000)
    assert sum(table.num_rows for table in joined) == 500
    assert all(table.nbytes <= 20_000 for table in joined)
    assert len(joined) <= 8
    assert all(column.num_chunks == 1 for table in joined for column in table.columns)
    cut = tables([batch(["a" * 100] * 500)], 20_000)
    assert sum(table.num_rows for table in cut) == 500
    assert all(table.nbytes <= 20_000 for table in cut)


def test_a_document_larger_than_a_table_is_a_table_of_its_own():
    result = tables([batch(["a", "b" * 10_000, "c"])], 1000)
    assert [table.column("text").to_pylist() for table in result] == [["a"], ["b" * 10_000], ["c"]]


def test_plain_documents_and_documents_in_parts_are_not_mixed():
    mixed = [batch(["a"]), batch([["b"]], pa.list_(pa.string())), batch(["c"])]
    assert [table.column("text").to_pylist() for table in tables(mixed, 10_000)] == [["a", "c"], [["b"]]]


def test_rebatching_keeps_failures_and_notes_and_is_lazy():
    def endless():
        while True:
            yield ReadBatch(batch(["a" * 100]).documents, (Failure("f", "", "E", "m"),), {"mended": 1})

    first = [one for one, _ in zip(rebatch(endless(), 1000), range(20), strict=False)]
    assert sum(len(one.failures) for one in first) == sum(one.notes.get("mended", 0) for one in first) > 0


@pytest.mark.parametrize(("name", "value"), [("max_line_bytes", 0), ("batch_bytes", -1)])
def test_options_are_checked(name, value):
    with pytest.raises(ValueError, match=f"{name} is {value}; it must be at least 1"):
        ReadOptions(**{name: value})


@pytest.mark.parametrize("name", ["chunk_id", "text", "doc_id"])
def test_metadata_must_not_have_the_name_of_a_chunk_column(name):
    with pytest.raises(ValueError, match=name):
        DocumentColumns(metadata=pa.schema([(name, pa.string())]))


def test_metadata_may_be_called_source():
    columns = DocumentColumns("body", "id", pa.schema([("source", pa.string()), ("id", pa.string())]))
    assert columns.names == ["body", "id", "source"]
