"""Each format gives the rows back, with one schema, whatever tables they came in."""

import datetime
import decimal
import io

import orjson
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pipeline import shard_files
from pipeline.schemas import chunk_schema
from pipeline.shard_files import FORMATS, check_format, open_shard
from tests.chunk_tables import SCHEMA, Settings, chunk_table

TABLES = [
    chunk_table("a", "one ", "two"),
    chunk_table("b", "three"),
    chunk_table("c", "vier \u00e9\u4e09\U0001f600"),
]


def written(file_format, tables, schema=SCHEMA):
    sink = io.BytesIO()
    shard = open_shard(sink, schema, file_format)
    for table in tables:
        shard.write(table)
    shard.close()
    return sink.getvalue()


def rows(file_format, content):
    if file_format == "parquet":
        return pq.read_table(io.BytesIO(content)).to_pylist()
    if file_format == "arrow":
        return pa.ipc.open_file(content).read_all().to_pylist()
    return [orjson.loads(line) for line in content.splitlines()]


@pytest.mark.parametrize("file_format", FORMATS)
def test_rows_come_back(file_format):
    expected = pa.concat_tables(TABLES).to_pylist()
    assert rows(file_format, written(file_format, TABLES)) == expected


@pytest.mark.parametrize("file_format", FORMATS)
def test_no_rows(file_format):
    assert rows(file_format, written(file_format, [])) == []


@pytest.mark.parametrize("tables", [[], TABLES], ids=["empty", "with rows"])
def test_files_carry_the_schema_and_its_metadata(tables):
    parquet = pq.ParquetFile(io.BytesIO(written("parquet", tables))).schema_arrow
    arrow = pa.ipc.open_file(written("arrow", tables)).schema
    assert parquet.equals(SCHEMA, check_metadata=True)
    assert arrow.equals(SCHEMA, check_metadata=True)
    assert parquet.metadata[b"llm_splitter.chunk_size"] == b"8"


def test_parquet_joins_small_tables_to_row_groups_and_divides_many(monkeypatch):
    monkeypatch.setattr(shard_files, "ROW_GROUP_ROWS", 10)
    tables = [chunk_table(f"d{number}", "x", "y", "z") for number in range(9)]
    metadata = pq.ParquetFile(io.BytesIO(written("parquet", tables))).metadata
    assert [metadata.row_group(group).num_rows for group in range(metadata.num_row_groups)] == [12, 12, 3]


def test_parquet_is_compressed_and_has_no_dictionary_of_texts():
    metadata = pq.ParquetFile(io.BytesIO(written("parquet", TABLES))).metadata.row_group(0)
    columns = {metadata.column(index).path_in_schema: metadata.column(index) for index in range(len(SCHEMA))}
    assert {column.compression for column in columns.values()} == {"ZSTD"}
    assert not columns["text"].has_dictionary_page
    assert columns["doc_id"].has_dictionary_page


def test_json_says_what_it_can_of_other_types():
    values = {
        "when": (pa.timestamp("us"), datetime.datetime(2024, 2, 3, 4, 5, 6), "2024-02-03T04:05:06"),
        "day": (pa.date32(), datetime.date(2024, 2, 3), "2024-02-03"),
        "price": (pa.decimal128(9, 2), decimal.Decimal("1.50"), "1.50"),
        "blob": (pa.binary(), b"\x00\xff", "AP8="),
        "tags": (pa.list_(pa.string()), ["a", None], ["a", None]),
        "nan": (pa.float64(), float("nan"), None),
        "took": (pa.duration("s"), datetime.timedelta(hours=1), "1:00:00"),
    }
    schema = pa.schema([(name, kind) for name, (kind, _, _) in values.items()])
    table = pa.Table.from_pylist([{name: value for name, (_, value, _) in values.items()}], schema=schema)
    expected = {name: shown for name, (_, _, shown) in values.items()}
    assert rows("jsonl", written("jsonl", [table], schema)) == [expected]


def test_an_unknown_format_is_refused_with_the_known_ones():
    with pytest.raises(ValueError, match="'parquet', 'arrow', 'jsonl', got 'csv'"):
        check_format("csv")


@pytest.mark.parametrize("name", ["text", "chunk_id", "doc_id", "end"])
def test_metadata_columns_cannot_take_the_names_of_chunk_columns(name):
    with pytest.raises(ValueError, match=f"metadata_columns: '{name}'"):
        chunk_schema(Settings(), [pa.field(name, pa.string())])
