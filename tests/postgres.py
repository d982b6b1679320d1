"""What the tests of loading have in common: layouts and tables on the server of the session."""

import pyarrow as pa

from pipeline.postgres.layout import TableLayout
from pipeline.postgres.registry import LoadSettings
from pipeline.postgres.tables import create_tables, existing_layout
from tests.chunk_tables import SCHEMA, chunk_table

SETTINGS = LoadSettings(settings="s1", embedder="", corpus="", run="r1")
EMBEDDED = SETTINGS._replace(embedder="e1")


def make_table(connection, namespace, schema=SCHEMA, **layout):
    """A new table of chunk rows, and its layout."""
    wanted = TableLayout(schema, namespace=namespace, **layout)
    create_tables(connection, wanted)
    return existing_layout(connection, wanted)


def version(doc_id, *texts, of=1, vectors=None, lang="en"):
    """The chunks of one version of a document, with vectors if there are any."""
    rows = chunk_table(doc_id, *texts, lang=lang)
    column = SCHEMA.get_field_index("doc_hash")
    rows = rows.set_column(column, SCHEMA.field("doc_hash"), pa.array([f"hash of {doc_id} {of}"] * rows.num_rows))
    if vectors is None:
        return rows
    return rows.append_column("embedding", pa.array(vectors, pa.list_(pa.float32(), 3)))


def rows_of(connection, layout, *columns):
    """What the table holds, in order."""
    names = ", ".join(f'"{name}"' for name in columns)
    return connection.execute(
        f'SELECT {names} FROM "{layout.namespace}"."{layout.table}" ORDER BY doc_id, chunk_index'
    ).fetchall()
