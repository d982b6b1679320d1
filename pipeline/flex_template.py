"""The main job as a Dataflow Flex Template: its parameters, made from the settings, and its entry point.

`python -m pipeline.flex_template` is what the template's launcher runs, with the parameters that the user gave
and the options of Dataflow as flags; `python -m pipeline.flex_template --metadata` writes the template's metadata.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from typing import Any, Literal, get_args, get_origin

import apache_beam as beam
from apache_beam.io.filesystems import FileSystems
from pydantic import ByteSize
from pydantic.fields import FieldInfo

from pipeline.beam_runs import pipeline_options, runner_of
from pipeline.build import build_pipeline
from pipeline.config import JobConfig, load_settings
from pipeline.exit_codes import ExitCode
from pipeline.flags import shown_default
from pipeline.worker_paths import check_paths

NOT_PARAMETERS = ("beam_options", "database")
"""Settings that a template has its own way for (options), or that hold further settings."""

_PATTERNS = {
    "input": r"^(gs|s3)://[^\s]+$",
    "output": r"^(gs|s3)://[^\s]+$",
    "metadata_columns": r"^[^:,\s]+(:[^:,]+)?(, ?[^:,\s]+(:[^:,]+)?)*$",
    "max_failures": r"^([0-9]+|[0-9]+(\.[0-9]+)?%|0?\.[0-9]+|[01]\.[0-9]*)$",
    "paragraph_break": r"^(\\n\\n|blank_line)$",
    "splitter": r"^(gs://)?[A-Za-z0-9_.:/-]+$",
}


def template_metadata() -> dict[str, Any]:
    """The metadata of the template, as Dataflow takes it: a validated parameter for each setting."""
    return {
        "name": "llm-splitter",
        "description": "Cuts documents into chunks of at most so many tokens, with offsets that lead back exactly.",
        "streaming": False,
        "parameters": [
            _parameter(name, field) for name, field in JobConfig.model_fields.items() if name not in NOT_PARAMETERS
        ],
    }


def _parameter(name: str, field: FieldInfo) -> dict[str, Any]:
    default = shown_default(field)
    return {
        "name": name,
        "label": name.replace("_", " ").capitalize(),
        "helpText": f"{field.description}" + (f" Default: {default}" if default else ""),
        "isOptional": not field.is_required(),
        "regexes": [pattern_of(name, field)],
        "paramType": "TEXT",
    }


def pattern_of(name: str, field: FieldInfo) -> str:
    """What a value of a setting must look like, so that a wrong one is refused before any machine starts."""
    if name in _PATTERNS:
        return _PATTERNS[name]
    if get_origin(field.annotation) is Literal:
        return f"^({'|'.join(map(str, get_args(field.annotation)))})$"
    if field.annotation is bool:
        return "^(true|false|yes|no)$"
    if field.annotation is ByteSize:
        return r"^[0-9]+(\.[0-9]+)? ?([KMGTkmgt]i?)?[Bb]?$"
    return "^[0-9]+$" if field.annotation is int else r"^[^\s].*$"


def split_flags(arguments: Sequence[str]) -> tuple[dict[str, str], list[str]]:
    """Settings by name, and the options that are Beam's.

    >>> split_flags(["--input=gs://b/d", "--region=europe-west1", "--streaming"])
    ({'input': 'gs://b/d'}, ['--region=europe-west1', '--streaming'])
    """
    settings, options = {}, []
    for argument in arguments:
        name, equals, value = argument.removeprefix("--").partition("=")
        if equals and name in JobConfig.model_fields and name not in NOT_PARAMETERS:
            settings[name] = value
        else:
            options.append(argument)
    return settings, options


def main(arguments: Sequence[str]) -> int:
    """Launch the job, or write the metadata; the exit code."""
    if list(arguments) == ["--metadata"]:
        sys.stdout.write(json.dumps(template_metadata(), indent=2) + "\n")
        return ExitCode.FINE
    settings, flags = split_flags(arguments)
    try:
        launch(load_settings(JobConfig, overrides=settings), flags)
    except ValueError as error:
        sys.stderr.write(f"llm-splitter: {error}\n")
        return ExitCode.WRONG_SETTINGS
    return ExitCode.FINE


def launch(config: JobConfig, flags: Sequence[str]) -> None:
    """Hand the job to the runner, and do not wait for it: the template's launcher has a time limit.

    Raises:
        ValueError: If a setting cannot be worked with.
    """
    options = pipeline_options(flags)
    FileSystems.set_options(options)
    check_paths("input", config.input)
    check_paths("output", [config.output])
    pipeline = beam.Pipeline(runner_of(options), options=options)
    build_pipeline(pipeline, config)
    pipeline.run()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
