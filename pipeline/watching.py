"""Files that arrive in watched places -> rounds, each a job of its own whose output is complete.

The output folder holds `round-00001`, `round-00002`, ..., each as `run` leaves a folder, and in it `files.json`:
the files of the round as they were. A round counts when its manifest is there. A process that is stopped, at any
moment, is followed by one that takes up exactly the files which no counted round holds.
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from pipeline import folders
from pipeline.build import Job, JobResult, prepared_options, run_job
from pipeline.config import JobConfig
from pipeline.earlier_outputs import ROUND_FILES
from pipeline.formats import InputFile
from pipeline.input_files import NoFilesError, match_pattern
from pipeline.launch_checks import check_file_systems
from pipeline.manifest import MANIFEST_NAME

_log = logging.getLogger(__name__)
_ROUND = re.compile(r"round-(\d{5,})")

Version = tuple[int, float]
"""Size and time of change of a file: what tells whether it is another one than before."""


@dataclass(frozen=True)
class Round:
    """A job over the files that had arrived.

    Attributes:
        number: From 1.
        folder: Its output folder.
        files: The files, and what they were.
        result: How it ended.
    """

    number: int
    folder: str
    files: Mapping[str, Version]
    result: JobResult


def watch_rounds(config: JobConfig, wait: Callable[[], bool]) -> Iterator[Round]:
    """A round whenever files have arrived, until waiting says that it is over, or a round has failed.

    A file is taken when it has stayed the same from one look to the next, so that one which is still being
    written is left alone; whoever can, renames files into place. One that changes later is taken again, in a
    later round. Files that cannot be read, that lack a column or are gone when their round begins are failures of
    the round, and the watching goes on. So does it when the input cannot be listed for a while.

    Args:
        config: The job; `input` is what is watched, `output` the folder of the rounds.
        wait: Called between two looks; returns whether to look again.

    Raises:
        ValueError: If a setting cannot be worked with, which is told before the first round; to that belongs a
            column that none of the files has which are there at first.
        OSError: If the input cannot be listed at first.
    """
    check_watch(config)
    return _rounds(config, wait)


def _rounds(config: JobConfig, wait: Callable[[], bool]) -> Iterator[Round]:
    done = finished_files(config.output)
    before = arrived(config, done)
    while wait():
        present = _look(config, done)
        if settled := {path: version for path, version in present.items() if before.get(path) == version}:
            finished = _run(config, settled)
            yield finished
            if finished.result.manifest is None:
                return
            done |= settled
        before = present


def check_watch(config: JobConfig) -> None:
    """Make sure that rounds can be run with the settings, before there is any file.

    A column that is in none of the files that are there is taken for a wrong setting, unless rounds have been run
    with it already.

    Raises:
        ValueError: If a setting cannot be worked with.
    """
    prepared_options(config)
    check_file_systems("input", config.input)
    first = tuple(sorted(arrived(config, {})))
    if first and not counted_rounds(config.output):
        Job(config.model_copy(update={"input": first}))
    else:
        Job(_with_strings(config), expect_input=False)


def _look(config: JobConfig, done: Mapping[str, Version]) -> dict[str, Version]:
    """What has arrived; where that cannot be found out, nothing."""
    try:
        return arrived(config, done)
    except OSError as error:
        _log.warning("input: cannot be listed now, which is tried again: %s", error)
        return {}


def arrived(config: JobConfig, done: Mapping[str, Version]) -> dict[str, Version]:
    """The files that are there now and, as they are now, in no round yet."""
    return {
        file.path: _version(file)
        for file in _present(config.input, config.input_format)
        if done.get(file.path) != _version(file)
    }


def unmatched(config: JobConfig) -> Iterator[str]:
    """The paths and patterns of the input that name no file now."""
    for pattern in config.input:
        try:
            match_pattern(pattern, config.input_format)
        except NoFilesError:
            yield pattern
        except (ValueError, OSError):  # there is something, or will be told by the first look
            continue


def finished_files(output: str) -> dict[str, Version]:
    """The files of all counted rounds, each as it was when it was last taken."""
    done: dict[str, Version] = {}
    for _, folder in counted_rounds(output):
        with folders.open_file(folders.join(folder, ROUND_FILES)) as file:
            done |= {path: (size, modified) for path, (size, modified) in json.load(file).items()}
    return done


def counted_rounds(output: str) -> list[tuple[int, str]]:
    """Numbers and folders of the rounds that have ended well, in order."""
    found = []
    for path in folders.list_files(output, below="round-"):
        if folders.base_name(path) == MANIFEST_NAME:
            folder = folders.parent(path)
            if name := _ROUND.fullmatch(folders.base_name(folder)):
                found.append((int(name[1]), folder))
    return sorted(found)


def _run(config: JobConfig, files: Mapping[str, Version]) -> Round:
    number = max((number for number, _ in counted_rounds(config.output)), default=0) + 1
    folder = folders.join(config.output, f"round-{number:05}")
    _write_files(folder, files)
    job = config.model_copy(update={"input": tuple(sorted(files)), "output": folder})
    return Round(number, folder, files, _run_job(job))


def _run_job(job: JobConfig) -> JobResult:
    try:
        return run_job(job, expect_input=False)
    except ValueError:
        # settings are known to be right, so this is a type found in the files that cannot be written; as strings,
        # such values are failures, and documents without them are chunked
        return run_job(_with_strings(job), expect_input=False)


def _with_strings(config: JobConfig) -> JobConfig:
    """The job, with metadata columns that have no type as strings."""
    return config.model_copy(
        update={"metadata_columns": {name: kind or "string" for name, kind in config.metadata_columns.items()}}
    )


def _write_files(folder: str, files: Mapping[str, Version]) -> None:
    with folders.create(folders.join(folder, ROUND_FILES)) as file:
        file.write(json.dumps(dict(files), indent=1).encode())


def _present(patterns: Iterable[str], input_format: str) -> Iterator[InputFile]:
    for pattern in patterns:
        try:
            yield from (file for file in match_pattern(pattern, input_format) if file.format is not None)
        except ValueError:  # nothing is there yet
            continue


def _version(file: InputFile) -> Version:
    return file.size, file.modified
