"""The three ways to split a batch: a built-in splitter's parts, a tokenizer's tokens, a custom splitter's parts.

Batches are worked on in groups of a few megabytes, so that arrays with an entry a token stay in the processor's
cache, and the next group is encoded while one is packed.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from itertools import accumulate, zip_longest
from typing import Any, Literal, TypeAlias

import numpy as np

from llm_splitter.chunk_arrays import NO_CHUNKS, Boundaries, join, keep, place
from llm_splitter.custom import custom_spans
from llm_splitter.faults import NEVER_CAUGHT
from llm_splitter.options import SplitOptions
from llm_splitter.packing import Stretches, pack, pack_evenly
from llm_splitter.paragraphs import paragraph_starts, within_paragraphs
from llm_splitter.splitters import BUILT_IN
from llm_splitter.texts import TextBatch
from llm_splitter.token_packing import TokenPacker
from llm_splitter.tokenizers import Tokenizer, TokenSpans
from llm_splitter.types import Splitter
from llm_splitter.unit_index import UnitIndex

Errors: TypeAlias = list[tuple[int, BaseException]]
OnError: TypeAlias = Literal["raise", "collect"]

_GROUP_BYTES = 1 << 22
_FEW_GROUPS = 3  # a job works on several such batches side by side, and then a thread more gets in the way


def split_built_in(name: str, batch: TextBatch, options: SplitOptions, _: OnError) -> tuple[Boundaries, Errors]:
    """Chunks of a built-in splitter's parts, by its name."""
    groups = _groups(batch)
    return _joined(batch, groups, [_pack_built_in(name, group, options) for group in groups]), []


def _groups(batch: TextBatch) -> list[TextBatch]:
    return list(batch.groups(_GROUP_BYTES)) or [TextBatch.from_strings([])]


def _joined(batch: TextBatch, groups: list[TextBatch], packed: list[Boundaries]) -> Boundaries:
    origins = accumulate((len(group.data) for group in groups[:-1]), initial=int(batch.part_offsets[0]))
    return join(packed, list(origins))


def _pack_built_in(name: str, batch: TextBatch, options: SplitOptions) -> Boundaries:
    if name == "characters" and options.chunk_strategy == "character":
        return _pack_characters(batch, options)
    spans = BUILT_IN[name](batch)
    if options.chunk_strategy == "paragraph":
        spans = within_paragraphs(batch, spans, options.paragraph_break)
    boundaries = place(batch, spans, pack(spans, options))
    if options.chunk_strategy == "character":
        boundaries = _from_the_beginning(batch, boundaries)
    return boundaries


def _pack_characters(batch: TextBatch, options: SplitOptions) -> Boundaries:
    """Chunks of so many characters, without a span for each of them."""
    index = UnitIndex(batch.data)
    documents = index.count_before(batch.doc_offsets)
    begin, end = documents[:-1], documents[1:]
    packing = pack_evenly(Stretches(begin, begin, end), options.chunk_size, options.chunk_overlap)
    first, last = packing.first, packing.last
    counts = (last - first).astype(np.int32)
    is_over = np.zeros(len(first), dtype=bool)
    return Boundaries(index.positions(first), index.positions(last), counts, is_over, packing.doc_offsets)


def _from_the_beginning(batch: TextBatch, boundaries: Boundaries) -> Boundaries:
    """The first chunk of a document takes the white space that leads it, so that no character is unowned."""
    has_chunks = np.diff(boundaries.doc_offsets) > 0
    start = boundaries.byte_start.copy()
    start[boundaries.doc_offsets[:-1][has_chunks]] = batch.doc_offsets[:-1][has_chunks]
    return replace(boundaries, byte_start=start)


def split_tokens(
    tokenizer: Tokenizer, batch: TextBatch, options: SplitOptions, on_error: OnError
) -> tuple[Boundaries, Errors]:
    """Chunks of a tokenizer's tokens."""
    groups = _groups(batch)
    packed: list[Boundaries] = []
    errors: Errors = []
    first = 0
    for group, encoded in _encode_ahead(tokenizer, groups):
        try:
            packed.append(_pack_tokens(tokenizer, group, tokenizer.spans(group, encoded()), options))
        except NEVER_CAUGHT:
            raise
        except BaseException:
            if on_error == "raise":
                raise
            boundaries, failed = _pack_one_by_one(tokenizer, group, options)
            packed.append(boundaries)
            errors.extend((first + document, error) for document, error in failed)
        first += len(group)
    return _joined(batch, groups, packed), errors


def _encode_ahead(tokenizer: Tokenizer, groups: list[TextBatch]) -> Iterator[tuple[TextBatch, Callable[[], Any]]]:
    """Each group with what gives its encoded tokens; of many, the next ones are encoded while it is worked on."""
    if len(groups) <= _FEW_GROUPS:
        yield from ((group, partial(tokenizer.encode, group)) for group in groups)
        return
    cores = os.cpu_count() or 1
    # a core for each group, where there are enough: none waits for the others of its group then
    workers, threads = (cores, 1) if tokenizer.is_shared and len(groups) > _FEW_GROUPS * cores else (1, 0)
    with ThreadPoolExecutor(workers) as pool:
        ahead = 2 * workers
        pending = deque(pool.submit(tokenizer.encode, group, threads) for group in groups[:ahead])
        for group, following in zip_longest(groups, groups[ahead:]):
            yield group, pending.popleft().result
            if following is not None:
                pending.append(pool.submit(tokenizer.encode, following, threads))


def _pack_one_by_one(tokenizer: Tokenizer, batch: TextBatch, options: SplitOptions) -> tuple[Boundaries, Errors]:
    """The chunks of a batch of which some document makes the tokenizer fail, and those that do."""
    documents = list(batch.groups(0))
    packed: list[Boundaries] = []
    errors: Errors = []
    for number, document in enumerate(documents):
        try:
            packed.append(_pack_tokens(tokenizer, document, tokenizer.spans(document), options))
        except NEVER_CAUGHT:
            raise
        except BaseException as error:  # noqa: BLE001 - see faults
            packed.append(NO_CHUNKS)
            errors.append((number, error))
    return _joined(batch, documents, packed), errors


def _pack_tokens(tokenizer: Tokenizer, batch: TextBatch, tokens: TokenSpans, options: SplitOptions) -> Boundaries:
    if options.chunk_strategy == "paragraph":
        starts = paragraph_starts(batch, options.paragraph_break)
        return TokenPacker(batch, tokens, tokenizer, options, starts).pack()
    return TokenPacker(batch, tokens, tokenizer, options).pack()


def split_custom(
    splitter: Splitter, batch: TextBatch, options: SplitOptions, on_error: OnError
) -> tuple[Boundaries, Errors]:
    """Chunks of a custom splitter's parts."""
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
