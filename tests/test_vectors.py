"""Parity: what the published npm package llm-splitter 0.3.0 returned or raised, replayed case by case.

The recorded cases are in ``data/vectors``. Each says what the splitter was called with and what it returned, so
neither JavaScript's regular expressions nor its tokenizers are needed here. Offsets count UTF-16 code units.
"""

from __future__ import annotations

import copy
import gzip
import json
from pathlib import Path

import pytest

from llm_splitter import Part, get_chunk, split
from tests import contract

FOLDER = Path(__file__).parent / "data" / "vectors"

DIFFERENT_ON_PURPOSE = {
    "a-errors-046-splitter-string": "upstream takes functions only; here a splitter can be named",
}
ERRORS = {"TypeError": TypeError, "Error": ValueError}


def read_cases():
    for path in sorted(FOLDER.iterdir()):
        content = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
        yield from map(json.loads, content.splitlines())


def is_shared_character(case):
    """Upstream cannot place the tokens of ordinary text where two of them share a character."""
    return (
        case["kind"] == "error"
        and "could not be located" in case["expect"]["message"]
        and case["splitter"].endswith("_base")
    )


CASES = list(read_cases())
CHUNKS, TEXTS, FAILURES, BETTER = [], [], [], []
for case in CASES:
    if case["id"] in DIFFERENT_ON_PURPOSE or is_shared_character(case):
        BETTER.append(case)
    else:
        {"split": CHUNKS, "get_chunk": TEXTS, "error": FAILURES}[case["kind"]].append(case)


def each(cases):
    return pytest.mark.parametrize("case", [pytest.param(case, id=case["id"]) for case in cases])


class Reported(dict):
    """A part that is not well formed, with its keys as attributes."""

    __getattr__ = dict.get


def plain(value):
    """The value, with floats that JSON cannot write in place of their names."""
    if isinstance(value, dict) and "$float" in value:
        return float(value["$float"])
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    return [plain(item) for item in value] if isinstance(value, list) else value


def as_part(part, text):
    """A recorded part; its start is turned from code units into a Python index."""
    if not isinstance(part, dict):
        return part
    start = part.get("start")
    if type(start) is int and start > 0:
        before = contract.cut(text, 0, start, "utf16")
        start = len(before) + max(start - contract.length(text, "utf16"), 0)
    if set(part) == {"text", "start"} and isinstance(part["text"], str) and type(start) is int:
        return Part(part["text"], start)
    return Reported(part, start=start) if "start" in part else Reported(part)


def recorded_splitter(case):
    answers = {text: plain(parts) for text, parts in case["splitter_calls"]}

    def splitter(text):
        assert text in answers, f"upstream never gave the splitter {text!r}"
        parts = answers[text]
        return [as_part(part, text) for part in parts] if isinstance(parts, list) else parts

    return splitter


def run(case):
    given = copy.deepcopy(case["input"])
    if "get_chunk" in (case["kind"], case.get("function")):
        result = get_chunk(given, case["start"], case["end"], offset_unit="utf16")
    else:
        options = plain(case["options"])
        if case["splitter"] not in ("default", "option"):
            options["splitter"] = recorded_splitter(case)
        result = split(given, offset_unit="utf16", **options)
    assert given == case["input"], "the input was changed"
    return result


def normal(text):
    """A form in which a pair of surrogates equals the character that it stands for."""
    if isinstance(text, str):
        return text.encode("utf-16-le", "surrogatepass")
    return [normal(item) for item in text]


def expected_text(case, chunk):
    if "text" in chunk:
        return normal(chunk["text"])
    return normal(get_chunk(case["input"], chunk["start"], chunk["end"], offset_unit="utf16"))


def check_contract(case, chunks):
    """What holds for every split, whatever upstream says; parts that only repeat may end together."""
    source = case["input"]
    whole = contract.joined(source)
    for chunk in chunks[:: max(1, len(chunks) // 200)]:
        assert normal(get_chunk(source, chunk.start, chunk.end, offset_unit="utf16")) == normal(chunk.text)
        assert normal(contract.joined(chunk.text)) == normal(contract.cut(whole, chunk.start, chunk.end, "utf16"))
    contract.check_coverage(source, chunks, "utf16", may_skip=lambda _: True)
    assert [chunk.start for chunk in chunks] == sorted(chunk.start for chunk in chunks)


@each(CHUNKS)
def test_split_equals_upstream(case):
    chunks = run(case)
    assert contract.spans(chunks) == [(chunk["start"], chunk["end"]) for chunk in case["expect"]]
    assert [normal(chunk.text) for chunk in chunks] == [expected_text(case, chunk) for chunk in case["expect"]]
    check_contract(case, chunks)


@each(TEXTS)
def test_get_chunk_equals_upstream(case):
    if case["start"] > case["end"]:  # upstream swaps some of these
        assert run(case) in ("", [])
    else:
        assert normal(run(case)) == normal(case["expect"])


@each(FAILURES)
def test_error_equals_upstream(case):
    error = ERRORS[case["expect"]["error"]]
    with pytest.raises(error) as caught:
        run(case)
    assert not isinstance(caught.value, UnicodeError)
    assert str(caught.value)


@each(BETTER)
def test_better_than_upstream(case):
    """Where upstream raises, chunks that keep the contract."""
    chunks = run(case)
    assert chunks
    check_contract(case, chunks)


def test_every_case_counts_once():
    ids = [case["id"] for case in CASES]
    assert len(ids) == len(set(ids)) == len(CHUNKS) + len(TEXTS) + len(FAILURES) + len(BETTER) == 1025
    assert set(DIFFERENT_ON_PURPOSE) < set(ids)
