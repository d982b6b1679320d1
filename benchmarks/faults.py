"""What is wrong with the chunks of some documents, counted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple, dataclass, fields

import tiktoken

from benchmarks.peers import Piece

REPLACEMENT = "\ufffd"


@dataclass
class Faults:
    """Counts over chunks.

    Attributes:
        chunks: All of them.
        over_budget: Chunks whose own text, encoded alone, has more tokens than asked for.
        invented: Chunks that hold U+FFFD where their document holds none.
        no_offset: Chunks without an offset.
        wrong_offset: Chunks whose text does not stand at their offset.
        unowned: Characters in no chunk (of those with a right offset), white space left out.
        unowned_space: White space in no chunk.
        failed: Documents that the splitter raised on.
    """

    chunks: int = 0
    over_budget: int = 0
    invented: int = 0
    no_offset: int = 0
    wrong_offset: int = 0
    unowned: int = 0
    unowned_space: int = 0
    failed: int = 0

    def counts(self) -> tuple[str, ...]:
        """The counts as the cells of a table."""
        return tuple(f"{count:,}" for count in astuple(self))

    def add(self, text: str, pieces: Sequence[Piece]) -> None:
        """Count what is wrong with a document's chunks; whether they fit is `add_sizes`'s."""
        self.chunks += len(pieces)
        if REPLACEMENT not in text:
            self.invented += sum(REPLACEMENT in piece.text for piece in pieces)
        owned = bytearray(len(text))
        for piece, start in pieces:
            if start is None:
                self.no_offset += 1
            elif text[start : start + len(piece)] != piece:
                self.wrong_offset += 1
            else:
                owned[start : start + len(piece)] = b"\x01" * len(piece)
        self._add_unowned(text, owned)

    def add_sizes(self, pieces: Sequence[str], size: int, encoding: tiktoken.Encoding) -> None:
        """Count the chunks that are too large; a single character that alone is too large cannot be helped."""
        for piece in pieces:  # one by one: a task for each piece would take longer than encoding it
            self.over_budget += len(piece) > 1 and len(encoding.encode_ordinary(piece)) > size

    def _add_unowned(self, text: str, owned: bytearray) -> None:
        place = owned.find(0)
        while place >= 0:
            if text[place].isspace():
                self.unowned_space += 1
            else:
                self.unowned += 1
            place = owned.find(0, place + 1)


COLUMNS = tuple(field.name.replace("_", " ") for field in fields(Faults))
