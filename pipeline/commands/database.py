"""What the commands that talk to a database have in common."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pipeline.config import JobConfig, load_settings
from pipeline.database_settings import DatabaseSettings
from pipeline.flags import flags

DatabaseFlags: Any = dict[str, Any] if TYPE_CHECKING else flags(DatabaseSettings)


def job_with_database(file: str | None, settings: dict[str, Any], database: dict[str, Any]) -> JobConfig:
    """The job's settings with those of its database.

    Raises:
        SettingsError: If a setting is wrong.
    """
    return load_settings(JobConfig, file, {**settings, "database": database})
