"""`llm-splitter watch`: the main job for whatever arrives, until it is stopped."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from pipeline.commands.arguments import settings_errors, settings_file
from pipeline.config import JobConfig, load_settings
from pipeline.config_errors import SettingsError
from pipeline.exit_codes import ExitCode
from pipeline.flags import flags
from pipeline.wording import plural

if TYPE_CHECKING:
    from pipeline.watching import Round

WatchFlags: Any = dict[str, Any] if TYPE_CHECKING else flags(JobConfig)


def watch_command(
    config: str | None = None,
    /,
    *,
    every: Annotated[float, Parameter(help="Seconds from one look at the input to the next.")] = 10.0,
    settings: Annotated[WatchFlags, Parameter(name="*")] = {},  # noqa: B006 (never changed)
) -> int:
    """Chunk documents as their files arrive, until stopped with Ctrl-C.

    The output folder gets a folder for each round of files, round-00001 and so on, each complete. Started again,
    it goes on where it stopped. A file is taken when it has not changed from one look to the next. One that cannot
    be read is a failure of its round; the watch ends when a round has more of them than max_failures.

    Try it:

      llm-splitter watch job.yaml --input 'inbox/*.jsonl' --output rounds

    Args:
        config: A YAML file with settings.
        every: Seconds from one look at the input to the next.
        settings: The same names as in the file, and as for `run`.
    """
    if not every > 0:
        raise SettingsError(f"--every: is {every:g}; it must be more than 0 seconds")
    job = load_settings(JobConfig, settings_file(config)[0], settings)
    with stop_signals() as stopped, settings_errors(settings):
        return _watch(job, every, stopped)


def _watch(job: JobConfig, every: float, stopped: threading.Event) -> int:
    # Beam takes seconds to load, which help and wrong settings should not have to wait for.
    from pipeline.watching import unmatched, watch_rounds  # noqa: PLC0415

    rounds = watch_rounds(job, lambda: not stopped.wait(every))
    _say(f"watching {', '.join(job.input)}; stop with Ctrl-C")
    for pattern in unmatched(job):
        _say(f"no file matches {pattern!r} yet")
    for each in rounds:
        _say(_line(each))
        if each.result.manifest is None:
            return each.result.exit_code
    _say("stopped")
    return ExitCode.FINE


@contextmanager
def stop_signals() -> Iterator[threading.Event]:
    """An event that Ctrl-C or a service manager's SIGTERM sets, so that a round which has begun is finished.

    The second one interrupts the round, which then leaves nothing behind.
    """
    stopped = threading.Event()

    def stop(number: int, frame: object) -> None:
        del frame
        if stopped.is_set():
            raise KeyboardInterrupt
        stopped.set()

    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stopped
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _line(done: Round) -> str:
    if done.result.manifest is None:
        return f"round {done.number} failed: {done.result.error}"
    counters = done.result.counters
    return (
        f"round {done.number}: {plural(len(done.files), 'file')}, {plural(counters['documents_read'], 'document')}, "
        f"{plural(counters['chunks'], 'chunk')}, {plural(counters['failures'], 'failure')} -> {done.folder}"
    )


def _say(line: str) -> None:
    sys.stderr.write(f"llm-splitter: {line}\n")
    sys.stderr.flush()
