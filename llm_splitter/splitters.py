"""The built-in splitters that need no tokenizer: characters, words, sentences, lines; as arrays of spans."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from llm_splitter.character_classes import (
    CLOSER,
    EXTENDER,
    LAST_CORE,
    LEADER,
    OPENER,
    OTHER,
    SINGLE,
    SPACE,
    STOP,
    STRONG_STOP,
)
from llm_splitter.code_points import CodePoints
from llm_splitter.paragraphs import line_starts, paragraph_starts
from llm_splitter.spans import Spans, group_by_document
from llm_splitter.texts import Offsets, TextBatch, merged
from llm_splitter.whitespace import next_content

Classes: TypeAlias = NDArray[np.uint8]


def characters(batch: TextBatch) -> Spans:
    """Every code point is a part."""
    if batch.is_ascii:
        bounds = np.arange(len(batch.data) + 1, dtype=np.int64)
    else:
        bounds = np.append(np.flatnonzero(batch.data.view(np.int8) >= -64), len(batch.data))
    return Spans(bounds[:-1], bounds[1:], group_by_document(bounds[:-1], batch.doc_offsets))


def words(batch: TextBatch) -> Spans:
    """Runs of anything but white space are parts.

    In scripts written without spaces (Han, kana, Bopomofo, Thai, Lao, Khmer, Burmese) each character is a part
    of its own, with the marks and punctuation around it. Finding their words takes a dictionary; a custom
    splitter can bring one.
    """
    text = CodePoints(batch)
    begins = _begin_words(text)
    return _grouped(batch, text.in_bytes(np.flatnonzero(begins)))


def _begin_words(text: CodePoints) -> NDArray[np.bool_]:
    is_space = text.is_space()
    begins = ~is_space
    begins[1:] &= is_space[:-1]
    if not text.is_ascii and (text.classes == SINGLE).any():
        begins |= _begin_unspaced_words(text.classes, text.part_starts)
    begins[text.part_starts] = ~is_space[text.part_starts]
    return begins


def _begin_unspaced_words(classes: Classes, part_starts: Offsets) -> NDArray[np.bool_]:
    """Where words begin that no white space sets apart."""
    before = classes.copy()
    before[part_starts[part_starts > 0] - 1] = SPACE  # a part knows nothing of the one before it
    begins: NDArray[np.bool_] = (classes == SINGLE) | (classes == LEADER)
    can_follow_single = (classes == OTHER) | (classes == OPENER)
    begins[1:] |= can_follow_single[1:] & _last_core_is_single(before)[:-1]
    begins[1:] &= (before[:-1] != LEADER) & (before[:-1] != OPENER)
    return begins


def _last_core_is_single(classes: Classes) -> NDArray[np.bool_]:
    """Whether the last core character, up to and with each place, is a word of its own."""
    place = np.arange(len(classes), dtype=np.int32)
    place[classes > LAST_CORE] = 0
    is_single: NDArray[np.bool_] = (classes == SINGLE).take(np.maximum.accumulate(place))
    return is_single


def sentences(batch: TextBatch) -> Spans:
    """Parts end behind ``. ! ? …`` where white space follows, and behind ``。！？।`` and their like.

    Closing quotes and brackets stay with the sentence. A blank line ends one too, so headings stand alone.
    Abbreviations are not known: ``Mr. Smith`` is two parts.
    """
    text = CodePoints(batch)
    behind = next_content(batch.data, text.in_bytes(_behind_stops(text)))
    starts = merged(behind[behind < len(batch.data)], paragraph_starts(batch, "blank_line"))
    return _grouped(batch, starts)


def _behind_stops(text: CodePoints) -> Offsets:
    """Positions behind a stop and the closers that follow it, where that ends a sentence."""
    strong = text.behind_run(text.where(STRONG_STOP) + 1, EXTENDER, CLOSER)
    weak = text.behind_run(text.where(STOP) + 1, EXTENDER, CLOSER)
    return merged(strong, weak[text.is_space_at(weak)])


def lines(batch: TextBatch) -> Spans:
    """Lines are parts, without their ends (LF, CRLF or CR); lines of nothing but white space are none."""
    bounds = merged(line_starts(batch.data), batch.part_offsets)
    has_content = next_content(batch.data, bounds[:-1]) < bounds[1:]
    return _grouped(batch, bounds[:-1][has_content])


def _grouped(batch: TextBatch, starts: Offsets) -> Spans:
    return Spans(starts, None, group_by_document(starts, batch.doc_offsets))


BUILT_IN: dict[str, Callable[[TextBatch], Spans]] = {
    "characters": characters,
    "words": words,
    "sentences": sentences,
    "lines": lines,
}
