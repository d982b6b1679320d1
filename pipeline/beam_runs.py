"""Beam's options and Beam's talk, for jobs that this program runs itself."""

from __future__ import annotations

import difflib
import logging
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from apache_beam.options.pipeline_options import PipelineOptions, StandardOptions
from apache_beam.runners.portability.fn_api_runner.fn_runner import FnApiRunner
from apache_beam.runners.runner import create_runner

_WORKERS_FLAG = "--direct_num_workers"
_SWITCH_SECONDS = 0.0002

MOST_WORKERS = 4
"""Bundles that a local job works on at a time: with some more cores the tokenizer's own threads use them all, and
each bundle takes 100 to 200 MB."""


def is_local_runner(runner: str | None) -> bool:
    """Whether a runner's name stands for a run in this process.

    The name DirectRunner makes Beam look for another local runner, which it downloads; a local job here uses
    the one that is in the package.
    """
    return runner in (None, "DirectRunner", "FnApiRunner")


def pipeline_options(flags: Sequence[str]) -> PipelineOptions:
    """Beam's options; a local job works on `MOST_WORKERS` bundles at a time, or one a core.

    Raises:
        ValueError: If the runner is unknown or one that loses data, or a local job has an option that Beam does
            not know; other runners may have options of their own.
    """
    options = PipelineOptions(list(flags))
    runner = options.view_as(StandardOptions).runner
    if not is_local_runner(runner):
        _check_runner(runner)
        return options
    _check_known(options)
    if any(flag.startswith(_WORKERS_FLAG) for flag in flags):
        return options
    return PipelineOptions([*flags, f"{_WORKERS_FLAG}={min(os.cpu_count() or 1, MOST_WORKERS)}"])


def _check_runner(runner: str) -> None:
    if runner.endswith("DaskRunner"):
        raise ValueError("beam_options: DaskRunner drops rows without a word; use FlinkRunner or the local default")
    try:
        create_runner(runner)
    except Exception as error:  # a name may stand for any module
        raise ValueError(f"beam_options: {error}") from error


def _check_known(options: PipelineOptions) -> None:
    known = options.get_all_options()
    for name in sorted(options.get_all_options(retain_unknown_options=True).keys() - known.keys()):
        close = difflib.get_close_matches(name, known, n=1)
        hint = f"; did you mean --{close[0]}?" if close else ""
        raise ValueError(f"beam_options: Beam knows no option --{name}{hint}")


def runner_of(options: PipelineOptions) -> Any:
    """The runner that options name, as `beam.Pipeline` takes it; a local job's is the one in the package."""
    name = options.view_as(StandardOptions).runner
    return FnApiRunner() if is_local_runner(name) else name


@contextmanager
def quiet_beam() -> Iterator[None]:
    """Keep Beam from logging, unless somebody has set a level for the logger `apache_beam`.

    Beam warns of things that nobody has asked for, and logs the error that ends a job in full, several times;
    what ended the job is told by its result.
    """
    logger = logging.getLogger("apache_beam")
    before = logger.level
    if before == logging.NOTSET:
        logger.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        logger.setLevel(before)


@contextmanager
def prompt_threads() -> Iterator[None]:
    """Let threads that leave Python for a moment, to hash or to encode, soon come back.

    By default another thread may keep them waiting for five milliseconds, hundreds of times as long as a chunk takes.
    """
    before = sys.getswitchinterval()
    sys.setswitchinterval(_SWITCH_SECONDS)
    try:
        yield
    finally:
        sys.setswitchinterval(before)
