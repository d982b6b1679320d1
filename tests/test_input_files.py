"""Patterns and the files they name."""

import gzip
import os

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from apache_beam.io.filesystem import CompressionTypes, FileMetadata
from apache_beam.io.localfilesystem import LocalFileSystem

from pipeline.formats import InputFile
from pipeline.input_files import check_unchanged, match_files, sample_schemas
from tests.reading import options, read, read_missing

NAMES = [
    "a.parquet",
    "b.jsonl",
    "README",
    ".hidden.jsonl",
    "_SUCCESS.txt",
    "[1].jsonl",
    "sub/c.jsonl.gz",
    "sub/deep/d.jsonl",
    "sub/.git/e.jsonl",
]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    for name in NAMES:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("patterns", "names"),
    [
        ("b.jsonl", ["b.jsonl"]),
        ("*.jsonl", ["[1].jsonl", "b.jsonl"]),
        ("./*.parquet", ["./a.parquet"]),
        ("sub/*.gz", ["sub/c.jsonl.gz"]),
        ("**/*.jsonl", ["[1].jsonl", "b.jsonl", "sub/deep/d.jsonl"]),
        ("sub/**/*.jsonl*", ["sub/c.jsonl.gz", "sub/deep/d.jsonl"]),
        ("s*/*.gz", ["sub/c.jsonl.gz"]),
        ("?.jsonl", ["b.jsonl"]),
        ("[ab].*", ["a.parquet", "b.jsonl"]),
        ("[1].jsonl", ["[1].jsonl"]),
        ("sub", ["sub/c.jsonl.gz", "sub/deep/d.jsonl"]),
        ("sub/", ["sub/c.jsonl.gz", "sub/deep/d.jsonl"]),
        (".", ["./[1].jsonl", "./a.parquet", "./b.jsonl", "./sub/c.jsonl.gz", "./sub/deep/d.jsonl"]),
        (["b.jsonl", "*.jsonl", "a.parquet"], ["[1].jsonl", "a.parquet", "b.jsonl"]),
        (".hidden.jsonl", [".hidden.jsonl"]),
        ("*", ["README", "[1].jsonl", "_SUCCESS.txt", "a.parquet", "b.jsonl"]),
    ],
    ids=str,
)
def test_patterns(folder, patterns, names):
    assert [file.path for file in match_files(patterns)] == names
    absolute = [f"{folder}/{pattern}" for pattern in ([patterns] if isinstance(patterns, str) else patterns)]
    assert len(match_files(absolute)) == len(names)


@pytest.mark.parametrize(
    ("patterns", "words"),
    [
        ("*.csv", r"no file matches '\*.csv'"),
        ("nowhere/a.parquet", "no file matches 'nowhere/a.parquet'"),
        (["a.parquet", "nope"], "no file matches 'nope'"),
        ([], "no input"),
        ("README", "what 'README' is cannot be told from its name; set it to one of parquet, jsonl"),
        ("READ*", "what 'README' is cannot be told"),
        ("nosuchscheme://x/*.parquet", "nosuchscheme"),
    ],
    ids=str,
)
def test_what_names_no_file_is_an_error(folder, patterns, words):
    with pytest.raises(ValueError, match=words):
        match_files(patterns)


@pytest.mark.parametrize("format", ["auto", "text"])
def test_a_folder_says_what_it_leaves_out(folder, caplog, format):  # noqa: A002
    for name in ("x.log", "noext", "z.pdf"):
        (folder / "sub" / name).touch()
    assert len(match_files("sub", format)) == 2
    assert [record.getMessage() for record in caplog.records] == [
        "input: 3 files in folders left out, with endings of no known format: 'sub/noext', 'sub/x.log', 'sub/z.pdf'"
    ]


def test_of_many_files_that_are_left_out_a_few_are_named(folder, caplog):
    for number in range(1200):
        (folder / "sub" / f"{number:04}.log").touch()
    match_files("sub")
    assert caplog.messages[0].startswith("input: 1,200 files in folders left out, ")
    assert caplog.messages[0].endswith("'sub/0001.log', 'sub/0002.log' and 1,197 more")


def test_a_file_that_is_named_beside_its_folder_is_not_left_out(folder, caplog):
    (folder / "sub" / "x.log").touch()
    assert [file.path for file in match_files(["sub", "sub/*.log"], "text")][-1] == "sub/x.log"
    assert caplog.messages == []


def test_a_folder_of_nothing_but_unknown_formats(folder):
    for name in ("x.log", "noext", "z.pdf", ".hidden.txt"):
        (folder / "other" / name).parent.mkdir(exist_ok=True)
        (folder / "other" / name).touch()
    with pytest.raises(ValueError, match="the folder 'other' holds no file of a known format") as refused:
        match_files("other")
    assert "but 'other/noext', 'other/x.log', 'other/z.pdf'; of a folder these are read: *.parquet" in str(
        refused.value
    )


def test_an_empty_folder_is_called_empty(folder):
    (folder / "other" / "deep").mkdir(parents=True)
    with pytest.raises(ValueError, match=r"the folder 'other' is empty$"):
        match_files("other")
    (folder / "other" / "_SUCCESS").touch()
    with pytest.raises(ValueError, match=r"the folder 'other' is empty, but for names that begin with \. or _$"):
        match_files("other")


def test_a_given_format_holds_for_every_file(folder):
    assert match_files("README", "text") == [
        InputFile("README", 6, os.path.getmtime("README"), "text")  # noqa: PTH204
    ]
    with pytest.raises(ValueError, match="format is 'xml'; it must be one of auto, parquet"):
        match_files("README", "xml")


def test_a_changed_file_is_noticed(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("one")
    [file] = match_files(str(path))
    check_unchanged(file)
    os.utime(path, (1, 1))
    with pytest.raises(OSError, match="it was written to after it was listed"):
        check_unchanged(file)
    path.write_text("longer")
    with pytest.raises(OSError, match="it had 3 bytes, now 6"):
        check_unchanged(file)
    path.unlink()
    with pytest.raises(OSError, match="not there any more"):
        check_unchanged(file)


def test_a_file_that_vanished_is_a_failure(tmp_path):
    outcome = read_missing(tmp_path / "gone.jsonl")
    assert outcome.failed == [("", "FileNotFoundError")]


def test_files_that_cannot_be_read_are_no_samples(tmp_path):
    (tmp_path / "a.parquet").write_bytes(b"broken")
    (tmp_path / "b.csv").write_bytes(b"text,lang\n")
    (tmp_path / "c.jsonl").write_bytes(b'{"text": "a", "n": 1}\nbroken')
    (tmp_path / "d.json").write_bytes(b'[{"text": "a", "x": 1}]')
    (tmp_path / "e.txt").write_bytes(b"words")
    schemas = list(sample_schemas(match_files(str(tmp_path)), options()))
    assert [schema.names for schema in schemas] == [["text", "lang"], ["text", "n"], ["text", "x"], ["text"]]


class ShelfFileSystem(LocalFileSystem):
    """Local files under `shelf://`, opened as Python files, as those of a bucket are."""

    @classmethod
    def scheme(cls):
        return "shelf"

    def _bare(self, path):
        return path.removeprefix("shelf://")

    def exists(self, path):
        return os.path.isfile(self._bare(path))  # noqa: PTH113

    def metadata(self, path):
        found = super().metadata(self._bare(path))
        return FileMetadata(path, found.size_in_bytes, found.last_updated_in_seconds)

    def _list(self, dir_or_prefix):
        for folder, _, names in os.walk(self._bare(dir_or_prefix)):
            for name in names:
                yield self.metadata(f"shelf://{folder}/{name}")

    def open(self, path, mime_type="application/octet-stream", compression_type=CompressionTypes.AUTO):
        return super().open(self._bare(path), mime_type, compression_type)


def test_files_of_other_file_systems(tmp_path):
    pq.write_table(pa.table({"text": list("abcd")}), tmp_path / "a.parquet", row_group_size=2)
    (tmp_path / "b.jsonl.gz").write_bytes(gzip.compress(b'{"text": "a"}\n'))
    (tmp_path / "c.arrow.gz").write_bytes(b"not gzip")
    pa.ipc.new_file(str(tmp_path / "d.arrow"), pa.schema([("text", pa.string())])).close()
    root = f"shelf://{tmp_path}"
    assert [file.path for file in match_files([f"{root}/*.parquet", f"{root}/b.jsonl.gz", f"{root}/d.arrow"])] == [
        f"{root}/a.parquet",
        f"{root}/b.jsonl.gz",
        f"{root}/d.arrow",
    ]
    assert len(match_files(root)) == 4
    assert read(f"{root}/a.parquet", split_bytes=1).column("doc_id") == [f"{root}/a.parquet#{n}" for n in range(4)]
    assert read(f"{root}/b.jsonl.gz").texts == ["a"]
    assert read(f"{root}/d.arrow").documents_read == 0
    assert [failure.scope for failure in read(f"{root}/c.arrow.gz").failures] == ["file"]
