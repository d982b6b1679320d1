"""Custom splitters: called once a text (or paragraph), their parts anchored, as spans."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from llm_splitter.anchoring import Anchors, check_parts, unit_length
from llm_splitter.faults import NEVER_CAUGHT
from llm_splitter.options import SplitOptions
from llm_splitter.paragraphs import split_paragraphs
from llm_splitter.spans import Spans
from llm_splitter.texts import Bytes, Offsets, TextBatch, merged
from llm_splitter.types import Splitter
from llm_splitter.utf8 import begins_character


@dataclass
class _Collected:
    starts: list[int] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)
    paragraphs: list[int] = field(default_factory=list)
    doc_offsets: list[int] = field(default_factory=lambda: [0])

    def as_spans(self) -> Spans:
        paragraphs = merged(np.array(self.paragraphs, dtype=np.int64))
        return Spans(
            np.array(self.starts, dtype=np.int64),
            np.array(self.ends, dtype=np.int64),
            np.array(self.doc_offsets, dtype=np.int64),
            paragraphs,
        )


def custom_spans(
    batch: TextBatch, splitter: Splitter, options: SplitOptions, collect_errors: bool
) -> tuple[Spans, list[tuple[int, BaseException]]]:
    """The spans of a custom splitter's parts, and the documents that it failed on.

    Args:
        batch: The documents.
        splitter: Called with each part of a document, or with each of its trimmed paragraphs.
        options: The strategy and what breaks paragraphs.
        collect_errors: Return what the splitter raised (a panic of a Rust extension included) instead of
            raising it.
    """
    collected = _Collected()
    errors: list[tuple[int, BaseException]] = []
    for document in range(len(batch)):
        kept = len(collected.starts), len(collected.paragraphs)
        try:
            for part in range(batch.doc_parts[document], batch.doc_parts[document + 1]):
                _split_part(batch, part, splitter, options, collected)
        except NEVER_CAUGHT:
            raise
        except BaseException as error:
            if not collect_errors:
                raise
            errors.append((document, error))
            del collected.starts[kept[0] :], collected.ends[kept[0] :], collected.paragraphs[kept[1] :]
        collected.doc_offsets.append(len(collected.starts))
    return collected.as_spans(), errors


def _split_part(batch: TextBatch, part: int, splitter: Splitter, options: SplitOptions, collected: _Collected) -> None:
    text = batch.part(part)
    origin = int(batch.part_offsets[part])
    to_byte = _byte_positions(batch.data[origin : batch.part_offsets[part + 1]])
    by_paragraph = options.chunk_strategy == "paragraph"
    pieces = split_paragraphs(text, options.paragraph_break) if by_paragraph else [(0, text)]
    for index, piece in pieces:
        first = index if len(to_byte) == len(text) + 1 else unit_length(text[:index])
        collected.paragraphs.append(len(collected.starts))
        for start, end in Anchors(piece).spans(check_parts(splitter(piece), splitter)):
            collected.starts.append(origin + int(to_byte[first + start]))
            collected.ends.append(origin + int(to_byte[first + end]))


def _byte_positions(data: Bytes) -> Offsets:
    """The byte position of each UTF-16 code unit, and of the end.

    The second unit of an astral character has the position of its third byte: upstream's offsets may lie
    between the two units, and only so are they told apart.
    """
    begins_unit = begins_character(data)
    begins_unit[2:] |= data[:-2] >= 0xF0
    return np.append(np.flatnonzero(begins_unit), len(data))
