"""Where the database is, and connecting to it, without its password ever being shown."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from pipeline.postgres.embedded import embedded_url

DEFAULT_VARIABLE = "LLM_SPLITTER_DATABASE_URL"
_APPLICATION = "llm-splitter"


@dataclass(frozen=True)
class DatabaseAddress:
    """Where the database is. Only the process that connects looks up what is secret.

    The first that is given counts: `url`, `url_file`, the environment variable. Where none is, a server of
    one's own is started in `folder`. Whatever libpq knows besides holds too: PGPASSWORD, a password file.

    Attributes:
        url: `postgresql://user@host/database`. Shown nowhere, since it may hold a password.
        url_file: A file that holds the URL, such as a mounted secret.
        url_variable: The environment variable that holds the URL.
        folder: Where the embedded server keeps its data.

    Example:
        >>> DatabaseAddress("postgresql://app:secret@db/articles")
        DatabaseAddress(url_file=None, url_variable='LLM_SPLITTER_DATABASE_URL', folder='.llm-splitter')
    """

    url: str | None = field(default=None, repr=False)
    url_file: str | None = None
    url_variable: str = DEFAULT_VARIABLE
    folder: str = ".llm-splitter"

    def connect(self) -> psycopg.Connection:
        """A new connection, in autocommit mode: transactions are begun where they are meant.

        Raises:
            ValueError: If the URL is none, or its file cannot be read.
            psycopg.OperationalError: If the server cannot be reached, or refuses.
        """
        return psycopg.connect(make_conninfo("", **self._parameters()), autocommit=True)

    def described(self) -> str:
        """User, host and database, for people."""
        known = self._parameters()
        port = f":{known['port']}" if "port" in known else ""
        return f"{known.get('user', '')}@{known.get('host', 'localhost')}{port}/{known.get('dbname', '')}"

    def _parameters(self) -> dict[str, str]:
        try:
            return {"application_name": _APPLICATION} | {
                name: str(value) for name, value in conninfo_to_dict(self._url()).items()
            }
        except psycopg.ProgrammingError:
            # libpq's own message repeats the string that it could not read
            raise ValueError(
                f"{self._origin()} holds no database URL; it should read postgresql://user:password@host:5432/database"
            ) from None

    def _url(self) -> str:
        if self.url is not None:
            return self.url
        if self.url_file is not None:
            return _read(self.url_file)
        return os.environ.get(self.url_variable) or embedded_url(self.folder)

    def _origin(self) -> str:
        if self.url is not None:
            return "url"
        return f"url_file {self.url_file!r}" if self.url_file is not None else f"the variable {self.url_variable}"


def holds_password(url: str) -> bool:
    """Whether a URL or connection string holds a password; one that cannot be read might.

    Example:
        >>> holds_password("postgresql://app@db/articles"), holds_password("host=db password=x")
        (False, True)
    """
    try:
        return "password" in conninfo_to_dict(url)
    except psycopg.ProgrammingError:
        return True


def _read(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise ValueError(f"url_file: {path!r} cannot be read: {error.__class__.__name__}") from None
