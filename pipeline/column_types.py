"""Types of metadata columns, found in samples of the input and fixed before a job runs. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.types as pt

from pipeline.conversion import check_id_type, check_text_type
from pipeline.documents import DocumentColumns
from pipeline.plain_types import stored_type

MetadataColumns = Sequence[str] | Mapping[str, "str | pa.DataType | None"]
"""Names of columns, or names with Arrow types (or their names); without a type, it is found in the input."""


def requested_types(columns: MetadataColumns) -> dict[str, pa.DataType | None]:
    """The columns by name, with the types that were given.

    Raises:
        ValueError: If a type's name is none of Arrow's.

    Example:
        >>> requested_types({"lang": None, "price": "double"})
        {'lang': None, 'price': DataType(double)}
    """
    if isinstance(columns, str):
        raise TypeError(f"metadata_columns is the string {columns!r}; give a list of names: [{columns!r}]")
    given = columns if isinstance(columns, Mapping) else dict.fromkeys(columns)
    return {name: _named_type(name, kind) for name, kind in given.items()}


def metadata_schema(requested: Mapping[str, pa.DataType | None], samples: Iterable[pa.Schema]) -> pa.Schema:
    """The metadata columns with one type each: as requested, or the one that all samples fit in.

    A column that is null in every sample, or not there, is a string.

    Args:
        requested: From `requested_types`.
        samples: Schemas of some input files.

    Example:
        >>> metadata_schema({"n": None}, [pa.schema([("n", pa.null())]), pa.schema([("n", pa.int32())])])
        n: int32
    """
    schemas = list(samples)
    return pa.schema(
        [(name, stored_type(kind) if kind else _found_type(name, schemas)) for name, kind in requested.items()]
    )


def _found_type(name: str, samples: Iterable[pa.Schema]) -> pa.DataType:
    return common_type(_types_of(name, samples))


def typed_schema(requested: Mapping[str, pa.DataType | None]) -> pa.Schema:
    """The metadata columns, where all types must be given.

    Raises:
        ValueError: If one is not.
    """
    untyped = [name for name, kind in requested.items() if kind is None]
    if untyped:
        raise ValueError(f"metadata column {untyped[0]!r} has no type; give one, as in {{{untyped[0]!r}: 'string'}}")
    return metadata_schema(requested, ())


def check_sampled(columns: DocumentColumns, metadata: Iterable[str], samples: Sequence[pa.Schema]) -> None:
    """Whether the wanted columns are in at least one of the files that were looked into, and hold what they should.

    Raises:
        ValueError: If one is in none of them, or texts or ids have in all of them a type that neither can have.
    """
    present = dict.fromkeys(name for schema in samples for name in schema.names)
    carried = [("metadata_columns", name) for name in metadata]
    wanted = [("text_column", columns.text), ("id_column", columns.id), *carried]
    for setting, name in wanted:
        if present and name is not None and name not in present:
            raise ValueError(f"{setting}: no column {name!r} in the input; its columns are {', '.join(present)}")
    check_text = partial(check_text_type, name=columns.text, binary_text=columns.binary_text)
    _check_types("text_column", _types_of(columns.text, samples), check_text)
    if columns.id is not None:
        _check_types("id_column", _types_of(columns.id, samples), partial(check_id_type, name=columns.id))


def _types_of(name: str, samples: Iterable[pa.Schema]) -> list[pa.DataType]:
    return [schema.field(name).type for schema in samples if name in schema.names]


def _check_types(setting: str, types: Iterable[pa.DataType], check: Callable[[pa.DataType], None]) -> None:
    """Whether at least one of the types passes, if there are any; of single files the job itself tells."""
    refused = None
    for kind in types:
        try:
            return check(kind)
        except TypeError as error:
            refused = error
    if refused is not None:
        raise ValueError(f"{setting}: {refused}") from refused
    return None


def common_type(types: Iterable[pa.DataType]) -> pa.DataType:
    """The type that values of all types fit in; a string for none, or for those that have nothing in common.

    Encodings and layouts (dictionary, views, extension names) are left aside. Of nested types that differ,
    the first is taken.

    Example:
        >>> common_type([pa.null(), pa.int32(), pa.int64()])
        DataType(int64)
    """
    known = list(dict.fromkeys(kind for kind in map(stored_type, types) if not pt.is_null(kind)))
    if len(known) <= 1:
        return known[0] if known else pa.string()
    try:
        schemas = [pa.schema([("", kind)]) for kind in known]
        return pa.unify_schemas(schemas, promote_options="permissive").field(0).type
    except pa.ArrowException:
        return known[0] if any(map(pt.is_nested, known)) else pa.string()


def json_schema(records: Iterable[Mapping[str, Any]]) -> pa.Schema:
    """The columns of JSON objects, with the types that their values have.

    Example:
        >>> json_schema([{"a": 1, "b": None}, {"a": 2.5}])
        a: double
        b: null
    """
    kinds: dict[str, list[pa.DataType]] = {}
    for record in records:
        for name, value in record.items():
            kinds.setdefault(name, []).append(_json_type(value))
    return pa.schema([(name, _common_json_type(found)) for name, found in kinds.items()])


def _common_json_type(found: list[pa.DataType]) -> pa.DataType:
    return pa.null() if all(map(pt.is_null, found)) else common_type(found)


def _json_type(value: Any) -> pa.DataType:
    """Nested values, and integers past 64 bits, are carried as JSON text: the fast parser gives those as floats."""
    if value is None:
        return pa.null()
    if isinstance(value, bool):
        return pa.bool_()
    if isinstance(value, int):
        return pa.int64() if -(2**63) <= value < 2**63 else pa.string()
    if isinstance(value, float) and not (value.is_integer() and abs(value) >= 2**63):
        return pa.float64()
    return pa.string()


def _named_type(name: str, kind: str | pa.DataType | None) -> pa.DataType | None:
    if not isinstance(kind, str):
        return kind
    try:
        return pa.type_for_alias(kind)
    except ValueError:
        raise ValueError(
            f"metadata_columns: {name!r} has the type {kind!r}, which Arrow does not know; "
            "some that it does: string, int64, double, bool, date32, timestamp[us]"
        ) from None
