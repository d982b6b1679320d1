"""Loading sets of documents into a real server: once, again, changed, shrunk, refused."""

import pyarrow as pa
import pytest

from pipeline.postgres.document_sets import Document
from pipeline.postgres.merge import load_documents, load_empty_documents
from pipeline.postgres.registry import retire_documents, retire_unseen
from tests.chunk_tables import chunk_table
from tests.postgres import EMBEDDED, SETTINGS, make_table, rows_of, version


@pytest.fixture
def layout(connection, namespace):
    return make_table(connection, namespace, dimension=3)


def load(connection, layout, *tables, settings=SETTINGS):
    return load_documents(connection, layout, pa.concat_tables(tables), settings)


def test_all_chunks_of_each_document_arrive(connection, layout):
    tables = [version(doc_id, *(f"{doc_id}{number} " for number in range(5))) for doc_id in "abc"]
    loaded = load(connection, layout, *tables)
    assert loaded.counts == {"documents_new": 3, "chunks_loaded": 15}
    assert rows_of(connection, layout, "doc_id", "chunk_index", "text") == [
        (doc_id, number, f"{doc_id}{number} ") for doc_id in "abc" for number in range(5)
    ]


def test_loading_twice_changes_nothing(connection, layout):
    columns = ("chunk_id", "start", "end", "text", "lang", "xmin")
    rows = version("a", "x ", "y")
    load(connection, layout, rows)
    before = rows_of(connection, layout, *columns)
    assert load(connection, layout, rows).counts == {"documents_unchanged": 1}
    assert rows_of(connection, layout, *columns) == before


def test_a_document_that_shrank_keeps_only_its_new_chunks(connection, layout):
    load(connection, layout, version("a", "x ", "y ", "z"), version("b", "other"))
    loaded = load(connection, layout, version("a", "x ", of=2), version("b", "other"))
    assert loaded.counts == {"documents_changed": 1, "documents_unchanged": 1, "chunks_loaded": 1}
    assert rows_of(connection, layout, "doc_id", "text", "doc_hash") == [
        ("a", "x ", "hash of a 2"),
        ("b", "other", "hash of b 1"),
    ]


@pytest.mark.parametrize(
    ("again", "settings"),
    [
        (version("a", "x", lang="de"), SETTINGS),
        (version("a", "x"), SETTINGS._replace(settings="s2")),
        (version("a", "x"), SETTINGS._replace(corpus="other")),
    ],
    ids=["metadata", "settings", "corpus"],
)
def test_other_metadata_or_settings_are_a_change(connection, layout, again, settings):
    load(connection, layout, version("a", "x"))
    assert load(connection, layout, again, settings=settings).counts["documents_changed"] == 1
    assert load(connection, layout, again, settings=settings).counts["documents_unchanged"] == 1


def test_texts_that_stay_keep_their_vectors(connection, layout):
    load(connection, layout, version("a", "x ", "y ", vectors=[[1, 2, 3], [4, 5, 6]]), settings=EMBEDDED)
    changed = version("a", "new ", "y ", of=2, vectors=[[7, 8, 9], None])
    load(connection, layout, changed, settings=EMBEDDED)
    assert rows_of(connection, layout, "text", "embedding") == [("new ", "[7,8,9]"), ("y ", "[4,5,6]")]
    assert load(connection, layout, changed, settings=EMBEDDED).counts["documents_unchanged"] == 1


def test_another_embedder_keeps_no_vectors(connection, layout):
    load(connection, layout, version("a", "x", vectors=[[1, 2, 3]]), settings=EMBEDDED)
    other = EMBEDDED._replace(embedder="e2", settings="s2")
    load(connection, layout, version("a", "x", vectors=[None]), settings=other)
    assert rows_of(connection, layout, "embedding") == [(None,)]


def test_a_document_that_lacks_vectors_is_tried_again(connection, layout):
    lacking = version("a", "x ", "y ", vectors=[[1, 2, 3], None])
    load(connection, layout, lacking, settings=EMBEDDED)
    whole = version("a", "x ", "y ", vectors=[None, [4, 5, 6]])
    assert load(connection, layout, whole, settings=EMBEDDED).counts["documents_changed"] == 1
    assert rows_of(connection, layout, "embedding") == [("[1,2,3]",), ("[4,5,6]",)]
    assert load(connection, layout, whole, settings=EMBEDDED).counts["documents_unchanged"] == 1


def test_u0000_becomes_its_picture_and_offsets_stay(connection, layout):
    load(connection, layout, version("a", "x\0y ", "z\0", lang="e\0n"))
    rows = rows_of(connection, layout, "text", "lang", "start", "end")
    assert rows == [("x\u2400y ", "e\u2400n", 0, 4), ("z\u2400", "e\u2400n", 4, 6)]
    assert all(len(text) == end - start for text, _, start, end in rows)


@pytest.mark.parametrize("doc_id", ["a\0b", "x" * 2001], ids=["U+0000", "too long"])
def test_an_id_that_postgres_cannot_hold_is_a_failure(connection, layout, doc_id):
    loaded = load(connection, layout, chunk_table(doc_id, "x"), version("b", "y"))
    assert loaded.counts["documents_new"] == 1
    assert [failure.doc_id for failure in loaded.failures] == [doc_id]
    assert rows_of(connection, layout, "doc_id") == [("b",)]


def test_a_value_that_is_too_long_fails_its_document_alone(connection, namespace):
    layout = make_table(connection, namespace, types={"lang": "varchar(3)"})
    tables = [version(f"d{number}", "x ", "y", lang="deutsch" if number == 3 else "en") for number in range(7)]
    loaded = load(connection, layout, *tables)
    assert loaded.counts["documents_new"] == 6
    (failure,) = loaded.failures
    assert (failure.doc_id, failure.error) == ("d3", "StringDataRightTruncation")
    assert len(rows_of(connection, layout, "doc_id")) == 12


def test_vectors_of_a_wrong_length_fail_their_document(connection, namespace):
    layout = make_table(connection, namespace, dimension=4)
    (failure,) = load(connection, layout, version("a", "x", vectors=[[1, 2, 3]])).failures
    assert "3 numbers, and the column takes 4" in failure.message


def test_rows_that_nobody_recorded_are_replaced(connection, layout):
    load(connection, layout, version("a", "x ", "y"))
    connection.execute(f'DELETE FROM "{layout.namespace}".chunks_documents')
    load(connection, layout, version("a", "x ", of=2))
    assert rows_of(connection, layout, "text", "doc_hash") == [("x ", "hash of a 2")]


def test_a_document_without_chunks_loses_its_rows_and_is_remembered(connection, layout):
    load(connection, layout, version("a", "x"))
    empty = [Document("a", "hash of nothing", "", 0), Document("b", "hash of nothing", "", 0)]
    counts = load_empty_documents(connection, layout, empty, SETTINGS).counts
    assert counts == {"documents_changed": 1, "documents_new": 1}
    assert rows_of(connection, layout, "doc_id") == []
    assert load_empty_documents(connection, layout, empty, SETTINGS).counts == {"documents_unchanged": 2}


def test_retiring_takes_documents_with_their_rows(connection, layout):
    load(connection, layout, version("a", "x"), version("b", "y"))
    assert retire_documents(connection, layout, ["a", "never there"]) == 1
    assert rows_of(connection, layout, "doc_id") == [("b",)]
    assert load(connection, layout, version("a", "x")).counts["documents_new"] == 1


def test_only_unseen_documents_of_the_corpus_retire(connection, layout):
    load(connection, layout, version("other", "x"), settings=SETTINGS._replace(corpus="theirs"))
    load(connection, layout, version("gone", "x"), version("stays", "y"))
    second = SETTINGS._replace(run="r2")
    load(connection, layout, version("stays", "y"), settings=second)
    assert retire_unseen(connection, layout, "", "r2") == 1
    assert rows_of(connection, layout, "doc_id") == [("other",), ("stays",)]


def test_two_workers_with_the_same_rows_write_them_once(server, connection, layout):
    """The second waits for the first, and then finds the documents there."""
    import threading

    tables = [version(f"d{number}", "x ", "y") for number in range(200)]
    counts = []

    def work(order):
        with server.connect() as own:
            counts.extend(load(own, layout, *tables[start::7]).counts for start in order)

    threads = [threading.Thread(target=work, args=(order,)) for order in (range(7), reversed(range(7)))]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert (
        sum(count["documents_new"] for count in counts) == sum(count["documents_unchanged"] for count in counts) == 200
    )
    assert len(rows_of(connection, layout, "chunk_id")) == 400
