"""What stopped a Beam job, out of what Beam makes of it."""

from __future__ import annotations

import re
from typing import NamedTuple

_STEP = re.compile(r" \[while running .*?\]")
_END_OF_TRACEBACK = re.compile(r"^ .*\n(?:[\w.]+\.)?(\w+)(?:: (.+(?:\n(?! |\n).+)*))?", re.MULTILINE)


class Cause(NamedTuple):
    """The error that stopped a job: the name of its type, and its message."""

    name: str
    message: str

    def __str__(self) -> str:
        return f"{self.name}: {self.message}" if self.message else self.name


def cause_of(error: BaseException) -> Cause:
    """The error as it was raised in a step, without Beam's note of which.

    Workers of other processes and threads pass an error on as the text of its traceback.

    Example:
        >>> cause_of(ValueError("no such column [while running 'Read']"))
        Cause(name='ValueError', message='no such column')
    """
    text = str(error)
    ends = _END_OF_TRACEBACK.findall(text) if "Traceback (most recent call last)" in text else []
    name, message = ends[-1] if ends else (type(error).__name__, text)
    return Cause(name, _STEP.sub("", message).strip())


def is_interrupt(error: BaseException | None) -> bool:
    """Whether an error is what Beam makes of Ctrl-C in a step."""
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__cause__ or error.__context__
    return error is not None
