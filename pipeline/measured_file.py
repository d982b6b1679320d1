"""A file being written, with its size and the hash of its bytes."""

from __future__ import annotations

import hashlib
from typing import Any

from pipeline import folders
from pipeline.hashing import DIGEST_BYTES


class MeasuredFile:
    """A new file on any file system of Beam that knows what was written to it.

    Attributes:
        size: Bytes written so far.
        closed: Whether `close` was called.
    """

    def __init__(self, path: str) -> None:
        self.size = 0
        self.closed = False
        self._hash = hashlib.blake2b(digest_size=DIGEST_BYTES)
        self._file = folders.create(path)

    def write(self, data: Any) -> int:
        """Append bytes; nothing once closed, as pyarrow's writers add a footer even when dropped."""
        if not self.closed:
            self._file.write(data)
            self._hash.update(data)
            self.size += len(data)
        return len(data)

    def tell(self) -> int:
        """The position behind the last byte."""
        return self.size

    def flush(self) -> None:
        """Nothing: closing is what completes the file."""

    def close(self) -> None:
        """Complete the file."""
        self.closed = True
        self._file.close()

    @property
    def fingerprint(self) -> str:
        """blake2b-128 of the bytes, in hexadecimal."""
        return self._hash.hexdigest()
