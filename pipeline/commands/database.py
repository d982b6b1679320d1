"""What the commands that talk to a database have in common."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from pipeline.config import JobConfig, load_settings
from pipeline.config_errors import SettingsError, problem_line, without_passwords
from pipeline.database_settings import DatabaseSettings
from pipeline.flags import flags

DatabaseFlags: Any = dict[str, Any] if TYPE_CHECKING else flags(DatabaseSettings)


def job_with_database(
    config: str | None, beam_options: tuple[str, ...], settings: dict[str, Any], database: dict[str, Any]
) -> tuple[JobConfig, tuple[str, ...]]:
    """The job's settings with those of its database, and the options for Beam.

    Raises:
        SettingsError: If a setting is wrong.
    """
    file = config
    if config is not None and config.startswith("--"):
        file, beam_options = None, (config, *beam_options)
    if beam_options and not beam_options[0].startswith("--"):
        raise SettingsError(f"{beam_options[0]}: not understood: a job has one settings file; Beam options follow `--`")
    return load_settings(JobConfig, file, {**settings, "database": database}), beam_options


@contextmanager
def database_errors() -> Iterator[None]:
    """Errors before anything ran, as lines for a person, without the password of any URL.

    Raises:
        SettingsError: In place of what says that a setting, a package or the database is not as needed.
    """
    try:
        yield
    except SettingsError:
        raise
    except (ValueError, OSError, ImportError) as error:
        names = [*JobConfig.model_fields, *DatabaseSettings.model_fields]
        raise SettingsError(problem_line(without_passwords(str(error)), names)) from error
    except Exception as error:
        if not type(error).__module__.startswith("psycopg"):
            raise
        raise SettingsError(f"database: {without_passwords(' '.join(str(error).split()))}") from error
