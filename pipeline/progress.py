"""What a running job has done so far: a line that keeps up on a terminal, plain lines elsewhere."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from rich.console import Console
from rich.live import Live
from rich.spinner import Spinner
from rich.text import Text

from pipeline.wording import plural

Counts = Mapping[str, int]


class ProgressLine:
    """The counters of a running job as a line of text.

    Args:
        read_counts: gives the job's counters as they are now.
        clock: gives seconds.
        window: seconds over which the speed is taken, so that it shows what happens now.
    """

    def __init__(
        self,
        read_counts: Callable[[], Counts],
        clock: Callable[[], float] = time.monotonic,
        window: float = 10.0,
    ) -> None:
        self._read_counts = read_counts
        self._clock = clock
        self._window = window
        self._started = clock()
        self._seen: deque[tuple[float, int]] = deque([(self._started, 0)])

    def __call__(self) -> str:
        """The line as it is now.

        >>> ProgressLine(lambda: {"documents_read": 1200, "chunks": 8000, "text_bytes": 2_500_000})()
        '1,200 documents · 2.5 MB · 8,000 chunks · 0 failures · 2.5 MB/s · 0:00'
        """
        counts = self._read_counts()
        now = self._clock()
        if not counts:  # nothing was read yet, or it is counted in other processes
            return f"running · {elapsed(now - self._started)}"
        text_bytes = counts.get("text_bytes", 0)
        figures = (
            plural(counts.get("documents_read", 0), "document"),
            f"{text_bytes / 1e6:,.1f} MB",
            plural(counts.get("chunks", 0), "chunk"),
            plural(failures_in(counts), "failure"),
            f"{self._speed(now, text_bytes) / 1e6:,.1f} MB/s",
            elapsed(now - self._started),
        )
        return " · ".join(figures)

    def _speed(self, now: float, text_bytes: int) -> float:
        self._seen.append((now, text_bytes))
        while len(self._seen) > 2 and self._seen[1][0] <= now - self._window:
            self._seen.popleft()
        then, bytes_then = self._seen[0]
        return (text_bytes - bytes_then) / max(now - then, 1.0)


def failures_in(counts: Counts) -> int:
    """Failure rows so far: documents, and whole files and row groups."""
    return sum(amount for name, amount in counts.items() if name.startswith("failures_"))


def elapsed(seconds: float) -> str:
    """Minutes and seconds, with hours when there are any.

    >>> elapsed(75), elapsed(3_675)
    ('1:15', '1:01:15')
    """
    minutes, second = divmod(int(seconds), 60)
    hours, minute = divmod(minutes, 60)
    return f"{hours}:{minute:02}:{second:02}" if hours else f"{minute}:{second:02}"


@contextmanager
def watch(line: Callable[[], str], console: Console, seconds: float = 5.0) -> Iterator[None]:
    """Show a line while the body runs: in place on a terminal, every few seconds otherwise.

    Args:
        line: gives the line as it is now.
        console: where to; standard error leaves standard output to results.
        seconds: between two plain lines.
    """
    show = _in_place(line, console) if console.is_terminal else _now_and_then(line, console, seconds)
    with show:
        yield


@contextmanager
def _in_place(line: Callable[[], str], console: Console) -> Iterator[None]:
    spinner = Spinner("dots")

    def renderable() -> Spinner:
        spinner.update(text=Text(line(), overflow="ellipsis", no_wrap=True))
        return spinner

    with Live(get_renderable=renderable, console=console, refresh_per_second=8, transient=True):
        yield


@contextmanager
def _now_and_then(line: Callable[[], str], console: Console, seconds: float) -> Iterator[None]:
    over = threading.Event()

    def report() -> None:
        while not over.wait(seconds):
            console.print(line(), highlight=False, soft_wrap=True)

    reporter = threading.Thread(target=report, name="progress", daemon=True)
    reporter.start()
    try:
        yield
    finally:
        over.set()
        reporter.join()
