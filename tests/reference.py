"""The slow, obvious way: what the arrays must come to, said in plain Python over strings and lists.

Positions are Python indices; spans are pairs of them. Nothing here is shared with the product but the table of
character classes, which has tests of its own.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from functools import cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from llm_splitter.character_classes import (
    CLOSER,
    EXTENDER,
    LEADER,
    OPENER,
    OTHER,
    SINGLE,
    SPACE,
    STOP,
    STRONG_STOP,
    class_of,
)
from tests.contract import WHITESPACE, is_whitespace, joined

LINE_END = re.compile("\r\n|\r|\n")


class Piece(NamedTuple):
    """A chunk of the reference: indices into the joined source, and how many parts it holds."""

    start: int
    end: int
    parts: int


# --- text -> parts


@cache
def kind(character):
    return class_of(np.array([ord(character)], dtype=np.uint32))[0]


def characters(text):
    return [(index, index + 1) for index in range(len(text))]


def words(text):
    starts = []
    before = core = SPACE  # of the character before, and of the last one that decides what follows
    for index, character in enumerate(text):
        now = kind(character)
        if now != SPACE:
            is_held = before in (LEADER, OPENER)
            is_apart = now in (SINGLE, LEADER) or (now in (OTHER, OPENER) and core == SINGLE)
            if before == SPACE or (is_apart and not is_held):
                starts.append(index)
        if now in (OTHER, SPACE, SINGLE, LEADER):
            core = now
        before = now
    return up_to_the_next(text, starts)


def sentences(text):
    starts = {start for start, _ in paragraphs(text, "blank_line")}
    index = 0
    while index < len(text):
        run = index
        while run < len(text) and kind(text[run]) in (STOP, STRONG_STOP, CLOSER, EXTENDER):
            run += 1
        kinds = {kind(character) for character in text[index:run]}
        at_space = run == len(text) or kind(text[run]) == SPACE
        if STRONG_STOP in kinds or (STOP in kinds and at_space):
            starts.add(next_content(text, run))
        index = max(run, index + 1)
    return up_to_the_next(text, sorted(starts - {len(text)}))


def lines(text):
    bounds = [0, *(end.end() for end in LINE_END.finditer(text)), len(text)]
    return up_to_the_next(text, [start for start, end in pairwise(bounds) if not is_whitespace(text[start:end])])


def up_to_the_next(text, starts):
    """Each part ends with the last content before the next one."""
    bounds = [*starts, len(text)]
    return [(start, start + len(text[start:end].rstrip(WHITESPACE))) for start, end in pairwise(bounds)]


def next_content(text, index):
    while index < len(text) and text[index] in WHITESPACE:
        index += 1
    return index


BUILT_IN = {"characters": characters, "words": words, "sentences": sentences, "lines": lines}


# --- text -> paragraphs


def paragraphs(text, paragraph_break):
    """Spans of the paragraphs that have content, trimmed."""
    between = double_newlines(text) if paragraph_break == "\n\n" else blank_lines(text)
    found, start = [], 0
    for end, after in [*between, (len(text), len(text))]:
        piece = text[start:end]
        if not is_whitespace(piece):
            first = next_content(text, start)
            found.append((first, first + len(piece.strip(WHITESPACE))))
        start = after
    return found


def double_newlines(text):
    return [match.span() for match in re.finditer("\n\n", text)]


def blank_lines(text):
    """Spans of lines that hold nothing but white space, where a line end comes before and behind."""
    ends = [end.span() for end in LINE_END.finditer(text)]
    return [(before[0], behind[1]) for before, behind in pairwise(ends) if is_whitespace(text[before[1] : behind[0]])]


# --- parts -> chunks


def pack(groups, size, overlap):
    """Parts of paragraphs into chunks that end with a paragraph where they can; lists of parts."""
    chunks, chunk, holds_paragraph = [], [], False

    def emit():
        chunks.append(list(chunk))
        del chunk[: max(len(chunk) - overlap, 0)]

    for group in groups:
        if holds_paragraph and len(chunk) + len(group) > size:
            emit()
        for part in group:
            if len(chunk) == size:
                emit()
            chunk.append(part)
        holds_paragraph = True
    return [*chunks, chunk] if chunk else chunks


def pack_evenly(parts, size, overlap):
    chunks = []
    for first in range(0, len(parts), size - overlap):
        chunks.append(parts[first : first + size])
        if first + size >= len(parts):
            break
    return chunks


def grouped_parts(source, split_text, paragraph_break=None):
    """The spans of all parts of a document, a list for each paragraph."""
    groups, origin = [], 0
    for text in [source] if isinstance(source, str) else source:
        pieces = [(0, len(text))] if paragraph_break is None else paragraphs(text, paragraph_break)
        for start, end in pieces:
            shift = origin + start
            groups.append([(shift + a, shift + b) for a, b in split_text(text[start:end])])
        origin += len(text)
    return [group for group in groups if group]


def split(source, split_text, *, chunk_size, chunk_overlap=0, chunk_strategy="character", paragraph_break="\n\n"):
    """The chunks of a document, for a splitter that gives spans."""
    if chunk_strategy == "paragraph":
        chunks = pack(grouped_parts(source, split_text, paragraph_break), chunk_size, chunk_overlap)
    else:
        parts = [part for group in grouped_parts(source, split_text) for part in group]
        chunks = pack_evenly(parts, chunk_size, chunk_overlap)
    return placed(chunks, len(joined(source)))


def placed(chunks, length):
    """What is dropped between two parts belongs to the chunk before it."""
    following_starts = [*(chunk[0][0] for chunk in chunks[1:]), length]
    return [
        Piece(chunk[0][0], max(chunk[-1][1], following), len(chunk))
        for chunk, following in zip(chunks, following_starts, strict=False)
    ]


# --- tokens -> chunks, all counts made by encoding


def byte_spans(source, token_lengths):
    """Start and end of every token of a document, in bytes of the joined text."""
    spans, origin = [], 0
    for text in [source] if isinstance(source, str) else source:
        for length in token_lengths(text):
            spans.append((origin, origin + length))
            origin += length
    return spans


def cut_at(spans, positions):
    """Tokens that a position lies inside of, cut in two there."""
    bounds = sorted({*positions, *(bound for span in spans for bound in span)})
    first, last = (spans[0][0], spans[-1][1]) if spans else (0, 0)
    return [(start, end) for start, end in pairwise(bounds) if first <= start and end <= last]


def paragraph_bytes(source, paragraph_break):
    starts, origin = [], 0
    for text in [source] if isinstance(source, str) else source:
        starts += [origin + len(text[:start].encode()) for start, _ in paragraphs(text, paragraph_break)]
        origin += len(text.encode())
    return starts


class TokenChunks:
    """The chunks of one document, in bytes: each the longest whose own text has at most ``chunk_size`` tokens.

    ``count`` says how many tokens a text has, alone; ``spans`` are the document's tokens.
    """

    def __init__(self, data, spans, count, *, chunk_size, chunk_overlap=0, paragraph_starts=None):
        self.data, self.count = data, count
        self.size, self.overlap = chunk_size, chunk_overlap
        self.by_paragraph = paragraph_starts is not None
        self.spans = cut_at(spans, paragraph_starts) if self.by_paragraph else spans
        self.paragraphs = [
            index for index, (start, _) in enumerate(self.spans) if self.by_paragraph and start in paragraph_starts
        ]

    def chunks(self):
        """Start, end and tokens of every chunk."""
        if not self.spans or (self.by_paragraph and not self.paragraphs):
            return []
        begin = fresh = self.paragraphs[0] if self.by_paragraph else 0
        start = fresh_byte = self.spans[begin][0]
        found = []
        while fresh_byte < len(self.data):
            start, begin, fresh_byte, fresh = self.next_chunk(begin, start, fresh, fresh_byte)
            found.append(Piece(start, fresh_byte, self.count(self.data[start:fresh_byte])))
            if fresh_byte == self.spans[fresh - 1][1]:
                begin, start = self.overlap_of(begin, start, fresh)
            else:
                begin, start = fresh, fresh_byte
        return found

    def overlap_of(self, begin, start, fresh):
        """The tokens that the next chunk repeats: at most so many, from a whole character on."""
        if fresh - begin <= self.overlap and self.is_character_start(begin):
            return begin, start
        earliest = max(begin, fresh - self.overlap)
        later = next(token for token in range(earliest, fresh + 1) if self.is_character_start(token))
        return later, self.end(later)

    def next_chunk(self, begin, start, fresh, fresh_byte):
        laters = [begin, *filter(self.is_character_start, range(begin + 1, fresh)), fresh]
        for later in laters:  # with all its overlap, or less where nothing new fits
            at = start if later == begin else fresh_byte if later == fresh else self.end(later)
            for token in self.ends(later, fresh):
                if self.may_end(token, fresh_byte) and self.fits(at, self.end(token)):
                    return at, later, self.end(token), token
        return self.part_of_a_token(fresh, fresh_byte)

    def ends(self, begin, fresh):
        """The token numbers that a chunk may end before, best first."""
        limit = min(begin + self.size, len(self.spans))
        if limit == len(self.spans):
            yield limit
        yield from (token for token in reversed(self.paragraphs) if fresh < token <= limit)
        yield from range(limit, fresh, -1)

    def may_end(self, token, fresh_byte):
        start = self.end(token)
        return start > fresh_byte and self.is_character_start(token)

    def end(self, token):
        return self.spans[token][0] if token < len(self.spans) else len(self.data)

    def fits(self, start, end):
        return self.count(self.data[start:end]) <= self.size

    def part_of_a_token(self, fresh, start):
        token = fresh + 1
        while not self.may_end(token, start):
            token += 1
        length = self.fitting_length(start, self.data[start : self.end(token)].decode())
        end = start + length
        if end == self.end(token):
            return start, fresh, end, token
        token = fresh
        while token < len(self.spans) and self.spans[token][1] <= end:
            token += 1
        return start, fresh, end, token

    def fitting_length(self, start, text):
        """Bytes of the longest beginning that fits, at least a character; found as if more text had more tokens."""
        ends = [len(text[:length].encode()) for length in range(1, len(text) + 1)]
        most = self.size
        while most < len(ends) and self.fits(start, start + ends[most - 1]):
            most *= 2
        fitting = bisect_left(ends[:most], True, key=lambda end: not self.fits(start, start + end))
        return ends[max(fitting, 1) - 1]

    def is_character_start(self, token):
        return token == len(self.spans) or self.data[self.spans[token][0]] & 0xC0 != 0x80
