"""Chunk rows in PostgreSQL with pgvector: everything that talks to a database, and nothing that knows Beam."""

from __future__ import annotations

from pipeline.extras import require

require("PostgreSQL", "pgvector", "psycopg", "pgvector")
