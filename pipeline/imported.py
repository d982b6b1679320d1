"""Python objects that settings name as `package.module:name`."""

from __future__ import annotations

import importlib
import operator
from typing import Any


def import_object(path: str, setting: str) -> Any:
    """What `package.module:name` names.

    Args:
        path: Where it is.
        setting: The setting that says so, for messages.

    Raises:
        ValueError: If there is no such module, or no such name in it; the message says which.

    Example:
        >>> import_object("textwrap:wrap", "splitter")("one two")
        ['one two']
    """
    module_name, _, name = path.partition(":")
    if not name:
        raise ValueError(f"{setting}: {path!r} should read package.module:name")
    try:
        module = importlib.import_module(module_name)
    except Exception as error:
        raise ValueError(f"{setting}: {path!r}: module {module_name} cannot be imported: {error}") from error
    try:
        return operator.attrgetter(name)(module)
    except AttributeError:
        raise ValueError(f"{setting}: {path!r}: module {module_name} has no {name}") from None
