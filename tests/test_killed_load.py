"""A loader killed in the middle, again and again: never half a document, and the next run completes."""

import logging
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

DOCUMENTS, CHUNKS = 3000, 5
ROOT = Path(__file__).parent.parent

# Small sets make many transactions; each stays open for a while when its rows are there, to be killed inside of.
LOADER = """
import sys, time
from pipeline import pgvector
from pipeline.__main__ import main
from pipeline.postgres import merge
pgvector.SET_ROWS = 60
record = merge._record
def slowly(*arguments, **named):
    time.sleep(0.05)
    record(*arguments, **named)
merge._record = slowly
sys.exit(main(["load", "--quiet", *sys.argv[1:]]))
"""


def write_documents(folder, version):
    """Documents of five chunks each; in the second version every third one has only four, and other words."""
    words = [
        ["w0", "w1", "w2", "w3", "w4"] if version == 1 or number % 3 else ["v0", "w1", "v2", "w3"]
        for number in range(DOCUMENTS)
    ]
    texts = [" ".join(f"{word}-{number}" for word in some) for number, some in enumerate(words)]
    table = pa.table({"id": [f"d{number}" for number in range(DOCUMENTS)], "text": texts})
    pq.write_table(table, folder / "documents.parquet", row_group_size=200)
    return {f"d{number}": len(some) for number, some in enumerate(words)}


class Loading:
    def __init__(self, server, namespace, folder):
        self.environment = os.environ | {"LLM_SPLITTER_DATABASE_URL": server._url(), "PYTHONPATH": str(ROOT)}
        self.arguments = [
            "--input", str(folder / "documents.parquet"), "--output", str(folder / "out"), "--id-column", "id",
            "--splitter", "words", "--chunk-size", "1", "--table-schema", namespace,
        ]  # fmt: skip

    def start(self):
        return subprocess.Popen([sys.executable, "-c", LOADER, *self.arguments], env=self.environment, cwd=ROOT)


def chunks_of_documents(connection, namespace):
    """How many rows each document has, with the hashes of the texts that they were made from."""
    if connection.execute("SELECT to_regclass(%s)", [f'"{namespace}".chunks_documents']).fetchone() == (None,):
        return {}
    rows = connection.execute(
        f"SELECT doc_id, count(*), count(DISTINCT chunk_index), max(chunk_index) + 1, count(DISTINCT doc_hash) "
        f'FROM "{namespace}".chunks GROUP BY doc_id'
    ).fetchall()
    for doc_id, count, different, last, versions in rows:
        assert count == different == last, f"{doc_id} is there in part"
        assert versions == 1, f"{doc_id} has rows of two versions"
    return {doc_id: count for doc_id, count, *_ in rows}


@pytest.mark.slow
@pytest.mark.parametrize("version", [1, 2])
def test_ten_kills(server, connection, namespace, tmp_path, version):
    loading = Loading(server, namespace, tmp_path)
    write_documents(tmp_path, 1)
    if version == 2:  # all is there, and a third of it changes
        assert loading.start().wait() == 0
    expected = write_documents(tmp_path, version)
    luck = random.Random(version)
    killed = 0
    progress = []
    for _ in range(10):
        loader = loading.start()
        before = transactions(connection, namespace)
        while loader.poll() is None and transactions(connection, namespace) == before:
            chunks_of_documents(connection, namespace)
        until = time.monotonic() + luck.random() * 0.4
        while time.monotonic() < until:
            chunks_of_documents(connection, namespace)
        if loader.poll() is None:
            os.kill(loader.pid, signal.SIGKILL)
            killed += loader.wait() == -signal.SIGKILL
        seen = chunks_of_documents(connection, namespace)
        progress.append(len(seen) if version == 1 else sum(count == 4 for count in seen.values()))
    logging.getLogger(__name__).info("documents of the new version after each kill: %s", progress)
    assert loading.start().wait() == 0
    assert chunks_of_documents(connection, namespace) == expected
    assert killed == 10


def transactions(connection, namespace):
    """Something that changes with every set that is written."""
    if connection.execute("SELECT to_regclass(%s)", [f'"{namespace}".chunks_documents']).fetchone() == (None,):
        return None
    return connection.execute(
        f'SELECT count(*), max(xmin::text::bigint) FROM "{namespace}".chunks_documents'
    ).fetchone()
