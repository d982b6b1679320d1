"""Formats: known by name, contradicted by content, planned into units."""

import gzip
from itertools import pairwise

import pytest

from pipeline.formats import InputFile, detect_format, plan_units
from tests.reading import options, read


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("a.parquet", "parquet"),
        ("A.PQ", "parquet"),
        ("x/a.ndjson.zst", "jsonl"),
        ("a.json.gz", "jsonl"),
        ("a.tsv", "csv"),
        ("a.feather", "arrow"),
        ("a.md", "text"),
        ("gs://bucket/part-0.v2.csv.gz", "csv"),
    ],
)
def test_formats_by_name(name, expected):
    assert detect_format(name) == expected


@pytest.mark.parametrize("name", ["a", "a.gz", "a.parquet.crc", "parquet", "a.bin"])
def test_names_that_say_nothing(name):
    with pytest.raises(ValueError, match="cannot be told from its name"):
        detect_format(name)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"PAR1\x15\x04", "is a Parquet file by its first bytes"),
        (b"ARROW1\0\0", "is an Arrow file"),
        ('{"text": "a"}'.encode("utf-16"), "UTF-16"),
    ],
)
def test_a_mislabelled_file_is_one_failure(tmp_path, content, words):
    (tmp_path / "a.jsonl").write_bytes(content)
    outcome = read(tmp_path / "a.jsonl")
    assert (outcome.documents_read, len(outcome.failures)) == (0, 1)
    assert words in outcome.failures[0].message


def test_a_large_file_is_cut_into_ranges_that_meet(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_bytes(b"".join(b'{"text": "%d"}\n' % n for n in range(300_000)))
    file = InputFile(str(path), path.stat().st_size, format="jsonl")
    with path.open("rb") as handle:
        parts = [unit.part for unit in plan_units(handle, file, options(split_bytes=1 << 20))]
    assert len(parts) == 6
    assert parts[0].start == 0
    assert parts[-1].end == file.size
    assert all(before.end == after.start for before, after in pairwise(parts))
    assert read(path, split_bytes=1 << 20).rows == read(path).rows


def test_compressed_files_are_one_unit(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_bytes(gzip.compress(b'{"text": "a"}\n' * 1000))
    file = InputFile(str(path), path.stat().st_size, format="jsonl")
    with path.open("rb") as handle:
        assert len(plan_units(handle, file, options(split_bytes=10))) == 1
