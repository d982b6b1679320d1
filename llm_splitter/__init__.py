"""Text in, chunks with exact offsets out."""

from llm_splitter.chunk_arrays import ChunkArrays as ChunkArrays
from llm_splitter.chunker import Chunker as Chunker
from llm_splitter.chunking import split as split
from llm_splitter.offsets import get_chunk as get_chunk
from llm_splitter.options import SplitOptions as SplitOptions
from llm_splitter.texts import TextBatch as TextBatch
from llm_splitter.types import Chunk as Chunk
from llm_splitter.types import Part as Part
from llm_splitter.types import Splitter as Splitter
