"""Text in, chunks with exact offsets out."""

from typing import TYPE_CHECKING

from llm_splitter.chunk_arrays import ChunkArrays
from llm_splitter.chunker import Chunker
from llm_splitter.chunking import split
from llm_splitter.offsets import get_chunk
from llm_splitter.options import SplitOptions
from llm_splitter.texts import TextBatch
from llm_splitter.types import Chunk, Part, Splitter

__all__ = [
    "Chunk",
    "ChunkArrays",
    "Chunker",
    "Part",
    "SplitOptions",
    "Splitter",
    "TextBatch",
    "get_chunk",
    "split",
]

if TYPE_CHECKING:
    __version__: str
else:

    def __getattr__(name: str) -> str:
        if name != "__version__":
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from importlib.metadata import version  # noqa: PLC0415 - looked up by those who ask, as it takes a while

        return version("llm-splitter")
