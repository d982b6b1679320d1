"""The main job on a real Flink cluster on this machine: the local run's rows, also when a TaskManager is killed.

Needs Java and the jars: `scripts/flink-jars FOLDER`, and FLINK_JARS=FOLDER in the environment.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
import urllib.request
from contextlib import contextmanager
from pathlib import Path

import apache_beam
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pipeline.build import run_job
from pipeline.config import JobConfig

ROOT = Path(__file__).parent.parent
JARS = os.environ.get("FLINK_JARS", "")
CORPUS = Path(os.environ.get("LLM_SPLITTER_CORPUS", ROOT.parent / "shared" / "corpus"))


def _why_not() -> str:
    version = Path(JARS, "beam-version")
    if not JARS or not version.exists():
        return "no jars: run scripts/flink-jars FOLDER and set FLINK_JARS=FOLDER"
    if version.read_text().strip() != apache_beam.__version__:
        return f"the jars are for Beam {version.read_text().strip()}, and {apache_beam.__version__} is installed"
    return ""


pytestmark = [pytest.mark.slow, pytest.mark.skipif(bool(_why_not()), reason=f"Flink: {_why_not()}")]


@contextmanager
def cluster(folder, task_managers):
    """A cluster that runs until the block is left; the Beam options for it."""
    script = [sys.executable, str(ROOT / "scripts" / "flink-cluster")]
    started = [*script, "start", str(folder), "--jars", JARS, "--task-managers", str(task_managers)]
    try:
        done = subprocess.run(started, check=False, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stderr
        yield (folder / "options").read_text().split()
    finally:
        subprocess.run([*script, "stop", str(folder)], check=True, timeout=60)


def rows_of(folder):
    tables = [pq.read_table(path) for path in sorted(folder.glob("chunks-*.parquet"))]
    return pa.concat_tables(tables).sort_by("chunk_id")


def assert_same(flink, local, work):
    assert (flink.exit_code, flink.error) == (0, "")
    assert flink.counters == local.counters
    assert rows_of(work / "flink").equals(rows_of(work / "local"), check_metadata=True)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    """Real text if it is there, else texts in several scripts."""
    if CORPUS.is_dir():
        return CORPUS
    folder = tmp_path_factory.mktemp("corpus")
    texts = [f"Document {number} has words. 猫坐着。 नमस्ते दुनिया। " * (number % 97) for number in range(2000)]
    table = pa.table({"doc_id": [f"d{number}" for number in range(len(texts))], "text": texts})
    pq.write_table(table, folder / "docs.parquet", row_group_size=200)
    return folder


def test_the_main_job_gives_the_local_rows(corpus, tmp_path):
    settings = {"input": f"{corpus}/*.parquet", "id_column": "doc_id", "chunk_size": 256, "chunk_overlap": 32}
    settings["splitter"] = "cl100k_base"
    begun = time.monotonic()
    local = run_job(JobConfig(**settings, output=str(tmp_path / "local")))
    local_seconds = time.monotonic() - begun
    with cluster(tmp_path / "cluster", task_managers=1) as flags:
        begun = time.monotonic()
        flink = run_job(JobConfig(**settings, output=str(tmp_path / "flink"), beam_options=flags))
        flink_seconds = time.monotonic() - begun
        sys.stdout.write(
            f"\n{local.counters['chunks']} chunks: local {local_seconds:.1f} s, Flink {flink_seconds:.1f} s\n"
        )
        sys.stdout.write("\n".join(stages(tmp_path / "cluster")) + "\n")
    assert_same(flink, local, tmp_path)


SLOW_SPLITTER = """
import time

def words(text):
    time.sleep(0.02)
    return text.split()
"""


def test_a_killed_task_manager_changes_no_row(tmp_path, monkeypatch):
    (tmp_path / "slow_splitter.py").write_text(SLOW_SPLITTER)
    monkeypatch.syspath_prepend(tmp_path)
    texts = [f"document {number} with words " * 20 for number in range(400)]
    (tmp_path / "docs").mkdir()
    for part in range(4):
        ids = [f"d{part}-{number}" for number in range(len(texts))]
        pq.write_table(pa.table({"id": ids, "text": texts}), tmp_path / "docs" / f"{part}.parquet", row_group_size=100)
    settings = {"input": f"{tmp_path}/docs/*.parquet", "id_column": "id", "chunk_size": 16}
    local = run_job(JobConfig(**settings, output=str(tmp_path / "local"), splitter="words"))
    with cluster(tmp_path / "cluster", task_managers=2) as flags:
        config = JobConfig(
            **settings, output=str(tmp_path / "flink"), splitter="slow_splitter:words", beam_options=flags
        )
        results = []
        job = threading.Thread(target=lambda: results.append(run_job(config)))
        job.start()
        killed = kill_when_chunking(tmp_path)
        job.join(400)
        log = (tmp_path / "cluster" / "jobmanager.log").read_text()
    assert f"{killed} is no longer reachable" in log or f"TaskManager with id {killed}" in log
    assert "from state RUNNING to RESTARTING" in log
    assert (results[0].exit_code, results[0].error) == (0, "")
    assert results[0].counters["documents_chunked"] == local.counters["documents_chunked"] == 1600
    columns = ["doc_id", "chunk_index", "start", "end", "text", "text_hash", "doc_hash"]
    expected, got = (rows_of(tmp_path / name).select(columns) for name in ("local", "flink"))
    order = [("doc_id", "ascending"), ("chunk_index", "ascending")]
    assert got.sort_by(order).equals(expected.sort_by(order))


def kill_when_chunking(work):
    """Kill a TaskManager that works, once chunk files are being written; its name."""
    end = time.monotonic() + 200
    while not list((work / "flink").glob(".llm-splitter-*/chunks-*")):
        assert time.monotonic() < end, "no chunk file appeared"
        time.sleep(0.1)
    busy = next(each for each in task_managers(work) if each["freeSlots"] < each["slotsNumber"])["id"]
    pids = dict(line.split() for line in (work / "cluster" / "pids").read_text().splitlines())
    os.kill(int(pids[busy]), signal.SIGKILL)
    return busy


def task_managers(work):
    with urllib.request.urlopen((work / "cluster" / "rest").read_text().strip() + "/taskmanagers") as answer:
        return json.load(answer)["taskmanagers"]


def stages(folder):
    """What Flink ran, stage by stage, with the time at which each ended."""
    lines = (folder / "jobmanager.log").read_text().splitlines()
    return [
        f"{line[:12]} {line.partition(' - ')[2].partition(' (')[0]}: {line.partition(' (')[2][:70]}"
        for line in lines
        if "switched from RUNNING to FINISHED" in line and "(1/" in line
    ]
