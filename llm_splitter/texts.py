"""Many documents as one UTF-8 buffer, and positions in it: the form in which everything is computed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Bytes: TypeAlias = NDArray[np.uint8]
Offsets: TypeAlias = NDArray[np.int64]

_SURROGATE_LEAD = 0xED  # UTF-8 bytes ED A0..BF xx would be surrogates, which UTF-8 does not have
_REPLACEMENT = np.frombuffer("\ufffd".encode(), dtype=np.uint8)


@dataclass(frozen=True)
class TextBatch:
    """Documents laid end to end in one buffer of valid UTF-8.

    Attributes:
        data: The bytes of all documents.
        part_offsets: Byte offsets; part ``i`` is ``data[part_offsets[i]:part_offsets[i + 1]]``.
        doc_parts: Document ``d`` is made of parts ``doc_parts[d]`` up to ``doc_parts[d + 1]``.
        strings: The parts as they were given, where they were strings; a lone surrogate survives
            only there (the buffer holds U+FFFD in its place, which has as many bytes).
    """

    data: Bytes
    part_offsets: Offsets
    doc_parts: Offsets
    strings: Sequence[str] | None = field(default=None, repr=False)

    @classmethod
    def from_buffers(cls, data: Bytes, part_offsets: Offsets, doc_parts: Offsets | None = None) -> TextBatch:
        """A batch over existing buffers, nothing copied.

        Args:
            data: Valid UTF-8 bytes.
            part_offsets: Byte offsets of the parts, one more than there are parts, never decreasing.
            doc_parts: Part numbers at which documents begin, and the number of parts; without it each
                part is a document of its own.
        """
        offsets = np.ascontiguousarray(part_offsets, dtype=np.int64)
        if doc_parts is None:
            doc_parts = np.arange(len(offsets), dtype=np.int64)
        return cls(np.ascontiguousarray(data), offsets, np.ascontiguousarray(doc_parts, dtype=np.int64))

    @classmethod
    def from_strings(cls, documents: Sequence[str | Sequence[str]]) -> TextBatch:
        """A batch of documents given as strings, or as lists of strings (documents in several parts).

        >>> TextBatch.from_strings(["a", ["b", "c"]]).doc_parts.tolist()
        [0, 1, 3]
        """
        groups = [[document] if isinstance(document, str) else list(document) for document in documents]
        strings = [part for group in groups for part in group]
        encoded = [_encode(part) for part in strings]
        return cls(
            np.frombuffer(b"".join(encoded), dtype=np.uint8),
            _running_total([len(part) for part in encoded]),
            _running_total([len(group) for group in groups]),
            strings,
        )

    def __len__(self) -> int:
        """The number of documents."""
        return len(self.doc_parts) - 1

    @property
    def doc_offsets(self) -> Offsets:
        """Byte offsets of the documents, one more than there are documents."""
        return self.part_offsets[self.doc_parts]

    @property
    def part_starts(self) -> Offsets:
        """Byte offsets of the parts that hold any text."""
        starts = merged(self.part_offsets)
        return starts[starts < len(self.data)]

    @cached_property
    def is_ascii(self) -> bool:
        """Whether all text is ASCII, so that a byte is a character in every unit."""
        return len(self.data) == 0 or bool(self.data.max() < 0x80)

    @property
    def is_single_part(self) -> bool:
        """Whether every document is one part."""
        return len(self.doc_parts) == len(self.part_offsets) and bool(
            np.array_equal(self.doc_parts, np.arange(len(self.part_offsets)))
        )

    def groups(self, size: int) -> Iterator[TextBatch]:
        """The batch in smaller ones of whole documents, of about ``size`` bytes or one document each."""
        ends = self.doc_offsets
        first = 0
        while first < len(self):
            last = int(np.searchsorted(ends, ends[first] + size, side="left"))
            last = min(max(last, first + 1), len(self))
            yield self._documents(first, last)
            first = last

    def _documents(self, first: int, last: int) -> TextBatch:
        parts = self.doc_parts[first : last + 1]
        offsets = self.part_offsets[parts[0] : parts[-1] + 1]
        strings = self.strings if self.strings is None else self.strings[parts[0] : parts[-1]]
        return TextBatch(self.data[offsets[0] : offsets[-1]], offsets - offsets[0], parts - parts[0], strings)

    def part(self, index: int) -> str:
        """The text of one part."""
        if self.strings is not None:
            return self.strings[index]
        start, end = self.part_offsets[index], self.part_offsets[index + 1]
        return self.data[start:end].tobytes().decode()

    def part_bytes(self) -> list[bytes]:
        """The UTF-8 of every part."""
        view = self.data.data
        return [bytes(view[start:end]) for start, end in pairwise(self.part_offsets.tolist())]


def merged(*positions: Offsets) -> Offsets:
    """All positions in order, each once; many times faster here than numpy's own set operations.

    >>> merged(np.array([3, 5]), np.array([1, 3])).tolist()
    [1, 3, 5]
    """
    ordered = np.sort(np.concatenate(positions), kind="stable")  # which merges what is in order already
    is_first = np.ones(len(ordered), dtype=bool)
    np.not_equal(ordered[1:], ordered[:-1], out=is_first[1:])
    return ordered[is_first]


def _encode(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError:
        return _replace_surrogates(text.encode("utf-8", "surrogatepass"))


def _replace_surrogates(encoded: bytes) -> bytes:
    data = np.frombuffer(encoded, dtype=np.uint8).copy()
    leads = np.flatnonzero((data[:-1] == _SURROGATE_LEAD) & (data[1:] >= 0xA0))
    for index, byte in enumerate(_REPLACEMENT):
        data[leads + index] = byte
    return data.tobytes()


def _running_total(lengths: list[int]) -> Offsets:
    totals = np.zeros(len(lengths) + 1, dtype=np.int64)
    np.cumsum(lengths, out=totals[1:])
    return totals
