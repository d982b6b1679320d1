"""Arrow's encodings and layouts left aside: types and arrays in the one form that every reader knows. Pure."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt


def is_string(kind: pa.DataType) -> bool:
    """Whether values are strings, in any of Arrow's layouts."""
    return bool(pt.is_string(kind) or pt.is_large_string(kind) or pt.is_string_view(kind))


def is_binary(kind: pa.DataType) -> bool:
    """Whether values are bytes, in any of Arrow's layouts."""
    return bool(
        pt.is_binary(kind) or pt.is_large_binary(kind) or pt.is_fixed_size_binary(kind) or pt.is_binary_view(kind)
    )


def is_list(kind: pa.DataType) -> bool:
    """Whether values are lists, in any of Arrow's layouts."""
    return bool(
        pt.is_list(kind)
        or pt.is_large_list(kind)
        or pt.is_fixed_size_list(kind)
        or pt.is_list_view(kind)
        or pt.is_large_list_view(kind)
    )


def plain_type(kind: pa.DataType) -> pa.DataType:
    """The type without extension names, dictionary and run-end encoding."""
    while True:
        if isinstance(kind, pa.BaseExtensionType):
            kind = kind.storage_type
        elif pt.is_dictionary(kind) or pt.is_run_end_encoded(kind):
            kind = kind.value_type
        else:
            return kind


def plain(array: pa.Array[Any]) -> pa.Array[Any]:
    """The array without extension names, dictionary and run-end encoding."""
    while True:
        if isinstance(array, pa.ExtensionArray):
            array = array.storage
        elif isinstance(array, pa.DictionaryArray):
            array = array.dictionary_decode()
        elif isinstance(array, pa.RunEndEncodedArray):
            array = pc.run_end_decode(array)
        else:
            return array


def stored_type(kind: pa.DataType) -> pa.DataType:
    """The type that values are written with, all through nested types: plain, and without views.

    Example:
        >>> stored_type(pa.struct([("a", pa.dictionary(pa.int32(), pa.string_view()))]))
        StructType(struct<a: string>)
    """
    kind = plain_type(kind)
    if pt.is_string_view(kind):
        return pa.string()
    return pa.binary() if pt.is_binary_view(kind) else with_inner_types(kind, stored_type)


def with_inner_types(kind: pa.DataType, change: Callable[[pa.DataType], pa.DataType]) -> pa.DataType:
    """A struct, map or list whose inner types are changed, lists in one of the two plain layouts; others as they are.

    Example:
        >>> with_inner_types(pa.list_(pa.int8()), lambda inner: pa.int64())
        ListType(list<item: int64>)
    """
    if pt.is_struct(kind):
        return pa.struct([field.with_type(change(field.type)) for field in kind])
    if pt.is_map(kind):
        return pa.map_(change(kind.key_type), change(kind.item_type))
    if is_list(kind):
        make = pa.large_list if pt.is_large_list(kind) or pt.is_large_list_view(kind) else pa.list_
        return make(change(kind.value_type))
    return kind


def stored(array: pa.Array[Any]) -> pa.Array[Any]:
    """The same values as an array of `stored_type`. Whether strings are UTF-8 is not looked at.

    Arrow's own casts do not reach into structs and maps, and break lists of the large view layout.
    """
    array, kind = plain(array), stored_type(array.type)
    if array.type == kind and not pt.is_nested(kind):
        return array
    if pt.is_struct(kind) and kind.num_fields:
        columns = [stored(array.field(index)) for index in range(kind.num_fields)]
        return pa.StructArray.from_arrays(columns, fields=list(kind), mask=array.is_null())
    if pt.is_map(kind):
        entries = [stored(array.keys), stored(array.items)]
        child = pa.StructArray.from_arrays(entries, fields=[kind.key_field, kind.item_field])
        return pa.Array.from_buffers(kind, len(array), array.buffers()[:2], offset=array.offset, children=[child])
    return _stored_list(array, kind) if is_list(kind) else array.cast(kind)


def _stored_list(array: pa.Array[Any], kind: pa.DataType) -> pa.Array[Any]:
    lengths = pc.fill_null(pc.list_value_length(array), 0).to_numpy(zero_copy_only=False)
    if array.null_count:
        lengths = np.where(array.is_null().to_numpy(zero_copy_only=False), 0, lengths)
    offsets = np.concatenate(([0], np.cumsum(lengths, dtype=np.int64)))
    large = pt.is_large_list(kind)
    return (pa.LargeListArray if large else pa.ListArray).from_arrays(
        pa.array(offsets, pa.int64() if large else pa.int32()),
        stored(array.flatten()),
        type=kind,
        mask=array.is_null() if array.null_count else None,
    )
