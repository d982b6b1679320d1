"""Code of the launching program that workers cannot import, sent to them by value."""

from __future__ import annotations

import functools
import os
import sys
import sysconfig
from types import MethodType, ModuleType

from apache_beam.internal import cloudpickle

_INSTALLED = tuple(
    os.path.realpath(sysconfig.get_path(kind)) + os.sep for kind in ("stdlib", "platstdlib", "purelib", "platlib")
)
_OURS = ("llm_splitter", "pipeline")


def ship_by_value(splitter: object) -> None:
    """Have the module that a splitter comes from pickled with it, unless it is an installed one.

    Functions and classes of `__main__` are sent by value anyway; those of other modules by name, and a worker
    elsewhere has only what is installed there. Modules that this one imports in turn are not sent.

    Args:
        splitter: Any splitter: a function, a method, a partial, an object; names need nothing.
    """
    module = sys.modules.get(_home(splitter))
    if module is not None and not _is_installed(module):
        cloudpickle.register_pickle_by_value(module)


def _home(splitter: object) -> str:
    """The name of the module that a splitter's code is in.

    >>> _home(functools.partial(os.path.join, "a"))
    'posixpath'
    """
    if isinstance(splitter, functools.partial):
        return _home(splitter.func)
    if isinstance(splitter, MethodType):
        return _home(splitter.__self__)
    owner = splitter if hasattr(splitter, "__qualname__") else type(splitter)
    return str(getattr(owner, "__module__", None))


def _is_installed(module: ModuleType) -> bool:
    package = module.__name__.partition(".")[0]
    path = getattr(module, "__file__", None)  # modules made of C in the interpreter have none
    if package in ("__main__", *_OURS) or path is None:
        return True
    return str(os.path.realpath(path)).startswith(_INSTALLED)
