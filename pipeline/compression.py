"""Blocks of bytes from files, plain or compressed, in bounded memory. No Beam."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator
from typing import Any, Literal

import zstandard

Compression = Literal["none", "gzip", "zstd"]

BLOCK_BYTES = 1 << 20
_GZIP_MAGIC = b"\x1f\x8b"
_ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
# A zstd block of 4 bytes may stand for 128 KiB, and a decompressor gives back all that its input holds:
# small pieces of input keep what comes out below 64 MiB even for a file made to inflate without end.
_ZSTD_PIECE = 2048


def detect_compression(head: bytes) -> Compression:
    r"""The compression that a file's first bytes show; names are not to be trusted.

    Example:
        >>> detect_compression(b"\x1f\x8b\x08\x00")
        'gzip'
    """
    if head.startswith(_GZIP_MAGIC):
        return "gzip"
    return "zstd" if head.startswith(_ZSTD_MAGIC) else "none"


def read_blocks(
    file: Any, compression: Compression = "none", start: int = 0, end: int | None = None
) -> Iterator[bytes]:
    """The content of a file, decompressed, in blocks.

    Several gzip members or zstd frames in a row are read as one content.

    Args:
        file: A seekable binary file.
        compression: How it is compressed.
        start: First byte of an uncompressed file to read.
        end: Byte to stop before; None: the end of the file.

    Raises:
        EOFError: If a compressed file ends too early. What came before was given out.
        OSError, zlib.error, zstandard.ZstdError: If its content is damaged; as above.
    """
    file.seek(start)
    if compression == "gzip":
        return _gunzip(_plain_blocks(file, None, BLOCK_BYTES))
    if compression == "zstd":
        return _unzstd(_plain_blocks(file, None, _ZSTD_PIECE))
    return _plain_blocks(file, None if end is None else end - start, BLOCK_BYTES)


def read_all(blocks: Iterable[bytes], most: int) -> bytearray:
    """All blocks joined.

    Raises:
        ValueError: If they have more bytes than `most`.
    """
    content = bytearray()
    for block in blocks:
        content += block
        if len(content) > most:
            raise ValueError(f"the file has more than {most} bytes; it is read as a whole (max_line_bytes)")
    return content


def _plain_blocks(file: Any, size: int | None, block_bytes: int) -> Iterator[bytes]:
    left = size
    while left is None or left > 0:
        block = file.read(block_bytes if left is None else min(block_bytes, left))
        if not block:
            if left is None:
                return
            raise EOFError(f"the file ends {left} bytes before it did when it was listed")
        left = None if left is None else left - len(block)
        yield block


def _gunzip(blocks: Iterator[bytes]) -> Iterator[bytes]:
    decompressor = None
    for block in blocks:
        rest = block
        while rest:
            if decompressor is None:
                rest = rest.lstrip(b"\0")  # padding between members
                if not rest:
                    break
                decompressor = zlib.decompressobj(wbits=31)
            before = decompressor.copy()
            try:
                yield decompressor.decompress(rest, BLOCK_BYTES)
            except zlib.error:
                yield from _bytewise(before, rest)
                raise
            rest = decompressor.unconsumed_tail or decompressor.unused_data
            if decompressor.eof:
                decompressor = None
    if decompressor is not None:
        raise EOFError("the gzip file is cut short: it ends within a member")


def _bytewise(decompressor: Any, rest: bytes) -> Iterator[bytes]:
    """What can be decompressed before an error, which a larger step would take along."""
    try:
        for at in range(len(rest)):
            yield decompressor.decompress(rest[at : at + 1])
    except zlib.error:
        return


def _unzstd(pieces: Iterator[bytes]) -> Iterator[bytes]:
    decompressor = None
    for piece in pieces:
        rest = piece
        while rest:
            if decompressor is None:
                decompressor = zstandard.ZstdDecompressor().decompressobj()
            yield decompressor.decompress(rest)
            rest = decompressor.unused_data
            if decompressor.eof:
                decompressor = None
    if decompressor is not None:
        raise EOFError("the zstd file is cut short: it ends within a frame")
