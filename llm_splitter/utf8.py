"""Where characters begin in a UTF-8 buffer, and which ones stand at given positions."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from llm_splitter.texts import Bytes, Offsets

LEAST_WIDE = 0xC2
"""The least byte with which a character begins that is not ASCII."""

_BY_WIDTH = ((LEAST_WIDE, 0x7FF), (0xE0, 0xFFFF), (0xF0, 0x1FFFFF))  # 2, 3, 4 bytes: least lead, bits of the code


def begins_character(data: Bytes) -> NDArray[np.bool_]:
    """Which bytes begin a character: every one but 80 to BF, which as signed numbers are the least.

    >>> begins_character(np.frombuffer("aé".encode(), dtype=np.uint8)).tolist()
    [True, True, False]
    """
    begins: NDArray[np.bool_] = data.view(np.int8) >= -64
    return begins


def codes_at(data: Bytes, positions: Offsets) -> NDArray[np.uint32]:
    """The code points of the characters that start at some byte positions.

    >>> codes_at(np.frombuffer("aé🐟".encode(), dtype=np.uint8), np.array([0, 1, 3])).tolist()
    [97, 233, 128031]
    """
    lead = data[positions]
    codes = lead.astype(np.uint32)
    for behind, (least, bits) in enumerate(_BY_WIDTH, start=1):
        longer = np.flatnonzero(lead >= least)
        codes[longer] = (codes[longer] << 6 | data[positions[longer] + behind] & 0x3F) & bits
    return codes


def behind_each(data: Bytes, positions: Offsets) -> Offsets:
    """Behind the characters that start at some byte positions.

    >>> behind_each(np.frombuffer("aé🐟".encode(), dtype=np.uint8), np.array([0, 1, 3])).tolist()
    [1, 3, 7]
    """
    lead = data[positions]
    behind = positions + 1
    for least, _ in _BY_WIDTH:
        behind += lead >= least
    return behind


def spread(data: Bytes, positions: Offsets, values: NDArray[np.generic], out: NDArray[np.generic]) -> None:
    """Set to a value all bytes of each character that starts at some byte position."""
    lead = data[positions]
    out[positions] = values
    for behind, (least, _) in enumerate(_BY_WIDTH, start=1):
        longer = np.flatnonzero(lead >= least)
        out[positions[longer] + behind] = values[longer]
