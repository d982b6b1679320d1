"""The tables that rows go into: names, columns and types, from settings, as SQL that the driver has quoted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, NamedTuple

import pyarrow as pa
from psycopg import sql

from pipeline.postgres.column_types import checked_type, postgres_type
from pipeline.schemas import CHUNK_COLUMNS

EMBEDDING = "embedding"
METADATA = "metadata"
MOST_DIMENSIONS = 16_000
_LONGEST_NAME = 63

MetadataAs = Literal["columns", "jsonb"]
Distance = Literal["cosine", "l2", "inner_product"]
VectorIndex = Literal["none", "hnsw", "ivfflat"]

_OPERATORS = {"cosine": "<=>", "l2": "<->", "inner_product": "<#>"}
_CLASSES = {"cosine": "vector_cosine_ops", "l2": "vector_l2_ops", "inner_product": "vector_ip_ops"}


class Column(NamedTuple):
    """A column of the table of chunk rows.

    Attributes:
        source: The column of the chunk table that it holds.
        name: Its own name.
        type: Its Postgres type, safe to stand in SQL.
    """

    source: str
    name: str
    type: str

    @property
    def identifier(self) -> sql.Identifier:
        """Its name, quoted."""
        return sql.Identifier(self.name)


@dataclass(frozen=True)
class TableLayout:
    """The table of chunk rows, and the table of what is loaded beside it.

    Attributes:
        chunks: Schema of the chunk tables, which says which metadata columns there are, and whether text.
        table: Name of the table.
        namespace: The Postgres schema that it is in.
        columns: Names for columns that are to be called otherwise: `{"text": "body"}`.
        types: Types for columns that are to have another: `{"price": "numeric(10,2)"}`.
        metadata_as: Each metadata column for itself, or all in one column of type jsonb.
        dimension: Length of the vectors; None: no vector column.
        distance: What the search and the vector index go by.
        vector_index: Which index the vector column gets; it is made when the rows are there.

    Raises:
        ValueError: If a name is too long, used twice or of no column, or a type is unknown.

    Example:
        >>> TableLayout(chunk_schema(chunker), table="passages", columns={"text": "body"}, dimension=384)
    """

    chunks: pa.Schema
    table: str = "chunks"
    namespace: str = "public"
    columns: Mapping[str, str] = field(default_factory=dict)
    types: Mapping[str, str] = field(default_factory=dict)
    metadata_as: MetadataAs = "columns"
    dimension: int | None = None
    distance: Distance = "cosine"
    vector_index: VectorIndex = "none"

    def __post_init__(self) -> None:
        _check_dimension(self.dimension)
        known = [column.source for column in self.all_columns]
        for setting, given in (("columns", self.columns), ("types", self.types)):
            for name in given:
                if name not in known:
                    raise ValueError(f"{setting}: there is no column {name!r}; there are {', '.join(known)}")
        names = [column.name for column in self.all_columns]
        if repeated := [name for name in names if names.count(name) > 1]:
            raise ValueError(f"columns: {repeated[0]!r} is the name of two columns; rename one with `columns`")
        for name in (*names, self.registry_name, self.namespace):
            check_name(name)

    @cached_property
    def all_columns(self) -> tuple[Column, ...]:
        """Every column in the order of the table."""
        return tuple(
            Column(
                source,
                self.columns.get(source, source),
                checked_type(self.types[source]) if source in self.types and source != EMBEDDING else kind,
            )
            for source, kind in self._columns()
        )

    @cached_property
    def metadata_names(self) -> tuple[str, ...]:
        """The metadata columns of the chunk tables."""
        return tuple(name for name in self.chunks.names if name not in (*CHUNK_COLUMNS, EMBEDDING))

    @property
    def registry_name(self) -> str:
        """Name of the table of loaded documents."""
        return f"{self.table}_documents"

    @property
    def target(self) -> sql.Identifier:
        """The table of chunk rows, quoted."""
        return sql.Identifier(self.namespace, self.table)

    @property
    def registry(self) -> sql.Identifier:
        """The table of loaded documents, quoted."""
        return sql.Identifier(self.namespace, self.registry_name)

    @property
    def operator(self) -> sql.SQL:
        """The operator of pgvector for the distance."""
        return sql.SQL(_OPERATORS[self.distance])

    @property
    def operator_class(self) -> sql.SQL:
        """The operator class of pgvector for an index by the distance."""
        return sql.SQL(_CLASSES[self.distance])

    @property
    def column_list(self) -> sql.Composed:
        """All columns, quoted, with commas."""
        return sql.SQL(", ").join(column.identifier for column in self.all_columns)

    def column(self, source: str) -> sql.Identifier:
        """The quoted name of the column that holds a column of the chunk tables."""
        return next(column.identifier for column in self.all_columns if column.source == source)

    def has(self, source: str) -> bool:
        """Whether the table has a column for a column of the chunk tables."""
        return any(column.source == source for column in self.all_columns)

    def _columns(self) -> Iterator[tuple[str, str]]:
        for name in CHUNK_COLUMNS:
            if name in self.chunks.names:
                yield name, postgres_type(self.chunks.field(name).type)
        if self.metadata_as == "jsonb":
            yield METADATA, "jsonb"
        else:
            for name in self.metadata_names:
                yield name, postgres_type(self.chunks.field(name).type)
        if self.dimension is not None:
            yield EMBEDDING, f"vector({self.dimension})"


def check_name(name: str) -> None:
    """Make sure that a name is one that Postgres keeps as it is.

    Raises:
        ValueError: If it is empty, holds U+0000 or is longer than 63 bytes, where Postgres would cut it.
    """
    if not name or "\0" in name or len(name.encode("utf-8", "surrogatepass")) > _LONGEST_NAME:
        raise ValueError(f"{name!r} cannot be the name of a table or column: at most {_LONGEST_NAME} bytes, no NUL")


def _check_dimension(dimension: int | None) -> None:
    if dimension is not None and not 1 <= dimension <= MOST_DIMENSIONS:
        raise ValueError(f"dimension must be from 1 to {MOST_DIMENSIONS}, got {dimension}")
