"""What this program has written itself, told from documents by the manifest beside it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import TypeVar

from pipeline import folders
from pipeline.manifest import MANIFEST_NAME, parse_manifest
from pipeline.publish import is_output_name

ROUND_FILES = "files.json"
"""Beside the output of each round of `watch`: the files it took."""

_File = TypeVar("_File")


def without_outputs(files: Iterable[_File], path_of: Callable[[_File], str], outputs: set[str]) -> list[_File]:
    """The files that are not part of a finished output of this program.

    Args:
        files: Files, as they were listed.
        path_of: Their paths.
        outputs: The folders of outputs are added to it.
    """
    is_output = lru_cache(maxsize=None)(is_output_folder)
    kept = []
    for file in files:
        folder, name = folders.parent(path_of(file)), folders.base_name(path_of(file))
        if (is_output_name(name) or name == ROUND_FILES) and is_output(folder):
            outputs.add(folder)
        else:
            kept.append(file)
    return kept


def is_output_folder(folder: str) -> bool:
    """Whether a folder holds a manifest that this program wrote."""
    try:
        with folders.open_file(folders.join(folder, MANIFEST_NAME)) as file:
            parse_manifest(file.read())
    except (OSError, ValueError):
        return False
    return True
