"""Chunk rows are the core's chunks: same offsets, same texts, with ids, hashes and the document's own columns."""

import itertools

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from llm_splitter import Chunker, SplitOptions, get_chunk, split
from pipeline import chunk_rows
from pipeline.chunk_ids import chunk_id_prefixes
from pipeline.chunk_rows import ChunkedDocuments, chunk_documents
from pipeline.hashing import hash_bytes
from pipeline.schemas import FAILURE_SCHEMA, TEXT_TYPE, chunk_schema, document_schema
from pipeline.table_ends import End, end_of

TEXTS = [
    "One two  three.\n\nFour five six seven.",
    "",
    None,
    "\u732b\u5750\u7740\u3002\u72d7\u8dd1\u4e86\u3002 \U0001f44b\U0001f3fb caf\u00e9",
    " \n ",
    "x",
]


def documents(texts=TEXTS, kind=TEXT_TYPE, **columns):
    ids = [f"d{number}" for number in range(len(texts))]
    return pa.table({"doc_id": ids, "text": pa.array(texts, kind), **columns})


def chunker(**options):
    return Chunker(SplitOptions(**{"splitter": "words", "chunk_size": 3, **options}))


OPTIONS = [
    {},
    {"chunk_overlap": 1},
    {"chunk_strategy": "paragraph", "chunk_overlap": 2},
    {"offset_unit": "utf8", "chunk_overlap": 1},
    {"offset_unit": "utf16", "splitter": "characters", "chunk_size": 2},
    {"splitter": "cl100k_base", "chunk_size": 4, "chunk_overlap": 1},
]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("texts", [TEXTS, TEXTS[3:4], [], ["", None]], ids=["all", "one", "none", "empty"])
def test_rows_are_the_chunks_of_the_library(options, texts):
    fields = {"splitter": "words", "chunk_size": 3, **options}
    rows = chunk_documents(documents(texts), chunker(**options)).chunks.to_pylist()
    expected = [
        (f"d{number}", index, chunk.start, chunk.end, chunk.text)
        for number, text in enumerate(texts)
        for index, chunk in enumerate(split(text or "", **fields))
    ]
    names = ("doc_id", "chunk_index", "start", "end", "text")
    assert [tuple(row[name] for name in names) for row in rows] == expected


@given(
    st.lists(st.none() | st.text("a \n\u00e9\u4e09\U0001f600.", max_size=30), max_size=6),
    st.sampled_from(OPTIONS),
)
@settings(deadline=None, max_examples=60)
def test_rows_lead_back_to_their_documents(texts, options):
    table = documents(texts)
    chunked = chunk_documents(table, chunker(**options))
    chunked.chunks.validate(full=True)
    unit = options.get("offset_unit", "codepoint")
    for row in chunked.chunks.to_pylist():
        source = texts[int(row["doc_id"][1:])]
        assert row["text"] == get_chunk(source, row["start"], row["end"], offset_unit=unit)
        assert row["text_hash"] == hash_bytes(row["text"].encode())
        assert row["doc_hash"] == hash_bytes(source.encode())
    counts = chunked.counts
    assert counts.documents == counts.documents_chunked + counts.documents_empty + counts.documents_failed
    assert counts.chunks == chunked.chunks.num_rows


def test_the_schema_is_the_one_promised():
    cutter = chunker()
    table = documents(lang=["en"] * 6, size=pa.array(range(6), pa.int16()))
    fields = [pa.field("lang", pa.string()), pa.field("size", pa.int16())]
    for include_text in (True, False):
        chunks = chunk_documents(table, cutter, include_text=include_text).chunks
        schema = chunk_schema(cutter, fields, include_text=include_text)
        assert chunks.schema.equals(schema, check_metadata=True)


def test_the_schema_says_how_the_chunks_were_made():
    metadata = chunk_schema(chunker(chunk_overlap=1, offset_unit="utf8")).metadata
    wanted = {
        b"chunk_size": b"3",
        b"chunk_overlap": b"1",
        b"chunk_strategy": b"character",
        b"splitter": b"words",
        b"offset_unit": b"utf8",
        b"paragraph_break": b"\n\n",
        b"strict_size": b"True",
    }
    found = {key.removeprefix(b"llm_splitter."): value for key, value in metadata.items()}
    assert found.items() >= wanted.items()
    assert {b"tokenizer", b"tokenizer_version", b"product_version", b"fingerprint"} <= found.keys()


def test_without_text_everything_else_is_the_same():
    table = documents(lang=list("abcdef"))
    full = chunk_documents(table, chunker(chunk_overlap=1)).chunks
    bare = chunk_documents(table, chunker(chunk_overlap=1), include_text=False).chunks
    assert bare.equals(full.drop_columns(["text"]))


@pytest.mark.parametrize(
    "kind",
    [pa.string(), pa.string_view(), pa.dictionary(pa.int32(), pa.string())],
    ids=str,
)
def test_the_output_does_not_depend_on_the_type_of_the_text(kind):
    table = documents()
    other = table.set_column(1, "text", table["text"].cast(kind))
    assert chunk_documents(other, chunker()).chunks.equals(chunk_documents(table, chunker()).chunks)


def test_slices_and_chunked_columns_make_no_difference():
    table = documents(lang=list("abcdef"))
    whole = chunk_documents(table, chunker()).chunks
    pieces = pa.concat_tables([table.slice(0, 2), table.slice(2, 1), table.slice(3)])
    assert chunk_documents(pieces, chunker()).chunks.equals(whole)
    one_by_one = [chunk_documents(table.slice(row, 1), chunker()).chunks for row in range(6)]
    assert pa.concat_tables(one_by_one).equals(whole)


def test_parts_are_one_document():
    parts = [["ab c", "d e", "f"], [], None, ["x", None, "y"]]
    chunks = chunk_documents(documents(parts, pa.list_(pa.string())), chunker(chunk_size=2)).chunks
    expected = [
        (f"d{number}", chunk.start, chunk.end, "".join(chunk.text))
        for number, document in enumerate(parts)
        for chunk in split([part or "" for part in document or []], splitter="words", chunk_size=2)
    ]
    rows = [(row["doc_id"], row["start"], row["end"], row["text"]) for row in chunks.to_pylist()]
    assert rows == expected


def test_metadata_is_repeated_with_its_types_nulls_included():
    tags = pa.array([["a"], [], None, ["b", None], ["c"], None], pa.list_(pa.string()))
    chunks = chunk_documents(documents(tags=tags, source=list("abcdef")), chunker(chunk_size=2)).chunks
    by_document = {row["doc_id"]: (row["tags"], row["source"]) for row in chunks.to_pylist()}
    assert by_document == {"d0": (["a"], "a"), "d3": (["b", None], "d"), "d5": (None, "f")}
    assert chunks.schema.field("tags").type == pa.list_(pa.string())


@pytest.mark.parametrize(
    "values",
    [
        pa.array(["a", None] * 3, pa.string_view()),
        pa.array(["a", None] * 3).dictionary_encode(),
        pa.array([{"a": 1}, None] * 3),
        pa.array([1, None] * 3, pa.timestamp("ms", "UTC")),
        pa.array([1, None] * 3).cast(pa.decimal128(20, 0)),
        pa.nulls(6),
        pa.array([[("k", 1)], None] * 3, pa.map_(pa.string(), pa.int64())),
    ],
    ids=lambda values: str(values.type),
)
def test_metadata_of_any_type(values):
    chunks = chunk_documents(documents(extra=values), chunker()).chunks
    first = {row["doc_id"]: row["extra"] for row in chunks.to_pylist()}
    plain = values.to_pylist()
    assert first == {"d0": plain[0], "d3": plain[3], "d5": plain[5]}


def test_metadata_is_cast_to_a_given_schema_and_the_rest_is_left_out():
    schema = chunk_schema(chunker(), [pa.field("size", pa.int64())])
    table = documents(size=pa.array(range(6), pa.int8()), other=list("abcdef"))
    assert chunk_documents(table, chunker(), schema=schema).chunks.schema == schema


class Panic(BaseException):
    """What a splitter written in Rust raises when it fails an assertion of its own."""


def failing(error):
    def splitter(text):
        if "bad" in text:
            raise error
        return text.split()

    return splitter


@pytest.mark.parametrize(
    ("error", "name", "message"),
    [
        (ValueError("no"), "ValueError", "no"),
        (Panic("index out of bounds"), "Panic", "index out of bounds"),
        (RecursionError("deep"), "RecursionError", "deep"),
        (ValueError("lone \udc80"), "ValueError", "lone \\udc80"),
    ],
)
def test_a_failing_splitter_fails_that_document_only(error, name, message):
    table = pa.table(
        [["a", "b", "c"], ["f", "f", "f"], ["line 1", "line 2", "line 3"], ["one two", "bad", "three"]],
        schema=document_schema(),
    )
    chunked = chunk_documents(table, chunker(splitter=failing(error)))
    assert chunked.chunks["doc_id"].to_pylist() == ["a", "c"]
    assert chunked.failures.schema.equals(FAILURE_SCHEMA)
    assert chunked.failures.to_pylist() == [
        {
            "source": "f",
            "position": "line 2",
            "doc_id": "b",
            "stage": "chunk",
            "error": name,
            "message": message,
        }
    ]
    assert chunked.counts.documents_failed == 1


@pytest.mark.parametrize("error", [KeyboardInterrupt(), SystemExit(3), MemoryError()], ids=repr)
def test_what_ends_the_process_is_not_caught(error):
    with pytest.raises(type(error)):
        chunk_documents(documents(["bad"]), chunker(splitter=failing(error)))


def test_failures_of_tables_without_places():
    chunked = chunk_documents(documents(["bad"]), chunker(splitter=failing(ValueError("no"))))
    assert chunked.failures.select(["source", "position", "doc_id"]).to_pylist() == [
        {"source": "", "position": "", "doc_id": "d0"}
    ]


def test_the_counts():
    texts = ["one two three four", "", "five", None, "bad"]
    table = documents(texts).set_column(0, "doc_id", [["a", "b", "a", "c", "b"]])
    counts = chunk_documents(table, chunker(splitter=failing(ValueError()), chunk_overlap=1)).counts
    assert counts.as_dict() == {
        "documents": 5,
        "documents_chunked": 2,
        "documents_empty": 2,
        "documents_failed": 1,
        "duplicate_ids": 2,
        "chunks": 3,
        "text_bytes": 25,
        "tokens": 6,
        "over_budget_chunks": 0,
    }


def test_a_single_character_over_the_budget_is_counted():
    table = documents(["\U0001f680"])
    chunked = chunk_documents(table, chunker(splitter="cl100k_base", chunk_size=1))
    assert chunked.counts.over_budget_chunks == chunked.counts.chunks == 1
    assert chunked.chunks["token_count"].to_pylist()[0] > 1


def test_ids_come_from_document_settings_and_offsets():
    cutter = chunker()
    rows = chunk_documents(documents(), cutter).chunks.to_pylist()
    prefixes = dict(zip(documents()["doc_id"].to_pylist(), ids_of(documents(), cutter), strict=True))
    assert [row["chunk_id"] for row in rows] == [
        f"{prefixes[row['doc_id']]}:{row['start']}:{row['end']}" for row in rows
    ]


def ids_of(table, cutter):
    return chunk_id_prefixes(table["doc_id"].to_pylist(), cutter.fingerprint).to_pylist()


def test_equal_paragraphs_of_a_document_have_one_hash_and_two_ids():
    table = documents(["same line\n\nsame line"])
    rows = chunk_documents(table, chunker(chunk_size=2, chunk_strategy="paragraph")).chunks.to_pylist()
    assert len({row["chunk_id"] for row in rows}) == 2


def test_other_settings_give_other_ids():
    one, two = (chunk_documents(documents(), chunker(chunk_overlap=n)).chunks for n in (0, 1))
    assert not set(one["chunk_id"].to_pylist()) & set(two["chunk_id"].to_pylist())


@pytest.mark.parametrize(("rows", "text"), [(2, 1 << 20), (1000, 9), (1, 1), (1000, 1 << 20)])
def test_tables_of_bounded_size_hold_the_same_rows(monkeypatch, rows, text):
    table = documents(lang=list("abcdef"))
    cutter = chunker(splitter="characters", chunk_overlap=2)
    whole = chunk_documents(table, cutter).chunks
    monkeypatch.setattr(chunk_rows, "MAX_TABLE_ROWS", rows)
    monkeypatch.setattr(chunk_rows, "MAX_TABLE_TEXT", text)
    pieces = list(ChunkedDocuments(table, cutter).tables())
    assert pa.concat_tables(pieces).equals(whole)
    for piece in pieces:
        sizes = [len(chunk.encode()) for chunk in piece["text"].to_pylist()]
        assert piece.num_rows == 1 or (piece.num_rows <= rows and sum(sizes) <= text)
    going_on = [end_of(piece) is End.PART for piece in pieces]
    assert going_on == [piece["chunk_index"][0].as_py() > 0 for piece in pieces[1:]] + [False]


def test_texts_that_tile_are_not_copied():
    table = documents(["one two three four five six seven eight"])
    chunks = chunk_documents(table, chunker()).chunks
    source = table["text"].chunk(0).buffers()[2]
    assert chunks["text"].chunk(0).buffers()[2].address == source.address


def test_a_document_cut_once_is_hashed_once(monkeypatch):
    hashed = []
    hash_slices = chunk_rows.hash_slices

    def recording(data, starts, ends):
        hashed.extend(zip(starts.tolist(), ends.tolist(), strict=True))
        return hash_slices(data, starts, ends)

    monkeypatch.setattr(chunk_rows, "hash_slices", recording)
    rows = chunk_documents(documents(["one", "two three four five"]), chunker()).chunks.to_pylist()
    assert hashed == [(0, 3), (3, 22), (3, 18), (18, 22)]
    assert [row["text_hash"] == row["doc_hash"] for row in rows] == [True, False, False]


def test_documents_are_independent_of_their_neighbours():
    for order in itertools.permutations(range(3)):
        texts = [TEXTS[0], TEXTS[3], TEXTS[5]]
        table = documents(texts).take(list(order))
        rows = chunk_documents(table, chunker(splitter="cl100k_base")).chunks.to_pylist()
        alone = [
            row
            for position in order
            for row in chunk_documents(
                documents(texts).slice(position, 1), chunker(splitter="cl100k_base")
            ).chunks.to_pylist()
        ]
        assert rows == alone
