"""JSON files that are an array, or whose objects span lines."""

import gzip
import json

import pytest

from pipeline.json_files import spans_lines
from tests.reading import options, read

RECORDS = [{"text": "a"}, {"text": "b é\u2028"}, {"text": ["c", "d"]}]


@pytest.mark.parametrize(
    "content",
    [
        json.dumps(RECORDS),
        json.dumps(RECORDS, indent=2),
        "\ufeff" + json.dumps(RECORDS, indent="\t", ensure_ascii=False),
        "\n".join(json.dumps(record, indent=1) for record in RECORDS),
        json.dumps(RECORDS[:1]) + "\n" + json.dumps(RECORDS[1:]),
    ],
    ids=["one line", "indented", "byte order mark and tabs", "objects one after the other", "two arrays"],
)
def test_items_are_documents(tmp_path, content):
    (tmp_path / "a.json").write_text(content, encoding="utf-8")
    outcome = read(tmp_path / "a.json", split_bytes=1)
    assert sorted(map(str, outcome.texts)) == ["['c', 'd']", "a", "b é\u2028"]
    assert outcome.column("_position") == ["item 0", "item 1", "item 2"]
    assert outcome.column("doc_id")[0] == f"{tmp_path / 'a.json'}#0"


def test_bad_items_fail_alone(tmp_path):
    (tmp_path / "a.json").write_text('[{"text": "a"}, 1, [], {"text": 2}, oops, {"text": "b",}, {"text": "\\ud800"}]')
    outcome = read(tmp_path / "a.json")
    assert outcome.texts == ["a", "\ufffd"]
    assert [failure.position for failure in outcome.failures] == [f"item {number}" for number in range(1, 6)]


@pytest.mark.parametrize(
    ("content", "kept"), [('[{"text": "a"}, {"text": "b"}, {"te', 2), ('[{"text": "a"}', 1), ("[", 0)]
)
def test_a_truncated_file_keeps_the_items_before_the_cut(tmp_path, content, kept):
    (tmp_path / "a.json").write_text(content)
    outcome = read(tmp_path / "a.json")
    assert len(outcome.texts) == kept
    assert [(failure.position, failure.scope) for failure in outcome.failures] == [(f"item {kept}", "file")]


def test_many_items(tmp_path):
    (tmp_path / "a.json").write_text(json.dumps([{"text": str(n)} for n in range(2500)]))
    assert read(tmp_path / "a.json").texts == [str(n) for n in range(2500)]


def test_a_file_past_the_limit_is_read_item_by_item(tmp_path):
    (tmp_path / "a.json").write_text(json.dumps([{"text": "a" * 100}] * 20))
    assert read(tmp_path / "a.json", options(max_line_bytes=200)).texts == ["a" * 100] * 20


@pytest.mark.parametrize("item", [json.dumps({"text": "a" * 100}), "1" * 101, '"' + "a" * 200])
def test_the_file_is_lost_from_an_item_past_the_limit_on(tmp_path, item):
    (tmp_path / "a.json").write_text(f'[{{"text": "before"}}, {item}, {{"text": "after"}}]')
    outcome = read(tmp_path / "a.json", options(max_line_bytes=50))
    assert outcome.texts == ["before"]
    assert outcome.failed == [("item 1", "ValueError")]
    assert "more than 50 bytes" in outcome.failures[0].message


def test_a_damaged_stream_keeps_the_items_before_the_end(tmp_path):
    texts = [f"{n * n * 7919:x}" * 20 for n in range(20_000)]
    compressed = gzip.compress(json.dumps([{"text": text} for text in texts]).encode())
    (tmp_path / "a.json.gz").write_bytes(compressed[: len(compressed) * 2 // 3])
    outcome = read(tmp_path / "a.json.gz")
    kept = len(outcome.texts)
    assert kept > 5000
    assert outcome.texts == texts[:kept]
    assert [(failure.error, failure.scope) for failure in outcome.failures] == [("EOFError", "file")]
    assert outcome.failures[0].position == f"item {kept}"


@pytest.mark.parametrize("content", [b"", b"[]", b"[\n]", b" [ [\n]\n]"])
def test_empty_arrays(tmp_path, content):
    (tmp_path / "a.json").write_bytes(content)
    assert read(tmp_path / "a.json").texts == []


@pytest.mark.parametrize("head", [b"", b'{"a": 1}', b'{"a": 1}\n{', b'{"broken\n', b"{}\n[1]", b"text"])
def test_what_is_read_as_json_lines(head):
    assert not spans_lines(head)
