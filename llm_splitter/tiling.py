"""Token pieces decoded one by one, where tokens share characters -> where they stand in the text.

``[encoding.decode([token]) for token in tokens]`` gives U+FFFD for every half of a character, and a token may
hold the end of one character and then others (in cl100k_base ``" 显示"`` is ``" �"`` and ``"�示"``). Searching for
such pieces goes astray. But they tile the text: each begins where the one before ended, perhaps inside a
character. So the text is read along with the pieces, keeping every position that they allow.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

REPLACEMENT = "\ufffd"
_FEWEST_PIECES = 8


class _State(NamedTuple):
    """Everything before character ``place`` has been read; if ``is_inside``, some bytes of it too."""

    place: int
    is_inside: bool


def tile(text: str, pieces: Sequence[str]) -> list[tuple[int, int]] | None:
    """Start and end of every piece that holds a whole character; ``None`` if the pieces do not tile the text.

    A character that two pieces share belongs to the first of them.

    >>> tile(" 显示", [" \ufffd", "\ufffd示"])
    [(0, 2), (2, 3)]
    """
    if _is_fixed_width(text, pieces):
        return None
    reached: list[dict[_State, _State]] = []
    states = {_State(0, False): _State(0, False)}
    for piece in pieces:
        states = {after: before for before in states for after in _read(text, piece, before)}
        if not states:
            return None
        reached.append(states)
    end = _State(len(text), False)
    return _trace_back(pieces, reached, end) if end in states else None


def _is_fixed_width(text: str, pieces: Sequence[str]) -> bool:
    """Whether the pieces are the text's bytes cut at every so many: no tokens, and upstream does not place them."""
    data = text.encode("utf-8", "surrogatepass")
    width = -(-len(data) // len(pieces)) if pieces else 0
    return len(pieces) >= _FEWEST_PIECES and all(
        piece == data[index * width : (index + 1) * width].decode(errors="replace")
        for index, piece in enumerate(pieces)
    )


def _read(text: str, piece: str, state: _State) -> Iterator[_State]:
    """Where reading a piece may lead."""
    place, is_inside = state
    if not is_inside and text.startswith(piece, place):
        yield _State(place + len(piece), False)
    if REPLACEMENT not in piece:
        return
    body = piece.lstrip(REPLACEMENT)
    halves = len(piece) - len(body)
    if not body:
        yield from _read_halves(text, halves, state)
    elif (halves > 0) == is_inside:
        whole = body.rstrip(REPLACEMENT)
        start = place + is_inside
        if text.startswith(whole, start):
            yield _State(start + len(whole), len(whole) < len(body))


def _read_halves(text: str, halves: int, state: _State) -> Iterator[_State]:
    """A piece of nothing but U+FFFD goes on inside a character, ends it, or ends it and begins the next."""
    place, is_inside = state
    if place < len(text):
        yield _State(place, True)
    if is_inside:
        yield _State(place + 1, False)
        if halves > 1 and place + 1 < len(text):
            yield _State(place + 1, True)


def _trace_back(pieces: Sequence[str], reached: list[dict[_State, _State]], after: _State) -> list[tuple[int, int]]:
    spans = []
    for piece, states in zip(reversed(pieces), reversed(reached), strict=True):
        before = states[after]
        start, end = before.place + before.is_inside, after.place + after.is_inside
        if start < end and (piece.strip(REPLACEMENT) or not (before.is_inside or after.is_inside)):
            spans.append((start, end))
        after = before
    return spans[::-1]
