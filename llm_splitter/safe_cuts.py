r"""Where a text can be cut without changing how either side is tokenised.

Byte-pair encodings split a text by a regular expression into words, and merge bytes inside each. Cut between
two words, both sides give the tokens that they had together. Which places are surely between words is read
off the two characters around: the table below holds for every pattern in ``encodings`` (GPT-2's, cl100k's,
llama3's, o200k's) and is silent wherever one of them could go on.

Characters are classed as each pattern sees them. One that Unicode 3.2 did not know yet is of no class: the
engines' Unicode tables differ in age, and only what all know is safe.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

_LETTER, _MARK, _NUMBER, _SPACE, _NEWLINE, _OTHER, _APOSTROPHE, _SLASH, _UNKNOWN = range(9)

# What may follow each class with a sure cut between them.
_CUT_BEFORE = {
    # not an apostrophe (contractions) and not a mark (letters to o200k)
    _LETTER: (_NUMBER, _SPACE, _NEWLINE, _OTHER, _SLASH),
    _MARK: (_NUMBER, _SPACE),
    _NUMBER: (_LETTER, _MARK, _SPACE, _NEWLINE, _OTHER, _APOSTROPHE, _SLASH),
    # white space may lead the next word, or be one with white space around it
    _SPACE: (),
    # GPT-2 takes the white space that ends a text as one word, but leaves the last of it to what follows
    _NEWLINE: (),
    # punctuation takes line ends along, and may lead a word of letters
    _OTHER: (_NUMBER, _SPACE),
    _APOSTROPHE: (_NUMBER, _SPACE),
    _SLASH: (_NUMBER, _SPACE),
    _UNKNOWN: (),
}
_CLASSES = 16
_IS_CUT = np.zeros(_CLASSES * _CLASSES, dtype=bool)
for _before, _afters in _CUT_BEFORE.items():
    _IS_CUT[[_before * _CLASSES + _after for _after in _afters]] = True


def is_safe_cut(before: str, after: str) -> bool:
    """Whether a text is surely split between two neighbouring characters.

    >>> is_safe_cut("e", " "), is_safe_cut(" ", "t")
    (True, False)
    """
    return bool(_IS_CUT[_class_of(before) * _CLASSES + _class_of(after)])


class TokenCuts:
    """Finds the safe cuts between the tokens of one vocabulary.

    Args:
        tokens: The bytes of every token, by id.
    """

    def __init__(self, tokens: Sequence[bytes]) -> None:
        classes = [_outer_classes(token) for token in tokens]
        first, last = np.array(classes, dtype=np.uint8).reshape(-1, 2).T
        self._outer = last * np.uint8(_CLASSES) + first

    def before(self, ids: NDArray[np.uint32], tokens: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Whether the text is surely split before each of some tokens.

        Args:
            ids: The tokens of the whole text.
            tokens: Token numbers, of any shape; before the first and behind the last there is nothing to split.
        """
        outer = self._outer
        # numbers and ids are in range: clipping is but twice as fast as checking them
        before = outer.take(ids.take(tokens - 1, mode="clip"), mode="clip")
        after = outer.take(ids.take(tokens, mode="clip"), mode="clip")
        return _IS_CUT.take((before & 0xF0) | (after & 0x0F), mode="clip")


def _outer_classes(token: bytes) -> tuple[int, int]:
    """The classes of a token's first and last character; unknown where it holds only part of one."""
    text = token.decode(errors="surrogateescape")
    return (_class_of(text[0]), _class_of(text[-1])) if text else (_UNKNOWN, _UNKNOWN)


@lru_cache(maxsize=65536)
def _class_of(character: str) -> int:
    if character in _LISTED:
        return _LISTED[character]
    now, then = unicodedata.category(character), unicodedata.ucd_3_2_0.category(character)
    if now[0] != then[0]:
        return _UNKNOWN
    return _BY_CATEGORY.get(now, _BY_CATEGORY.get(now[0], _UNKNOWN))


_LISTED = {
    "\r": _NEWLINE,
    "\n": _NEWLINE,
    "'": _APOSTROPHE,
    "/": _SLASH,
    "\t": _SPACE,
    "\v": _SPACE,
    "\f": _SPACE,
}
# other controls, formats and line separators differ between definitions of white space: unknown
_BY_CATEGORY = {
    "L": _LETTER,
    "M": _MARK,
    "N": _NUMBER,
    "Zs": _SPACE,
    "P": _OTHER,
    "S": _OTHER,
}
