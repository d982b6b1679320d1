"""The way back inside the database: SQL's own substring, and recovery from a table of documents."""

from datetime import date, datetime, timezone
from decimal import Decimal

import pyarrow as pa
import pytest

from llm_splitter import Chunker, SplitOptions
from pipeline.chunk_rows import chunk_documents
from pipeline.postgres.layout import TableLayout
from pipeline.postgres.merge import load_documents
from pipeline.postgres.stored import StoredDocuments, stored_row, stored_rows
from pipeline.source_text import recover
from tests.postgres import SETTINGS, make_table

TEXTS = {"1": "plain words here", "2": "日本語の文。もう一つ。", "3": "a 🚄 b 👩‍👩‍👧 c", "4": "ไทย e\u0301 𝒳𝒴"}


@pytest.fixture
def loaded(connection, namespace):
    """Documents in a table of their own, and their chunk rows, without text, in another."""
    connection.execute(f'CREATE TABLE "{namespace}".articles (id bigint PRIMARY KEY, body text)')
    for doc_id, text in TEXTS.items():
        connection.execute(f'INSERT INTO "{namespace}".articles VALUES (%s, %s)', [doc_id, text])
    table = pa.table({"doc_id": list(TEXTS), "text": list(TEXTS.values())})
    chunker = Chunker(SplitOptions(splitter="characters", chunk_size=4, chunk_overlap=1))
    chunked = chunk_documents(table, chunker).chunks
    rows = chunked.drop_columns(["text"])
    layout = make_table(connection, namespace, rows.schema)
    load_documents(connection, layout, rows, SETTINGS)
    return layout, dict(zip(chunked.column("chunk_id").to_pylist(), chunked.column("text").to_pylist(), strict=True))


def test_substring_gives_the_text(connection, namespace, loaded):
    _, texts = loaded
    found = connection.execute(
        f"""
        SELECT chunk_id, substring(body FROM chunk.start::int + 1 FOR (chunk."end" - chunk.start)::int)
        FROM "{namespace}".chunks AS chunk JOIN "{namespace}".articles AS article ON article.id::text = chunk.doc_id
        """
    ).fetchall()
    assert dict(found) == texts


def test_rows_of_the_database_and_documents_of_the_database(connection, namespace, loaded):
    layout, texts = loaded
    documents = StoredDocuments(f"{namespace}.articles", "id", "body")
    rows = pa.concat_tables(stored_rows(connection, layout))
    found = recover(rows, pa.concat_tables(documents.tables(connection))).rows
    recovered = zip(found.column("chunk_id").to_pylist(), found.column("text").to_pylist(), strict=True)
    assert dict(recovered) == texts
    assert documents.texts(connection, ["2", "99"]).column("text").to_pylist() == [TEXTS["2"]]


def test_one_row_by_its_id(connection, loaded):
    layout, texts = loaded
    chunk_id = next(iter(texts))
    assert stored_row(connection, layout, chunk_id)["doc_id"] == "1"
    assert stored_row(connection, layout, "none") is None


def test_names_that_need_quoting(connection, namespace):
    schema = pa.schema([("chunk_id", pa.string()), ("doc_id", pa.string()), ("start", pa.int64()), ("end", pa.int64()),
                        ("text_hash", pa.string()), ("doc_hash", pa.string()), ("chunk_index", pa.int32()),
                        ('a"; DROP TABLE x; --', pa.string())])  # fmt: skip
    name = 'Table "with" spaces; --'
    layout = make_table(connection, namespace, schema, table=name, columns={"start": "select", "end": 'o"ff'})
    values = ["c", "d", 0, 1, "h", "h", 0, "x"]
    rows = pa.Table.from_arrays(
        [pa.array([value], kind) for value, kind in zip(values, schema.types, strict=True)], schema=schema
    )
    assert load_documents(connection, layout, rows, SETTINGS).failures == ()
    found = connection.execute(f'SELECT "select", "o""ff" FROM "{namespace}"."Table ""with"" spaces; --"').fetchall()
    assert found == [(0, 1)]


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"types": {"text_hash": "text; DROP TABLE x"}}, "no type that a column can have"),
        ({"columns": {"nothing": "x"}}, "there is no column 'nothing'"),
        ({"columns": {"start": "end"}}, "the name of two columns"),
        ({"table": "x" * 60}, "at most 63 bytes"),
        ({"dimension": 0}, "from 1 to 16000"),
    ],
    ids=lambda value: value if isinstance(value, str) else next(iter(value)),
)
def test_wrong_layouts_are_refused_when_they_are_built(settings, words):
    schema = pa.schema(
        [("chunk_id", pa.string()), ("start", pa.int64()), ("end", pa.int64()), ("text_hash", pa.string())]
    )
    with pytest.raises(ValueError, match=words):
        TableLayout(schema, **settings)


METADATA = {
    "flag": (pa.bool_(), True),
    "small": (pa.int8(), -5),
    "large": (pa.uint64(), 2**63),
    "ratio": (pa.float64(), 0.5),
    "amount": (pa.decimal128(9, 2), Decimal("12.30")),
    "day": (pa.date32(), date(2024, 2, 29)),
    "moment": (pa.timestamp("us", "UTC"), datetime(2024, 1, 2, tzinfo=timezone.utc)),
    "raw": (pa.binary(), b"\0\1"),
    "tags": (pa.list_(pa.string()), ["a\0", "b"]),
}


@pytest.mark.parametrize("metadata_as", ["columns", "jsonb"])
def test_metadata_of_every_type(connection, namespace, metadata_as):
    base = [("chunk_id", "c"), ("doc_id", "d"), ("chunk_index", 0), ("start", 0), ("end", 1), ("text_hash", "h"),
            ("doc_hash", "h")]  # fmt: skip
    kinds = [pa.string(), pa.string(), pa.int32(), pa.int64(), pa.int64(), pa.string(), pa.string()]
    arrays = [pa.array([value], kind) for (_, value), kind in zip(base, kinds, strict=True)]
    arrays += [pa.array([value], kind) for kind, value in METADATA.values()]
    rows = pa.Table.from_arrays(arrays, names=[name for name, _ in base] + list(METADATA))
    layout = make_table(connection, namespace, rows.schema, metadata_as=metadata_as)
    assert load_documents(connection, layout, rows, SETTINGS).failures == ()
    names = "metadata" if metadata_as == "jsonb" else ", ".join(METADATA)
    (found,) = connection.execute(f'SELECT {names} FROM "{namespace}".chunks').fetchall()
    if metadata_as == "jsonb":
        assert found[0]["tags"] == ["a\u2400", "b"]
        assert found[0]["small"] == -5
    else:
        expected = {name: value for name, (_, value) in METADATA.items()} | {"tags": ["a\u2400", "b"]}
        assert dict(zip(METADATA, found, strict=True)) == expected
