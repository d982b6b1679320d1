"""What the commands have in common: the settings file, options for Beam, and how wrong settings are told."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from pipeline.config import JobConfig
from pipeline.config_errors import SettingsError, problem_line, without_passwords
from pipeline.database_settings import DatabaseSettings
from pipeline.extras import MissingExtraError

_TRUTH_VALUES = ("true", "false", "yes", "no", "on", "off")
_NAMES = (*JobConfig.model_fields, *DatabaseSettings.model_fields)


def settings_file(first: str | None, rest: tuple[str, ...] = ()) -> tuple[str | None, tuple[str, ...]]:
    """The settings file, if one is given, and the Beam options that follow `--`.

    Raises:
        SettingsError: If there is more than one file, or something that is none.

    >>> settings_file("job.yaml", ("--runner=FlinkRunner",))
    ('job.yaml', ('--runner=FlinkRunner',))
    """
    if first is None or first.startswith("--"):
        return None, (first, *rest) if first else rest
    for word in (first, *rest[:1]):
        if word.lower() in _TRUTH_VALUES:
            raise SettingsError(f"{word}: a switch takes no value; write --text or --no-text, and so for others")
    if rest and not rest[0].startswith("--"):
        raise SettingsError(f"{rest[0]}: not understood: a job has one settings file; Beam options follow `--`")
    if _is_data(first):
        raise SettingsError(f"{first}: is no settings file; documents are given as --input {first}")
    return first, rest


def _is_data(path: str) -> bool:
    """Whether a path names documents; JSON is YAML too, and may hold settings."""
    from pipeline.formats import detect_format  # noqa: PLC0415 - help and wrong settings need no Arrow

    if Path(path).is_dir() or any(sign in path for sign in "*?["):
        return True
    try:
        detect_format(path)
    except ValueError:
        return False
    return not path.lower().endswith(".json")


class DatabaseFailedError(Exception):
    """The database cannot be reached, or failed on its side; trying again may help."""


@contextmanager
def settings_errors(given: Iterable[str] = ()) -> Iterator[None]:
    """Errors before anything ran, as lines for a person, without the password of any URL.

    Args:
        given: The settings that flags have given, which are named as flags.

    Raises:
        SettingsError: In place of what says that a setting, a package or the database is not as needed.
        DatabaseFailedError: In place of what says that the database does not work at present.
    """
    try:
        yield
    except SettingsError as error:
        problems: tuple[str, ...] = error.problems
        cause: Exception = error
    except (ValueError, OSError, MissingExtraError) as error:
        problems, cause = (str(error),), error
    except Exception as error:
        if not type(error).__module__.startswith("psycopg"):
            raise
        if _may_pass(error):
            raise DatabaseFailedError(without_passwords(f"database: {error}")) from error
        problems, cause = (f"database: {error}",), error
    else:
        return
    flags = {name: f"--{name.replace('_', '-')}" for name in given}
    raise SettingsError(*(problem_line(without_passwords(problem), _NAMES, flags) for problem in problems)) from cause


def _may_pass(error: Exception) -> bool:
    """Whether an error of the database is about its operation, and not about what was asked of it."""
    import psycopg  # noqa: PLC0415 - there, since the error is its own

    return isinstance(error, psycopg.OperationalError)
