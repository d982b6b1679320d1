"""The built-in splitters that need no tokenizer: characters, words, sentences, lines; as arrays of spans."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from llm_splitter.character_classes import SPACE, STOP, STRONG_STOP
from llm_splitter.code_points import WideCharacters, classes_at, where_ascii
from llm_splitter.paragraphs import line_starts, paragraph_starts
from llm_splitter.sentence_ends import behind_run
from llm_splitter.spans import Spans, group_by_document
from llm_splitter.texts import Offsets, TextBatch, merged
from llm_splitter.unspaced import begin_unspaced
from llm_splitter.utf8 import begins_character, behind_each, spread
from llm_splitter.whitespace import has_content, next_content

_PIECE_BYTES = 1 << 16  # of a long part, looked at by themselves
_GROUP_BYTES = 1 << 20  # of pieces, looked at together: flags and classes of so many bytes stay in the cache
_LF = 10


def characters(batch: TextBatch) -> Spans:
    """Every code point is a part."""
    is_bound = np.ones(len(batch.data) + 1, dtype=bool)
    is_bound[:-1] = begins_character(batch.data)
    bounds = np.flatnonzero(is_bound)
    return Spans(bounds[:-1], bounds[1:], group_by_document(bounds[:-1], batch.doc_offsets))


def words(batch: TextBatch) -> Spans:
    """Runs of anything but white space are parts.

    In scripts written without spaces (Han, kana, Bopomofo, Thai, Lao, Khmer, Burmese) each character is a part
    of its own, with the marks and punctuation around it. Finding their words takes a dictionary; a custom
    splitter can bring one.
    """
    pieces = TextBatch.from_buffers(batch.data, _cut_at_lines(batch))
    starts = [np.zeros(0, dtype=np.int64)]
    origin = 0
    for group in pieces.groups(_GROUP_BYTES):
        starts.append(_word_starts(group) + origin)
        origin += len(group.data)
    return _grouped(batch, np.concatenate(starts))


def _cut_at_lines(batch: TextBatch) -> Offsets:
    """Byte offsets of the parts, long ones cut behind line ends: words behind white space hang on nothing before."""
    data, offsets = batch.data, batch.part_offsets
    if np.diff(offsets).max(initial=0) < 2 * _PIECE_BYTES:
        return offsets
    line_ends = np.append(np.flatnonzero(data == _LF), len(data) - 1)
    behind = line_ends[np.searchsorted(line_ends, np.arange(_PIECE_BYTES, len(data), _PIECE_BYTES))] + 1
    return merged(offsets, behind)


def _word_starts(batch: TextBatch) -> Offsets:
    data = batch.data
    wide = WideCharacters(data)
    is_space = where_ascii(data, SPACE)
    spaces = wide.where(SPACE)
    spread(data, spaces, np.ones(len(spaces), dtype=bool), is_space)
    begins = ~is_space
    begins[1:] &= is_space[:-1]
    begin_unspaced(batch, wide, begins)
    part_starts = batch.part_starts
    begins[part_starts] = ~is_space[part_starts]
    return np.flatnonzero(begins)


def sentences(batch: TextBatch) -> Spans:
    """Parts end behind ``. ! ? …`` where white space follows, and behind ``。！？।`` and their like.

    Closing quotes and brackets stay with the sentence. A blank line ends one too, so headings stand alone.
    Abbreviations are not known: ``Mr. Smith`` is two parts.
    """
    behind = next_content(batch.data, _behind_stops(batch))
    return _grouped(batch, merged(behind[behind < len(batch.data)], paragraph_starts(batch, "blank_line")))


def _behind_stops(batch: TextBatch) -> Offsets:
    """Positions behind a stop and the closers that follow it, where that ends a sentence."""
    data = batch.data
    wide = WideCharacters(data).perhaps(STOP, STRONG_STOP)
    kinds = classes_at(data, wide)
    strong, weak = wide[kinds == STRONG_STOP], wide[kinds == STOP]
    ascii_stops = np.flatnonzero(where_ascii(data, STOP))
    behind = np.concatenate([behind_each(data, strong), behind_each(data, weak), ascii_stops + 1])
    behind = behind_run(batch, behind)
    ends_sentence = classes_at(data, behind) == SPACE
    ends_sentence[: len(strong)] = True
    return merged(behind[ends_sentence])


def lines(batch: TextBatch) -> Spans:
    """Lines are parts, without their ends (LF, CRLF or CR); lines of nothing but white space are none."""
    bounds = merged(line_starts(batch.data), batch.part_offsets)
    return _grouped(batch, bounds[:-1][has_content(batch.data, bounds)])


def _grouped(batch: TextBatch, starts: Offsets) -> Spans:
    return Spans(starts, None, group_by_document(starts, batch.doc_offsets))


BUILT_IN: dict[str, Callable[[TextBatch], Spans]] = {
    "characters": characters,
    "words": words,
    "sentences": sentences,
    "lines": lines,
}
