"""Watched folders: rounds of files as they arrive, taken up again after a stop at any moment."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections import Counter
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pipeline import watching
from pipeline.__main__ import main
from pipeline.build import run_job
from pipeline.config import JobConfig
from pipeline.exit_codes import ExitCode
from pipeline.watching import arrived, finished_files, watch_rounds


def put(folder, name, *texts):
    folder.mkdir(exist_ok=True)
    lines = [json.dumps({"id": f"{name}-{number}", "text": text}) for number, text in enumerate(texts)]
    hidden = folder / f".{name}"
    hidden.write_text("\n".join(lines))
    hidden.rename(folder / name)


def config(tmp_path, output="out"):
    return JobConfig(
        input=f"{tmp_path}/inbox/*.jsonl", output=str(tmp_path / output), id_column="id", splitter="words", chunk_size=3
    )


def looks(*actions):
    """Waiting that does something each time, and is over when nothing is left to do."""
    left = list(actions)

    def wait():
        if left:
            left.pop(0)()
            return True
        return False

    return wait


def nothing():
    pass


def rows(folder):
    tables = [pq.read_table(path) for path in sorted(folder.glob("**/chunks-*.parquet"))]
    return pa.concat_tables(tables).sort_by("chunk_id").to_pylist() if tables else []


def test_files_are_taken_once_each_when_they_have_settled(tmp_path):
    inbox = tmp_path / "inbox"
    put(inbox, "a.jsonl", "one two three four")
    actions = looks(lambda: put(inbox, "b.jsonl", "five"), nothing, lambda: put(inbox, "c.jsonl", "six"), nothing)
    taken = [sorted(Path(path).name for path in each.files) for each in watch_rounds(config(tmp_path), actions)]
    assert taken == [["a.jsonl"], ["b.jsonl"], ["c.jsonl"]]
    batch = run_job(config(tmp_path, "batch"))
    assert rows(tmp_path / "out") == rows(tmp_path / "batch")
    assert batch.counters["chunks"] == 4


def test_a_folder_may_be_empty_at_first(tmp_path):
    assert list(watch_rounds(config(tmp_path), looks(nothing, nothing))) == []


def test_a_file_that_grows_is_left_alone_until_it_rests(tmp_path):
    inbox = tmp_path / "inbox"
    put(inbox, "a.jsonl", "one")
    grow = [lambda size=size: put(inbox, "a.jsonl", *["one"] * size) for size in (2, 3)]
    [only] = watch_rounds(config(tmp_path), looks(*grow, nothing))
    assert only.result.counters["documents_read"] == 3


def test_a_file_that_changes_later_is_taken_again(tmp_path):
    inbox = tmp_path / "inbox"
    put(inbox, "a.jsonl", "one")
    rounds = list(
        watch_rounds(config(tmp_path), looks(nothing, lambda: put(inbox, "a.jsonl", "two", "three"), nothing))
    )
    assert [each.result.counters["documents_read"] for each in rounds] == [1, 2]


def test_a_stop_before_a_round_is_published_loses_and_doubles_nothing(tmp_path, monkeypatch):
    put(tmp_path / "inbox", "a.jsonl", "one two three four")

    def killed(config, **_):
        raise SystemExit

    with monkeypatch.context() as patch:
        patch.setattr(watching, "run_job", killed)
        rounds = watch_rounds(config(tmp_path), looks(nothing))
        with pytest.raises(SystemExit):
            list(rounds)
    assert finished_files(str(tmp_path / "out")) == {}
    assert [each.number for each in watch_rounds(config(tmp_path), looks(nothing))] == [1]
    assert list(watch_rounds(config(tmp_path), looks(nothing, nothing))) == []
    assert len(rows(tmp_path / "out")) == 2


def write(path, content):
    path.parent.mkdir(exist_ok=True)
    if isinstance(content, bytes):
        path.write_bytes(content)
    elif path.suffix == ".parquet":
        pq.write_table(content, path)
    else:
        with pa.ipc.new_file(path, content.schema) as writer:
            writer.write_table(content)


BAD_FILES = {
    "no Parquet": ("bad.parquet", b"PAR1 and no more"),
    "no column of that name": ("bad.parquet", pa.table({"id": ["x"], "body": ["no text"]})),
    "a column of another type": ("bad.parquet", pa.table({"id": ["x"], "text": [5]})),
    "metadata that no file can hold": (
        "bad.arrow",
        pa.table({"id": ["x"], "text": ["two"], "lang": pa.array([pa.MonthDayNano([1, 1, 1])])}),
    ),
    "no JSON": ("bad.jsonl", b"{bad"),
    "no field of that name": ("bad.jsonl", b'{"id": "x", "body": "no text"}'),
    "no header": ("bad.csv", b"\n\n"),
    "no UTF-8": ("bad.jsonl", b'{"id": "x", "text": "\xff"}'),
    "no gzip": ("bad.jsonl.gz", b"no gzip"),
}


@pytest.mark.parametrize(("name", "content"), BAD_FILES.values(), ids=BAD_FILES)
def test_bad_files_are_failures_of_their_round_and_the_watching_goes_on(tmp_path, name, content):
    """Also where they are all of a round; and a watch that is started anew does not stumble over them again."""
    inbox = tmp_path / "inbox"
    put(inbox, "a.jsonl", "one")
    job = config(tmp_path).model_copy(update={"input": (f"{inbox}/*",), "metadata_columns": {"lang": None}})
    actions = [nothing, lambda: write(inbox / name, content), nothing, lambda: put(inbox, "b.jsonl", "two"), nothing]
    rounds = list(watch_rounds(job, looks(*actions)))
    assert [each.result.counters["documents_chunked"] for each in rounds] == [1, 0, 1]
    assert [each.result.counters["failures"] for each in rounds] == [0, 1, 0]
    failures = pq.read_table(f"{rounds[1].folder}/failures-00000-of-00001.parquet")
    assert failures["source"].to_pylist() == [str(inbox / name)]
    assert list(watch_rounds(job, looks(nothing, nothing))) == []


def test_bad_files_alone_after_a_new_start(tmp_path):
    inbox = tmp_path / "inbox"
    put(inbox, "a.jsonl", "one")
    list(watch_rounds(config(tmp_path), looks(nothing)))
    (inbox / "a.jsonl").unlink()
    (inbox / "bad.jsonl").write_text('{"id": "x", "body": "no text"}')
    [only] = watch_rounds(config(tmp_path), looks(nothing))
    assert (only.number, only.result.counters["failures"]) == (2, 1)


def test_a_file_that_is_gone_when_its_round_begins_is_a_failure(tmp_path, monkeypatch):
    inbox = tmp_path / "inbox"
    put(inbox, "a.jsonl", "one")
    put(inbox, "b.jsonl", "two")

    def late(job, **options):
        (inbox / "a.jsonl").unlink(missing_ok=True)
        return run_job(job, **options)

    monkeypatch.setattr(watching, "run_job", late)
    again = [nothing, lambda: put(inbox, "a.jsonl", "one", "more"), nothing]
    first, second = watch_rounds(config(tmp_path), looks(*again))
    assert (first.result.counters["documents_chunked"], first.result.counters["failures"]) == (1, 1)
    failures = pq.read_table(f"{first.folder}/failures-00000-of-00001.parquet").to_pylist()
    assert [(row["source"], row["error"]) for row in failures] == [(f"{inbox}/a.jsonl", "FileNotFoundError")]
    assert second.result.counters["failures"] == 1  # gone once more, now with nothing beside it


def test_a_pattern_may_match_nothing_yet(tmp_path):
    inbox = tmp_path / "inbox"
    put(inbox, "a.jsonl", "one")
    job = config(tmp_path).model_copy(update={"input": (f"{inbox}/*.jsonl", f"{inbox}/*.parquet")})
    assert [each.number for each in watch_rounds(job, looks(nothing))] == [1]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"splitter": "no_such"}, "no_such"),
        ({"text_column": "body"}, "text_column: no column 'body' in the input"),
        ({"metadata_columns": {"lang": "strin"}}, "'strin', which Arrow does not know"),
        ({"input": ("nowhere://bucket/*.jsonl",)}, "on a file system that is not installed"),
    ],
)
def test_settings_that_are_wrong_from_the_start_are_told_before_anything_is_watched(tmp_path, change, message):
    put(tmp_path / "inbox", "a.jsonl", "one")
    with pytest.raises(ValueError, match=message):
        next(watch_rounds(config(tmp_path).model_copy(update=change), pytest.fail))
    assert not (tmp_path / "out").exists()


def test_wrong_settings_are_told_although_nothing_is_there_yet(tmp_path):
    job = config(tmp_path).model_copy(update={"splitter": "no_such"})
    with pytest.raises(ValueError, match="no_such"):
        next(watch_rounds(job, pytest.fail))


def test_an_input_that_cannot_be_listed_for_a_while_is_listed_again(tmp_path, monkeypatch, caplog):
    put(tmp_path / "inbox", "a.jsonl", "one")
    listed = []

    def sometimes(config, done):
        listed.append(done)
        if len(listed) == 3:  # the first two are before the watching begins
            raise OSError("the bucket does not answer")
        return arrived(config, done)

    monkeypatch.setattr(watching, "arrived", sometimes)
    assert [each.number for each in watch_rounds(config(tmp_path), looks(nothing, nothing, nothing))] == [1]
    assert "the bucket does not answer" in caplog.text


def test_a_failed_round_ends_the_watching(tmp_path):
    inbox = tmp_path / "inbox"
    inbox.mkdir()
    (inbox / "a.jsonl").write_text("{bad")
    job = config(tmp_path).model_copy(update={"max_failures": 0})
    [only] = watch_rounds(job, looks(nothing, nothing, nothing))
    assert only.result.exit_code == 3


@contextmanager
def watch_command(tmp_path, *arguments):
    """The command as it runs; it is stopped at the end if it has not been."""
    command = [sys.executable, "-m", "pipeline", "watch", *arguments, "--every", "0.3"]
    command += ["--input", f"{tmp_path}/inbox/*.jsonl", "--output", str(tmp_path / "out")]
    command += ["--id-column", "id", "--splitter", "words", "--chunk-size", "3"]
    running = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    try:
        yield running
    finally:
        running.kill()
        running.communicate()


def stopped(running):
    """What the command has said, once Ctrl-C has ended it."""
    running.send_signal(signal.SIGINT)
    said = running.communicate(timeout=60)[1]
    assert running.returncode == 0, said
    return [line for line in said.splitlines() if "round" in line or "stopped" in line]


@pytest.mark.slow
def test_the_command_takes_files_while_it_runs_and_stops_at_ctrl_c(tmp_path):
    inbox = tmp_path / "inbox"
    put(inbox, "first.jsonl", "one two three four")
    with watch_command(tmp_path) as running:
        wait_for(tmp_path / "out" / "round-00001" / "manifest.json")
        put(inbox, "second.jsonl", "five six", "seven")
        wait_for(tmp_path / "out" / "round-00002" / "manifest.json")
        assert stopped(running) == [
            f"llm-splitter: round 1: 1 file, 1 document, 2 chunks, 0 failures -> {tmp_path}/out/round-00001",
            f"llm-splitter: round 2: 1 file, 2 documents, 2 chunks, 0 failures -> {tmp_path}/out/round-00002",
            "llm-splitter: stopped",
        ]
    run_job(config(tmp_path, "batch"))
    assert rows(tmp_path / "out") == rows(tmp_path / "batch")
    assert not list((tmp_path / "out").glob("**/.*"))


def test_the_command_says_once_that_no_file_matches_yet(tmp_path):
    put(tmp_path / "inbox", "a.txt", "one")
    with watch_command(tmp_path) as running:
        assert "watching " in running.stderr.readline()
        assert running.stderr.readline() == f"llm-splitter: no file matches '{tmp_path}/inbox/*.jsonl' yet\n"
        put(tmp_path / "inbox", "a.jsonl", "one")
        assert "round 1: 1 file, 1 document" in running.stderr.readline()
        assert stopped(running) == ["llm-splitter: stopped"]


def load_round(tmp_path, number, namespace):
    """`llm-splitter load` of a round, into the database that the environment names."""
    folder = tmp_path / "out" / f"round-{number:05}"
    wait_for(folder / "manifest.json")
    place = ["--output", str(tmp_path / "loads"), "--table-schema", namespace]
    assert main(["load", "--quiet", "--chunks", str(folder), "--input", "unused", *place]) == ExitCode.FINE
    return Counter(json.loads((tmp_path / "loads" / "load" / "report.json").read_text())["counts"])


@pytest.mark.slow
def test_rounds_are_loaded_as_they_come(tmp_path, server, connection, namespace, monkeypatch):
    """Files arrive, one bad and one that changes, while the watch runs, is stopped and is started again."""
    monkeypatch.setenv("LLM_SPLITTER_DATABASE_URL", server._url())
    inbox = tmp_path / "inbox"
    put(inbox, "a.jsonl", "one two three four", "five")
    with watch_command(tmp_path) as running:
        assert load_round(tmp_path, 1, namespace)["documents_new"] == 2
        (inbox / "bad.jsonl").write_text("{bad")
        assert load_round(tmp_path, 2, namespace)["documents_new"] == 0
        put(inbox, "b.jsonl", *["w " * number for number in range(1, 400)])
        stopped(running)  # before b.jsonl is taken, or when it has been: a round is whole or not there
    put(inbox, "a.jsonl", "one two three four", "five and six seven eight")
    with watch_command(tmp_path) as running:
        loaded = load_round(tmp_path, 3, namespace)
        if not loaded["documents_changed"]:
            loaded += load_round(tmp_path, 4, namespace)
        stopped(running)
    assert [loaded[f"documents_{outcome}"] for outcome in ("new", "changed", "unchanged")] == [399, 1, 1]
    run_job(config(tmp_path, "batch"))
    names = ["chunk_id", "doc_id", "chunk_index", "start", "end", "text", "text_hash", "doc_hash"]
    columns = ", ".join(f'"{name}"' for name in names)
    found = connection.execute(f'SELECT {columns} FROM "{namespace}".chunks').fetchall()
    batch = sorted(tuple(row[name] for name in names) for row in rows(tmp_path / "batch"))
    assert sorted(found) == batch
    assert load_round(tmp_path, 1, namespace)["documents_changed"] == 1  # an earlier round: what is loaded last stays


def wait_for(path, seconds=90):
    end = time.monotonic() + seconds
    while not path.exists():
        assert time.monotonic() < end, f"{path} did not appear"
        time.sleep(0.1)
