"""Hugging Face ``tokenizers``: spans from the tokenizer's own offsets.

Its offsets stay exact where normalising changes the text (lower case, accents stripped, CJK set apart), so
BERT-like tokenizers need no search either. They come as a list of tuples for each text: this is the one path
on which a Python object is made for each token.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from llm_splitter.texts import Bytes, Offsets, TextBatch
from llm_splitter.tokenizers import TokenSpans
from llm_splitter.utf8 import begins_character


class Encoded(Protocol):
    """The result of encoding one text: ``(start, end)`` of each token, in code points."""

    offsets: list[tuple[int, int]]


class ReportsOffsets(Protocol):
    """Any tokenizer object whose ``encode`` reports offsets."""

    def encode(self, text: str) -> Encoded:
        """The tokens of a text."""


class OffsetTokenizer:
    """A tokenizer object of which nothing is known but that it reports offsets.

    Chunks hold at most ``chunk_size`` of its tokens; whether a chunk's own text would give as many when encoded
    alone is not asked, since such an object may answer only for the texts that it was made for.
    """

    counts_text = False
    is_shared = False

    def __init__(self, tokenizer: ReportsOffsets) -> None:
        self._tokenizer = tokenizer
        kind = type(tokenizer)
        self.name = getattr(tokenizer, "name", None) or f"{kind.__module__}.{kind.__qualname__}"
        self.version = "custom"
        self.engine = self.name

    def encode(self, batch: TextBatch, threads: int = 0) -> list[Encoded]:
        """The tokens of every part, one call a part."""
        texts = (batch.part(index) for index in range(len(batch.part_offsets) - 1))
        return [self._tokenizer.encode(text) for text in texts]

    def spans(self, batch: TextBatch, encoded: list[Encoded] | None = None) -> TokenSpans:
        """The token spans of every part."""
        return _token_spans(batch, self.encode(batch) if encoded is None else encoded)

    def counts(self, texts: Sequence[bytes]) -> Offsets:
        """The number of tokens of each text, encoded alone."""
        return np.array([len(self._tokenizer.encode(text.decode()).offsets) for text in texts], dtype=np.int64)


class HuggingFaceTokenizer:
    """A ``tokenizers.Tokenizer``, from its JSON; it travels to other processes as that.

    Padding, truncation and special tokens are off: a chunk's tokens are those of its text, and the string of
    a special token in a document is ordinary text.
    """

    counts_text = True
    is_shared = False  # it has threads of its own

    def __init__(self, json: str, name: str) -> None:
        import tokenizers  # noqa: PLC0415 - an optional extra

        self._json = json
        self.name = name
        self.version = f"sha256:{hashlib.sha256(json.encode()).hexdigest()}"
        self.engine = f"tokenizers {importlib.metadata.version('tokenizers')}"
        self._tokenizer: Any = tokenizers.Tokenizer.from_str(json)
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()
        self._tokenizer.encode_special_tokens = True

    def __reduce__(self) -> tuple[type[HuggingFaceTokenizer], tuple[str, str]]:
        return HuggingFaceTokenizer, (self._json, self.name)

    def encode(self, batch: TextBatch, threads: int = 0) -> list[Encoded]:
        """The tokens of every part, in one batch on the tokenizer's own threads."""
        return self._encode_all(batch.part_bytes())

    def spans(self, batch: TextBatch, encoded: list[Encoded] | None = None) -> TokenSpans:
        """The token spans of every part."""
        return _token_spans(batch, self.encode(batch) if encoded is None else encoded)

    def counts(self, texts: Sequence[bytes]) -> Offsets:
        """The number of tokens of each text, encoded alone."""
        return np.array([len(encoded.ids) for encoded in self._encode_all(texts)], dtype=np.int64)

    def _encode_all(self, texts: Sequence[bytes]) -> list[Any]:
        decoded = [text.decode() for text in texts]
        if len(decoded) == 1:  # sending it to other threads would take longer
            return [self._tokenizer.encode(decoded[0], add_special_tokens=False)]
        encoded: list[Any] = self._tokenizer.encode_batch(decoded, add_special_tokens=False)
        return encoded


def _token_spans(batch: TextBatch, encoded: list[Encoded]) -> TokenSpans:
    counts = np.zeros(len(encoded) + 1, dtype=np.int64)
    np.cumsum([len(tokens.offsets) for tokens in encoded], out=counts[1:])
    spans = np.empty((counts[-1], 2), dtype=np.int64)
    for index, tokens in enumerate(encoded):
        if tokens.offsets:
            start, end = batch.part_offsets[index : index + 2]
            positions = _byte_positions(batch.data[start:end]) + start
            spans[counts[index] : counts[index + 1]] = positions[_in_order(np.array(tokens.offsets))]
    return TokenSpans(np.ascontiguousarray(spans[:, 0]), np.ascontiguousarray(spans[:, 1]), counts)


def _in_order(offsets: Offsets) -> Offsets:
    """Offsets that never step back: a normaliser may report an inserted character anywhere."""
    ordered: Offsets = np.maximum.accumulate(offsets, axis=0)
    ordered[:, 1] = np.maximum(ordered[:, 0], ordered[:, 1])
    return ordered


def _byte_positions(data: Bytes) -> Offsets:
    """The byte position of each character, and of the end."""
    return np.append(np.flatnonzero(begins_character(data)), len(data))
