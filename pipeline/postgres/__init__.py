"""Chunk rows in PostgreSQL with pgvector: everything that talks to a database, and nothing that knows Beam."""

from __future__ import annotations

from importlib.util import find_spec

if missing := [name for name in ("psycopg", "pgvector") if find_spec(name) is None]:
    raise ImportError(
        f"loading into Postgres needs {' and '.join(missing)}; install them with pip install 'llm-splitter[pgvector]'"
    )
