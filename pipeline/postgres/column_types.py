"""Types on both sides: which Postgres type holds an Arrow type, and the types that settings may name."""

from __future__ import annotations

import re

import pyarrow as pa

_NAME = re.compile(r"\s*([a-z][a-z0-9_ ]*?)\s*(\(\s*\d+\s*(?:,\s*\d+\s*)?\))?\s*((?:\[\])?)\s*")

_SYNONYMS = {
    "int": "int4",
    "integer": "int4",
    "smallint": "int2",
    "bigint": "int8",
    "real": "float4",
    "double precision": "float8",
    "double": "float8",
    "boolean": "bool",
    "decimal": "numeric",
    "character varying": "varchar",
    "timestamp with time zone": "timestamptz",
    "timestamp without time zone": "timestamp",
    "time without time zone": "time",
}
_ARROW = {
    "text": pa.large_string(),
    "varchar": pa.large_string(),
    "int2": pa.int16(),
    "int4": pa.int32(),
    "int8": pa.int64(),
    "float4": pa.float32(),
    "float8": pa.float64(),
    "bool": pa.bool_(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us"),
    "timestamptz": pa.timestamp("us", "UTC"),
    "time": pa.time64("us"),
    "bytea": pa.large_binary(),
    "numeric": None,
    "interval": pa.duration("us"),
    "uuid": pa.large_string(),
    "jsonb": None,
}
"""The types that columns may have, and the Arrow type that values are cast to first (None: as they are)."""


def checked_type(name: str) -> str:
    """A Postgres type as a setting names it, in the form that goes into SQL.

    Type names are no identifiers that could be quoted, so only those that are known here pass.

    Raises:
        ValueError: If it is not one of the types that columns may have.

    Example:
        >>> checked_type("Numeric (10, 2)"), checked_type("integer"), checked_type("text[]")
        ('numeric(10,2)', 'int4', 'text[]')
    """
    found = _NAME.fullmatch(name.lower())
    base = _SYNONYMS.get(found[1], found[1]) if found else ""
    if found is None or base not in _ARROW:
        raise ValueError(
            f"{name!r} is no type that a column can have here; known are {', '.join(_ARROW)}, some with a length "
            "such as varchar(200) or numeric(10,2), and arrays such as text[]"
        )
    return base + re.sub(r"\s", "", found[2] or "") + found[3]


def base_type(checked: str) -> str:
    """The type without length, as the driver knows it.

    Example:
        >>> base_type("numeric(10,2)"), base_type("varchar(9)[]")
        ('numeric', 'varchar[]')
    """
    return re.sub(r"\(.*\)", "", checked)


def arrow_type(checked: str) -> pa.DataType | None:
    """The Arrow type that values are cast to before they are sent; None if they go as they are."""
    base = base_type(checked)
    if not base.endswith("[]"):
        return _ARROW[base]
    item = _ARROW[base[:-2]]
    return None if item is None else pa.large_list(item)


def postgres_type(kind: pa.DataType) -> str:
    """The Postgres type for an Arrow type; jsonb for what has no counterpart.

    Example:
        >>> postgres_type(pa.uint32()), postgres_type(pa.decimal128(9, 2)), postgres_type(pa.list_(pa.string()))
        ('int8', 'numeric(9,2)', 'text[]')
    """
    types = pa.types
    if types.is_dictionary(kind):
        return postgres_type(kind.value_type)
    if types.is_decimal(kind):
        return f"numeric({max(kind.precision, kind.scale)},{max(kind.scale, 0)})"
    if types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind):
        item = postgres_type(kind.value_type)
        return "jsonb" if item == "jsonb" or item.endswith("[]") else f"{item}[]"
    if types.is_timestamp(kind):
        return "timestamptz" if kind.tz else "timestamp"
    return next((name for matches, name in _PLAIN if matches(kind)), "jsonb")


_PLAIN = (
    (pa.types.is_string, "text"),
    (pa.types.is_large_string, "text"),
    (pa.types.is_null, "text"),
    (pa.types.is_boolean, "bool"),
    (lambda kind: kind in (pa.int8(), pa.int16(), pa.uint8()), "int2"),
    (lambda kind: kind in (pa.int32(), pa.uint16()), "int4"),
    (lambda kind: kind in (pa.int64(), pa.uint32()), "int8"),
    (lambda kind: kind == pa.uint64(), "numeric(20)"),
    (lambda kind: kind in (pa.float16(), pa.float32()), "float4"),
    (pa.types.is_float64, "float8"),
    (pa.types.is_date, "date"),
    (pa.types.is_time, "time"),
    (pa.types.is_duration, "interval"),
    (pa.types.is_binary, "bytea"),
    (pa.types.is_large_binary, "bytea"),
    (pa.types.is_fixed_size_binary, "bytea"),
)
