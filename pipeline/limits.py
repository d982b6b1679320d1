"""How much of a file is taken at most, where nothing else is said."""

from __future__ import annotations

MAX_LINE_BYTES = 104 << 20
"""The longest line: one of 100 MB of ordinary text takes less than 1 GB of memory to be split into tokens."""
