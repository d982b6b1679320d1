"""`llm-splitter run`: the main job, documents in, chunk rows out."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter
from rich.console import Console

from pipeline.commands.arguments import settings_errors, settings_file
from pipeline.config import JobConfig, load_settings
from pipeline.exit_codes import ExitCode
from pipeline.flags import flags
from pipeline.garbage import lasting
from pipeline.progress import ProgressLine, watch
from pipeline.summary import summary

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

      llm-splitter run job.yaml --chunk-size 256

      llm-splitter run --input 'docs/*.parquet' --output out --splitter cl100k_base

      llm-splitter run job.yaml -- --runner=FlinkRunner

    Args:
        config: A YAML file with settings.
        beam_options: After `--`, options for Apache Beam.
        quiet: Show neither progress nor summary.
        settings: The same names as in the file.
    """
    file, flags_for_beam = settings_file(config, beam_options)
    job = load_settings(JobConfig, file, _with_beam_options(settings, flags_for_beam))
    with settings_errors(settings):
        result = _run(job, quiet)
    if result.manifest is not None and not quiet:
        from pipeline.first_failures import first_failures  # noqa: PLC0415 - as in _run

        examples = first_failures(job.output, result.manifest.failures)
        Console().print(summary(result.manifest, job.output, job.counted, examples), soft_wrap=True)
    if result.error:
        sys.stderr.write(f"llm-splitter: {_why(result)}\n")
    return result.exit_code


def _with_beam_options(settings: dict[str, Any], options: tuple[str, ...]) -> dict[str, Any]:
    given = [*settings.get("beam_options", ()), *options]
    return {**settings, "beam_options": given} if given else settings


def _run(job: JobConfig, quiet: bool) -> JobResult:
    # Beam takes seconds to load, which help and wrong settings should not have to wait for.
    with lasting():
        from pipeline.build import run_job  # noqa: PLC0415
        from pipeline.counters import LIVE  # noqa: PLC0415

    with nullcontext() if quiet else watch(ProgressLine(LIVE.snapshot), Console(stderr=True)):
        return run_job(job)


def _why(result: JobResult) -> str:
    if result.exit_code == ExitCode.TOO_MANY_FAILURES or result.manifest is not None:
        return result.error
    return f"the job failed: {' '.join(result.error.split())} (--debug shows more)"
