"""What is promised when things break: an output that is complete, or the one that was there before."""

import contextlib
import os
import signal
import subprocess
import sys
import time

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pipeline.build import run_job
from pipeline.config import JobConfig
from pipeline.manifest import parse_manifest
from pipeline.publish import STAGING_PREFIX
from pipeline.read import plan_file

JOB = """
import sys
from pipeline.build import run_job
from pipeline.config import JobConfig
result = run_job(JobConfig(input=sys.argv[1], output=sys.argv[2], splitter=sys.argv[3], chunk_size=3))
print(result.error)
sys.exit(result.exit_code)
"""


@pytest.fixture
def corpus(tmp_path):
    folder = tmp_path / "docs"
    folder.mkdir()
    for number in range(4):
        texts = [f"document {number} {row} " * 400 for row in range(300)]
        pq.write_table(pa.table({"text": texts}), folder / f"{number}.parquet", row_group_size=100)
    return folder


def config(corpus, output, **settings):
    return JobConfig(input=f"{corpus}/*.parquet", output=str(output), splitter="words", chunk_size=3, **settings)


def start(corpus, output, splitter="words", **environment):
    return subprocess.Popen(
        [sys.executable, "-c", JOB, f"{corpus}/*.parquet", str(output), splitter],
        env=os.environ | environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )


def content_of(output):
    """The files that a reader sees, hidden ones left out."""
    return {path.name: path.read_bytes() for path in output.iterdir() if not path.name.startswith(".")}


def staged(output):
    return sum(path.stat().st_size for path in output.glob(f"{STAGING_PREFIX}*/*"))


def is_complete(output):
    files = content_of(output)
    if "manifest.json" not in files:
        return False
    listed = {file.name: file.bytes for file in parse_manifest(files.pop("manifest.json")).files}
    return listed == {name: len(content) for name, content in files.items()}


def kill_while_writing(process, output):
    """Wait until the job writes, and kill it without warning."""
    before = staged(output)
    while process.poll() is None and staged(output) <= before:
        time.sleep(0.01)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    return process.returncode


def test_a_killed_run_leaves_nothing_that_looks_like_output(corpus, tmp_path):
    output = tmp_path / "out"
    assert kill_while_writing(start(corpus, output), output) == -signal.SIGKILL
    assert content_of(output) == {}
    assert staged(output) > 0
    assert run_job(config(corpus, output)).exit_code == 0
    assert is_complete(output)
    assert staged(output) == 0


def test_a_killed_run_leaves_the_earlier_output(corpus, tmp_path):
    output = tmp_path / "out"
    assert run_job(config(corpus, output)).exit_code == 0
    before = content_of(output)
    assert kill_while_writing(start(corpus, output), output) == -signal.SIGKILL
    assert content_of(output) == before


@pytest.mark.slow
def test_runs_killed_at_any_moment_leave_all_or_nothing(corpus, tmp_path):
    output = tmp_path / "out"
    started = time.monotonic()
    process = start(corpus, output)
    process.wait()
    duration = time.monotonic() - started
    for moment in range(8):
        process = start(corpus, output)
        time.sleep(duration * (0.6 + 0.06 * moment))
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        if "manifest.json" in content_of(output):
            assert is_complete(output)
    assert run_job(config(corpus, output)).exit_code == 0
    assert is_complete(output)
    assert staged(output) == 0


def test_ctrl_c_leaves_the_folder_as_it_was(corpus, tmp_path):
    begun = tmp_path / "begun"
    (tmp_path / "unhurried.py").write_text(
        f"import pathlib, time\n\ndef split(text):\n"
        f"    pathlib.Path({str(begun)!r}).touch()\n    time.sleep(0.05)\n    return text.split()\n"
    )
    output = tmp_path / "out"
    process = start(corpus, output, splitter="unhurried:split", PYTHONPATH=str(tmp_path))
    while process.poll() is None and not begun.exists():
        time.sleep(0.01)
    os.kill(process.pid, signal.SIGINT)
    out, _ = process.communicate(timeout=120)
    assert process.returncode not in (0, -signal.SIGKILL), out
    assert not output.exists() or content_of(output) == {}


@pytest.fixture
def small_disk(tmp_path):
    """A file system of 1 MB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(folder)], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip(f"a small file system cannot be mounted here: {mounted.stderr.decode().strip()}")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def test_a_full_disk_fails_the_job_and_frees_the_disk(corpus, tmp_path, small_disk):
    output = small_disk / "out"
    texts = tmp_path / "few"
    texts.mkdir()
    pq.write_table(pa.table({"text": ["a few words"]}), texts / "a.parquet")
    assert run_job(config(texts, output)).exit_code == 0
    before = content_of(output)
    noise = [os.urandom(3000).hex() for _ in range(1000)]
    pq.write_table(pa.table({"text": noise}), corpus / "noise.parquet")
    result = run_job(config(corpus, output))
    assert result.exit_code == 1
    assert "No space left on device" in result.error
    assert content_of(output) == before
    assert staged(output) == 0


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is unreadable for root")
def test_an_unreadable_file_fails_alone(corpus, tmp_path):
    (corpus / "0.parquet").chmod(0)
    result = run_job(config(corpus, tmp_path / "out"))
    assert result.exit_code == 0
    assert result.counters["failures"] == 1
    assert result.counters["documents_read"] == 900


def test_a_file_that_is_gone_when_it_is_read_fails_alone(corpus, tmp_path, monkeypatch):
    def planned(file, options):
        (corpus / "0.parquet").unlink(missing_ok=True)  # it has been listed now
        return plan_file(file, options)

    monkeypatch.setattr("pipeline.read.plan_file", planned)
    result = run_job(config(corpus, tmp_path / "out"))
    assert result.exit_code == 0
    assert result.counters["failures"] == 1
    assert result.counters["documents_read"] == 900


def test_a_file_that_is_cut_off_fails_alone(corpus, tmp_path):
    path = corpus / "0.parquet"
    path.write_bytes(path.read_bytes()[:-100])
    result = run_job(config(corpus, tmp_path / "out"))
    assert result.exit_code == 0
    assert result.counters["failures"] == 1
    assert result.counters["documents_read"] == 900
