"""Lines of a stream, and ranges of whole lines."""

import io
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from pipeline.lines import LineSplitter, LongLine, plan_ranges

CONTENT = st.lists(st.sampled_from([b"\n", b"\r", b"a", b"bc", "é\u2028".encode()])).map(b"".join)


@given(content=CONTENT, cuts=st.lists(st.integers(0, 30)), limit=st.integers(1, 6))
def test_lines_do_not_depend_on_blocks(content, cuts, limit):
    edges = [0, *sorted(min(cut, len(content)) for cut in cuts), len(content)]
    blocks = [content[start:end] for start, end in pairwise(edges)]
    splitter = LineSplitter(blocks, limit)
    given_lines = [
        (lines.first + index, int(start), line)
        for lines in splitter
        for index, (line, start) in enumerate(zip(lines.lines, lines.starts(), strict=True))
    ]
    expected, byte = [], 0
    for number, line in enumerate(content.split(b"\n"), 1):
        if line or byte + len(line) < len(content):
            expected.append((number, byte, line))
        byte += len(line) + 1
    assert [(number, byte, len(line)) for number, byte, line in given_lines] == [
        (number, byte, len(line)) for number, byte, line in expected
    ]
    for (_, _, line), (_, _, whole) in zip(given_lines, expected, strict=True):
        assert isinstance(line, LongLine) if len(whole) > limit else line == whole


def test_a_line_that_is_not_kept_takes_no_memory():
    def blocks():
        yield b"first\n"
        for _ in range(1000):
            assert len(splitter._open) <= 3 << 20
            yield bytes(1 << 20)
        yield b"\nlast"

    splitter = LineSplitter(blocks(), 3 << 20)
    lines = [line for given_lines in splitter for line in given_lines.lines]
    assert (lines[0], len(lines[1]), lines[2]) == (b"first", 1000 << 20, b"last")


@given(content=CONTENT, split_bytes=st.integers(1, 20))
def test_ranges_hold_whole_lines_and_know_their_number(content, split_bytes):
    ranges = plan_ranges(io.BytesIO(content), len(content), split_bytes)
    assert b"".join(content[part.start : part.end] for part in ranges) == content
    for part in ranges:
        assert part.start == 0 or content[part.start - 1 : part.start] == b"\n"
        assert part.first_line == 1 + content[: part.start].count(b"\n")
    for part in ranges[:-1]:
        assert part.end - part.start >= split_bytes
        assert b"\n" not in content[part.start + split_bytes - 1 : part.end - 1]
