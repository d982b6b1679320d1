"""Paths that mean the same to the workers of a job as they do where it is launched."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from pipeline import folders


def check_paths(setting: str, paths: Iterable[str]) -> None:
    """Make sure that no path depends on the folder that the job is launched in: workers elsewhere have another.

    Args:
        setting: What the paths are, for the message.
        paths: Paths or patterns.

    Raises:
        ValueError: If a local path is not absolute.

    Example:
        >>> check_paths("input", ["/mnt/docs/*.parquet", "s3://bucket/docs"])
    """
    for path in paths:
        if folders.is_local(path) and not Path(path).is_absolute():
            raise ValueError(
                f"{setting}: {path!r} would mean another place to the workers of this runner; write "
                f"{str(Path(path).absolute())!r} if they share this disk, or a path in a bucket"
            )
