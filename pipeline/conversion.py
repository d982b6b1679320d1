"""Arrow arrays of any type -> arrays of one type, row by row where a row is bad. Pure."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from pipeline.plain_types import is_binary, is_list, is_string, plain, plain_type, stored
from pipeline.schemas import PARTS_TYPE, TEXT_TYPE

Convert = Callable[["pa.Array[Any]"], "pa.Array[Any]"]


class Converted(NamedTuple):
    """An array of the wanted type, and the errors of the rows that are null for want of conversion."""

    array: pa.Array[Any]
    errors: dict[int, Exception]


def convert_rows(array: pa.Array[Any], target: pa.DataType, convert: Convert) -> Converted:
    """The converted array. When the conversion fails, halves are tried, so that only bad rows fail.

    Args:
        array: What to convert.
        target: The type that `convert` gives.
        convert: Converts an array whole, or raises.
    """
    try:
        return Converted(convert(array), {})
    except (pa.ArrowException, ValueError, TypeError, OverflowError) as error:
        if len(array) == 1:
            return Converted(pa.nulls(1, target), {0: _utf8_error(array) or error})
    middle = len(array) // 2
    first = convert_rows(_rows(array, 0, middle), target, convert)
    second = convert_rows(_rows(array, middle, len(array)), target, convert)
    moved = {row + middle: error for row, error in second.errors.items()}
    return Converted(pa.concat_arrays([first.array, second.array]), first.errors | moved)


def _rows(array: pa.Array[Any], start: int, end: int) -> pa.Array[Any]:
    """Some rows; of nested arrays a copy, since a slice of them is validated with all that lies around it."""
    if pt.is_nested(array.type):
        return array.take(pa.array(range(start, end), pa.int64()))
    return array.slice(start, end - start)


def text_rows(array: pa.Array[Any], name: str = "text", *, binary_text: bool = False) -> Converted:
    """A text column as large strings, or large lists of them: valid UTF-8, null where the document is null.

    A null within a list becomes an empty part.

    Args:
        array: Strings of any Arrow type (also dictionary-encoded), lists of them, or nulls.
        name: The column's name, for messages.
        binary_text: Whether binary values are taken as UTF-8.

    Raises:
        TypeError: If the column's type is no text.
    """
    check_text_type(array.type, name, binary_text=binary_text)
    array = plain(array)
    if is_list(array.type):
        return convert_rows(array, PARTS_TYPE, _parts)
    return convert_rows(array, TEXT_TYPE, _text)


def id_rows(array: pa.Array[Any], name: str = "id") -> Converted:
    """An id column as strings; numbers and dates as Arrow writes them, binary taken as UTF-8.

    Raises:
        TypeError: If ids are nested.
    """
    check_id_type(array.type, name)
    return typed_rows(array, pa.string())


def typed_rows(array: pa.Array[Any], target: pa.DataType) -> Converted:
    """A column cast to another type without loss; strings are checked to be UTF-8."""

    def convert(rows: pa.Array[Any]) -> pa.Array[Any]:
        converted = rows if rows.type == target else rows.cast(target)
        converted.validate(full=True)
        return converted

    return convert_rows(array if array.type == target else stored(array), target, convert)


def check_text_type(kind: pa.DataType, name: str, *, binary_text: bool) -> None:
    """Whether a column can hold documents.

    Raises:
        TypeError: If it cannot; the message says what would.
    """
    inner = plain_type(kind)
    if is_list(inner):
        inner = plain_type(inner.value_type)
    if is_binary(inner) and not binary_text:
        raise TypeError(f"column {name!r} has type {kind}; set binary_text to take its bytes as UTF-8")
    if not (is_string(inner) or is_binary(inner) or pt.is_null(inner)):
        raise TypeError(f"column {name!r} has type {kind}; a document is a string or a list of strings")


def check_id_type(kind: pa.DataType, name: str) -> None:
    """Whether a column can hold ids.

    Raises:
        TypeError: If it is nested.
    """
    if pt.is_nested(plain_type(kind)):
        raise TypeError(f"column {name!r} has type {kind}; an id is a string, a number or a date")


def _text(array: pa.Array[Any]) -> pa.Array[Any]:
    text = array.cast(TEXT_TYPE)
    text.validate(full=True)
    return text


def _parts(array: pa.Array[Any]) -> pa.Array[Any]:
    texts = _text(plain(array.flatten()))
    lengths = pc.fill_null(pc.list_value_length(array), 0).to_numpy(zero_copy_only=False)
    offsets = np.concatenate(([0], np.cumsum(lengths, dtype=np.int64)))
    mask = array.is_null() if array.null_count else None
    if texts.null_count:
        texts = pc.fill_null(texts, "")
    return pa.LargeListArray.from_arrays(pa.array(offsets), texts, type=PARTS_TYPE, mask=mask)


def _utf8_error(array: pa.Array[Any]) -> Exception | None:
    """Python's words for a text that is not UTF-8, which name the byte; None for any other trouble."""
    values = plain(array.flatten()) if is_list(array.type) else plain(array)
    if not (is_string(values.type) or is_binary(values.type)):
        return None
    for value in values.cast(pa.large_binary()).to_pylist():
        try:
            (value or b"").decode()
        except UnicodeDecodeError as error:
            return error
    return None
