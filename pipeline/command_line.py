"""The commands of `llm-splitter`, and how their errors are told. Only here arguments are read."""

from __future__ import annotations

import logging
import os
import sys
import traceback
from collections.abc import Callable, Iterable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Annotated

from cyclopts import App, CycloptsError, Parameter

from pipeline.commands.load import load_command
from pipeline.commands.recover import recover_command
from pipeline.commands.run import run_command
from pipeline.commands.search import search_command
from pipeline.commands.split import STANDARD_INPUT, split_command
from pipeline.commands.verify import verify_command
from pipeline.commands.watch import watch_command
from pipeline.config_errors import SettingsError
from pipeline.exit_codes import ExitCode
from pipeline.flags import unwrapped

_HELP = """Cut documents into chunks that lead back to their source exactly.

Try it:

  llm-splitter run --input 'docs/*.parquet' --output out --splitter cl100k_base

  llm-splitter verify out

  llm-splitter split page.txt --splitter cl100k_base --chunk-size 128
"""

_EXIT_CODES = (
    "Exit codes: 0 fine; 1 the job failed, or nothing was chunked; 2 wrong settings, nothing ran; "
    "3 more failures than max_failures allows; 130 interrupted; 143 terminated."
)
_VERIFY_EXIT_CODES = "Exit codes: 0 every promise is kept; 1 one is not; 2 it cannot be verified."

app = App(
    name="llm-splitter",
    version=lambda: version("llm-splitter"),
    help=_HELP,
    help_format="plaintext",
    suppress_keyboard_interrupt=False,
)


def _add(command: Callable[..., int], name: str, arguments: str, epilogue: str = "") -> None:
    command.__doc__ = unwrapped(command.__doc__ or "")
    usage = f"Usage: llm-splitter {name} {arguments}"
    app.command(command, name=name, usage=usage, help_epilogue=epilogue)


_add(run_command, "run", "[CONFIG] [OPTIONS] [-- BEAM-OPTIONS]", _EXIT_CODES)
_add(load_command, "load", "[CONFIG] [OPTIONS] [-- BEAM-OPTIONS]", _EXIT_CODES)
_add(search_command, "search", "[CONFIG] QUESTION [OPTIONS]")
_add(recover_command, "recover", "[CONFIG] [OPTIONS]")
_add(split_command, "split", "FILE [OPTIONS]")
_add(verify_command, "verify", "OUTPUT [DOCUMENTS ...] [OPTIONS]", _VERIFY_EXIT_CODES)
_add(watch_command, "watch", "[CONFIG] [OPTIONS]")
app.meta.suppress_keyboard_interrupt = False
app.meta.end_of_options_delimiter = ""  # what follows `--` is for the command


@app.meta.default
def _launch(
    *arguments: Annotated[str, Parameter(show=False, allow_leading_hyphen=True)],
    debug: Annotated[
        bool, Parameter(negative=(), show_default=False, help="Show tracebacks, and what Beam logs.")
    ] = False,
) -> int:
    # Beam warns of things that nobody has asked for.
    logging.basicConfig(level=logging.INFO, handlers=None if debug else [logging.NullHandler()])
    logging.getLogger("apache_beam").setLevel(logging.INFO if debug else logging.CRITICAL)
    if not debug:
        logging.getLogger("pipeline").addHandler(_NOTES)
    try:
        return _called(app, [STANDARD_INPUT if word == "-" else word for word in arguments])
    except Exception as error:  # noqa: BLE001 - whatever it was, a person wants a line and not a traceback
        if debug:
            traceback.print_exc()
        return _report(error)


class _Notes(logging.Handler):
    """Warnings of this program, as lines for a person."""

    def emit(self, record: logging.LogRecord) -> None:
        _say([record.getMessage()])


_NOTES = _Notes(logging.WARNING)


def _called(target: App, arguments: Iterable[str]) -> int:
    result = target(arguments, exit_on_error=False, print_error=False, result_action="return_value")
    return result or ExitCode.FINE


def _report(error: Exception) -> int:
    if isinstance(error, SettingsError):
        return _say(error.problems, ExitCode.WRONG_SETTINGS)
    if isinstance(error, CycloptsError):
        return _say([" ".join(str(error).split())], ExitCode.WRONG_SETTINGS)
    if isinstance(error, BrokenPipeError):  # the reader of our output has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return ExitCode.FINE
    message = " ".join(str(error).split()) or type(error).__name__
    return _say([f"the job failed: {message} (--debug shows more)"], ExitCode.JOB_FAILED)


def _say(problems: Iterable[str], code: ExitCode = ExitCode.FINE) -> ExitCode:
    for problem in problems:
        sys.stderr.write(f"llm-splitter: {problem}\n")
    return code


def run(arguments: Sequence[str] | None = None) -> int:
    """Run the command that the arguments name, `sys.argv` by default, and return its exit code."""
    if (here := str(Path.cwd())) not in sys.path:  # custom splitters are modules of the user's own
        sys.path.append(here)
    try:
        return _called(app.meta, sys.argv[1:] if arguments is None else arguments)
    except CycloptsError as error:
        return _report(error)
