"""Documents in, chunk rows out, on Apache Beam.

Names are imported when they are first asked for: Beam takes seconds to load, and help or a look at one text's
chunks needs none of it.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pipeline.build import JobResult as JobResult
    from pipeline.build import build_pipeline as build_pipeline
    from pipeline.build import run_job as run_job
    from pipeline.chunk import ChunkDocuments as ChunkDocuments
    from pipeline.config import JobConfig as JobConfig
    from pipeline.read import ReadAllDocuments as ReadAllDocuments
    from pipeline.read import ReadDocuments as ReadDocuments
    from pipeline.write import WriteChunks as WriteChunks

_HOMES = {
    "ChunkDocuments": "pipeline.chunk",
    "JobConfig": "pipeline.config",
    "JobResult": "pipeline.build",
    "ReadAllDocuments": "pipeline.read",
    "ReadDocuments": "pipeline.read",
    "WriteChunks": "pipeline.write",
    "build_pipeline": "pipeline.build",
    "run_job": "pipeline.build",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES])
