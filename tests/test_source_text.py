"""Recovering: the text of rows that carry none, in every unit, from every place, and never from another version."""

import apache_beam as beam
import pyarrow as pa
import pytest
from apache_beam.runners.portability.fn_api_runner.fn_runner import FnApiRunner
from apache_beam.testing.util import assert_that, equal_to
from hypothesis import given
from hypothesis import strategies as st

from llm_splitter import Chunker, SplitOptions
from pipeline.chunk_rows import chunk_documents
from pipeline.document_files import DocumentFiles
from pipeline.source_text import ChangedDocument, recover, recover_tables, recover_text
from pipeline.text_recovery import RecoverText

TEXTS = ["", "plain words here", "日本語の文。もう一つ。", "a 🚄 b 👩‍👩‍👧 c", "e\u0301 \0 \r\n x", "𝒳" * 9]
UNITS = ["codepoint", "utf16", "utf8"]


def documents(texts=TEXTS):
    return pa.table({"doc_id": [f"d{number}" for number in range(len(texts))], "text": pa.array(texts)})


def rows(table, unit="codepoint", *, text=False, size=3):
    chunker = Chunker(SplitOptions(splitter="characters", chunk_size=size, chunk_overlap=1, offset_unit=unit))
    return chunk_documents(table, chunker, include_text=text).chunks


@pytest.mark.parametrize("unit", UNITS)
@given(texts=st.lists(st.text(), min_size=1, max_size=5))
def test_the_text_comes_back(unit, texts):
    table = documents(texts)
    whole = rows(table, unit, text=True)
    recovered = recover(rows(table, unit), table)
    assert recovered.rows.column("text").to_pylist() == whole.column("text").to_pylist()
    assert recovered.rows.column("chunk_id").equals(whole.column("chunk_id"))
    assert recovered.failures.num_rows == 0


@pytest.mark.parametrize("unit", UNITS)
def test_one_row(unit):
    table = documents()
    for row in rows(table, unit, text=True).to_pylist():
        document = TEXTS[int(row["doc_id"][1:])]
        found = recover_text(document, row["start"], row["end"], doc_hash=row["doc_hash"], offset_unit=unit)
        assert found == row["text"]


def test_documents_in_parts():
    table = pa.table({"doc_id": ["a"], "text": pa.array([["日本", "", "語 x"]])})
    found = recover(rows(table), table).rows
    assert found.column("text").to_pylist() == ["日本語", "語 x"]
    row = rows(table).to_pylist()[1]
    assert recover_text(["日本", "", "語 x"], row["start"], row["end"], doc_hash=row["doc_hash"]) == "語 x"


def test_a_document_that_changed_is_refused():
    changed = documents(["plain words herf"])
    some = rows(documents(["plain words here"]))
    found = recover(some, changed)
    assert found.rows.num_rows == 0
    assert set(found.failures.column("error").to_pylist()) == {"ChangedDocument"}
    assert found.failures.num_rows == some.num_rows
    row = some.to_pylist()[0]
    with pytest.raises(ChangedDocument, match="chunk it again"):
        recover_text("plain words herf", row["start"], row["end"], doc_hash=row["doc_hash"])


def test_a_document_that_is_missing_is_told_and_the_others_come_back():
    some = rows(documents(["abc", "xyz"]))
    found = recover(some, documents(["abc"]))
    assert found.rows.column("text").to_pylist() == ["abc"]
    assert found.failures.column("doc_id").to_pylist() == ["d1"]


def test_rows_in_any_order_keep_it():
    table = documents()
    some = rows(table, text=True)
    shuffled = some.take(pa.array(list(range(0, len(some), 2)) + list(range(1, len(some), 2))))
    assert recover(shuffled.drop_columns(["text"]), table).rows.column("text").equals(shuffled.column("text"))


def test_a_document_that_comes_twice_gives_its_rows_once():
    some = rows(documents(["abc"]))
    tables = list(recover_tables(some, [documents(["abc"]), documents(["abc"])]))
    assert sum(table.rows.num_rows for table in tables) == some.num_rows


def test_the_transform(tmp_path):
    table = documents()
    wanted = rows(table, text=True)
    with beam.Pipeline(runner=FnApiRunner()) as pipeline:
        inputs = {
            "rows": [rows(table).slice(0, 9), rows(table).slice(9)],
            "documents": [table.slice(0, 3), table.slice(3, 2)],
        }
        collections = {
            name: pipeline | name >> beam.Create(values).with_output_types(pa.Table) for name, values in inputs.items()
        }
        outputs = collections | RecoverText(buckets=3)
        found = outputs.rows | beam.FlatMap(lambda rows: rows.select(["chunk_id", "text"]).to_pylist())
        expected = wanted.filter(pa.array([name != "d5" for name in wanted.column("doc_id").to_pylist()]))
        assert_that(found, equal_to(expected.select(["chunk_id", "text"]).to_pylist()))
        failed = outputs.failures | "Failed" >> beam.FlatMap(lambda rows: rows.column("doc_id").to_pylist())
        assert_that(failed, equal_to(["d5"] * 4), "failures")


def write_files(folder, table):
    import orjson
    import pyarrow.parquet as pq

    pq.write_table(table, folder / "d.parquet", row_group_size=2)
    lines = [orjson.dumps(row) for row in table.to_pylist()]
    (folder / "d.jsonl").write_bytes(b"\n\xef\xbb\xbf".replace(b"\xef\xbb\xbf", b"") + b"\r\n".join(lines))
    (folder / "d.csv").write_text('doc_id,text\nd1,"plain, words"\n', encoding="utf-8")


@pytest.mark.parametrize("name", ["d.parquet", "d.jsonl"])
def test_one_document_of_many(tmp_path, name):
    write_files(tmp_path, documents())
    files = DocumentFiles(str(tmp_path / name), id_column="doc_id")
    assert [files.text(f"d{number}") for number in (4, 1, 3)] == [TEXTS[4], TEXTS[1], TEXTS[3]]
    with pytest.raises(KeyError, match="no document 'd9'"):
        files.text("d9")


def test_a_format_without_places_is_read_again(tmp_path):
    write_files(tmp_path, documents())
    assert DocumentFiles(str(tmp_path / "d.csv"), id_column="doc_id").text("d1") == "plain, words"
