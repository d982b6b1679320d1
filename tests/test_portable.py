"""Jobs whose workers are other processes: every kind of splitter reaches them, and rows are the local run's."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pipeline.build import run_job
from pipeline.config import JobConfig
from tests.portable_stack import cut_off, portable_stack

pytestmark = pytest.mark.slow

JOB = Path(__file__).with_name("portable_job.py")

MY_SPLITTERS = """
import re


def by(text, mark):
    return re.split(f"(?<={mark})", text)


def by_comma(text):
    return by(text, ",")


class Halver:
    def halve(self, text):
        return [text[: len(text) // 2], text[len(text) // 2 :]]
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    """A folder with a program and a module of its own, as a user has them."""
    folder = tmp_path_factory.mktemp("program")
    shutil.copy(JOB, folder / "job.py")
    (folder / "my_splitters.py").write_text(MY_SPLITTERS)
    return folder


def rows_by_kind(program, work, *flags):
    """What the program prints, run elsewhere than in its own folder."""
    work.mkdir()
    done = subprocess.run(
        [sys.executable, str(program / "job.py"), str(work), *flags],
        env=os.environ | {"PATH": cut_off(work)["PATH"]},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def expected(program, tmp_path_factory):
    rows = rows_by_kind(program, tmp_path_factory.mktemp("local") / "work")
    assert all(kind and failures == 0 for kind, failures in rows.values())
    assert len(rows) == 12
    return rows


def test_every_kind_of_splitter_reaches_portable_workers(program, expected, tmp_path):
    with portable_stack(tmp_path) as stack:
        assert rows_by_kind(program, tmp_path / "work", *stack.flags) == expected
        assert stack.refused == ""


@pytest.mark.parametrize("mode", ["multi_processing", "multi_threading"])
def test_every_kind_of_splitter_reaches_two_local_workers(program, expected, tmp_path, mode):
    flags = ["--runner=DirectRunner", f"--direct_running_mode={mode}", "--direct_num_workers=2"]
    assert rows_by_kind(program, tmp_path / "work", *flags) == expected


def test_the_guard_against_the_network_works(tmp_path):
    tried = "import socket; socket.create_connection(('example.org', 80), 1)"
    done = subprocess.run([sys.executable, "-c", tried], env=cut_off(tmp_path), capture_output=True, check=False)
    assert b"no network here: example.org" in done.stderr
    assert (tmp_path / "network.log").read_text() == "example.org\n"


def rows_of(folder):
    tables = [pq.read_table(path) for path in sorted(folder.glob("chunks-*.parquet"))]
    return pa.concat_tables(tables).sort_by("chunk_id")


@pytest.fixture(scope="module")
def documents(tmp_path_factory):
    """Two hundred documents in eight row groups, two bad lines, and a file that is none."""
    folder = tmp_path_factory.mktemp("documents")
    texts = [f"Document {number}. 猫坐着。 " * (number % 17) for number in range(200)]
    table = pa.table({"id": [f"d{number}" for number in range(200)], "text": texts, "n": list(range(200))})
    pq.write_table(table, folder / "a.parquet", row_group_size=25)
    lines = [json.dumps({"id": f"j{number}", "text": f"line {number} " * 9, "n": number}) for number in range(40)]
    (folder / "b.jsonl").write_text("\n".join([*lines[:10], "{bad", *lines[10:], '{"id": 1, "text": 3.5}']))
    (folder / "c.parquet").write_bytes(b"PAR1 is not enough")
    return folder


def job(documents, output, **settings):
    return JobConfig(
        input=[f"{documents}/*.parquet", f"{documents}/*.jsonl"],
        output=str(output),
        id_column="id",
        metadata_columns={"n": "int64"},
        splitter="cl100k_base",
        chunk_size=16,
        chunk_overlap=4,
        **settings,
    )


def test_the_main_job_gives_the_local_rows_on_the_portable_stack(documents, tmp_path):
    local = run_job(job(documents, tmp_path / "local"))
    with portable_stack(tmp_path) as stack:
        portable = run_job(job(documents, tmp_path / "portable", beam_options=list(stack.flags)))
        assert stack.refused == ""
    assert (portable.exit_code, portable.error) == (0, "")
    assert portable.counters == local.counters
    assert local.counters["failures"] == 3
    assert rows_of(tmp_path / "portable").equals(rows_of(tmp_path / "local"), check_metadata=True)


def test_a_job_that_fails_on_the_portable_stack_says_why_and_publishes_nothing(documents, tmp_path):
    with portable_stack(tmp_path) as stack:
        result = run_job(job(documents, tmp_path / "out", max_failures=1, beam_options=list(stack.flags)))
    assert result.exit_code == 3, result.error
    assert "3 failures" in result.error
    assert not (tmp_path / "out" / "manifest.json").exists()
