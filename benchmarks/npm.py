"""The npm package llm-splitter on Node, as a process that is asked for one run after another."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from benchmarks.timing import Cost, Work

PACKAGE = "llm-splitter@0.3.0"
_SCRIPT = Path(__file__).with_name("split.mjs")


def why_not() -> str:
    """What is missing to run it; empty if nothing is."""
    missing = [tool for tool in ("node", "npm") if shutil.which(tool) is None]
    return f"{' and '.join(missing)} not found" if missing else ""


def install(folder: Path) -> Path:
    """Have the package in a folder; the path of its entry module.

    Raises:
        RuntimeError: If npm cannot install it.
    """
    entry = folder / "node_modules" / "llm-splitter" / "src" / "index.js"
    if not entry.exists():
        folder.mkdir(parents=True, exist_ok=True)
        command = ["npm", "install", "--silent", "--no-audit", "--no-fund", "--prefix", str(folder), PACKAGE]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(f"npm could not install {PACKAGE}: {done.stderr.strip()[-300:]}")
    return entry


@contextmanager
def node(entry: Path, texts: list[str], size: int, overlap: int, folder: Path) -> Iterator[dict[str, Work]]:
    """The work of each of the package's sample splitters over the documents."""
    documents = folder / "documents.json"
    documents.write_text(json.dumps(texts), encoding="utf-8")
    command = ["node", "--max-old-space-size=4096", str(_SCRIPT), str(entry), str(documents), str(size), str(overlap)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        yield {name: _work(process.stdin, process.stdout, name) for name in SPLITTERS}
        process.stdin.close()


SPLITTERS = ("characters", "words", "sentences", "lines")


def _work(questions: IO[str], answers: IO[str], name: str) -> Work:
    def run() -> Cost:
        questions.write(name + "\n")
        questions.flush()
        answer = json.loads(answers.readline())
        return Cost(answer["wall"], answer["cpu"])

    return run
