"""The counters that tell the story of a job: Beam's own, and a live copy for whoever watches this process."""

from __future__ import annotations

import threading

from apache_beam.metrics.metric import Metrics

NAMESPACE = "llm_splitter"
TOKEN_COUNT = "token_count"


class LiveCounts:
    """Sums of the counters that steps in this process have raised, readable while the job runs.

    Beam reports metrics of a local run when it is over. A bundle that is tried twice is counted twice here,
    so these sums are for a progress display; results come from the manifest.
    """

    def __init__(self) -> None:
        self._sums: dict[str, int] = {}
        self._lock = threading.Lock()

    def add(self, name: str, amount: int) -> None:
        """Raise one sum."""
        with self._lock:
            self._sums[name] = self._sums.get(name, 0) + amount

    def snapshot(self) -> dict[str, int]:
        """The sums as they are now."""
        with self._lock:
            return dict(self._sums)

    def clear(self) -> None:
        """Start again from nothing, before a new job in the same process."""
        with self._lock:
            self._sums.clear()


LIVE = LiveCounts()


def count(name: str, amount: int = 1) -> None:
    """Raise the counter `llm_splitter:<name>`, inside a step of a pipeline.

    Example:
        >>> count("documents_read", table.num_rows)
    """
    if amount:
        Metrics.counter(NAMESPACE, name).inc(amount)
        LIVE.add(name, amount)
