"""Arrow tables -> tables that Python, and then JSON, can say every value of. Pure."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.types as pt

from pipeline.plain_types import with_inner_types


def json_table(table: pa.Table) -> pa.Table:
    """The table with other types where Python has no values for Arrow's.

    Times in nanoseconds become strings and durations in nanoseconds numbers; a time in a zone that this machine
    does not know is given in UTC.
    """
    return _cast(_cast(table, _known_zone), _no_nanoseconds)


def temporal_as_text(table: pa.Table) -> pa.Table:
    """The table with dates and times as Arrow writes them, for those beyond the years that Python counts."""
    return _cast(table, _as_text)


def _cast(table: pa.Table, change: Any) -> pa.Table:
    schema = pa.schema([field.with_type(change(field.type)) for field in table.schema])
    return table if schema.types == table.schema.types else table.cast(schema)


def _known_zone(kind: pa.DataType) -> pa.DataType:
    if pt.is_timestamp(kind) and kind.tz is not None and not is_known_zone(kind.tz):
        return pa.timestamp(kind.unit, "UTC")
    return with_inner_types(kind, _known_zone) if pt.is_nested(kind) else kind


def _no_nanoseconds(kind: pa.DataType) -> pa.DataType:
    if pt.is_timestamp(kind) or pt.is_time64(kind):
        return pa.string() if kind.unit == "ns" else kind
    if pt.is_duration(kind):
        return pa.int64() if kind.unit == "ns" else kind
    return with_inner_types(kind, _no_nanoseconds) if pt.is_nested(kind) else kind


def _as_text(kind: pa.DataType) -> pa.DataType:
    if pt.is_timestamp(kind) or pt.is_date(kind):
        return pa.string()
    if pt.is_duration(kind):
        return pa.int64()
    return with_inner_types(kind, _as_text) if pt.is_nested(kind) else kind


def is_known_zone(zone: str) -> bool:
    """Whether times of a zone can be told on this machine.

    Example:
        >>> is_known_zone("Mars/Phobos")
        False
    """
    try:
        pa.scalar(0, pa.timestamp("s", zone)).as_py()
    except Exception:  # noqa: BLE001 - which one depends on the packages that are installed
        return False
    return True
