"""The line that keeps a watching person informed."""

from __future__ import annotations

import io
import threading
import time

import pytest
from rich.console import Console

from pipeline.progress import ProgressLine, elapsed, watch


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_the_line_tells_documents_bytes_chunks_failures_speed_and_time():
    clock = Clock()
    counts = {
        "documents_read": 1234,
        "text_bytes": 30_000_000,
        "chunks": 5678,
        "failures_read": 1,
        "failures_chunk": 2,
    }
    line = ProgressLine(lambda: counts, clock)
    clock.now += 3
    assert line() == "1,234 documents · 30.0 MB · 5,678 chunks · 3 failures · 10.0 MB/s · 0:03"


def test_the_speed_is_that_of_the_last_seconds():
    clock = Clock()
    counts = {"text_bytes": 0}
    line = ProgressLine(lambda: counts, clock)
    for _ in range(60):
        clock.now += 1
        counts["text_bytes"] += 50_000_000
        line()
    for _ in range(30):
        clock.now += 1
        shown = line()
    assert "3,000.0 MB" in shown
    assert "0.0 MB/s" in shown


def test_one_of_a_thing_is_no_plural():
    line = ProgressLine(lambda: {"documents_read": 1, "chunks": 1, "failures_read": 1}, Clock())
    assert line() == "1 document · 0.0 MB · 1 chunk · 1 failure · 0.0 MB/s · 0:00"


def test_a_job_without_counts_in_this_process_just_runs():
    clock = Clock()
    line = ProgressLine(dict, clock)
    clock.now += 7
    assert line() == "running · 0:07"


@pytest.mark.parametrize(("seconds", "shown"), [(0, "0:00"), (59.9, "0:59"), (61, "1:01"), (36_125, "10:02:05")])
def test_elapsed(seconds, shown):
    assert elapsed(seconds) == shown


def test_elsewhere_than_on_a_terminal_plain_lines_come_now_and_then():
    out = io.StringIO()
    with watch(lambda: "half way", Console(file=out, width=20), seconds=0.02):
        wait_for(lambda: out.getvalue().count("\n") >= 2)
    lines = out.getvalue().splitlines()
    assert set(lines) == {"half way"}
    assert not [thread for thread in threading.enumerate() if thread.name == "progress"]


def test_a_plain_line_is_not_broken_however_long():
    out = io.StringIO()
    with watch(lambda: "x" * 100, Console(file=out, width=20), seconds=0.02):
        wait_for(lambda: "\n" in out.getvalue())
    assert out.getvalue().splitlines()[0] == "x" * 100


def test_on_a_terminal_the_line_is_drawn_in_place_and_gone_afterwards():
    out = io.StringIO()
    console = Console(file=out, force_terminal=True, width=40, color_system="truecolor")
    with watch(lambda: "half way", console):
        wait_for(lambda: "half way" in out.getvalue())
    assert out.getvalue().endswith("\x1b[?25h\r\x1b[1A\x1b[2K")  # cursor shown again, line erased


@pytest.mark.parametrize("terminal", [True, False])
def test_an_error_in_the_job_comes_through(terminal):
    console = Console(file=io.StringIO(), force_terminal=terminal)
    with pytest.raises(RuntimeError, match="broken"), watch(lambda: "", console):
        raise RuntimeError("broken")


def wait_for(condition, seconds=10.0):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)
