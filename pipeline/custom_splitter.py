"""Splitters of one's own, named in the settings as `package.module:callable`."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from pipeline.imported import import_object

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
    splitter = import_object(path, "splitter")
    if not callable(splitter):
        name = path.partition(":")[2]
        raise ValueError(f"splitter: {path!r}: {name} is a {type(splitter).__name__}, not a callable str -> list")
    return splitter  # type: ignore[no-any-return]
