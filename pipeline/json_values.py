"""Values of JSON objects -> Arrow columns of given types. Pure."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import orjson
import pyarrow as pa
import pyarrow.types as pt

from pipeline.conversion import Converted
from pipeline.lines import Line, LongLine
from pipeline.plain_types import is_string

_ERRORS = (pa.ArrowException, ValueError, TypeError, OverflowError)


def id_values(records: Sequence[dict[str, Any]], key: str, lines: Sequence[Line]) -> Converted:
    """Ids as strings: numbers as JSON writes them, null where there is none, errors for lists and objects.

    Args:
        records: The objects.
        key: Where their ids are.
        lines: The lines that they were parsed from, for numbers too large for 64 bits.
    """
    ids: list[str | None] = []
    errors: dict[int, Exception] = {}
    for row, record in enumerate(records):
        value = record.get(key)
        if value is None or type(value) is str:
            ids.append(value)
        elif isinstance(value, (list, dict)):
            ids.append(None)
            errors[row] = TypeError(f"an id is a string or a number, not {type(value).__name__}")
        else:
            ids.append(json.dumps(_exact(value, key, lines[row])))
    return Converted(pa.array(ids, pa.string()), errors)


def metadata_values(records: Sequence[dict[str, Any]], field: pa.Field[Any], lines: Sequence[Line]) -> Converted:
    """A metadata column: null where the key is missing, an error where a value does not fit the type.

    In a string column, whatever is no string becomes JSON text. In others, strings are read as values of
    the type, such as dates.
    """
    values = [record.get(field.name) for record in records]
    if not pt.is_floating(field.type) and float in set(map(type, values)):
        values = [_exact(value, field.name, line) for value, line in zip(values, lines, strict=True)]
        values = values if is_string(field.type) else list(map(_without_float, values))
    if is_string(field.type):
        values = [value if value is None or type(value) is str else json_text(value) for value in values]
    return _array(values, field.type)


def json_text(value: Any) -> str:
    """A value as compact JSON.

    Example:
        >>> json_text({"a": [1, None]})
        '{"a":[1,null]}'
    """
    try:
        return orjson.dumps(value).decode()
    except TypeError:  # integers past 64 bits
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _exact(value: Any, key: str, line: Line) -> Any:
    """The value, where the fast parser may have rounded a large integer to a float."""
    if type(value) is not float or isinstance(line, LongLine):
        return value
    return json.loads(line.decode("utf-8-sig")).get(key)


def _without_float(value: Any) -> Any:
    """The value, a float as an integer or as it is written: Arrow would cut 1.5 down to 1 for an integer column."""
    if type(value) is not float:
        return value
    return int(value) if value.is_integer() else json.dumps(value)


def _array(values: list[Any], kind: pa.DataType) -> Converted:
    try:
        return Converted(pa.array(values, kind), {})
    except _ERRORS as error:
        if len(values) == 1:
            return _parsed(values[0], kind, error)
    middle = len(values) // 2
    first, second = _array(values[:middle], kind), _array(values[middle:], kind)
    moved = {row + middle: error for row, error in second.errors.items()}
    return Converted(pa.concat_arrays([first.array, second.array]), first.errors | moved)


def _parsed(value: Any, kind: pa.DataType, error: Exception) -> Converted:
    """A single value that is not of the type: a string may hold one, such as a date."""
    try:
        if isinstance(value, str):
            return Converted(pa.array([value], pa.string()).cast(kind), {})
    except _ERRORS as unreadable:
        error = unreadable
    return Converted(pa.nulls(1, kind), {0: error})
