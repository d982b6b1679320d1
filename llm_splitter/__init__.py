"""Text in, chunks with exact offsets out."""

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
