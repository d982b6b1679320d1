"""Arrow IPC: files, streams, Feather, compressed buffers, and damage."""

import gzip

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import feather

from tests.reading import options, read

TABLE = pa.table({"id": ["x", "y", "z"], "n": [1, 2, 3], "text": ["a", None, "b é"]})


def write(path, table=TABLE, stream=False, rows=2, **settings):
    create = pa.ipc.new_stream if stream else pa.ipc.new_file
    with create(str(path), table.schema, options=pa.ipc.IpcWriteOptions(**settings)) as writer:
        writer.write_table(table, max_chunksize=rows)
    return path


@pytest.mark.parametrize("compression", [None, "lz4", "zstd"])
@pytest.mark.parametrize("stream", [False, True], ids=["file", "stream"])
def test_files_and_streams(tmp_path, stream, compression):
    path = write(tmp_path / "a.arrow", stream=stream, compression=compression)
    outcome = read(path, options(metadata=[("n", pa.int64())]))
    assert outcome.texts == ["a", None, "b é"]
    assert outcome.column("n") == [1, 2, 3]
    assert outcome.column("doc_id") == [f"{path}#{row}" for row in range(3)]
    assert outcome.column("_position")[-1] == "record batch 1, row 0"


def test_feather(tmp_path):
    feather.write_feather(TABLE, tmp_path / "a.feather")
    assert read(tmp_path / "a.feather").texts == ["a", None, "b é"]


def test_a_stream_may_be_compressed_as_a_whole(tmp_path):
    path = write(tmp_path / "a.arrows", stream=True)
    path.with_suffix(".arrows.gz").write_bytes(gzip.compress(path.read_bytes()))
    assert read(path.with_suffix(".arrows.gz")).texts == ["a", None, "b é"]


@pytest.mark.parametrize(
    "column",
    [
        pa.array(["a", "b", "a"]).dictionary_encode(),
        pa.array(["a", "b", "a"], pa.string_view()),
        pa.array([["a"], ["b", None], None], pa.list_(pa.string())),
        pa.array([["a"], ["b", None], None], pa.list_view(pa.string())),
    ],
    ids=["dictionary", "string_view", "list", "list_view"],
)
def test_text_types(tmp_path, column):
    texts = [[part or "" for part in text] if isinstance(text, list) else text for text in column.to_pylist()]
    assert read(write(tmp_path / "a.arrow", pa.table({"text": column}))).texts == texts


def test_invalid_utf8_fails_its_row(tmp_path):
    bad = pa.array([b"ok", b"\xff", b"fine"]).view(pa.string())
    outcome = read(write(tmp_path / "a.arrow", pa.table({"text": bad})))
    assert (outcome.texts, outcome.failed) == (["ok", "fine"], [("record batch 0, row 1", "UnicodeDecodeError")])


@pytest.mark.parametrize("content", [b"", b"ARROW1", b"FEA1....", b"hello there, no arrow"])
def test_what_is_no_arrow_file_fails(tmp_path, content):
    (tmp_path / "a.arrow").write_bytes(content)
    outcome = read(tmp_path / "a.arrow")
    assert [failure.scope for failure in outcome.failures] == ["file"]


def test_a_truncated_stream_keeps_its_first_batches(tmp_path):
    path = write(tmp_path / "a.arrows", stream=True, rows=1)
    path.write_bytes(path.read_bytes()[:-250])
    outcome = read(path)
    assert 0 < len(outcome.texts) < 3
    assert outcome.failures[0].position == f"record batch {len(outcome.texts)}"
    assert outcome.failures[0].scope == "file"


def test_flipped_bytes_end_in_documents_or_failures(tmp_path):
    path = write(tmp_path / "a.arrow", pa.table({"text": pa.array(["abc", None, "defg"] * 20).dictionary_encode()}))
    content = path.read_bytes()
    changed = np.random.default_rng(7)
    for _ in range(150):
        broken = bytearray(content)
        for at in changed.integers(0, len(content), 3):
            broken[at] ^= 1 << changed.integers(0, 8)
        path.write_bytes(broken)
        outcome = read(path)
        assert outcome.failures or outcome.documents_read


def test_a_missing_column_fails_the_file(tmp_path):
    outcome = read(write(tmp_path / "a.arrow"), options("body"))
    assert outcome.failed == [("", "KeyError")]
