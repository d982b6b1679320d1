"""The examples in docstrings are true."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

import llm_splitter
import pipeline

# These show how a thing is used on files, a database or a running pipeline, which are not there.
SKETCHES = {
    "pipeline.build.build_pipeline",
    "pipeline.chunk.ChunkDocuments",
    "pipeline.chunk_rows.chunk_documents",
    "pipeline.counters.count",
    "pipeline.embed_chunks.EmbedChunks",
    "pipeline.folders.list_files",
    "pipeline.pgvector.WriteToPgvector",
    "pipeline.postgres.layout.TableLayout",
    "pipeline.postgres.registry.retire_documents",
    "pipeline.read.ReadAllDocuments",
    "pipeline.read.ReadDocuments",
    "pipeline.schemas.chunk_schema",
    "pipeline.verify.verify_output",
    "pipeline.write.WriteChunks",
}


def modules() -> list[str]:
    return [
        found.name
        for package in (llm_splitter, pipeline)
        for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
    ]


@pytest.mark.parametrize("name", modules())
def test_examples(name):
    for examples in doctest.DocTestFinder().find(importlib.import_module(name)):
        if examples.name not in SKETCHES:
            runner = doctest.DocTestRunner(optionflags=doctest.REPORT_ONLY_FIRST_FAILURE)
            assert runner.run(examples).failed == 0
