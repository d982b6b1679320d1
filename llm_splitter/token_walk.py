"""One document's tokens into chunks, one after the other: where there is no closed form.

Tokens may share a character, and then no chunk can end between them. Where even the first chunk in reach breaks
the size promise, the longest that keeps it is looked for.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from llm_splitter.options import SplitOptions
from llm_splitter.texts import Bytes
from llm_splitter.token_numbers import TokenNumbers, places_to_cut
from llm_splitter.tokenizers import TokenPositions

_CUT = b"\x01"
_MOST_WIDTH = 4  # bytes of a character


class Place(NamedTuple):
    """Where a document is packed on from.

    Attributes:
        begin: Number of the token in which the next chunk begins.
        start: Byte at which it does.
        fresh: Number of the first token that it does not repeat.
        done: Byte up to which the chunks so far reach.
    """

    begin: int
    start: int
    fresh: int
    done: int


class Step(NamedTuple):
    """A chunk: numbers of its first token and of the one behind it, and its bytes."""

    first: int
    last: int
    start: int
    end: int


class TokenWalk:
    """The places at which one document can be cut, and the chunks between them.

    Args:
        numbers: The batch's token numbers.
        data: Its text.
        bounds: The document's first number and the one behind its last.
        end: The byte behind its last.
        options: Size and overlap.
    """

    def __init__(
        self, numbers: TokenNumbers, data: Bytes, bounds: tuple[int, int], end: int, options: SplitOptions
    ) -> None:
        self._low, self._last = bounds[0], bounds[1] - bounds[0]
        self._size, self._overlap = options.chunk_size, options.chunk_overlap
        self._data = data.data
        starts, ends = numbers.spans(*bounds)
        # where a chunk ends that stops before each token
        stops = starts if numbers.is_gapless or not self._overlap else np.append(starts[:1], ends[:-1])
        can_cut = np.ones(self._last + 1, dtype=bool)
        can_cut[1:-1] = places_to_cut(data, starts[1:], None if numbers.is_gapless else ends[:-1])
        if not numbers.is_gapless:
            _drop_empty(can_cut, stops, end)
        paragraphs = numbers.paragraphs[slice(*np.searchsorted(numbers.paragraphs, bounds))] - self._low
        self._paragraphs: list[int] = paragraphs[can_cut[paragraphs]].tolist()
        self._can_cut = can_cut.tobytes()
        self._asked = self._found = 0
        self._starts, self._stops, self._end = starts.data, stops.data, end

    def chunks(self, place: Place, reach: int) -> tuple[list[int], list[int]]:
        """The numbers of the first token of each chunk and of the one behind it, until they reach a number."""
        begin, fresh = place.begin - self._low, place.fresh - self._low
        first, last = [], []
        while fresh < reach - self._low:
            begin, fresh = self._next(begin, fresh)
            first.append(begin + self._low)
            last.append(fresh + self._low)
            begin = self._can_cut.find(_CUT, max(begin, fresh - self._overlap), fresh + 1)
        return first, last

    def _next(self, begin: int, fresh: int) -> tuple[int, int]:
        """The first token of the next chunk, which may repeat ``begin`` up to ``fresh``, and the one behind it."""
        if (end := next(self._ends_of(begin, fresh), -1)) >= 0:
            return begin, end
        end = self._next_cut(fresh)
        later = self._can_cut.find(_CUT, max(begin + 1, end - self._size), fresh)
        if later < 0 and end - self._size > fresh:
            return fresh, end  # tokens that share a character stay together, however many they are
        return self._next(fresh if later < 0 else later, fresh)

    def _ends_of(self, begin: int, fresh: int) -> Iterator[int]:
        """The numbers that a chunk may end before, best first: with a paragraph, or else the fullest."""
        limit = begin + self._size
        if limit >= self._last:
            yield self._last
        index = bisect_right(self._paragraphs, limit)
        while index and self._paragraphs[index - 1] > fresh:
            index -= 1
            yield self._paragraphs[index]
        end = limit + 1
        while (end := self._can_cut.rfind(_CUT, fresh + 1, end)) >= 0:
            yield end

    def next_that_fits(self, place: Place, fits: Callable[[int, int], bool]) -> Step:
        """The next chunk whose text fits.

        It repeats less than the overlap where nothing new fits behind that, and is part of a token, at least
        one character, where that does not fit alone.

        Args:
            place: Where to go on.
            fits: Whether the text from one byte position to another is short enough.
        """
        fresh = place.fresh - self._low
        for begin, start in self._beginnings(place):
            for last in self._ends_of(begin, fresh):
                if fits(start, self._stop(last)):
                    return self._step(begin, last, start, self._stop(last))
        last = self._next_cut(fresh)
        end = self._longest_text(place.done, self._stop(last), fits)
        if end != self._stop(last):
            last = bisect_right(self._starts, end, fresh + 1) - 1
        return self._step(fresh, last, place.done, end)

    def _next_cut(self, token: int) -> int:
        """The first number behind a token's at which the text can be cut."""
        if not self._asked <= token < self._found:  # a whole document may share its characters: it is searched once
            found = self._can_cut.find(_CUT, token + 1)
            self._asked, self._found = token, found if found >= 0 else self._last
        return self._found

    def _stop(self, last: int) -> int:
        """The byte at which a chunk ends that stops before a token."""
        return self._end if last == self._last else self._stops[last]

    def _beginnings(self, place: Place) -> Iterator[tuple[int, int]]:
        begin, fresh = place.begin - self._low, place.fresh - self._low
        yield begin, place.start
        while (begin := self._can_cut.find(_CUT, begin + 1, fresh)) >= 0:
            yield begin, self._starts[begin]
        if place.begin < place.fresh:
            yield fresh, place.done

    def _longest_text(self, start: int, end: int, fits: Callable[[int, int], bool]) -> int:
        """Where the longest text ends that fits, at least one character; more is taken to need more tokens."""
        most = self._size
        while True:
            text = bytes(self._data[start : min(start + _MOST_WIDTH * most, end)]).decode(errors="ignore")[:most]
            ends: list[int] = (np.cumsum([len(character.encode()) for character in text]) + start).tolist()
            if ends[-1] == end or not fits(start, ends[-1]):
                break
            most *= 2
        fitting = bisect_left(ends, True, key=lambda position: not fits(start, position))
        return ends[max(fitting, 1) - 1]

    def _step(self, first: int, last: int, start: int, end: int) -> Step:
        return Step(first + self._low, last + self._low, start, end)

    def behind(self, step: Step) -> Place:
        """Where to go on behind a chunk."""
        first, last = step.first - self._low, step.last - self._low
        begin = self._can_cut.find(_CUT, max(first, last - self._overlap), last)
        if step.end != self._stop(last) or begin < 0:
            return Place(step.last, step.end, step.last, step.end)
        return Place(begin + self._low, step.start if begin == first else self._starts[begin], step.last, step.end)


def _drop_empty(can_cut: NDArray[np.bool_], stops: TokenPositions, end: int) -> None:
    """Tokens may be empty: no chunk stops where one before has stopped, or with nothing left behind it."""
    can_cut[:-1] &= stops < end
    can_cut[0] = True
    places = np.flatnonzero(can_cut[:-1])
    can_cut[places[1:][np.diff(stops[places]) == 0]] = False
