"""The table that ends a job."""

from __future__ import annotations

import io
import json

from rich.console import Console

from pipeline.first_failures import first_failures
from pipeline.manifest import Manifest, OutputFile, TokenSummary
from pipeline.summary import summary


def manifest(**changes: object) -> Manifest:
    values = {
        "settings": {},
        "chunking": {},
        "counters": {
            "documents_read": 1234,
            "documents_chunked": 1200,
            "documents_empty": 30,
            "documents_failed": 4,
            "chunks": 10_000,
            "text_bytes": 34_567_890,
        },
        "token_count": TokenSummary(3, 500, 512, 512),
        "failures": {"read: JSONDecodeError": 3, "chunk: ValueError": 1, "read: OSError": 1},
        "files": (
            OutputFile("chunks-00000-of-00002.parquet", 6000, 7_000_000, "a"),
            OutputFile("chunks-00001-of-00002.parquet", 4000, 5_000_000, "b"),
            OutputFile("failures-00000-of-00001.parquet", 5, 900_000, "c"),
        ),
        "started": "2025-01-01T00:00:00Z",
        "seconds": 10.0,
    }
    return Manifest(**(values | changes))


def lines(shown: Manifest, counted: str = "tokens", examples: dict[str, str] | None = None) -> list[str]:
    out = io.StringIO()
    Console(file=out, width=60).print(summary(shown, "out/job", counted, examples), soft_wrap=True)
    return out.getvalue().splitlines()


def test_the_whole_story_of_a_job():
    assert lines(manifest()) == [
        "documents read           1,234",
        "  chunked                1,200",
        "  empty                  30",
        "  failed                 4",
        "failures                 5, see out/job/failures.jsonl",
        "  read: JSONDecodeError  3",
        "  chunk: ValueError      1",
        "  read: OSError          1",
        "chunks                   10,000",
        "tokens in a chunk        min 3, median 500, p95 512, max 512",
        "text                     34.6 MB in 10.0 s (3.5 MB/s)",
        "output                   out/job (2 chunk files, 12.0 MB)",
    ]


def test_a_job_without_failures_does_not_speak_of_reasons():
    assert not [line for line in lines(manifest(failures={})) if line.startswith("failures")]


def test_a_job_without_chunks():
    shown = lines(manifest(token_count=TokenSummary(), counters={}, failures={}), counted="words")
    assert "words in a chunk  no chunks" in shown


def test_characters_over_the_budget_are_told():
    shown = lines(manifest(counters={"over_budget_chunks": 2}))
    assert "  over budget            2 (single characters of many tokens)" in shown


def test_documents_with_half_a_surrogate_pair_are_told():
    shown = lines(manifest(counters={"surrogates_replaced": 1200}))
    assert "  mended                 1,200 (half a surrogate pair became U+FFFD)" in shown


def test_documents_that_share_an_id_are_told():
    (line,) = [line for line in lines(manifest(counters={"duplicate_ids": 7})) if "repeated id" in line]
    assert line.split(maxsplit=4)[4] == "7 seen, maybe more; all are chunked (`verify` counts them)"


def test_each_kind_of_failure_has_its_first_message():
    shown = lines(manifest(), examples={"read: OSError": "a.jsonl: no such disk", "read: JSONDecodeError": "b: no"})
    assert "  read: JSONDecodeError  3; first b: no" in shown
    assert "  read: OSError          1; at a.jsonl: no such disk" in shown
    assert "  chunk: ValueError      1" in shown


def test_first_messages_come_from_the_readable_failures(tmp_path):
    rows = [
        ("read", "E", "a", "line 1", "one\ntwo"),
        ("read", "E", "a", "line 2", "x"),
        ("read", "F", "b", "", "y" * 999),
    ]
    names = ("stage", "error", "source", "position", "message")
    (tmp_path / "failures.jsonl").write_text(
        "".join(json.dumps(dict(zip(names, row, strict=True))) + "\n" for row in rows)
    )
    found = first_failures(str(tmp_path), ["read: E", "read: F"])
    assert found["read: E"] == "a, line 1: one two"
    assert found["read: F"] == "b: " + "y" * 159 + "…"


def test_no_line_ends_in_blanks_and_small_jobs_have_no_speed():
    shown = lines(manifest(seconds=0.4, counters={"text_bytes": 512}))
    assert "text                     512 bytes in 0.4 s" in shown
    assert [line for line in shown if line != line.rstrip()] == []


def test_many_kinds_are_cut_short_but_counted():
    shown = lines(manifest(failures={f"read: Error{n:02}": 20 - n for n in range(15)}))
    assert "failures           195, see out/job/failures.jsonl" in shown
    assert "  read: Error00    20" in shown
    assert "  5 other kinds    40" in shown


def test_a_long_job_is_told_in_minutes():
    assert "text                     34.6 MB in 2:05 (0.3 MB/s)" in lines(manifest(seconds=125.0))
