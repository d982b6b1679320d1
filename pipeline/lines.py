"""Blocks of bytes -> lines, split on LF only, in bounded memory. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from pipeline.compression import BLOCK_BYTES, read_blocks


class LongLine:
    """Stands for a line that was too long to be kept."""

    def __init__(self, length: int) -> None:
        self._length = length

    def __len__(self) -> int:
        return self._length


Line = bytes | bytearray | LongLine


class Lines(NamedTuple):
    """Complete lines in a row, without their LF.

    Attributes:
        first: Number of the first line, from 1.
        byte: Where the first line begins.
        lines: The lines.
    """

    first: int
    byte: int
    lines: list[Line]

    def starts(self) -> npt.NDArray[np.int64]:
        """Where each line begins."""
        lengths = np.fromiter(map(len, self.lines), np.int64, len(self.lines))
        return self.byte + np.concatenate(([0], np.cumsum(lengths[:-1] + 1)))


class LineSplitter:
    """Lines of a stream of blocks: iterate to get `Lines`; `line` and `byte` say where it stopped.

    Args:
        blocks: The bytes.
        max_line_bytes: Longer lines are dropped while they are read and given as `LongLine`.
        first: Number of the first line.
        byte: Where it begins.

    Attributes:
        line: Number of the line that follows those given.
        byte: Where that line begins.
    """

    def __init__(self, blocks: Iterable[bytes], max_line_bytes: int, first: int = 1, byte: int = 0) -> None:
        self._blocks = blocks
        self._limit = max_line_bytes
        self._open = bytearray()
        self._open_bytes = 0
        self.line = first
        self.byte = byte

    def __iter__(self) -> Iterator[Lines]:
        for block in self._blocks:
            pieces = block.split(b"\n")
            if len(pieces) == 1:
                self._extend(block)
                continue
            self._extend(pieces[0])
            lines = [self._close(), *self._checked(pieces[1:-1])]
            if len(lines[0]) > BLOCK_BYTES and len(lines) > 1:
                yield self._given([lines.pop(0)])  # alone, so that its text need not be joined with others
            yield self._given(lines)
            self._extend(pieces[-1])
        if self._open_bytes:
            yield self._given([self._close()])

    def _extend(self, piece: bytes) -> None:
        """Add to the line that is not complete yet."""
        self._open_bytes += len(piece)
        if self._open_bytes <= self._limit:
            self._open += piece
        elif self._open:
            self._open = bytearray()

    def _close(self) -> Line:
        length, kept = self._open_bytes, self._open
        self._open, self._open_bytes = bytearray(), 0
        return kept if length <= self._limit else LongLine(length)

    def _checked(self, lines: list[bytes]) -> list[Line]:
        """Lines within a block, which exceed only a limit below the size of a block."""
        if not lines or max(map(len, lines)) <= self._limit:
            return [*lines]
        return [line if len(line) <= self._limit else LongLine(len(line)) for line in lines]

    def _given(self, lines: list[Line]) -> Lines:
        given = Lines(self.line, self.byte, lines)
        self.line += len(lines)
        self.byte += sum(map(len, lines)) + len(lines)
        return given


class ByteRange(NamedTuple):
    """A part of a file that begins and ends with whole lines: its bytes, and the number of its first line."""

    start: int
    end: int
    first_line: int


def plan_ranges(file: Any, size: int, split_bytes: int) -> list[ByteRange]:
    """Ranges of about `split_bytes` that hold whole lines.

    The file is read once to count its line ends, which takes a small part of the time that parsing it
    would. It gives every range the number of its first line, so that ids and positions are those of a
    single reader.

    Args:
        file: A seekable binary file, not compressed.
        size: Its bytes.
        split_bytes: Bytes in a range; a longer line makes a longer range.
    """
    ranges: list[ByteRange] = []
    start, first_line = 0, 1
    block_start, line = 0, 1
    for block in read_blocks(file, end=size):
        cut = start + split_bytes - block_start - 1
        while cut < len(block) and (found := block.find(b"\n", max(cut, 0))) >= 0:
            end = block_start + found + 1
            ranges.append(ByteRange(start, end, first_line))
            start, first_line = end, line + block.count(b"\n", 0, found + 1)
            cut = start + split_bytes - block_start - 1
        line += block.count(b"\n")
        block_start += len(block)
    if start < size:
        ranges.append(ByteRange(start, size, first_line))
    return ranges
