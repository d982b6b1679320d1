"""Whether places that a job names can be reached and written to, found out before anything runs."""

from __future__ import annotations

import os
from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path

from apache_beam.io.filesystems import FileSystems

from pipeline import folders

# By scheme: what to install for the file system, and the package which shows that it is there.
_PACKAGES = {
    "gs": ("llm-splitter[gcp]", "google.cloud.storage"),
    "s3": ("llm-splitter[s3]", "boto3"),
    "azfs": ("apache-beam[azure]", "azure.storage.blob"),
    "hdfs": ("apache-beam[hadoop]", "hdfs"),
}


def check_file_systems(setting: str, paths: Iterable[str]) -> None:
    """Make sure that the file systems of all paths are installed.

    Args:
        setting: What the paths are, for the message.
        paths: Paths or patterns.

    Raises:
        ValueError: If one is not; the message says what to install.

    Example:
        >>> check_file_systems("input", ["docs/*.parquet"])
    """
    for path in paths:
        scheme = FileSystems.get_scheme(path)
        if scheme in _PACKAGES and not _is_installed(_PACKAGES[scheme][1]):
            raise ValueError(
                f"{setting}: {path!r} needs a package for {scheme}://; pip install '{_PACKAGES[scheme][0]}'"
            )
        try:
            FileSystems.get_filesystem(path)
        except (ValueError, OSError) as error:
            raise ValueError(
                f"{setting}: {path!r} is on a file system that is not installed; {scheme}:// is none of "
                f"{', '.join(f'{known}://' for known in _PACKAGES)}"
            ) from error


def check_output(folder: str) -> None:
    """Make sure that an output folder is there, or can be made; of a bucket only that it is known how to write there.

    Raises:
        ValueError: If it cannot.
    """
    check_file_systems("output", [folder])
    if not folders.is_local(folder):
        return
    nearest = next(path for path in (Path(folder), *Path(folder).absolute().parents) if os.path.lexists(path))
    if not nearest.is_dir():
        raise ValueError(f"output: {folder!r} cannot be a folder, since {str(nearest)!r} is a file; name another")
    if not os.access(nearest, os.W_OK | os.X_OK):
        raise ValueError(f"output: {folder!r} cannot be written, since you may not write to {str(nearest)!r}")


def _is_installed(package: str) -> bool:
    try:
        return find_spec(package) is not None
    except ModuleNotFoundError:  # not even the package that it is in
        return False
