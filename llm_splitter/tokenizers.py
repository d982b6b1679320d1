"""Text to token spans, exact from the bytes; the only module that knows the tokenizer packages.

A byte-pair token stands for known bytes, so a document's tokens end at the running total of their lengths:
nothing is searched for and nothing is decoded.
"""

from __future__ import annotations

import importlib.metadata
import os
import re
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache, partial
from typing import Any, Literal, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from llm_splitter.safe_cuts import TokenCuts
from llm_splitter.texts import Offsets, TextBatch

_PIECE_BYTES = 1 << 18
_BLOCK_TOKENS = 1 << 20  # added up in one go: what is needed on the way for a long text is as much as for these
_LONG = 1 << 31  # bytes of text from which on positions take eight bytes
# some of what safe_cuts knows: ASCII before a space, Han letters (U+5000 to U+8FFF) before their stop or comma
_SURE_CUT = re.compile(rb"[!-~](?= )|[\xe5-\xe8][\x80-\xbf]{2}(?=\xe3\x80\x82|\xef\xbc\x8c)")

EngineName: TypeAlias = Literal["auto", "tiktoken", "quicktok"]
Ids: TypeAlias = NDArray[np.uint32]
TokenPositions: TypeAlias = NDArray[np.signedinteger[Any]]
"""Byte positions of tokens, in as few bytes as the text allows."""


class Engine(Protocol):
    """Bytes to token ids, for many texts at once."""

    name: str

    def encode_batch(self, texts: Sequence[bytes], threads: int = 0) -> tuple[Ids, Offsets]:
        """The ids of all texts end to end, and where each text's begin (one more than there are texts).

        On so many threads, or with 0 as many as there are cores.
        """

    def vocabulary(self) -> Vocabulary:
        """What is known of the tokens."""


class Vocabulary:
    """What is computed from the ids of a vocabulary's tokens alone.

    Args:
        tokens: The bytes of every token, by id.
    """

    def __init__(self, tokens: list[bytes]) -> None:
        self.lengths: NDArray[np.uint16] = np.fromiter(map(len, tokens), dtype=np.uint16, count=len(tokens))
        self.cuts = TokenCuts(tokens)


class QuicktokEngine:
    """quicktok: a fast exact encoder that carries its vocabularies in the wheel."""

    name = "quicktok"

    def __init__(self, encoding: str) -> None:
        import quicktok  # noqa: PLC0415 - optional: not every platform has wheels

        self._encoding = encoding
        self._tokenizer = quicktok.get_encoding(encoding)

    def __reduce__(self) -> tuple[type[QuicktokEngine], tuple[str]]:
        return QuicktokEngine, (self._encoding,)

    def encode_batch(self, texts: Sequence[bytes], threads: int = 0) -> tuple[Ids, Offsets]:
        """See ``Engine``."""
        ids, offsets = self._tokenizer.encode_batch(texts, threads=threads)
        return ids, offsets

    def vocabulary(self) -> Vocabulary:
        """See ``Engine``."""
        return _quicktok_vocabulary(self._encoding)

    def token_bytes(self) -> list[bytes]:
        """The bytes of the ordinary tokens, by id."""
        # token_byte_values() is in no documented order, so only its length is of use
        decode = self._tokenizer.decode_single_token_bytes
        return [decode(token) for token in range(len(self._tokenizer.token_byte_values()))]


@cache
def _quicktok_vocabulary(encoding: str) -> Vocabulary:
    """Kept for the next chunker: asking for each of 200,000 tokens takes a quarter of a second."""
    tokenizer = QuicktokEngine(encoding)
    return Vocabulary(tokenizer.token_bytes())


class TiktokenEngine:
    """tiktoken, the reference. Travels to other processes by value: no worker loads a vocabulary."""

    name = "tiktoken"

    def __init__(self, name: str, pattern: str, ranks: dict[bytes, int]) -> None:
        import tiktoken  # noqa: PLC0415 - takes a while to load, and quicktok may serve alone

        self._state = (name, pattern, ranks)
        # without special tokens: their strings are ordinary text here
        self._encoding = tiktoken.Encoding(name, pat_str=pattern, mergeable_ranks=ranks, special_tokens={})

    def __reduce__(self) -> tuple[type[TiktokenEngine], tuple[str, str, dict[bytes, int]]]:
        return TiktokenEngine, self._state

    def encode_batch(self, texts: Sequence[bytes], threads: int = 0) -> tuple[Ids, Offsets]:
        """See ``Engine``."""
        threads = threads or os.cpu_count() or 1
        share = -(-len(texts) // (4 * threads)) or 1  # a task a text would cost more than a short text does
        shares = [texts[start : start + share] for start in range(0, len(texts), share)]
        with ThreadPoolExecutor(threads) as pool:
            encoded = [ids for some in pool.map(self._encode_all, shares) for ids in some]
        offsets = np.zeros(len(encoded) + 1, dtype=np.int64)
        np.cumsum([len(ids) for ids in encoded], out=offsets[1:])
        return np.concatenate([np.zeros(0, dtype=np.uint32), *encoded]), offsets

    def _encode_all(self, texts: Sequence[bytes]) -> list[Ids]:
        return [self._encode(text) for text in texts]

    def _encode(self, text: bytes) -> Ids:
        ids: Ids = self._encoding.encode_to_numpy(text.decode(), disallowed_special=())
        return ids

    def vocabulary(self) -> Vocabulary:
        """See ``Engine``."""
        _, _, ranks = self._state
        tokens = [b""] * (max(ranks.values()) + 1)
        for token, rank in ranks.items():
            tokens[rank] = token
        return Vocabulary(tokens)


@dataclass(frozen=True)
class TokenSpans:
    """Where the tokens of a batch's parts stand in its buffer.

    Attributes:
        starts: Byte position of each token; it may lie inside a character.
        ends: Byte position behind each token.
        part_tokens: Token numbers at which the batch's parts begin, and the number of tokens.
        is_safe_cut: Tells of token numbers, in an array of any shape, whether the text is surely split between
            words before each, so that cutting it there changes no token on either side; ``None`` where nothing
            is known.
        is_gapless: Whether every token begins where the one before ends, and holds some text.
    """

    starts: TokenPositions
    ends: TokenPositions
    part_tokens: Offsets
    is_safe_cut: Callable[[Offsets], NDArray[np.bool_]] | None = None
    is_gapless: bool = False

    def positions(self, tokens: Offsets) -> Offsets:
        """The byte position of each token, and of the end for the number behind the last."""
        positions: Offsets = self.starts.take(tokens, mode="clip").astype(np.int64)
        positions[tokens == len(self.starts)] = self.ends[-1] if len(self.ends) else 0
        return positions


class Tokenizer(Protocol):
    """What the chunker needs of a tokenizer.

    Attributes:
        name: The encoding's name, as recorded with the chunks.
        version: Of the vocabulary: with the name, equal for tokenizers that give equal tokens on any engine.
        engine: The package that encodes, and its version.
        counts_text: Whether ``counts`` is to be believed for any text, so that the size promise can be kept.
        is_shared: Whether several threads may encode at once, and are faster for it.
    """

    name: str
    version: str
    engine: str
    counts_text: bool
    is_shared: bool

    def encode(self, batch: TextBatch, threads: int = 0) -> Any:
        """The tokens of every part of a batch, in the engine's own form; the work that leaves Python free.

        On so many threads where that can be said, or with 0 as many as there are cores.
        """

    def spans(self, batch: TextBatch, encoded: Any = None) -> TokenSpans:
        """The token spans of every part of a batch, of what ``encode`` gave for it, or encoded now."""

    def counts(self, texts: Sequence[bytes]) -> Offsets:
        """The number of tokens of each text, encoded alone."""


class BytePairTokenizer:
    """A byte-level byte-pair encoding on one of the engines."""

    counts_text = True
    is_shared = True

    def __init__(self, name: str, version: str, engine: Engine, has_safe_cuts: bool) -> None:
        self.name = name
        self.version = version
        self.engine = f"{engine.name} {_version(engine.name)}"
        self._engine = engine
        vocabulary = engine.vocabulary()
        self._lengths = vocabulary.lengths
        self._cuts = vocabulary.cuts if has_safe_cuts else None

    def __reduce__(self) -> tuple[type[BytePairTokenizer], tuple[str, str, Engine, bool]]:
        return BytePairTokenizer, (self.name, self.version, self._engine, self._cuts is not None)

    def encode(self, batch: TextBatch, threads: int = 0) -> tuple[Ids, Offsets]:
        """The ids of all tokens, and the token numbers at which parts begin: one call of the engine."""
        pieces, part_pieces = self._pieces(batch)
        ids, offsets = self._engine.encode_batch(pieces, threads)
        return ids, np.asarray(offsets, dtype=np.int64)[part_pieces]

    def spans(self, batch: TextBatch, encoded: tuple[Ids, Offsets] | None = None) -> TokenSpans:
        """The token spans of every part, from the running total of the tokens' lengths."""
        ids, part_tokens = encoded or self.encode(batch)
        bounds: TokenPositions = np.empty(len(ids) + 1, dtype=np.int32 if batch.part_offsets[-1] < _LONG else np.int64)
        bounds[0] = batch.part_offsets[0]
        for first in range(0, len(ids), _BLOCK_TOKENS):
            block = bounds[first + 1 : first + 1 + _BLOCK_TOKENS]
            # an id out of range would be clipped here, and shows below as bytes lost
            np.cumsum(self._lengths.take(ids[first : first + _BLOCK_TOKENS], mode="clip"), out=block, dtype=block.dtype)
            block += bounds[first]
        if not np.array_equal(bounds[part_tokens], batch.part_offsets):
            raise RuntimeError(f"{self.engine} lost bytes of a text while encoding it with {self.name}")
        is_safe_cut = None if self._cuts is None else partial(self._cuts.before, ids)
        return TokenSpans(bounds[:-1], bounds[1:], part_tokens, is_safe_cut, is_gapless=True)

    def counts(self, texts: Sequence[bytes]) -> Offsets:
        """The number of tokens of each text, encoded alone."""
        _, offsets = self._engine.encode_batch(texts)
        return np.diff(offsets).astype(np.int64)

    def _pieces(self, batch: TextBatch) -> tuple[list[bytes], list[int]]:
        """The texts to encode, long ones cut where that is safe so that threads share them."""
        pieces: list[bytes] = []
        part_pieces = [0]
        for part in batch.part_bytes():
            pieces.extend(_cut_up(part) if self._cuts is not None and len(part) > 2 * _PIECE_BYTES else [part])
            part_pieces.append(len(pieces))
        return pieces, part_pieces


def _cut_up(text: bytes) -> list[bytes]:
    pieces = []
    start = 0
    while cut := _SURE_CUT.search(text, start + _PIECE_BYTES):
        pieces.append(text[start : cut.end()])
        start = cut.end()
    return [*pieces, text[start:]]


@cache  # reading a package's metadata takes longer than encoding a page
def _version(engine: str) -> str:
    return importlib.metadata.version({"quicktok": "quicktok-v1"}.get(engine, engine))
