"""`llm-splitter split FILE`: the chunks of one text, for trying settings."""

from __future__ import annotations

import codecs
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter
from rich.console import Console

from pipeline.commands.arguments import settings_errors
from pipeline.config import SplitSettings, load_settings
from pipeline.config_errors import SettingsError
from pipeline.flags import flags
from pipeline.split_view import json_line, print_chunks, shown_chunks

SplitFlags: Any = dict[str, Any] if TYPE_CHECKING else flags(SplitSettings)

STANDARD_INPUT = "<standard input>"
"""What `-` is called between the command line and here, where a lone hyphen would be taken for an option."""


def split_command(
    file: str,
    /,
    *,
    json: Annotated[bool, Parameter(negative=(), show_default=False)] = False,
    settings: Annotated[SplitFlags, Parameter(name="*")] = {},  # noqa: B006 (never changed)
) -> int:
    """Show the chunks of one text file with their offsets, to try settings.

    What a chunk repeats from the one before it is marked.

    Try it:

      llm-splitter split page.txt --chunk-size 300 --chunk-overlap 30

      cat page.txt | llm-splitter split - --splitter sentences --chunk-size 3 --json

    Args:
        file: A UTF-8 text file, or - for standard input.
        json: Write one line of JSON for each chunk.
        settings: Splitting, under the same names as for `run`.
    """
    chosen = load_settings(SplitSettings, overrides=settings)
    with settings_errors(settings):
        chunker = chosen.chunker()
    chunks = shown_chunks(_read(file), chunker)
    if json:
        _write_lines(map(json_line, chunks))
    else:
        print_chunks(list(chunks), chosen.counted, Console())
    return 0


def _read(file: str) -> str:
    try:
        data = sys.stdin.buffer.read() if file == STANDARD_INPUT else Path(file).read_bytes()
    except OSError as error:
        raise SettingsError(f"{file}: cannot be read: {error.strerror or error}") from error
    try:
        return data.removeprefix(codecs.BOM_UTF8).decode()
    except UnicodeDecodeError as error:
        raise SettingsError(f"{file}: not UTF-8 text: byte {error.start} is {data[error.start]:#04x}") from error


def _write_lines(lines: Iterable[str]) -> None:
    for line in lines:
        sys.stdout.write(f"{line}\n")
