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

from llm_splitter.safe_cuts import is_safe_cut
from llm_splitter.texts import TextBatch
from llm_splitter.tokenizers import Tokenizer, TokenSpans


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
        self._has_safe_cuts = tokenizer.has_safe_cuts
        self._halves = tokens.halves.data
        self._seams = batch.part_offsets.data
        self._doc_parts = batch.doc_parts.tolist()
        self._part: tuple[int, int] | None = None

    def enter(self, document: int) -> None:
        """Turn to a document; stretches counted from now on lie in it."""
        first, last = self._doc_parts[document : document + 2]
        self._part = (self._seams[first], self._seams[last]) if last - first == 1 else None

    def count_text(self, text: str) -> int:
        """The tokens of any text."""
        return self._count(text.encode())

    def count(self, start: int, end: int, first: int, last: int) -> int:
        """The tokens of bytes ``start`` to ``end``, where the document has its tokens ``first`` up to ``last``."""
        part_start, part_end = self._part or self._part_around(start)
        if not self._has_safe_cuts or end > part_end:
            return self._count_bytes(start, end)
        starts, data = self._starts, self._data
        head = first
        if start != part_start and not (starts[first] == start and is_safe_cut(data, start)):
            head = first + 1
            while head < last and not is_safe_cut(data, starts[head]):
                head += 1
            if head == last:
                return self._count_bytes(start, end)
        tail = last
        if end != part_end and not is_safe_cut(data, end):
            tail = last - 1
            while tail > head and not is_safe_cut(data, starts[tail]):
                tail -= 1
        count = tail - head - self._halves_between(head, tail)
        if head != first or starts[first] != start:
            count += self._count_bytes(start, starts[head])
        if tail != last:
            count += self._count_bytes(starts[tail], end)
        return count

    def _count_bytes(self, start: int, end: int) -> int:
        return self._count(bytes(self._data[start:end]))

    def _part_around(self, position: int) -> tuple[int, int]:
        """The part of a document that a position lies in; tokens never span two."""
        index = bisect_right(self._seams, position)
        return self._seams[index - 1], self._seams[index]

    def _halves_between(self, head: int, tail: int) -> int:
        """How many tokens were cut in two between two safe places: they are one token each to the text."""
        if not self._halves:
            return 0
        return bisect_left(self._halves, tail) - bisect_right(self._halves, head)
