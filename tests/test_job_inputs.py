"""The whole job over every kind of input file, with settings from the model: nothing of a file stops a job."""

from __future__ import annotations

import decimal
import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pipeline.__main__ import main
from pipeline.build import run_job
from pipeline.config import JobConfig
from pipeline.verify import verify_output

TEXTS = ["one two three", "four five", "six"]
ROWS = [{"id": f"d{number}", "text": text} for number, text in enumerate(TEXTS)]
LINES = "".join(json.dumps(row) + "\n" for row in ROWS)


def write_arrow(path, table):
    with pa.ipc.new_file(path, table.schema) as file:
        file.write_table(table)


def write_delimited(path, delimiter):
    path.write_text("".join(f"{row['id']}{delimiter}{row['text']}\n" for row in [{"id": "id", "text": "text"}, *ROWS]))


WRITERS = {
    "a.parquet": lambda path: pq.write_table(pa.Table.from_pylist(ROWS), path),
    "a.jsonl": lambda path: path.write_text(LINES),
    "a.json": lambda path: path.write_text(json.dumps(ROWS, indent=1)),
    "a.csv": lambda path: write_delimited(path, ","),
    "a.tsv": lambda path: write_delimited(path, "\t"),
    "a.arrow": lambda path: write_arrow(path, pa.Table.from_pylist(ROWS)),
}


def job(source, tmp_path, **settings):
    given = {"splitter": "words", "chunk_size": 2, **settings}
    return JobConfig(input=str(source), output=str(tmp_path / "out"), **given)


def chunks(tmp_path, format="parquet"):  # noqa: A002 - the setting's name
    files = sorted((tmp_path / "out").glob("chunks-*"))
    if format == "jsonl":
        return [json.loads(line) for file in files for line in file.read_text().splitlines()]
    read = pq.read_table if format == "parquet" else lambda path: pa.ipc.open_file(path).read_all()
    return [row for file in files for row in read(file).select(["doc_id", "text", "v"]).to_pylist()]


@pytest.mark.parametrize("name", WRITERS)
@pytest.mark.parametrize("settings", [{}, {"max_line_bytes": "1MiB"}], ids=str)
def test_every_format(tmp_path, name, settings):
    WRITERS[name](tmp_path / name)
    result = run_job(job(tmp_path / name, tmp_path, id_column="id", **settings))
    assert (result.exit_code, result.error) == (0, "")
    assert (result.counters["documents_chunked"], result.counters["failures"]) == (3, 0)
    assert verify_output(str(tmp_path / "out")).is_clean


def test_text_files(tmp_path):
    (tmp_path / "a.txt").write_text("one two three")
    assert run_job(job(tmp_path / "a.txt", tmp_path)).counters["chunks"] == 2


@pytest.mark.parametrize("name", ["a.csv", "a.tsv"])
def test_delimited_files_through_the_command(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    WRITERS[name](Path(name))
    assert main(["run", "--input", name, "--output", "out", "--splitter", "words", "--quiet"]) == 0
    assert json.loads(Path("out/manifest.json").read_bytes())["counters"]["documents_chunked"] == 3


DECIMAL = decimal.Decimal("1.50")
ENCODED = pa.array(list("aba")).dictionary_encode()
STORED = {
    "strings in a struct": (
        pa.array([{"a": "x"}, None, {"a": None}], pa.struct([("a", pa.string_view())])),
        [{"a": "x"}, None, {"a": None}],
    ),
    "dictionary in a struct": (pa.StructArray.from_arrays([ENCODED], ["a"]), [{"a": "a"}, {"a": "b"}, {"a": "a"}]),
    "list views": (pa.array([["a"], None, []], pa.list_view(pa.string_view())), [["a"], None, []]),
    "large list views": (pa.array([["a", None], None, []], pa.large_list_view(pa.string())), [["a", None], None, []]),
    "lists of lists": (
        pa.array([[["a"], None], None, []], pa.list_(pa.large_list_view(pa.string_view()))),
        [[["a"], None], None, []],
    ),
    "fixed-size lists": (pa.array([[1, 2], None, [3, None]], pa.list_(pa.int8(), 2)), [[1, 2], None, [3, None]]),
    "run-end encoded": (pa.RunEndEncodedArray.from_arrays(pa.array([2, 3], pa.int32()), ["a", "b"]), ["a", "a", "b"]),
    "decimals": (pa.array([DECIMAL, None, DECIMAL]), [DECIMAL, None, DECIMAL]),
}
OF_ALL_FORMATS = {
    **{name: kind for name, (kind, _) in STORED.items()},
    "maps": pa.array([[("k", "v")], None, []], pa.map_(pa.string(), pa.string_view())),
    "unknown zone": pa.array([1, None, 3], pa.timestamp("us", "Mars/Phobos")),
    "nanoseconds": pa.array([1, None, 3], pa.timestamp("ns", "Mars/Phobos")),
    "durations": pa.array([1, None, 3], pa.duration("ns")),
    "far years": pa.array([10**13, None, -(10**13)], pa.timestamp("s")),
    "far days": pa.array([10**8, None, 1], pa.date32()),
    "times in a list": pa.array([[10**8], None, [1]], pa.list_(pa.date32())),
}


@pytest.mark.parametrize("name", STORED)
def test_metadata_keeps_its_values_in_a_plain_type(tmp_path, name):
    values, expected = STORED[name]
    write_arrow(tmp_path / "a.arrow", pa.table({"text": TEXTS, "v": values}))
    assert run_job(job(tmp_path / "a.arrow", tmp_path, chunk_size=5, metadata_columns=["v"])).counters["failures"] == 0
    assert sorted(map(str, (row["v"] for row in chunks(tmp_path)))) == sorted(map(str, expected))


@pytest.mark.parametrize("format", ["parquet", "arrow", "jsonl"])
@pytest.mark.parametrize("name", OF_ALL_FORMATS)
def test_metadata_that_every_format_can_hold(tmp_path, name, format):  # noqa: A002
    write_arrow(tmp_path / "a.arrow", pa.table({"text": TEXTS, "v": OF_ALL_FORMATS[name]}))
    result = run_job(job(tmp_path / "a.arrow", tmp_path, metadata_columns=["v"], format=format))
    assert (result.exit_code, result.error, result.counters["failures"]) == (0, "", 0)
    assert verify_output(str(tmp_path / "out")).is_clean


def test_json_gives_a_time_in_an_unknown_zone_in_utc(tmp_path):
    write_arrow(tmp_path / "a.arrow", pa.table({"text": TEXTS, "v": OF_ALL_FORMATS["unknown zone"]}))
    run_job(job(tmp_path / "a.arrow", tmp_path, chunk_size=5, metadata_columns=["v"], format="jsonl"))
    assert chunks(tmp_path, "jsonl")[0]["v"] == "1970-01-01T00:00:00.000001+00:00"


UNSTORABLE = {
    "interval": pa.array([(1, 2, 3)] * 3, pa.month_day_nano_interval()),
    "union": pa.UnionArray.from_sparse(pa.array([0, 0, 0], pa.int8()), [pa.array([1, 2, 3])]),
    "empty struct": pa.array([{}] * 3, pa.struct([])),
}


@pytest.mark.parametrize("name", UNSTORABLE)
def test_metadata_that_parquet_cannot_hold_is_refused_at_launch(tmp_path, monkeypatch, capsys, name):
    monkeypatch.chdir(tmp_path)
    write_arrow("a.arrow", pa.table({"text": TEXTS, "v": UNSTORABLE[name]}))
    arguments = [
        *["run", "--input", "a.arrow", "--metadata-columns", "v", "--output", "out", "--splitter", "words"],
        "--quiet",
    ]
    assert main(arguments) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "'v' has the type" in line
    assert "which parquet files cannot hold" in line
    assert not Path("out").exists()
    assert main([*arguments, "--format", "arrow"]) == 0


def test_a_later_file_with_such_a_type_does_not_stop_a_job(tmp_path):
    for number in range(40):
        pq.write_table(pa.table({"text": ["a"], "v": ["x"]}), tmp_path / f"{number:02}.parquet")
    write_arrow(tmp_path / "01.arrow", pa.table({"text": TEXTS, "v": UNSTORABLE["union"]}))
    result = run_job(job(tmp_path, tmp_path / "results", metadata_columns={"v": "string"}))
    assert result.exit_code == 0, result.error
    assert result.counters["documents_chunked"] == 40
    assert result.counters["failures"] > 0


def test_pipes_and_sockets_are_failures_and_no_wait(tmp_path):
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a.jsonl").write_text(LINES)
    os.mkfifo(tmp_path / "docs" / "pipe.jsonl")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "docs" / "socket.jsonl"))
        code = "import sys; from pipeline.__main__ import main; sys.exit(main(sys.argv[1:]))"
        command = ["run", "--input", f"{tmp_path}/docs/*", "--output", f"{tmp_path}/out", "--splitter", "words"]
        done = subprocess.run([sys.executable, "-c", code, *command], capture_output=True, check=False, timeout=120)
    assert done.returncode == 0
    failures = [json.loads(line) for line in (tmp_path / "out" / "failures.jsonl").read_text().splitlines()]
    assert sorted(Path(failure["source"]).name for failure in failures) == ["pipe.jsonl", "socket.jsonl"]
    assert {"this is no regular file, but a folder, pipe, socket or device; only files are read"} == {
        failure["message"] for failure in failures
    }


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("--input a.jsonl --output a.jsonl", "output: 'a.jsonl' cannot be a folder, since '"),
        ("--input a.jsonl --output a.jsonl/below", "is a file; name another"),
        ("--input a.jsonl --output nowhere://x/y", "output: 'nowhere://x/y' is on a file system that is not installed"),
        ("--input hdfs://x/y.jsonl --output out", "pip install 'apache-beam[hadoop]'"),
        ("--input a.jsonl --output hdfs://x/y", "output: 'hdfs://x/y' needs a package for hdfs://"),
        ("--input a.jsonl --output out --chunk-size 99999999999999999999", "chunk_size"),
    ],
)
def test_what_cannot_work_is_one_line_before_anything_runs(tmp_path, monkeypatch, capsys, arguments, words):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "hdfs", None)
    Path("a.jsonl").write_text(LINES)
    assert main(["run", *arguments.split(), "--splitter", "words", "--quiet"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert words.partition(": ")[2] in line if words.startswith("output: ") else words.replace("_", "-") in line
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.jsonl"]


def test_the_home_folder_may_be_written_as_a_tilde(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "a.jsonl").write_text(LINES)
    assert run_job(JobConfig(input="~/*.jsonl", output="~/out", splitter="words")).exit_code == 0
    assert (tmp_path / "out" / "manifest.json").exists()
    assert verify_output(str(tmp_path / "out")).is_clean


def test_all_files_have_one_schema_whatever_the_documents_lack(tmp_path):
    source = tmp_path / "in"
    source.mkdir()
    pq.write_table(pa.table({"text": ["one"], "label": ["x"]}), source / "a.parquet")
    pq.write_table(pa.table({"text": ["two"], "label": pa.nulls(1)}), source / "b.parquet")
    for number in range(9):
        pq.write_table(pa.table({"text": ["three"]}), source / f"c{number}.parquet")
    lines = ['{"text": "four", "label": null}', '{"text": "five"}', '{"text": "a\\udbc0 b", "label": "\\ud800"}']
    (source / "d.jsonl").write_text("\n".join(lines))
    workers = ["--direct_running_mode=multi_threading", "--direct_num_workers=4"]
    result = run_job(job(source, tmp_path, chunk_size=9, metadata_columns=["label"]), beam_args=workers)
    assert (result.exit_code, result.counters["failures"]) == (0, 0)
    tables = [pq.read_table(path) for path in (tmp_path / "out").glob("chunks-*.parquet")]
    assert len(tables) > 1  # what is read is dealt out to the workers by chance
    assert all(table.schema.equals(tables[0].schema, check_metadata=True) for table in tables)
    rows = pa.concat_tables(tables).select(["text", "label"]).to_pylist()
    assert {row["text"]: row["label"] for row in rows} == {
        "one": "x", "two": None, "three": None, "four": None, "five": None, "a\ufffd b": "\ufffd",
    }  # fmt: skip
