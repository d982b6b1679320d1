"""Other packages that split text by tokens, each as a function from a text to its pieces."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

from benchmarks.tables import is_installed


class Piece(NamedTuple):
    """A chunk of a peer: its text, and the Python index where it starts, if the peer says."""

    text: str
    start: int | None


Cut: TypeAlias = Callable[[str], list[Piece]]


@dataclass(frozen=True)
class Peer:
    """A way to split that can be compared with ours.

    Attributes:
        name: As tables show it.
        package: What must be installed.
        make: The splitter for an encoding, a chunk size and an overlap in tokens.
    """

    name: str
    package: str
    make: Callable[[str, int, int], Cut]


def installed_peers() -> list[Peer]:
    """Those whose package is there."""
    return [peer for peer in PEERS if is_installed(peer.package)]


def missing_note() -> list[str]:
    """A line that says which packages were skipped, if any."""
    missing = sorted({peer.package for peer in PEERS if not is_installed(peer.package)})
    return [f"Skipped, not installed: {', '.join(missing)} (`pip install '.[benchmarks]'`)."] if missing else []


def _langchain_tokens(encoding: str, size: int, overlap: int) -> Cut:
    from langchain_text_splitters import TokenTextSplitter

    splitter = TokenTextSplitter(encoding_name=encoding, chunk_size=size, chunk_overlap=overlap, disallowed_special=())
    return lambda text: [Piece(piece, None) for piece in splitter.split_text(text)]


def _langchain_recursive(encoding: str, size: int, overlap: int) -> Cut:
    from langchain_text_splitters import RecursiveCharacterTextSplitter

    splitter = RecursiveCharacterTextSplitter.from_tiktoken_encoder(
        encoding, chunk_size=size, chunk_overlap=overlap, add_start_index=True, disallowed_special=()
    )

    def cut(text: str) -> list[Piece]:
        found = splitter.create_documents([text])
        starts = [document.metadata["start_index"] for document in found]
        return [
            Piece(document.page_content, start if start >= 0 else None)
            for document, start in zip(found, starts, strict=True)
        ]

    return cut


def _semantic(encoding: str, size: int, overlap: int) -> Cut:
    from semantic_text_splitter import TextSplitter

    model = {"cl100k_base": "gpt-4", "o200k_base": "gpt-4o"}[encoding]
    splitter = TextSplitter.from_tiktoken_model(model, size, overlap)
    return lambda text: [Piece(piece, start) for start, piece in splitter.chunk_indices(text)]


def _semchunk(encoding: str, size: int, overlap: int) -> Cut:
    import semchunk
    import tiktoken

    module: Any = semchunk  # its functions are not marked as exported
    chunker = module.chunkerify(tiktoken.get_encoding(encoding), size)

    def cut(text: str) -> list[Piece]:
        pieces, offsets = chunker(text, offsets=True, overlap=overlap or None)
        return [Piece(piece, start) for piece, (start, _) in zip(pieces, offsets, strict=True)]

    return cut


def _chonkie_tokens(encoding: str, size: int, overlap: int) -> Cut:
    import tiktoken
    from chonkie import TokenChunker

    tokenizer: Any = tiktoken.get_encoding(encoding)
    return _chonkie(TokenChunker(tokenizer, chunk_size=size, chunk_overlap=overlap))


def _chonkie_recursive(encoding: str, size: int, overlap: int) -> Cut:
    import tiktoken
    from chonkie import RecursiveChunker

    del overlap  # it has none
    tokenizer: Any = tiktoken.get_encoding(encoding)
    return _chonkie(RecursiveChunker(tokenizer, chunk_size=size))


def _chonkie(chunker: Any) -> Cut:
    return lambda text: [Piece(chunk.text, chunk.start_index) for chunk in chunker.chunk(text)]


def _llama_index(encoding: str, size: int, overlap: int) -> Cut:
    import tiktoken
    from llama_index.core import Document
    from llama_index.core.node_parser import SentenceSplitter

    tokenizer = tiktoken.get_encoding(encoding).encode_ordinary
    parser = SentenceSplitter(chunk_size=size, chunk_overlap=overlap, tokenizer=tokenizer)

    def cut(text: str) -> list[Piece]:
        nodes: Any = parser.get_nodes_from_documents([Document(text=text)])
        return [Piece(node.text, node.start_char_idx) for node in nodes]

    return cut


PEERS = (
    Peer("LangChain TokenTextSplitter", "langchain-text-splitters", _langchain_tokens),
    Peer("LangChain Recursive (tiktoken)", "langchain-text-splitters", _langchain_recursive),
    Peer("semantic-text-splitter", "semantic-text-splitter", _semantic),
    Peer("semchunk", "semchunk", _semchunk),
    Peer("chonkie TokenChunker", "chonkie", _chonkie_tokens),
    Peer("chonkie RecursiveChunker", "chonkie", _chonkie_recursive),
    Peer("LlamaIndex SentenceSplitter", "llama-index-core", _llama_index),
)
