"""The forms in which a setting may be written, each brought to the one form that the job works with."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, ByteSize, PlainValidator


def not_a_bool(value: object) -> object:
    """The value itself, unless it is `yes` or `true`, which Python would count as the number 1.

    Raises:
        ValueError: the value is a truth value.
    """
    if isinstance(value, bool):
        raise ValueError("must be a number, not a truth value")
    return value


def as_paths(value: object) -> object:
    """One path or pattern, or a list of them -> a tuple of strings.

    >>> as_paths("docs/*.parquet")
    ('docs/*.parquet',)
    """
    if isinstance(value, str | os.PathLike):
        return (os.fspath(value),)
    if not isinstance(value, list | tuple) or not value:
        raise ValueError("must be a path or pattern, or a list of them")
    return tuple(os.fspath(item) if isinstance(item, os.PathLike) else item for item in value)


def expand_home(path: str) -> str:
    """A local path that begins with `~` or `~name` -> the same in that user's home folder.

    >>> expand_home("s3://docs/~old")
    's3://docs/~old'
    """
    return os.path.expanduser(path)  # noqa: PTH111 - pathlib would tidy the path, and with it a pattern or an address


def unescape_newlines(value: object) -> object:
    r"""The two characters `\n`, as a shell passes them on, -> a line feed."""
    return value.replace("\\n", "\n") if isinstance(value, str) else value


def as_columns(value: object) -> object:
    """Column names with or without a type, in any of the usual forms -> a mapping from name to type or None.

    >>> as_columns("lang, price:double")
    {'lang': None, 'price': 'double'}
    >>> as_columns(["lang", {"price": "double"}])
    {'lang': None, 'price': 'double'}
    """
    if isinstance(value, Mapping):
        return dict(value)
    items = value if isinstance(value, list | tuple) else [value]
    return {name: kind for item in items for name, kind in _named_columns(item)}


def _named_columns(item: object) -> Iterable[tuple[object, object]]:
    if isinstance(item, Mapping):
        yield from item.items()
    elif isinstance(item, str):
        for entry in filter(None, map(str.strip, item.split(","))):
            name, _, kind = entry.partition(":")
            yield name.strip(), kind.strip() or None
    else:
        raise ValueError("must be column names, or a mapping from names to Arrow types such as {lang: string}")


def as_threshold(value: object) -> int | float | None:
    """A number of failures -> int; a share of all documents -> float from 0.0 to 1.0.

    >>> as_threshold("10"), as_threshold("1%"), as_threshold(0.01)
    (10, 0.01, 0.01)

    Raises:
        ValueError: neither of the two.
    """
    if value is None:
        return None
    number = _number(str(value).strip())
    if isinstance(value, bool) or number is None or number < 0 or (isinstance(number, float) and not number <= 1):
        raise ValueError("must be a count of failures such as 10, or a share of the documents such as 1% or 0.01")
    return number


def _number(text: str) -> int | float | None:
    try:
        if text.endswith("%"):
            return float(text[:-1]) / 100
        return float(text) if set(text) & set(".eE") else int(text)
    except ValueError:
        return None


def as_flags(value: object) -> tuple[object, ...]:
    """Beam options as a mapping, as flags, or both in a list -> the flags of Beam's own command line.

    >>> as_flags({"runner": "FlinkRunner", "streaming": True, "experiments": ["a", "b"]})
    ('--runner=FlinkRunner', '--streaming', '--experiments=a', '--experiments=b')
    >>> as_flags([{"runner": "FlinkRunner"}, "--streaming"])
    ('--runner=FlinkRunner', '--streaming')
    """
    if isinstance(value, Mapping):
        return tuple(flag for name, setting in value.items() for flag in _flags_of(name, setting))
    if isinstance(value, list | tuple):
        return tuple(flag for item in value for flag in as_flags(item))
    if isinstance(value, str):
        return (value,)
    raise ValueError("must be a mapping such as {runner: FlinkRunner}, or flags such as --runner=FlinkRunner")


def _flags_of(name: object, setting: object) -> Iterable[str]:
    for value in setting if isinstance(setting, list | tuple) else [setting]:
        if value is True:
            yield f"--{name}"
        elif value is not False and value is not None:
            yield f"--{name}={value}"


WholeNumber = Annotated[int, BeforeValidator(not_a_bool)]
# A plain number in the end: C code such as the csv module's takes no subclass of int.
Bytes = Annotated[ByteSize, BeforeValidator(not_a_bool), AfterValidator(int)]
Folder = Annotated[str, AfterValidator(expand_home)]
Paths = Annotated[tuple[Folder, ...], BeforeValidator(as_paths)]
Columns = Annotated[dict[str, str | None], BeforeValidator(as_columns)]
Threshold = Annotated[int | float | None, PlainValidator(as_threshold)]
BeamFlags = Annotated[tuple[str, ...], BeforeValidator(as_flags)]
