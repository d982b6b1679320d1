"""Documents in, chunk rows out, on Apache Beam.

Names are imported when they are first asked for: Beam takes seconds to load, and help or a look at one text's
chunks needs none of it.
"""

from __future__ import annotations

import logging
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pipeline.build import JobResult as JobResult
    from pipeline.build import build_pipeline as build_pipeline
    from pipeline.build import run_job as run_job
    from pipeline.chunk import ChunkDocuments as ChunkDocuments
    from pipeline.config import JobConfig as JobConfig
    from pipeline.embed_chunks import EmbedChunks as EmbedChunks
    from pipeline.load import LoadResult as LoadResult
    from pipeline.load import run_load as run_load
    from pipeline.pgvector import SkipLoaded as SkipLoaded
    from pipeline.pgvector import WriteToPgvector as WriteToPgvector
    from pipeline.read import ReadAllDocuments as ReadAllDocuments
    from pipeline.read import ReadDocuments as ReadDocuments
    from pipeline.read_messages import BatchLimits as BatchLimits
    from pipeline.read_messages import ReadMessages as ReadMessages
    from pipeline.source_text import recover as recover
    from pipeline.source_text import recover_text as recover_text
    from pipeline.text_recovery import RecoverText as RecoverText
    from pipeline.window_files import WriteWindows as WriteWindows
    from pipeline.write import WriteChunks as WriteChunks

_HOMES = {
    "BatchLimits": "pipeline.read_messages",
    "ChunkDocuments": "pipeline.chunk",
    "EmbedChunks": "pipeline.embed_chunks",
    "JobConfig": "pipeline.config",
    "JobResult": "pipeline.build",
    "LoadResult": "pipeline.load",
    "ReadAllDocuments": "pipeline.read",
    "ReadDocuments": "pipeline.read",
    "ReadMessages": "pipeline.read_messages",
    "RecoverText": "pipeline.text_recovery",
    "SkipLoaded": "pipeline.pgvector",
    "WriteChunks": "pipeline.write",
    "WriteToPgvector": "pipeline.pgvector",
    "WriteWindows": "pipeline.window_files",
    "build_pipeline": "pipeline.build",
    "recover": "pipeline.source_text",
    "recover_text": "pipeline.source_text",
    "run_job": "pipeline.build",
    "run_load": "pipeline.load",
}


def _is_of_use(record: logging.LogRecord) -> bool:
    return not record.getMessage().startswith("apitools not found")


if not logging.getLogger().handlers:  # whoever has set up logging sees all of it
    logging.getLogger().addFilter(_is_of_use)  # Beam warns, when imported, of what nobody asked for


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES])
