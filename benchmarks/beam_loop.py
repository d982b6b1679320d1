"""A peer in Apache Beam as its documentation shows it: ReadFromParquet, FlatMap over rows, WriteToParquet.

`python -m benchmarks.beam_loop PEER PATTERN OUTPUT_PREFIX`, on the same local runner as our job.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import apache_beam as beam

from benchmarks.peers import PEERS, Cut
from benchmarks.plain_loop import SCHEMA
from pipeline.beam_runs import pipeline_options, runner_of


class CutDocuments(beam.DoFn):
    """Documents as dicts -> chunk rows as dicts."""

    def __init__(self, peer: str) -> None:
        self._peer = peer
        self._cut: Cut | None = None

    def setup(self) -> None:
        """Load the splitter once."""
        self._cut = next(peer for peer in PEERS if peer.name == self._peer).make("cl100k_base", 512, 64)

    def process(self, document: dict[str, Any]) -> Iterator[dict[str, Any]]:
        """The chunk rows of a document."""
        assert self._cut is not None
        for index, piece in enumerate(self._cut(document["text"])):
            yield {"doc_id": document["doc_id"], "chunk_index": index, "start": piece.start, "text": piece.text}


def run(peer: str, pattern: str, output: str) -> None:
    """Chunk all files of a pattern."""
    options = pipeline_options([])
    with beam.Pipeline(runner_of(options), options=options) as pipeline:
        (
            pipeline
            | beam.io.ReadFromParquet(pattern, columns=["doc_id", "text"])
            | beam.ParDo(CutDocuments(peer))
            | beam.io.WriteToParquet(output, SCHEMA, codec="zstd", file_name_suffix=".parquet")
        )


if __name__ == "__main__":
    run(*sys.argv[1:4])
