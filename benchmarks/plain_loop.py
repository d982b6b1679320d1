"""A peer in a plain loop: read Parquet with pyarrow, chunk document by document, write Parquet.

`python -m benchmarks.plain_loop PEER PATTERN OUTPUT` prints the seconds that it took, start of Python excluded.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.peers import PEERS, Cut
from benchmarks.timing import timed

SCHEMA = pa.schema([("doc_id", pa.string()), ("chunk_index", pa.int32()), ("start", pa.int64()), ("text", pa.string())])


def run(name: str, pattern: str, output: Path) -> None:
    """Chunk all files of a pattern into one."""
    cut = next(peer for peer in PEERS if peer.name == name).make("cl100k_base", 512, 64)
    cut("A first text, so that nothing is loaded later.")
    with pq.ParquetWriter(output, SCHEMA, compression="zstd") as writer:
        for path in sorted(Path(pattern).parent.glob(Path(pattern).name)):
            for batch in pq.ParquetFile(path).iter_batches(256, columns=["doc_id", "text"]):
                writer.write_table(chunk_rows(batch.to_pylist(), cut))


def chunk_rows(documents: list[dict[str, str]], cut: Cut) -> pa.Table:
    """The chunk rows of some documents."""
    rows = [
        {"doc_id": document["doc_id"], "chunk_index": index, "start": piece.start, "text": piece.text}
        for document in documents
        for index, piece in enumerate(cut(document["text"]))
    ]
    return pa.Table.from_pylist(rows, SCHEMA)


if __name__ == "__main__":
    cost = timed(lambda: run(sys.argv[1], sys.argv[2], Path(sys.argv[3])))()
    print(json.dumps({"wall": cost.wall, "cpu": cost.cpu}))
