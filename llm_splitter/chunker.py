"""The chunker: options with their splitter resolved once, then batch after batch."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from itertools import accumulate, zip_longest
from pathlib import Path
from typing import Literal, TypeAlias

import numpy as np

from llm_splitter.chunk_arrays import Boundaries, ChunkArrays, in_unit, join, keep, place
from llm_splitter.custom import custom_spans
from llm_splitter.encodings import ENCODINGS
from llm_splitter.loading import load_encoding, load_file, load_object
from llm_splitter.options import SplitOptions
from llm_splitter.packing import pack
from llm_splitter.paragraphs import paragraph_starts, within_paragraphs
from llm_splitter.splitters import BUILT_IN
from llm_splitter.texts import TextBatch
from llm_splitter.token_packing import TokenPacker
from llm_splitter.tokenizers import EngineName, Tokenizer, TokenSpans
from llm_splitter.types import Splitter

Errors: TypeAlias = list[tuple[int, BaseException]]
_GROUP_BYTES = 1 << 22  # what is computed at a time, so that arrays a token stay in the processor's cache
OnError: TypeAlias = Literal["raise", "collect"]


class Chunker:
    """Splits batches of documents by one set of options; every way into the library goes through here.

    The splitter is looked up, and a tokenizer loaded, once, when the chunker is built. A pickled chunker
    carries all that it needs: the process that unpickles it loads nothing from a network.

    Args:
        options: How to split.
        engine: The package that encodes, for token encodings by name: ``"auto"``, ``"quicktok"`` or
            ``"tiktoken"``. All give the same chunks.

    Attributes:
        options: As given.
        tokenizer_name: The encoding, or the name of the splitter.
        tokenizer_version: The package that counts tokens and its version; empty for other splitters.
        fingerprint: 32 hex digits that differ where options or tokenizer do, so that chunks do; the engine
            has no part in it. A custom splitter is known by module and name only.

    Raises:
        ValueError: an unknown splitter, or a vocabulary that cannot be loaded.

    >>> chunker = Chunker(SplitOptions(chunk_size=2, splitter="words"))
    >>> chunker.chunk(TextBatch.from_strings(["a b c", "d"])).start.tolist()
    [0, 4, 0]
    """

    def __init__(self, options: SplitOptions, engine: EngineName = "auto") -> None:
        self.options = options
        self._split, self.tokenizer_name, self.tokenizer_version, identity = _resolve(options.splitter, engine)
        settings = {**vars(options), "splitter": identity}
        self.fingerprint = hashlib.blake2b(json.dumps(settings, sort_keys=True).encode(), digest_size=16).hexdigest()

    def chunk(self, batch: TextBatch, on_error: OnError = "raise") -> ChunkArrays:
        """The chunks of all documents of a batch.

        Args:
            batch: The documents.
            on_error: What to do where a custom splitter fails: ``"raise"`` what it raised, or ``"collect"`` it
                in ``errors`` and go on with the next document.
        """
        boundaries, errors = self._split(batch, self.options, on_error)
        return in_unit(batch, boundaries, self.options.offset_unit, errors)


_Split: TypeAlias = Callable[[TextBatch, SplitOptions, OnError], tuple[Boundaries, Errors]]


def _resolve(splitter: object, engine: EngineName) -> tuple[_Split, str, str, str]:
    """How to split, the splitter's name, its tokenizer's version, and what makes it equal to another."""
    if isinstance(splitter, str) and splitter in BUILT_IN:
        return partial(_split_built_in, splitter), splitter, "", f"built-in:{splitter}"
    tokenizer = _load(splitter, engine)
    if tokenizer is not None:
        return partial(_split_tokens, tokenizer), tokenizer.name, tokenizer.version, tokenizer.identity
    if not callable(splitter):
        raise ValueError(
            f"splitter must be a name ({_names()}), a callable from a text to its parts, or a tokenizer object, "
            f"got {splitter!r:.80}"
        )
    name = f"{getattr(splitter, '__module__', '')}.{getattr(splitter, '__qualname__', type(splitter).__qualname__)}"
    return partial(_split_custom, splitter), name, "", f"custom:{name}"


def _load(splitter: object, engine: EngineName) -> Tokenizer | None:
    if isinstance(splitter, (str, Path)):
        if Path(splitter).suffix in (".json", ".tiktoken"):
            return load_file(Path(splitter))
        if splitter in ENCODINGS:
            return load_encoding(str(splitter), engine)
        raise ValueError(
            f"unknown splitter {str(splitter)!r}; known are {_names()}, a path to a tokenizer.json or to a "
            "<encoding>.tiktoken rank file"
        )
    return load_object(splitter)


def _names() -> str:
    return ", ".join([*BUILT_IN, *sorted(ENCODINGS)])


def _split_built_in(name: str, batch: TextBatch, options: SplitOptions, _: OnError) -> tuple[Boundaries, Errors]:
    groups = list(batch.groups(_GROUP_BYTES)) or [batch]
    return _joined(batch, groups, [_pack_built_in(name, group, options) for group in groups]), []


def _joined(batch: TextBatch, groups: list[TextBatch], packed: list[Boundaries]) -> Boundaries:
    origins = accumulate((len(group.data) for group in groups[:-1]), initial=int(batch.part_offsets[0]))
    return join(packed, list(origins))


def _pack_built_in(name: str, batch: TextBatch, options: SplitOptions) -> Boundaries:
    spans = BUILT_IN[name](batch)
    if options.chunk_strategy == "paragraph":
        spans = within_paragraphs(batch, spans, options.paragraph_break)
    boundaries = place(batch, spans, pack(spans, options))
    if options.chunk_strategy == "character":
        boundaries = _from_the_beginning(batch, boundaries)
    return boundaries


def _from_the_beginning(batch: TextBatch, boundaries: Boundaries) -> Boundaries:
    """The first chunk of a document takes the white space that leads it, so that no character is unowned."""
    has_chunks = np.diff(boundaries.doc_offsets) > 0
    start = boundaries.byte_start.copy()
    start[boundaries.doc_offsets[:-1][has_chunks]] = batch.doc_offsets[:-1][has_chunks]
    return replace(boundaries, byte_start=start)


def _split_tokens(
    tokenizer: Tokenizer, batch: TextBatch, options: SplitOptions, _: OnError
) -> tuple[Boundaries, Errors]:
    groups = list(batch.groups(_GROUP_BYTES)) or [batch]
    packed = [_pack_tokens(tokenizer, group, tokens, options) for group, tokens in _spans_ahead(tokenizer, groups)]
    return _joined(batch, groups, packed), []


def _spans_ahead(tokenizer: Tokenizer, groups: list[TextBatch]) -> Iterator[tuple[TextBatch, TokenSpans]]:
    """Each group with its token spans, the next one's being made meanwhile: encoding leaves Python free."""
    if len(groups) == 1:
        yield groups[0], tokenizer.spans(groups[0])
        return
    with ThreadPoolExecutor(1) as pool:
        pending = pool.submit(tokenizer.spans, groups[0])
        for group, following in zip_longest(groups, groups[1:]):
            tokens = pending.result()
            if following is not None:
                pending = pool.submit(tokenizer.spans, following)
            yield group, tokens


def _pack_tokens(tokenizer: Tokenizer, batch: TextBatch, tokens: TokenSpans, options: SplitOptions) -> Boundaries:
    if options.chunk_strategy == "paragraph":
        starts = paragraph_starts(batch, options.paragraph_break)
        return TokenPacker(batch, tokens.cut_at(starts), tokenizer, options, starts).pack()
    return TokenPacker(batch, tokens, tokenizer, options).pack()


def _split_custom(
    splitter: Splitter, batch: TextBatch, options: SplitOptions, on_error: OnError
) -> tuple[Boundaries, Errors]:
    spans, errors = custom_spans(batch, splitter, options, on_error == "collect")
    boundaries = place(batch, spans, pack(spans, options))
    return _without_empty_tails(boundaries, options.chunk_size), errors


def _without_empty_tails(boundaries: Boundaries, size: int) -> Boundaries:
    """Upstream emits a chunk of nothing but zero-width parts behind the text only where it is full."""
    repeats = np.zeros(len(boundaries.byte_end), dtype=bool)
    repeats[1:] = boundaries.byte_end[1:] == boundaries.byte_end[:-1]
    has_chunks = np.diff(boundaries.doc_offsets) > 0
    repeats[boundaries.doc_offsets[:-1][has_chunks]] = False
    return keep(boundaries, ~repeats | (boundaries.token_count >= size))
