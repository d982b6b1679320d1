"""Results as Markdown: a heading, the machine, a table, and how to get it again."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import shlex
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from benchmarks.timing import Clock, Cost, ratio, speed

COMPARISON = ("work", "compared with", "ours MB/s", "target", "wall: ratio (spread)", "CPU: ratio (spread)", "met")


@dataclass(frozen=True)
class Target:
    """A bound for a ratio: of our cost to the other's (at most), or of the other's to ours (at least)."""

    kind: Literal["at most", "at least"]
    bound: float

    def is_met(self, value: float) -> bool:
        """Whether a ratio keeps to the bound."""
        return value <= self.bound if self.kind == "at most" else value >= self.bound

    def __str__(self) -> str:
        return f"{self.kind} {self.bound:g}x"


def comparison(
    work: str,
    other: str,
    megabytes: float,
    costs: tuple[list[Cost], list[Cost]],
    *,
    target: Target,
    clock: Clock,
) -> tuple[str, ...]:
    """A row of a table with the columns `COMPARISON`.

    Args:
        work: What was done.
        other: What it is compared with.
        megabytes: Size of the text.
        costs: Ours, and the other's.
        target: What the ratio should be.
        clock: By which of the two it is judged.
    """
    ours, theirs = costs
    pair = (ours, theirs) if target.kind == "at most" else (theirs, ours)
    ratios = {name: ratio(*pair, name) for name in ("wall", "cpu")}
    met = "yes" if target.is_met(ratios[clock].median) else "no"
    return (
        work,
        other,
        f"{speed(megabytes, ours):.0f}",
        str(target),
        str(ratios["wall"]),
        str(ratios["cpu"]),
        f"{met} ({'wall' if clock == 'wall' else 'CPU'})",
    )


def markdown(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table.

    >>> print(markdown(["a", "b"], [["1", "2"]]))
    | a | b |
    | --- | --- |
    | 1 | 2 |
    """
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def show(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]], notes: Sequence[str] = ()) -> None:
    """Print a table with all that is needed to judge it."""
    print(f"\n## {title}\n\n{machine()}\n\n{markdown(columns, rows)}\n")
    for note in notes:
        print(f"- {note}")
    print(f"- Again: `{_command()}`", flush=True)


def machine() -> str:
    """The machine and the versions, in a line."""
    packages = ("quicktok-v1", "tiktoken", "numpy", "pyarrow", "apache-beam")
    versions = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in packages if is_installed(name))
    return (
        f"{_processor()}, {os.cpu_count()} cores, {platform.system()} {platform.machine()}; "
        f"Python {platform.python_version()}, {versions}"
    )


def is_installed(package: str) -> bool:
    """Whether a package is there, by the name that it is installed by."""
    try:
        importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return False
    return True


def _processor() -> str:
    path = Path("/proc/cpuinfo")
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return models[0] if models else platform.processor() or "unknown processor"


def _command() -> str:
    return f"python -m benchmarks.{Path(sys.argv[0]).stem} {shlex.join(sys.argv[1:])}".strip()
