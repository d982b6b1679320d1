"""Splitters of one's own, named in the settings as `package.module:callable`."""

from __future__ import annotations

import importlib
import operator
import re
from collections.abc import Callable
from typing import Any

_IMPORT_PATH = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*(\.[^\W\d]\w*)*")


def is_import_path(splitter: str) -> bool:
    """Whether a splitter setting names Python code rather than a built-in splitter, an encoding or a file.

    >>> is_import_path("my_package.pieces:by_clause"), is_import_path("words"), is_import_path("C:/t.json")
    (True, False, False)
    """
    return _IMPORT_PATH.fullmatch(splitter) is not None


def import_splitter(path: str) -> Callable[[str], list[Any]]:
    """The callable that `package.module:callable` names.

    Raises:
        ValueError: no such module, no such name in it, or nothing to call; the message says which.

    >>> import_splitter("textwrap:wrap")("one two")
    ['one two']
    """
    module_name, _, name = path.partition(":")
    try:
        module = importlib.import_module(module_name)
    except Exception as error:
        raise ValueError(f"splitter: {path!r}: module {module_name} cannot be imported: {error}") from error
    try:
        splitter = operator.attrgetter(name)(module)
    except AttributeError:
        raise ValueError(f"splitter: {path!r}: module {module_name} has no {name}") from None
    if not callable(splitter):
        raise ValueError(f"splitter: {path!r}: {name} is a {type(splitter).__name__}, not a callable str -> list")
    return splitter  # type: ignore[no-any-return]
