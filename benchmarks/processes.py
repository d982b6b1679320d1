"""Programs run as processes of their own: what they cost, and the most memory that they held."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.timing import Cost, Work, timed

_POLL_SECONDS = 0.02
_ROOT = Path(__file__).parents[1]


@dataclass(frozen=True)
class Run:
    """A process that has ended well.

    Attributes:
        cost: From start to end, the interpreter's start included.
        peak_bytes: The most memory that it held, or one of the processes that it started (resident set).
        total_bytes: The most that all of them held together, pages that they share counted for each.
        output: What it printed.
    """

    cost: Cost
    peak_bytes: int
    total_bytes: int
    output: str


def run_python(*arguments: str) -> Run:
    """Run Python with these arguments.

    Raises:
        RuntimeError: If it ends with an error; the end of what it wrote is in the message.
    """
    peaks = (0, 0)
    runs: list[tuple[int, str]] = []

    def work() -> None:
        nonlocal peaks
        with tempfile.TemporaryFile("w+") as output:
            command = [sys.executable, *arguments]
            environment = {**os.environ, "PYTHONPATH": str(_ROOT)}
            # where this is set, each start compiles some 1,500 modules, for seconds
            environment.pop("PYTHONDONTWRITEBYTECODE", None)
            process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT, env=environment)
            watch = _PeakWatch(process.pid)
            process.wait()
            peaks = watch.stop()
            output.seek(0)
            runs.append((process.returncode, output.read()))

    cost = timed(work)()
    code, text = runs[0]
    if code:
        raise RuntimeError(f"python {' '.join(arguments)} ended with exit code {code}:\n{text[-2000:]}")
    return Run(cost, *peaks, text)


def process_work(*arguments: str) -> Work:
    """`run_python` as a work."""
    return lambda: run_python(*arguments).cost


def job_arguments(pattern: Path | str, output: Path, *, text: bool = True, options: Sequence[str] = ()) -> list[str]:
    """The job with the size promise kept: cl100k_base, 512 tokens, overlap 64."""
    return [
        *("-m", "pipeline", "run", "--input", str(pattern), "--id-column", "doc_id", "--output", str(output)),
        *("--splitter", "cl100k_base", "--chunk-size", "512", "--chunk-overlap", "64"),
        *(() if text else ("--no-text",)),
        *options,
    ]


class _PeakWatch:
    """Looks at the peak memory of a process and of those that it starts until told to stop.

    A process's own account of its peak (`ru_maxrss`) begins with what the process that started it held.
    """

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._peak = self._total = 0
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._thread.start()

    def stop(self) -> tuple[int, int]:
        """The peaks of the largest and of all together, in bytes; 0 if they could not be seen."""
        self._ended.set()
        self._thread.join()
        return self._peak, max(self._peak, self._total)

    def _look(self) -> None:
        while not self._ended.is_set():
            pids = list(_descendants(self._pid))
            self._peak = max([self._peak, *map(_resident_bytes, pids)])
            if len(pids) > 1:
                self._total = max(self._total, sum(map(_resident_bytes_of_now, pids)))
            time.sleep(_POLL_SECONDS)


def _descendants(pid: int) -> Iterator[int]:
    """A process and all that it has started, where the system tells them."""
    yield pid
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="utf-8").split()
    except OSError:
        return
    for child in children:
        yield from _descendants(int(child))


def _resident_bytes(pid: int) -> int:
    """Peak memory where the system tells it, or else that of now."""
    status = Path(f"/proc/{pid}/status")
    try:
        lines = status.read_text(encoding="utf-8").splitlines() if Path("/proc/self/status").exists() else None
    except OSError:
        return 0  # it has just ended
    if lines is None:
        return _resident_bytes_of_now(pid)
    kilobytes = [line.split()[1] for line in lines if line.startswith("VmHWM:")]
    return int(kilobytes[0]) * 1024 if kilobytes else 0


def _resident_bytes_of_now(pid: int) -> int:
    done = subprocess.run(["ps", "-o", "rss=", "-p", str(pid)], capture_output=True, text=True, check=False)
    return int(done.stdout) * 1024 if done.stdout.strip() else 0
