"""Patterns -> the files that they name, on any of Beam's file systems, and samples of their columns."""

from __future__ import annotations

import logging
import os
import re
import stat
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
from apache_beam.io.filesystem import BeamIOError, CompressionTypes, FileMetadata
from apache_beam.io.filesystems import FileSystems

from pipeline.documents import ReadOptions
from pipeline.earlier_outputs import without_outputs
from pipeline.formats import KNOWN_NAMES, Format, InputFile, checked_format, detect_format, sample_schema
from pipeline.launch_checks import check_file_systems
from pipeline.wording import plural

_SAMPLED_FILES = 16
_NAMES_SHOWN = 3
_log = logging.getLogger(__name__)
_WILDCARD = re.compile(r"[*?\[]")


class NoFilesError(ValueError):
    """A path or pattern names no file that can be read."""


@dataclass(frozen=True)
class LeftOut:
    """What a folder, or a `**`, does not stand for.

    Attributes:
        outputs: The folders of outputs of this program.
        unknown: Files whose names do not tell what they are.
    """

    outputs: set[str] = field(default_factory=set)
    unknown: set[str] = field(default_factory=set)

    def tell(self) -> None:
        """Say so, a line for each kind."""
        if self.outputs:
            _log.warning("input: no documents are taken from earlier outputs of this program: %s", _some(self.outputs))
        if self.unknown:
            _log.warning(
                "input: %s in folders left out, with endings of no known format: %s",
                plural(len(self.unknown), "file"),
                _some(self.unknown),
            )


def match_files(patterns: str | Sequence[str], format: Format | str = "auto") -> list[InputFile]:  # noqa: A002
    """The files that paths and patterns name, each once, in the order of their paths.

    `*` and `?` stay within a folder, `**` crosses folders, and a folder stands for all files of known
    formats in it and below. Names that begin with a dot are not matched by patterns, nor, in a folder,
    those that begin with `_`. Outputs of this program that lie in a folder, or below a `**`, are left out. A warning
    says what is, except for hidden files.

    Args:
        patterns: One or several, on any of Beam's file systems.
        format: What the files are; "auto" goes by their names.

    Raises:
        ValueError: If a pattern matches nothing, or nothing of a known format.
    """
    checked_format(format)
    found: dict[str, InputFile] = {}
    left_out = LeftOut()
    for pattern in [patterns] if isinstance(patterns, str) else patterns:
        found.update((file.path, file) for file in match_pattern(pattern, format, left_out))
    if not found:
        raise ValueError("no input: name at least one file or pattern")
    left_out.unknown.difference_update(found)
    left_out.tell()
    return [found[path] for path in sorted(found)]


def list_again(patterns: Sequence[str], format: Format | str) -> list[InputFile]:  # noqa: A002
    """The files as `match_files` lists them, where it has done so before.

    A pattern that matches nothing any more stands for itself, and reading it will say so.
    """
    found = {file.path: file for pattern in patterns for file in list_or_name(pattern, format)}
    return [found[path] for path in sorted(found)]


def list_or_name(pattern: str, format: Format | str) -> list[InputFile]:  # noqa: A002
    """The files that a path or pattern names, or if there are none itself, as a file that cannot be read."""
    try:
        return match_pattern(pattern, format)
    except ValueError:
        return [InputFile(pattern, 0)]


def match_pattern(pattern: str, format: Format | str = "auto", left_out: LeftOut | None = None) -> list[InputFile]:  # noqa: A002
    """The files that one path or pattern names; see `match_files`.

    A file whose format is not known has the format None, as long as others have one.

    Args:
        pattern: A path, pattern or folder.
        format: What the files are.
        left_out: What is left out is added to it.

    Raises:
        NoFilesError: If there are none.
        ValueError: If what they are cannot be told from any of their names.
    """
    if _is_file(pattern):
        return [_input_file(_metadata(pattern), format, required=True)]
    left_out = LeftOut() if left_out is None else left_out
    here = LeftOut()
    files = list(_matching(pattern, format, here.unknown))
    if "**" in pattern or not _WILDCARD.search(pattern):
        files = without_outputs(files, lambda file: file.path, here.outputs)
    left_out.outputs.update(here.outputs)
    left_out.unknown.update(here.unknown)
    if not files:
        raise NoFilesError(f"input: {_why_none(pattern, here)}")
    if not any(file.format for file in files):
        detect_format(files[0].path)
    return files


def _why_none(pattern: str, left_out: LeftOut) -> str:
    if left_out.outputs:
        return (
            f"{pattern!r} matches only outputs of this program, such as {min(left_out.outputs)!r}; to chunk those once "
            "more, name their files"
        )
    if left_out.unknown:
        return (
            f"the folder {pattern!r} holds no file of a known format, but {_some(left_out.unknown)}; of a folder these "
            f"are read: {KNOWN_NAMES}; to read others, name them by a pattern and set input_format"
        )
    if not _WILDCARD.search(pattern) and Path(pattern).is_dir():
        hidden = ", but for names that begin with . or _" if any(map(Path.is_file, Path(pattern).rglob("*"))) else ""
        return f"the folder {pattern!r} is empty{hidden}"
    return f"no file matches {pattern!r}; {_advice(pattern)}"


def _some(names: Collection[str]) -> str:
    """The first few names, and how many more there are."""
    shown = ", ".join(map(repr, sorted(names)[:_NAMES_SHOWN]))
    more = len(names) - _NAMES_SHOWN
    return f"{shown} and {more:,} more" if more > 0 else shown


def _advice(pattern: str) -> str:
    if "," in pattern:
        return f"several are a list, or words of their own: --input {' '.join(map(str.strip, pattern.split(',')))}"
    return "check the path, and quote patterns so that no shell expands them"


def open_file(path: str) -> Any:
    """A file opened for reading as it is, without decompression: local ones by Arrow, others by Beam.

    Raises:
        OSError: If it cannot be opened, or is a pipe or device, at which reading might wait for ever.
    """
    if FileSystems.get_scheme(path) is None:
        if not stat.S_ISREG(os.stat(path).st_mode):  # noqa: PTH116 - as it is done for names that are no Unicode
            raise OSError("this is no regular file, but a folder, pipe, socket or device; only files are read")
        return pa.OSFile(os.fsencode(path) if os.name == "posix" else path)  # names may be no Unicode
    return FileSystems.open(path, compression_type=CompressionTypes.UNCOMPRESSED)


def check_unchanged(file: InputFile) -> None:
    """Whether a file is still the one that was listed.

    Raises:
        OSError: If it is gone, or has another size or time of change.
    """
    try:
        now = _metadata(file.path)
    except NotImplementedError:
        return
    if now.size_in_bytes != file.size:
        raise OSError(f"the file changed while it was read: it had {file.size} bytes, now {now.size_in_bytes}")
    if (now.last_updated_in_seconds or 0.0) != file.modified:
        raise OSError("the file changed while it was read: it was written to after it was listed")


def sample_schemas(files: Sequence[InputFile], options: ReadOptions) -> Iterator[pa.Schema]:
    """The columns of up to 16 of the files, spread evenly over them, without those that cannot be read."""
    step = max(1, len(files) / _SAMPLED_FILES)
    for index in range(min(len(files), _SAMPLED_FILES)):
        try:
            with open_file(files[int(index * step)].path) as handle:
                yield sample_schema(handle, files[int(index * step)], options)
        except Exception:  # noqa: BLE001 - the job itself will read it again, and report it
            continue


def _is_file(path: str) -> bool:
    check_file_systems("input", [path])
    try:
        return not path.endswith("/") and FileSystems.exists(path) and not os.path.isdir(path)  # noqa: PTH112
    except BeamIOError as error:
        reasons = "; ".join(map(str, (error.exception_details or {}).values())) or str(error)
        raise ValueError(f"input: {path!r} cannot be looked up: {reasons}") from error


def _metadata(path: str) -> FileMetadata:
    try:
        metadata: FileMetadata = FileSystems.get_filesystem(path).metadata(path)
    except OSError as error:
        raise FileNotFoundError(f"the file is not there any more: {path}") from error
    return metadata


def _input_file(metadata: FileMetadata, format: str, *, required: bool = False) -> InputFile:  # noqa: A002
    known: Any = format
    if format == "auto":
        known = detect_format(metadata.path) if required else _format_or_none(metadata.path)
    return InputFile(metadata.path, metadata.size_in_bytes, metadata.last_updated_in_seconds or 0.0, known)


def _format_or_none(path: str) -> Format | None:
    try:
        return detect_format(path)
    except ValueError:
        return None


def _matching(pattern: str, format: str, unknown: set[str]) -> Iterator[InputFile]:  # noqa: A002
    if not _WILDCARD.search(pattern):
        return _folder_files(pattern, format, unknown)
    return (_input_file(metadata, format) for metadata in _list(pattern) if not _hidden(metadata.path, pattern))


def _folder_files(folder: str, format: str, unknown: set[str]) -> Iterator[InputFile]:  # noqa: A002
    """The files of known formats in a folder and below; the paths of the others are added to `unknown`."""
    pattern = folder.rstrip("/") + "/**"
    for metadata in _list(pattern):
        if _hidden(metadata.path, pattern, "._"):
            continue
        if _format_or_none(metadata.path):
            yield _input_file(metadata, format)
        else:
            unknown.add(metadata.path)


def _list(pattern: str) -> Iterator[FileMetadata]:
    """Files that match by Beam's rules, but a local pattern needs no folder, and `**/` may stand for none."""
    in_working_folder = FileSystems.get_scheme(pattern) is None and "/" not in _WILDCARD.split(pattern)[0]
    anchored = f"./{pattern}" if in_working_folder else pattern
    seen: set[str] = set()
    for variant in dict.fromkeys((anchored, anchored.replace("/**/", "/"))):
        for metadata in FileSystems.match([variant])[0].metadata_list:
            path = metadata.path if anchored == pattern else metadata.path.removeprefix("./")
            if path not in seen:
                seen.add(path)
                yield FileMetadata(path, metadata.size_in_bytes, metadata.last_updated_in_seconds)


def _hidden(path: str, pattern: str, marks: str = ".") -> bool:
    """Whether a file, or a folder that the pattern did not name, is hidden by its name."""
    written = len(_WILDCARD.split(pattern)[0].rpartition("/")[0])
    names = path[written:].split("/")
    return any(name.startswith(tuple(marks)) for name in names if name not in ("", ".", ".."))
