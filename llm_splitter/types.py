"""The values that go in and come out: chunks, parts, and what a splitter is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, Literal, TypeAlias, TypeVar

TextT = TypeVar("TextT", bound="str | list[str]")

ChunkStrategy: TypeAlias = Literal["character", "paragraph"]
OffsetUnit: TypeAlias = Literal["codepoint", "utf16", "utf8"]
ParagraphBreak: TypeAlias = Literal["\n\n", "blank_line"]


@dataclass(frozen=True, slots=True)
class Chunk(Generic[TextT]):
    """A piece of a text and where it stands there.

    Attributes:
        text: The piece; a list of pieces when the source was a list of strings.
        start: Offset of the first character, in the offset unit asked for.
        end: Offset just behind the last character.

    >>> from llm_splitter import split
    >>> split("abcd", chunk_size=3)[1]
    Chunk(text='d', start=3, end=4)
    """

    text: TextT
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Part:
    """A splitter's piece that says itself where it stands.

    Attributes:
        text: The piece. It is not compared with the source; only its length counts.
        start: Python index into the text that the splitter was given.
    """

    text: str
    start: int


Splitter: TypeAlias = Callable[[str], Sequence[object]]
"""Any callable from a text to a list of its parts: strings in source order, or ``Part``."""
