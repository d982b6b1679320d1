"""Files and folders on any file system that Beam knows: the few operations that writing an output needs."""

from __future__ import annotations

import re
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import BinaryIO, cast

from apache_beam.io.filesystem import CompressionTypes
from apache_beam.io.filesystems import FileSystems


def join(folder: str, name: str) -> str:
    """The path of a file in a folder."""
    return FileSystems.join(folder, name)


def base_name(path: str) -> str:
    """The last part of a path."""
    return cast(str, FileSystems.split(path)[1])


def parent(path: str) -> str:
    """The folder that a file is in."""
    return cast(str, FileSystems.split(path)[0])


def are_same(one: str, other: str) -> bool:
    """Whether two paths name the same folder."""
    if is_local(one) and is_local(other):
        return Path(one).resolve() == Path(other).resolve()
    return one.rstrip("/") == other.rstrip("/")


def create(path: str) -> BinaryIO:
    """A new file, open for writing bytes as they are; missing folders are made."""
    return FileSystems.create(path, compression_type=CompressionTypes.UNCOMPRESSED)


def open_file(path: str) -> BinaryIO:
    """A file, open for reading bytes as they are."""
    return FileSystems.open(path, compression_type=CompressionTypes.UNCOMPRESSED)


def exists(path: str) -> bool:
    """Whether there is such a file or folder."""
    return bool(FileSystems.exists(path))


def list_files(folder: str, below: str | None = None) -> list[str]:
    """Paths of the files in a folder, or in those folders in it whose name begins with `below`.

    Example:
        >>> list_files("out", ".staging-")  # doctest: +SKIP
        ['out/.staging-1/a.part']
    """
    if is_local(folder):  # Beam would walk through everything below
        found = Path(folder).glob("*" if below is None else f"{below}*/*")
        return sorted(str(path) for path in found if path.is_file())
    pattern = join(_literal(folder), "*" if below is None else f"{_literal(below)}*/*")
    return sorted(found.path for found in FileSystems.match([pattern])[0].metadata_list)


def rename(moves: Mapping[str, str]) -> None:
    """Give files new paths; on local disks a file that stands there already is replaced."""
    for sources in _portions(list(moves)):
        FileSystems.rename(sources, [moves[source] for source in sources])


def delete_files(paths: Sequence[str]) -> None:
    """Remove files."""
    if paths and is_local(paths[0]):
        for path in paths:
            Path(path).unlink()
        return
    for portion in _portions(paths):
        FileSystems.delete([_literal(path) for path in portion])


def delete_below(folder: str, below: str) -> None:
    """Remove those folders in a folder whose name begins with `below`, with all that is in them."""
    if is_local(folder):
        for found in Path(folder).glob(f"{below}*/"):
            shutil.rmtree(found, ignore_errors=True)
    else:
        delete_files(list_files(folder, below))


def is_local(path: str) -> bool:
    """Whether a path is on a disk of this machine."""
    return FileSystems.get_filesystem(path).scheme() is None


def _portions(paths: Sequence[str]) -> list[list[str]]:
    size = FileSystems.get_chunk_size(paths[0]) if paths else 1
    return [list(paths[first : first + size]) for first in range(0, len(paths), size)]


def _literal(path: str) -> str:
    """The path as a pattern that matches nothing else."""
    return re.sub(r"([*?\[])", r"[\1]", path)
