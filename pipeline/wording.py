"""Numbers in sentences."""

from __future__ import annotations


def plural(number: int, thing: str) -> str:
    """A number of things.

    >>> plural(1, "failure"), plural(1200, "failure")
    ('1 failure', '1,200 failures')
    """
    return f"{number:,} {thing}{'' if number == 1 else 's'}"
