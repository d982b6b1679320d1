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
from functools import lru_cache

_LETTER, _MARK, _NUMBER, _SPACE, _NEWLINE, _OTHER, _APOSTROPHE, _SLASH, _UNKNOWN = "LMNSRPAQU"

# What may follow each class with a sure cut between them.
_CUT_BEFORE = {
    _LETTER: "NSRPQ",  # not an apostrophe (contractions) and not a mark (letters to o200k)
    _MARK: "NS",
    _NUMBER: "LMSRPAQ",
    _SPACE: "",  # white space may lead the next word, or be one with white space around it
    _NEWLINE: "LNPA",  # a slash may follow line ends in o200k
    _OTHER: "NS",  # punctuation takes line ends along, and may lead a word of letters
    _APOSTROPHE: "NS",
    _SLASH: "NS",
    _UNKNOWN: "",
}


def _class_of(character: str) -> str:
    if character in "\r\n":
        return _NEWLINE
    if character == "'":
        return _APOSTROPHE
    if character == "/":
        return _SLASH
    now, then = unicodedata.category(character), unicodedata.ucd_3_2_0.category(character)
    if now[0] != then[0]:
        return _UNKNOWN
    if now[0] in "LMN":
        return now[0]
    return _class_of_other(character, now)


def _class_of_other(character: str, category: str) -> str:
    if character in "\t\v\f \u00a0\u3000" or category == "Zs":
        return _SPACE
    # controls, formats and unassigned characters differ between definitions of white space
    return _OTHER if category[0] in "PS" else _UNKNOWN


@lru_cache(maxsize=65536)
def _is_cut(before: str, after: str) -> bool:
    return _class_of(after) in _CUT_BEFORE[_class_of(before)]


# one look-up for two ASCII characters: before * 128 + after
_ASCII = bytes(_is_cut(chr(before), chr(after)) for before in range(128) for after in range(128))


def is_safe_cut(data: memoryview, position: int) -> bool:
    """Whether the text is surely split between words at a byte position.

    Args:
        data: Valid UTF-8.
        position: Between two bytes of it.

    >>> text = memoryview("one two".encode())
    >>> [is_safe_cut(text, position) for position in (3, 4)]
    [True, False]
    """
    before, after = data[position - 1], data[position]
    if before < 0x80 and after < 0x80:
        return _ASCII[before << 7 | after] == 1
    if after & 0xC0 == 0x80:
        return False
    first = position - 1
    while data[first] & 0xC0 == 0x80:
        first -= 1
    return _is_cut(str(data[first:position], "utf-8"), str(data[position : position + _width(after)], "utf-8"))


def _width(lead: int) -> int:
    """Bytes of the character that a lead byte opens."""
    if lead < 0x80:
        return 1
    return 2 if lead < 0xE0 else 3 if lead < 0xF0 else 4
