"""What a chunk table says of its end: that its last document is whole, or that it goes on in the next table. Pure."""

from __future__ import annotations

from enum import Enum

import pyarrow as pa

_KEY = b"llm_splitter_end"


class End(Enum):
    """How a chunk table ends.

    Attributes:
        DOCUMENT: With the last row of a document.
        PART: In the middle of a document.
        UNKNOWN: Nobody has said, or rows were added or taken away since.
    """

    DOCUMENT = "document"
    PART = "part"
    UNKNOWN = ""


def with_end(table: pa.Table, end: End) -> pa.Table:
    """The table, saying how it ends.

    The number of rows is written down too, so that a part of the table, or a longer one, does not repeat what was
    true of the whole.

    Example:
        >>> table = with_end(pa.table({"doc_id": ["a", "a"]}), End.DOCUMENT)
        >>> end_of(table), end_of(table.slice(0, 1))
        (<End.DOCUMENT: 'document'>, <End.UNKNOWN: ''>)
    """
    said = f"{end.value} {table.num_rows}".encode()
    return table.replace_schema_metadata({**(table.schema.metadata or {}), _KEY: said})


def end_of(table: pa.Table) -> End:
    """How the table says that it ends."""
    end, _, rows = (table.schema.metadata or {}).get(_KEY, b"").decode().partition(" ")
    return End(end) if rows == str(table.num_rows) else End.UNKNOWN
