"""Tables between steps: what comes out is what went in, and no more than that travels."""

import pickle

import apache_beam as beam
import pyarrow as pa
import pytest

from pipeline.table_coder import TableCoder

TABLE = pa.table(
    {"text": pa.array(["x", None, "é"], pa.large_string()), "n": pa.array([1, 2, 3], pa.int8())}
).replace_schema_metadata({"llm_splitter.a": "b"})


@pytest.mark.parametrize(
    "table",
    [TABLE, TABLE.slice(1, 1), TABLE.schema.empty_table(), pa.concat_tables([TABLE, TABLE])],
    ids=["whole", "slice", "empty", "chunked"],
)
def test_tables_come_back_with_schema_and_metadata(table):
    decoded = TableCoder().decode(TableCoder().encode(table))
    decoded.validate(full=True)
    assert decoded.equals(table, check_metadata=True)


def test_a_slice_carries_its_own_rows_only():
    table = pa.table({"text": [f"{number:01000}" for number in range(1000)]})
    assert len(TableCoder().encode(table.slice(10, 1))) < 2000


def test_it_is_the_coder_of_tables():
    assert beam.coders.registry.get_coder(pa.Table) == TableCoder()


def test_it_travels_and_promises_no_equal_bytes():
    coder = pickle.loads(pickle.dumps(TableCoder()))
    assert coder == TableCoder()
    assert not coder.is_deterministic()


def test_asking_for_the_size_encodes_nothing(monkeypatch):
    monkeypatch.setattr(TableCoder, "encode", None)
    assert TableCoder().estimate_size(TABLE) == TABLE.nbytes
