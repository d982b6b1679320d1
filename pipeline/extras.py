"""Packages that only some uses need, each brought by an extra of this one."""

from __future__ import annotations

from importlib.util import find_spec


class MissingExtraError(ImportError):
    """A package of an extra is not installed; the message says how to install it."""


def require(use: str, extra: str, *packages: str) -> None:
    """Make sure that packages are there.

    Args:
        use: What needs them, for the message.
        extra: The extra of this package that brings them.
        packages: Their names, as they are imported.

    Raises:
        MissingExtraError: If one is not.

    Example:
        >>> require("search", "nothing", "no_such_package")
        Traceback (most recent call last):
        pipeline.extras.MissingExtraError: search needs no_such_package: pip install 'llm-splitter[nothing]'
    """
    missing = [name for name in packages if find_spec(name) is None]
    if missing:
        raise MissingExtraError(f"{use} needs {' and '.join(missing)}: pip install 'llm-splitter[{extra}]'")
