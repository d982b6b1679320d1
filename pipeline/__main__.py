"""The program `llm-splitter`, which is `python -m pipeline`: a way in that is there before the slow imports are."""

from __future__ import annotations

import atexit
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

from pipeline.exit_codes import ExitCode

_INTERRUPTED = ("interrupted", ExitCode.INTERRUPTED)
_TERMINATED = ("terminated", ExitCode.TERMINATED)
_CLEARING_SECONDS = 5.0
"""`timeout` sends SIGTERM twice: what follows so soon does not disturb the clearing up."""


def program() -> None:
    """Run the command of `sys.argv` as a process, which ends with its exit code.

    After an interrupt threads may still be at work in native code, and Python, when it ends, would abort the process
    under them. So the process leaves before that, when all is done that was registered for its end.
    """
    ended: list[int] = []
    atexit.register(_leave, ended)  # the first to be registered is the last to be called
    code = main()
    if code in (ExitCode.INTERRUPTED, ExitCode.TERMINATED):
        ended.append(code)
    sys.exit(code)


def _leave(codes: Sequence[int]) -> None:
    """End at once with the code, if there is one."""
    if not codes:
        return
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):  # nobody reads it any more
            stream.flush()
    os._exit(codes[0])


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command that the arguments name, `sys.argv` by default, and return its exit code."""
    with _sigterm_interrupts() as terminated:
        try:
            from pipeline.command_line import run  # noqa: PLC0415 - takes a second, in which Ctrl-C may come

            return run(arguments)
        except KeyboardInterrupt:
            word, code = _TERMINATED if terminated.is_set() else _INTERRUPTED
            sys.stderr.write(f"llm-splitter: {word}; nothing was published\n")
            return code


@contextmanager
def _sigterm_interrupts() -> Iterator[threading.Event]:
    """An event that SIGTERM sets, which then interrupts as Ctrl-C does, so that a job clears up behind itself.

    By default it would end the process on the spot. Whoever calls from a program that handles or ignores SIGTERM
    itself, or from another thread, keeps what is there.
    """
    terminated = threading.Event()
    latest = float("-inf")

    def interrupt(number: int, frame: object) -> None:
        nonlocal latest
        del number, frame
        terminated.set()
        before, latest = latest, time.monotonic()
        if latest - before >= _CLEARING_SECONDS:
            raise KeyboardInterrupt

    is_ours = threading.current_thread() is threading.main_thread()
    if not is_ours or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        yield terminated
        return
    signal.signal(signal.SIGTERM, interrupt)
    try:
        yield terminated
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


if __name__ == "__main__":
    program()
