"""Finding a document's rows in chunk files."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pipeline import chunk_index
from pipeline.chunk_files import open_chunk_file
from pipeline.chunk_index import ChunkIndex


@pytest.fixture
def index_of(tmp_path):
    def index(*doc_ids):
        number = pa.array([0] * len(doc_ids), pa.int32())
        pq.write_table(pa.table({"doc_id": doc_ids, "chunk_index": number}), tmp_path / "chunks.parquet")
        return ChunkIndex([open_chunk_file(str(tmp_path / "chunks.parquet"))])

    return index


def test_each_document_has_its_own_rows(index_of):
    names = [f"d{number}" for number in range(100)]
    index = index_of(*names)
    assert [index.rows_of(name).column("doc_id").to_pylist() for name in names] == [[name] for name in names]
    assert index.rows_of("another") is None


@pytest.mark.parametrize("key", [5, 2**63 - 2, 2**63 + 5, 2**64 - 2])
def test_keys_are_told_apart_to_the_last_bit(index_of, monkeypatch, key):
    """Neighbours among the large ones are one number where they are compared as floats."""
    keys = {"a": key, "b": key + 1}
    monkeypatch.setattr(chunk_index, "_key", keys.__getitem__)
    index = index_of("a", "b")
    assert index.rows_of("a").column("doc_id").to_pylist() == ["a"]
    assert index.rows_of("b").column("doc_id").to_pylist() == ["b"]
