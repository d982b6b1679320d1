"""Files in the staging folder: complete when named, of bounded size, and of one schema."""

import hashlib
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from pipeline import shards
from pipeline.schemas import FAILURE_SCHEMA
from pipeline.shards import ShardWriter
from tests.chunk_tables import SCHEMA, chunk_table, failure_table


def chunk_writer(folder):
    return ShardWriter(str(folder), "chunks", SCHEMA, "parquet")


def test_a_shard_tells_what_its_file_holds(tmp_path):
    writer = chunk_writer(tmp_path / "staging")
    writer.write(chunk_table("b", "one two ", "three"))
    writer.write(chunk_table("a", "four"))
    (shard,) = writer.finish()
    content = Path(shard.staged).read_bytes()
    assert shard.rows == pq.read_table(shard.staged).num_rows == 3
    assert shard.size == len(content)
    assert shard.fingerprint == hashlib.blake2b(content, digest_size=16).hexdigest()
    assert shard.order == ("b", 0)
    assert shard.token_counts == {1: 2, 2: 1}
    assert shard.tallies == {"tokens": 4, "documents_chunked": 2}


def test_failures_are_counted_by_reason_and_by_what_they_stand_for(tmp_path):
    writer = ShardWriter(str(tmp_path), "failures", FAILURE_SCHEMA, "parquet")
    writer.write(failure_table("line 2, byte 17", "row group 0, row 12", "row group 3", ""))
    writer.write(failure_table("", stage="chunk", error="PanicException"))
    (shard,) = writer.finish()
    assert shard.reasons == {"read: ValueError": 4, "chunk: PanicException": 1}
    assert shard.tallies == {"documents_failed": 3}


def test_a_large_file_is_followed_by_another(tmp_path, monkeypatch):
    monkeypatch.setattr(shards, "FILE_BYTES", 1)
    monkeypatch.setattr("pipeline.shard_files.ROW_GROUP_ROWS", 2)
    writer = chunk_writer(tmp_path)
    for number in range(3):
        writer.write(chunk_table(f"d{number}", "x", "y"))
    files = writer.finish()
    assert [pq.read_table(shard.staged)["doc_id"].unique().to_pylist() for shard in files] == [
        ["d0"],
        ["d1"],
        ["d2"],
    ]


def test_nothing_written_is_no_file_unless_one_is_wanted(tmp_path):
    assert chunk_writer(tmp_path).finish() == []
    (shard,) = chunk_writer(tmp_path).finish(at_least_one=True)
    assert pq.read_table(shard.staged).schema.equals(SCHEMA, check_metadata=True)
    assert shard.rows == 0


def test_an_abandoned_attempt_leaves_no_file(tmp_path, capsys):
    writer = chunk_writer(tmp_path)
    writer.write(chunk_table("a", "one"))
    writer.abandon()
    del writer
    assert list(tmp_path.iterdir()) == []
    assert capsys.readouterr().err == ""


def test_two_attempts_write_different_files(tmp_path):
    for _ in range(2):
        writer = chunk_writer(tmp_path)
        writer.write(chunk_table("a", "one"))
        writer.finish()
    assert len(list(tmp_path.iterdir())) == 2


def test_no_reader_takes_a_staged_file_for_output(tmp_path):
    chunk_writer(tmp_path).finish(at_least_one=True)
    assert {path.suffix for path in tmp_path.iterdir()} == {".part"}


def test_a_table_of_another_schema_is_refused_with_the_difference(tmp_path):
    table = chunk_table("a", "one").drop_columns(["lang"]).append_column("size", [[1]])
    with pytest.raises(ValueError, match=r"missing: \['lang: string'\], unknown: \['size: int64'\]"):
        chunk_writer(tmp_path).write(table)


def test_a_table_with_its_columns_in_another_order_is_refused(tmp_path):
    table = chunk_table("a", "one")
    with pytest.raises(ValueError, match="wanted in this order: "):
        chunk_writer(tmp_path).write(table.select(table.column_names[::-1]))
