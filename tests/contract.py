"""The promises of a split, checked with nothing but Python strings."""

from __future__ import annotations

from itertools import pairwise

from llm_splitter import get_chunk

WHITESPACE = (
    "\t\n\v\f\r \u00a0\u1680" + "".join(map(chr, range(0x2000, 0x200B))) + "\u2028\u2029\u202f\u205f\u3000\ufeff"
)


def joined(text):
    return text if isinstance(text, str) else "".join(text)


def units(text, unit):
    """The text as a sequence that offsets in the unit index, two or one bytes to an item."""
    if unit == "utf16":
        return text.encode("utf-16-le", "surrogatepass")
    return text.encode("utf-8", "surrogatepass")


def length(text, unit="codepoint"):
    if unit == "codepoint":
        return len(text)
    return len(units(text, unit)) // (2 if unit == "utf16" else 1)


def cut(text, start, end, unit="codepoint"):
    """What stands between two offsets of a string."""
    if unit == "codepoint":
        return text[start:end]
    if unit == "utf16":
        return units(text, unit)[2 * start : 2 * end].decode("utf-16-le", "surrogatepass")
    return units(text, unit)[start:end].decode("utf-8", "surrogatepass")


def check_chunks_lead_back(source, chunks, unit="codepoint"):
    """Offsets give the chunk's text, by ``get_chunk`` and by plain slicing of the joined source."""
    whole = joined(source)
    for chunk in chunks:
        assert get_chunk(source, chunk.start, chunk.end, offset_unit=unit) == chunk.text
        assert cut(whole, chunk.start, chunk.end, unit) == joined(chunk.text)
        assert isinstance(chunk.text, str) == isinstance(source, str)


def check_coverage(source, chunks, unit="codepoint", *, may_skip=None):
    """From the first chunk on no character is unowned.

    ``may_skip`` says which texts may stand before the first chunk; without it, none.
    """
    whole = joined(source)
    if not chunks:
        return
    skipped = cut(whole, 0, chunks[0].start, unit)
    assert not skipped or (may_skip and may_skip(skipped)), f"unowned at the beginning: {skipped!r}"
    for before, after in pairwise(chunks):
        assert after.start <= before.end, f"gap between {before} and {after}"
    assert chunks[-1].end == length(whole, unit)


def check_order(chunks):
    for before, after in pairwise(chunks):
        assert before.start <= after.start, f"{after} starts before {before}"
        assert before.end < after.end, f"{after} ends no later than {before}"


def check_no_new_replacement_characters(source, chunks):
    if "\ufffd" not in joined(source):
        assert not any("\ufffd" in joined(chunk.text) for chunk in chunks)


def is_whitespace(text):
    return not text.strip(WHITESPACE)


def has_content(source):
    return not is_whitespace(joined(source))


def check(source, chunks, unit="codepoint", *, may_skip=None):
    """Everything but the sizes."""
    check_chunks_lead_back(source, chunks, unit)
    check_coverage(source, chunks, unit, may_skip=may_skip)
    check_order(chunks)
    check_no_new_replacement_characters(source, chunks)


def spans(chunks):
    return [(chunk.start, chunk.end) for chunk in chunks]
