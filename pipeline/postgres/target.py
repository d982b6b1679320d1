"""Where rows are loaded to and as what: all that a step needs to know to write to the database."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TypeVar

import psycopg
from psycopg import errors

from pipeline.postgres.address import DatabaseAddress
from pipeline.postgres.layout import TableLayout
from pipeline.postgres.registry import LoadSettings
from pipeline.postgres.tables import create_tables, existing_layout

_Result = TypeVar("_Result")

_PASSING = (psycopg.OperationalError, psycopg.InterfaceError, errors.SerializationFailure, errors.DeadlockDetected)
"""What may be gone a moment later: a server that restarts, a network that fails, others in the way."""
_FINAL = (errors.InvalidPassword, errors.InvalidAuthorizationSpecification, errors.InvalidCatalogName)
_TRIES = 5


@dataclass(frozen=True)
class Target:
    """A database, tables in it, and what documents are loaded as.

    Attributes:
        address: Where the database is.
        layout: The tables.
        settings: What the documents of a run have in common.
    """

    address: DatabaseAddress
    layout: TableLayout
    settings: LoadSettings = field(default_factory=LoadSettings)

    def prepared(self, *, create: bool) -> Target:
        """The same target, its tables known to be there, with the types that their columns have.

        Raises:
            ValueError: If a table or a column is missing.
            psycopg.Error: If the database cannot be reached, or does not allow to make tables.
        """
        with self.address.connect() as connection:
            if create:
                create_tables(connection, self.layout)
            return replace(self, layout=existing_layout(connection, self.layout))


class Session:
    """A connection that is made when it is first needed, and again when it has been lost."""

    def __init__(self, address: DatabaseAddress) -> None:
        self._address = address
        self._connection: psycopg.Connection | None = None

    def run(self, work: Callable[[psycopg.Connection], _Result]) -> _Result:
        """What the work returns; it is tried again where the reason for failing may have passed.

        The work must be whole transactions that may be repeated.
        """
        for left in reversed(range(_TRIES)):
            try:
                return work(self._open())
            except _PASSING as error:
                self.close()
                if left == 0 or isinstance(error, _FINAL):
                    raise
                time.sleep(0.1 * 4 ** (_TRIES - 1 - left))
        raise AssertionError("the last try returns or raises")

    def close(self) -> None:
        """Give the connection back."""
        if self._connection is not None:
            self._connection.close()
        self._connection = None

    def _open(self) -> psycopg.Connection:
        if self._connection is None or self._connection.closed:
            self._connection = self._address.connect()
        return self._connection
