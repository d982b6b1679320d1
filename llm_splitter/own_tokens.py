"""How many tokens a chunk's own text has, encoded alone, without encoding it.

They need not be the tokens that the document has there: a cut inside a word changes how its two ends are
tokenised. Only the ends are in question, though. Between the first and the last place in a chunk where the text
is surely split between words (``safe_cuts``) the document's tokens are the chunk's own, and only the few bytes
outside are encoded again.

    document   ... tok|en|s  in| a| do|cum|ent ...
    chunk            [en s  in  a  do]
                       ^ ^        ^ ^
                 encode  count     encode
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right

import numpy as np

from llm_splitter.texts import TextBatch
from llm_splitter.tokenizers import Tokenizer, TokenSpans

_CUT = b"\x01"


class OwnTokens:
    """Counts the tokens of stretches of one batch's text.

    Args:
        batch: The documents.
        tokens: Their token spans.
        tokenizer: What counts the tokens of a text.
    """

    def __init__(self, batch: TextBatch, tokens: TokenSpans, tokenizer: Tokenizer) -> None:
        self._data = batch.data.data
        self._starts = tokens.starts.data
        self._count = tokenizer.count
        self._halves = tokens.halves.tolist()
        self._cuts, self._seams = _cuts_and_seams(batch, tokens)

    def count_text(self, text: str) -> int:
        """The tokens of any text."""
        return self._count(text.encode())

    def count(self, start: int, end: int, first: int, last: int) -> int:
        """The tokens of bytes ``start`` to ``end``, where the document has its tokens ``first`` up to ``last``."""
        starts, cuts = self._starts, self._cuts
        if not cuts or (self._seams and self._has_seam_between(first, last)):
            return self._count_bytes(start, end)
        head, tail = first, last
        if not (cuts[first] and starts[first] == start):
            head = cuts.find(_CUT, first + 1, last)
            if head < 0:
                return self._count_bytes(start, end)
        if not cuts[last]:
            tail = cuts.rfind(_CUT, head, last)
            tail = head if tail < 0 else tail
        count = tail - head
        if self._halves:
            count -= bisect_left(self._halves, tail) - bisect_right(self._halves, head)
        if head != first or starts[first] != start:
            count += self._count_bytes(start, starts[head])
        if tail != last:
            count += self._count_bytes(starts[tail], end)
        return count

    def _count_bytes(self, start: int, end: int) -> int:
        return self._count(bytes(self._data[start:end]))

    def _has_seam_between(self, first: int, last: int) -> bool:
        index = bisect_right(self._seams, first)
        return index < len(self._seams) and self._seams[index] < last


def _cuts_and_seams(batch: TextBatch, tokens: TokenSpans) -> tuple[bytes, list[int]]:
    """Where chunks may begin and end with the document's tokens, and where parts meet inside of a word.

    Parts are encoded one by one, so a cut between two of them is always safe; but to a text that holds both
    they are one, and where that text is not surely split there, its tokens are not the parts'.
    """
    if len(tokens.cuts) == 0:
        return b"", []
    cuts = tokens.cuts.copy()
    seams: list[int] = []
    if not batch.is_single_part:
        inner = np.setdiff1d(tokens.part_tokens, tokens.part_tokens[batch.doc_parts])
        seams = inner[cuts[inner] == 0].tolist()
    cuts[tokens.part_tokens] = 1
    return cuts.tobytes(), seams
