"""What workers add: the job with one and two worker processes, and its input in four parts, each by itself.

    python -m benchmarks.scale [--input 'docs/*.parquet'] [--megabytes 100]

Prints Markdown: seconds, megabytes a second, the peak memory of one worker, and the bytes that went from worker
to worker. Four workers are simulated on machines with fewer cores: each takes a quarter of the files, alone, and
the slowest of them counts.
"""

from __future__ import annotations

import argparse
import os
import pickle
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from pipeline.documents import ReadOptions
from pipeline.input_files import match_files
from pipeline.read import plan_file

WORDS = "The quick brown fox jumps over the lazy dog. 次の電車は九時です。 नमस्ते दुनिया, wie geht es dir? "


class Measured(NamedTuple):
    """A run: seconds, and the most bytes that any of its processes held."""

    seconds: float
    peak: int


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--input", nargs="*", help="Parquet files; by default some are made up")
    parser.add_argument("--megabytes", type=int, default=64, help="size of what is made up")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        files = [file.path for file in match_files(given.input or [make_corpus(Path(folder), given.megabytes)])]
        print(
            "| workers | seconds | MB/s | peak memory of a process | bytes shuffled |\n| --- | --- | --- | --- | --- |"
        )
        text = sum(pq.read_table(path, columns=["text"]).nbytes for path in files)
        for workers in (1, 2):
            show(str(workers), [run(files, Path(folder), workers)], text, files)
        parts = [files[first::4] for first in range(4)]
        show("4, each alone", [run(part, Path(folder), 1) for part in parts if part], text, files)


def make_corpus(folder: Path, megabytes: int) -> str:
    """Eight files of four row groups each, together of that size."""
    (folder / "docs").mkdir()
    each = WORDS * 40
    rows = megabytes * 1_000_000 // len(each.encode()) // 8
    for number in range(8):
        texts = [f"{number} {row} {each}" for row in range(rows)]
        pq.write_table(pa.table({"text": texts}), folder / "docs" / f"{number}.parquet", row_group_size=rows // 4 + 1)
    return str(folder / "docs")


def run(files: Sequence[str], folder: Path, workers: int) -> Measured:
    """The job as a process of its own, with so many worker processes."""
    command = [sys.executable, "-m", "pipeline", "run", "--quiet", "--output", str(folder / "out")]
    command += ["--splitter", "cl100k_base", "--chunk-size", "512", "--input", *files, "--"]
    command += ["--runner=DirectRunner", "--direct_running_mode=multi_processing", f"--direct_num_workers={workers}"]
    begun, peak = time.perf_counter(), 0
    with subprocess.Popen(command) as job:
        while job.poll() is None:
            peak = max([peak, *map(resident, descendants(job.pid))])
            time.sleep(0.05)
    if job.returncode:
        sys.exit(f"the job failed: {job.returncode}")
    return Measured(time.perf_counter() - begun, peak)


def descendants(pid: int) -> Iterable[int]:
    """A process and all that it has started."""
    yield pid
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:
        return
    for child in children:
        yield from descendants(int(child))


def resident(pid: int) -> int:
    """Bytes of memory that a process holds."""
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE")
    except (OSError, IndexError):
        return 0


def show(workers: str, runs: Sequence[Measured], text: int, files: Sequence[str]) -> None:
    """A row of the table; of several runs the slowest and the largest count."""
    seconds, peak = max(each.seconds for each in runs), max(each.peak for each in runs)
    print(f"| {workers} | {seconds:.1f} | {text / 1e6 / seconds:.0f} | {peak / 1e6:.0f} MB | {shuffled(files):,} |")


def shuffled(files: Sequence[str]) -> int:
    """Bytes of all units: the only thing that is shuffled, whatever the workers."""
    units = (unit for file in match_files(list(files)) for unit in plan_file(file, ReadOptions()))
    return sum(len(pickle.dumps(unit)) for unit in units)


if __name__ == "__main__":
    main()
