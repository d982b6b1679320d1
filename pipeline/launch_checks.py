"""Whether places that a job names can be reached and written to, found out before anything runs."""

from __future__ import annotations

import os
from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from apache_beam.io.filesystems import FileSystems
from apache_beam.options.pipeline_options import PipelineOptions, S3Options

from pipeline import folders

# By scheme: what to install for the file system, and the package which shows that it is there.
_PACKAGES = {
    "gs": ("llm-splitter[gcp]", "google.cloud.storage"),
    "s3": ("llm-splitter[s3]", "boto3"),
    "azfs": ("apache-beam[azure]", "azure.storage.blob"),
    "hdfs": ("apache-beam[hadoop]", "hdfs"),
}


def check_file_systems(setting: str, paths: Iterable[str]) -> None:
    """Make sure that the file systems of all paths are installed, and that there are keys for those on S3.

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
            file_system = FileSystems.get_filesystem(path)
        except (ValueError, OSError) as error:
            raise ValueError(
                f"{setting}: {path!r} is on a file system that is not installed; {scheme}:// is none of "
                f"{', '.join(f'{known}://' for known in _PACKAGES)}"
            ) from error
        if scheme == "s3":
            _check_keys(setting, path, file_system)


def _check_keys(setting: str, path: str, file_system: Any) -> None:
    """Make sure that there are keys for S3: without any, Beam tries again and again for minutes.

    Raises:
        ValueError: If there are none; the message says where they are looked for.
    """
    import boto3  # noqa: PLC0415 - only for those who read from S3
    from botocore.exceptions import BotoCoreError  # noqa: PLC0415

    options = getattr(file_system, "_options", None)
    if isinstance(options, PipelineOptions) and options.view_as(S3Options).s3_access_key_id:
        return
    reason = ""
    try:
        if boto3.session.Session().get_credentials() is not None:
            return
    except BotoCoreError as error:
        reason = f" ({error})"
    raise ValueError(
        f"{setting}: no keys are found to open {path!r}{reason}; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or "
        "AWS_PROFILE, or give the Beam options --s3_access_key_id and --s3_secret_access_key"
    )


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
