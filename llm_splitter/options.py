"""The options of a split, checked when built."""

from __future__ import annotations

from dataclasses import dataclass
from typing import get_args

from llm_splitter.types import ChunkStrategy, OffsetUnit, ParagraphBreak

_MOST = 2**31 - 1  # token counts are 32 bits wide


@dataclass(frozen=True)
class SplitOptions:
    r"""How to split; every field has the name and meaning of ``split``'s argument.

    Attributes:
        chunk_size: Most parts (tokens, words, ...) in a chunk, at least 1.
        chunk_overlap: Parts that a chunk repeats from the one before, less than ``chunk_size``.
        chunk_strategy: ``"character"`` fills every chunk; ``"paragraph"`` ends one early where that keeps
            a paragraph whole.
        splitter: A name (``"characters"``, ``"words"``, ``"sentences"``, ``"lines"``, or a token encoding
            such as ``"cl100k_base"``), a callable from a text to its parts, or a tokenizer object.
        offset_unit: What ``start`` and ``end`` count: ``"codepoint"``, ``"utf16"`` or ``"utf8"``.
        paragraph_break: ``"\n\n"``, or ``"blank_line"``, which also knows CRLF, CR and blanks in between.
        strict_size: With a tokenizer, hold ``chunk_size`` for each chunk's own text encoded alone, not only
            for the document's tokens in it.

    Raises:
        ValueError: a value that is not allowed; the message names it and what is.

    >>> SplitOptions(chunk_size=0)
    Traceback (most recent call last):
    ValueError: chunk_size must be an integer of at least 1, got 0
    """

    chunk_size: int = 512
    chunk_overlap: int = 0
    chunk_strategy: ChunkStrategy = "character"
    splitter: object = "characters"
    offset_unit: OffsetUnit = "codepoint"
    paragraph_break: ParagraphBreak = "\n\n"
    strict_size: bool = True

    def __post_init__(self) -> None:
        _check_integer("chunk_size", self.chunk_size, 1)
        _check_integer("chunk_overlap", self.chunk_overlap, 0)
        if self.chunk_overlap >= self.chunk_size:
            raise ValueError(
                f"chunk_overlap must be less than chunk_size, got {self.chunk_overlap} "
                f"with chunk_size {self.chunk_size}"
            )
        _check_choice("chunk_strategy", self.chunk_strategy, get_args(ChunkStrategy))
        check_offset_unit(self.offset_unit)
        _check_choice("paragraph_break", self.paragraph_break, get_args(ParagraphBreak))
        if not isinstance(self.strict_size, bool):
            raise ValueError(f"strict_size must be True or False, got {self.strict_size!r}")


def check_offset_unit(unit: object) -> None:
    """Raise ``ValueError`` unless ``unit`` is one of the three."""
    _check_choice("offset_unit", unit, get_args(OffsetUnit))


def _check_integer(name: str, value: object, least: int) -> None:
    # bool is an int to Python, and never a size that anybody meant
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise ValueError(f"{name} must be an integer of at least {least}, got {value!r}")
    if value > _MOST:
        raise ValueError(f"{name} must be at most {_MOST}, got {value!r}")


def _check_choice(name: str, value: object, allowed: tuple[object, ...]) -> None:
    if not isinstance(value, str) or value not in allowed:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, allowed))}, got {value!r}")
