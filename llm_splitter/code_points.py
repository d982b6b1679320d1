"""The characters of a batch by class. In ASCII text bytes serve for them, and few are looked at."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from llm_splitter.character_classes import SPACE, ascii_codes, class_of
from llm_splitter.texts import Offsets, TextBatch, merged

_STEPS = 8  # longer runs are found by reading all classes once


class CodePoints:
    """The code points of a batch, numbered.

    Args:
        batch: The documents; their parts know nothing of each other.
    """

    def __init__(self, batch: TextBatch) -> None:
        self.is_ascii = batch.is_ascii
        self._bytes = len(batch.data)
        starts = merged(batch.part_offsets)
        starts = starts[starts < self._bytes]
        if self.is_ascii:
            self._codes: NDArray[np.uint8] | NDArray[np.uint32] = batch.data
            self.part_starts = starts
        else:
            text = batch.data.tobytes().decode()
            self._codes = np.frombuffer(text.encode("utf-32-le"), dtype=np.uint32)
            self._positions = np.append(np.flatnonzero(batch.data.view(np.int8) >= -64), self._bytes)
            self.part_starts = np.searchsorted(self._positions, starts)

    def in_bytes(self, numbers: Offsets) -> Offsets:
        """The byte positions of code points; that of the number behind the last is the buffer's length."""
        return numbers if self.is_ascii else self._positions[numbers]

    @cached_property
    def classes(self) -> NDArray[np.uint8]:
        """The class of every code point."""
        return class_of(self._codes)

    def is_space(self) -> NDArray[np.bool_]:
        """Which code points are white space."""
        return self._is_any(SPACE)

    def is_space_at(self, numbers: Offsets) -> NDArray[np.bool_]:
        """Whether white space, or the end, stands at each of some places."""
        is_space: NDArray[np.bool_] = self._classes_at(numbers) == SPACE
        return is_space

    def where(self, kind: int) -> Offsets:
        """The numbers of the code points of a class."""
        return np.flatnonzero(self._is_any(kind))

    def behind_run(self, numbers: Offsets, first: int, last: int) -> Offsets:
        """For each place the first from it on whose class is not one of ``first`` to ``last``, or the part's end."""
        found = numbers.copy()
        bounds = np.append(self.part_starts, len(self._codes))
        part_ends = bounds[np.searchsorted(bounds, numbers - 1, side="right")]
        pending = np.arange(len(found))
        for _ in range(_STEPS):
            kinds = self._classes_at(found[pending])
            pending = pending[(kinds >= first) & (kinds <= last) & (found[pending] < part_ends[pending])]
            if len(pending) == 0:
                return found
            found[pending] += 1
        is_other = (self.classes < first) | (self.classes > last)
        others = np.append(np.flatnonzero(is_other), len(self._codes))
        found[pending] = np.minimum(others[np.searchsorted(others, found[pending])], part_ends[pending])
        return found

    def _is_any(self, kind: int) -> NDArray[np.bool_]:
        if not self.is_ascii:
            is_kind: NDArray[np.bool_] = self.classes == kind
            return is_kind
        # a comparison a character is many times faster than a look-up
        is_any = np.zeros(len(self._codes), dtype=bool)
        for code in ascii_codes(kind):
            is_any |= self._codes == code
        return is_any

    def _classes_at(self, numbers: Offsets) -> NDArray[np.uint8]:
        inside = numbers < len(self._codes)
        kinds = np.full(len(numbers), SPACE, dtype=np.uint8)
        kinds[inside] = class_of(self._codes[numbers[inside]])
        return kinds
