"""Where paragraphs begin and end."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np

from llm_splitter.spans import Spans, group_by_document
from llm_splitter.texts import Bytes, Offsets, TextBatch, merged
from llm_splitter.types import ParagraphBreak
from llm_splitter.whitespace import WHITESPACE, content_ends, has_content, next_content

_LINE_END = r"(?:\r\n|\r(?!\n)|\n)"  # the two of CRLF are one, whatever the search tries
_BLANKS = WHITESPACE.replace("\r", "").replace("\n", "")
_BLANK_LINES = re.compile(f"{_LINE_END}(?:[{_BLANKS}]*{_LINE_END})+")
_LF, _CR = 10, 13


def paragraph_starts(batch: TextBatch, paragraph_break: ParagraphBreak) -> Offsets:
    """Byte positions at which paragraphs begin: their first character that is not white space.

    A paragraph begins with the first content of each part of a document, and with the first content
    behind each break; paragraphs without content do not count.
    """
    breaks = _double_newlines(batch.data) if paragraph_break == "\n\n" else _blank_lines(batch.data)
    candidates = merged(breaks, batch.part_offsets[:-1])
    candidates = candidates[candidates < len(batch.data)]
    starts = next_content(batch.data, candidates)
    ends = batch.part_offsets[np.searchsorted(batch.part_offsets, candidates, side="right")]
    return merged(starts[starts < ends])


def within_paragraphs(batch: TextBatch, spans: Spans, paragraph_break: ParagraphBreak) -> Spans:
    """The spans that lie in paragraphs (white space around them is part of none), with where those begin."""
    starts = paragraph_starts(batch, paragraph_break)
    if spans.ends is not None:
        return _inside(batch, spans.starts, starts)
    first = np.searchsorted(spans.starts, starts, side="right") - 1
    trimmed = spans.starts.copy()
    trimmed[first] = starts  # a line may be indented
    return replace(spans, starts=trimmed, paragraphs=first)


def _inside(batch: TextBatch, span_starts: Offsets, starts: Offsets) -> Spans:
    """Spans that leave no gaps, those between paragraphs taken out."""
    following = np.append(starts[1:], len(batch.data))[: len(starts)]
    part_ends = batch.part_offsets[np.searchsorted(batch.part_offsets, starts, side="right")]
    ends = content_ends(batch.data, np.minimum(following, part_ends))
    first, last = np.searchsorted(span_starts, starts), np.searchsorted(span_starts, ends)
    is_inside = np.ones(len(span_starts), dtype=bool)
    is_inside[_ranges(np.append(0, last), np.append(first, len(span_starts)))] = False
    kept = span_starts[is_inside]
    behind = np.cumsum(last - first)
    kept_ends = np.empty_like(kept)
    kept_ends[:-1] = kept[1:]
    kept_ends[behind - 1] = ends
    documents = group_by_document(kept, batch.doc_offsets)
    return Spans(kept, kept_ends, documents, paragraphs=behind - (last - first))


def _double_newlines(data: Bytes) -> Offsets:
    """Positions behind two or more newlines."""
    newline = data == _LF
    behind: Offsets = np.flatnonzero(newline[:-1] & newline[1:]) + 2
    last: Offsets = behind[~np.append(newline, False)[behind]]
    return last


def _blank_lines(data: Bytes) -> Offsets:
    """Positions behind a blank line that a line end comes before, the last of a row of them."""
    starts = line_starts(data)
    is_blank = np.append(~has_content(data, starts), False)
    return starts[1:][is_blank[:-1] > is_blank[1:]]


def line_starts(data: Bytes) -> Offsets:
    """Positions behind the line ends: LF, CRLF and CR."""
    ends_line = data == _LF
    carriage_return = data == _CR
    if carriage_return.any():
        carriage_return[:-1] &= ~ends_line[1:]  # of CRLF, the LF ends the line
        ends_line |= carriage_return
    return np.flatnonzero(ends_line) + 1


def split_paragraphs(text: str, paragraph_break: ParagraphBreak) -> list[tuple[int, str]]:
    r"""The paragraphs of a text, trimmed, each with the index at which it starts; empty ones included.

    >>> split_paragraphs(" a\n\n b ", "\n\n")
    [(1, 'a'), (5, 'b')]
    """
    pieces = []
    start = 0
    for end, after in _breaks(text, paragraph_break):
        pieces.append(_trimmed(text, start, end))
        start = after
    return [*pieces, _trimmed(text, start, len(text))]


def _breaks(text: str, paragraph_break: ParagraphBreak) -> list[tuple[int, int]]:
    pattern = re.compile("\n\n") if paragraph_break == "\n\n" else _BLANK_LINES
    return [match.span() for match in pattern.finditer(text)]


def _trimmed(text: str, start: int, end: int) -> tuple[int, str]:
    piece = text[start:end]
    return start + len(piece) - len(piece.lstrip(WHITESPACE)), piece.strip(WHITESPACE)


def _ranges(starts: Offsets, ends: Offsets) -> Offsets:
    """All integers from each start up to the end that goes with it.

    >>> _ranges(np.array([2, 7]), np.array([4, 8])).tolist()
    [2, 3, 7]
    """
    lengths = ends - starts
    before = np.cumsum(lengths) - lengths
    numbers: Offsets = np.arange(lengths.sum()) + np.repeat(starts - before, lengths)
    return numbers
