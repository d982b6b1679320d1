"""`llm-splitter run`: the main job, documents in, chunk rows out."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter
from rich.console import Console

from pipeline.config import JobConfig, load_settings
from pipeline.config_errors import SettingsError, problem_line
from pipeline.exit_codes import ExitCode
from pipeline.flags import flags
from pipeline.garbage import lasting
from pipeline.progress import ProgressLine, watch
from pipeline.summary import summary_table

if TYPE_CHECKING:
    from pipeline.build import JobResult

RunFlags: Any = dict[str, Any] if TYPE_CHECKING else flags(JobConfig)


def run_command(
    config: str | None = None,
    /,
    *beam_options: str,
    quiet: Annotated[bool, Parameter(negative=(), show_default=False)] = False,
    settings: Annotated[RunFlags, Parameter(name="*")] = {},  # noqa: B006 (never changed)
) -> int:
    """Chunk documents: files in, a folder of chunk rows out.

    Every setting may stand in a file, on the command line, or both, where the command line wins.

    Try it:

      llm-splitter run configs/quickstart.yaml --chunk-size 256

      llm-splitter run --input 'docs/*.parquet' --output out --splitter cl100k_base

      llm-splitter run job.yaml -- --runner=FlinkRunner

    Args:
        config: A YAML file with settings; configs/ has examples.
        beam_options: After `--`, options for Apache Beam.
        quiet: Show neither progress nor summary.
        settings: The same names as in the file.
    """
    file, flags_for_beam = _positional(config, beam_options)
    job = load_settings(JobConfig, file, _with_beam_options(settings, flags_for_beam))
    result = _run(job, quiet)
    if result.manifest is None:
        sys.stderr.write(f"llm-splitter: {_why(result)}\n")
    elif not quiet:
        Console().print(summary_table(result.manifest, job.output, job.counted))
    return result.exit_code


def _positional(first: str | None, rest: tuple[str, ...]) -> tuple[str | None, tuple[str, ...]]:
    """The settings file, if there is one, and the Beam options that follow `--`.

    Raises:
        SettingsError: there is more than one file.
    """
    if first is not None and first.startswith("--"):
        return None, (first, *rest)
    if rest and not rest[0].startswith("--"):
        raise SettingsError(f"{rest[0]}: not understood: a job has one settings file; Beam options follow `--`")
    return first, rest


def _with_beam_options(settings: dict[str, Any], options: tuple[str, ...]) -> dict[str, Any]:
    given = [*settings.get("beam_options", ()), *options]
    return {**settings, "beam_options": given} if given else settings


def _run(job: JobConfig, quiet: bool) -> JobResult:
    # Beam takes seconds to load, which help and wrong settings should not have to wait for.
    with lasting():
        from pipeline.build import run_job  # noqa: PLC0415
        from pipeline.counters import LIVE  # noqa: PLC0415

    display = nullcontext() if quiet else watch(ProgressLine(LIVE.snapshot), Console(stderr=True))
    try:
        with display:
            return run_job(job)
    except SettingsError:
        raise
    except (ValueError, OSError) as error:  # before anything ran: a file, column or encoding that is not there
        raise SettingsError(problem_line(str(error), JobConfig.model_fields)) from error


def _why(result: JobResult) -> str:
    if result.exit_code == ExitCode.TOO_MANY_FAILURES:
        return result.error
    return f"the job failed: {result.error} (--debug shows more)"
