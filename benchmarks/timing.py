"""Costs of works that are run in turn, and the ratios between them."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from statistics import median
from typing import Literal, TypeAlias

Clock: TypeAlias = Literal["wall", "cpu"]


@dataclass(frozen=True)
class Cost:
    """What one run took.

    Attributes:
        wall: Seconds by the clock on the wall.
        cpu: Seconds of processors, those of ended child processes included.
    """

    wall: float
    cpu: float


Work: TypeAlias = Callable[[], Cost]


@dataclass(frozen=True)
class Ratio:
    """A ratio over all repetitions.

    >>> str(Ratio(1.5, 1.25, 2.0))
    '1.50 (1.25-2.00)'
    """

    median: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.median:.2f} ({self.low:.2f}-{self.high:.2f})"


def timed(work: Callable[[], object]) -> Work:
    """A function of this process as a work that tells its cost."""

    def run() -> Cost:
        wall, cpu = time.perf_counter(), _cpu_seconds()
        work()
        return Cost(time.perf_counter() - wall, _cpu_seconds() - cpu)

    return run


def interleaved(works: Mapping[str, Work], repeats: int) -> dict[str, list[Cost]]:
    """The costs of each work, all run in turn, again and again: what disturbs the machine disturbs all alike."""
    costs: dict[str, list[Cost]] = {name: [] for name in works}
    for _ in range(repeats):
        for name, work in works.items():
            costs[name].append(work())
    return costs


def ratio(costs: list[Cost], base: list[Cost], clock: Clock) -> Ratio:
    """How many times the base something costs, from the repetitions side by side."""
    ratios = [getattr(one, clock) / getattr(other, clock) for one, other in zip(costs, base, strict=True)]
    return Ratio(median(ratios), min(ratios), max(ratios))


def speed(megabytes: float, costs: list[Cost]) -> float:
    """Megabytes a second by the clock on the wall, in the middle of the repetitions."""
    return megabytes / median(cost.wall for cost in costs)


def _cpu_seconds() -> float:
    ended = os.times()
    return time.process_time() + ended.children_user + ended.children_system
