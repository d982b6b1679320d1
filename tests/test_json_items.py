"""Where the items of JSON files begin and end, whatever the blocks in which the bytes come."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.json_items import split_items

TEXTS = st.text(st.sampled_from('a é\\"[]{},\n:🚀'), max_size=12)
VALUES = st.recursive(
    TEXTS | st.none() | st.booleans() | st.floats(allow_nan=False) | st.integers(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)


def in_blocks(content, size):
    return [content[start : start + size] for start in range(0, len(content), size)]


@given(items=st.lists(VALUES, max_size=5), indent=st.none() | st.integers(0, 2), as_ascii=st.booleans(), data=st.data())
def test_the_items_of_an_array(items, indent, as_ascii, data):
    content = json.dumps(items, indent=indent, ensure_ascii=as_ascii).encode()
    blocks = in_blocks(content, data.draw(st.integers(1, len(content))))
    assert [json.loads(item) for item in split_items(blocks, 1 << 20)] == items


@given(records=st.lists(st.dictionaries(TEXTS, VALUES, max_size=3), max_size=4), size=st.integers(1, 50))
def test_objects_one_after_the_other(records, size):
    content = b"\xef\xbb\xbf" + b"\n".join(json.dumps(record, indent=1).encode() for record in records)
    blocks = [content[:3], *in_blocks(content[3:], size)]
    assert [json.loads(item) for item in split_items(blocks, 1 << 20)] == records


@pytest.mark.parametrize("content", [b"[", b"[1, 2", b'[{"a": 1', b'["a', b'["a\\\\\\"', b"[[1]", b'{"a": "}"', b"{]"])
@pytest.mark.parametrize("size", [1, 100])
def test_what_has_no_end(content, size):
    with pytest.raises(ValueError, match=r"has no end|is not closed"):
        list(split_items(in_blocks(content, size), 1 << 20))


@pytest.mark.parametrize(
    ("content", "items"),
    [
        (b"]", [b"]"]),
        (b"}", [b"}"]),
        (b"1]2", [b"1", b"]2"]),
        (b"{]}[}]", [b"{]}", b"}"]),
        (b"[}]]", [b"}", b"]"]),
        (b"\xff\\ x", [b"\xff\\", b"x"]),
    ],
)
def test_nonsense_is_items_that_fail_alone(content, items):
    assert list(split_items([content], 1 << 20)) == items
