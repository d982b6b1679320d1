"""The first failure of each kind in a finished output, for people."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import orjson

from pipeline import folders
from pipeline.manifest import FAILURES_TO_READ

_LONGEST_MESSAGE = 160


def first_failures(output: str, kinds: Collection[str]) -> dict[str, str]:
    """The first message of each kind of failure, with its place, out of an output's `failures.jsonl`.

    Args:
        output: The output folder.
        kinds: `stage: error`, as in the manifest's `failures`.
    """
    found: dict[str, str] = {}
    if not kinds:
        return found
    with folders.open_file(folders.join(output, FAILURES_TO_READ)) as file:
        for line in file:
            row = orjson.loads(line)
            found.setdefault(f"{row['stage']}: {row['error']}", _told(row))
            if len(found) == len(kinds):
                break
    return found


def _told(row: Mapping[str, str]) -> str:
    place = ", ".join(filter(None, (row["source"], row["position"])))
    message = " ".join(row["message"].split())
    shown = message if len(message) <= _LONGEST_MESSAGE else f"{message[: _LONGEST_MESSAGE - 1]}…"
    return f"{place}: {shown}" if place else shown
