"""The classes of characters that words and sentences are found by: examples of each, by hand."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from llm_splitter import character_classes as classes
from tests.contract import WHITESPACE

EXAMPLES = {
    classes.OTHER: "aZ0ßж한שمक٣$\u200bⅧ👋𝔗\ue000\uffff",
    classes.SPACE: WHITESPACE,
    classes.SINGLE: "中㐂豈𠮷々〇〆あアｱㄅกະກကក𪚥\U000323af",
    classes.LEADER: "เแโใไເແໂໃໄ",
    classes.EXTENDER: "\u0301\u093f\u20dd\u200d\u200cー\u0e31\u0e46\ufe0f\u3099",
    classes.STOP: ".!?…؟۔։‽",
    classes.STRONG_STOP: "。！？．｡।॥။៕",
    classes.CLOSER: "\"'”’»)]}」』】）》",
    classes.OPENER: "([{“‘«「『（《¿"[:-1],
    classes.PUNCTUATION: ",;:-—、，·&%@_+=<>^`|~€",
}


@pytest.mark.parametrize(
    ("character", "expected"),
    [(character, kind) for kind, examples in EXAMPLES.items() for character in examples if character != "$"],
    ids=lambda value: ascii(value) if isinstance(value, str) else "",
)
def test_class_of(character, expected):
    assert classes.class_of(np.array([ord(character)], dtype=np.uint32)).tolist() == [expected]
    if ord(character) < 0x100:
        assert classes.class_of(np.array([ord(character)], dtype=np.uint8)).tolist() == [expected]


def test_every_code_point_has_a_class():
    found = classes.class_of(np.arange(sys.maxunicode + 1, dtype=np.uint32))
    assert set(found.tolist()) == set(range(10))
    assert np.array_equal(found[:0x100], classes.class_of(np.arange(0x100, dtype=np.uint8)))
