"""Compressed content in blocks: several members, cuts, damage, and bounds."""

import gzip
import io
import zlib

import pytest
import zstandard

from pipeline.compression import BLOCK_BYTES, detect_compression, read_all, read_blocks

CONTENT = b"".join(b"%d," % (n * n) for n in range(200_000))
COMPRESS = {"gzip": gzip.compress, "zstd": zstandard.compress, "none": bytes}


def blocks_until_error(data, compression):
    blocks = []
    try:
        for block in read_blocks(io.BytesIO(data), compression):
            blocks.append(block)
    except Exception as error:  # noqa: BLE001
        return b"".join(blocks), type(error)
    return b"".join(blocks), None


@pytest.mark.parametrize("compression", COMPRESS)
def test_content_is_recognised_and_read(compression):
    data = COMPRESS[compression](CONTENT)
    assert detect_compression(data[:8]) == compression
    assert blocks_until_error(data, compression) == (CONTENT, None)


@pytest.mark.parametrize("compression", ["gzip", "zstd"])
def test_members_in_a_row_are_one_content(compression):
    compress = COMPRESS[compression]
    data = compress(b"one") + compress(b"") + compress(CONTENT) + compress(b"end")
    assert blocks_until_error(data, compression) == (b"one" + CONTENT + b"end", None)


@pytest.mark.parametrize("compression", ["gzip", "zstd"])
@pytest.mark.parametrize("kept", [1, 12, 1000, 100_000, -1])
def test_a_cut_is_an_error_after_what_came_before(compression, kept):
    content, error = blocks_until_error(COMPRESS[compression](CONTENT)[:kept], compression)
    assert error is EOFError
    assert CONTENT.startswith(content)
    assert (len(content) > 100_000) == (kept in (100_000, -1))


def test_a_wrong_checksum_is_an_error_after_all_content():
    data = gzip.compress(CONTENT)
    assert blocks_until_error(data[:-8] + bytes(8), "gzip") == (CONTENT, zlib.error)


def test_zeros_after_a_gzip_file_are_padding_and_anything_else_is_an_error():
    assert blocks_until_error(gzip.compress(b"a") + bytes(512), "gzip") == (b"a", None)
    assert blocks_until_error(gzip.compress(b"a") + b"more", "gzip") == (b"a", zlib.error)


def test_damage_within_zstd_is_an_error_after_what_came_before():
    data = bytearray(zstandard.compress(CONTENT))
    data[len(data) // 2 : len(data) // 2 + 50] = b"\xff" * 50
    content, error = blocks_until_error(bytes(data), "zstd")
    assert error is zstandard.ZstdError
    assert CONTENT.startswith(content[: len(CONTENT) // 4])


@pytest.mark.parametrize(("compression", "most"), [("gzip", BLOCK_BYTES), ("zstd", 64 * BLOCK_BYTES)])
def test_blocks_are_bounded_however_well_the_content_compresses(compression, most):
    data = COMPRESS[compression](bytes(256 * BLOCK_BYTES))
    assert len(data) < BLOCK_BYTES
    sizes = [len(block) for block in read_blocks(io.BytesIO(data), compression)]
    assert sum(sizes) == 256 * BLOCK_BYTES
    assert max(sizes) <= most


def test_a_part_of_a_plain_file():
    assert b"".join(read_blocks(io.BytesIO(b"0123456789"), start=2, end=5)) == b"234"
    with pytest.raises(EOFError, match="the file ends 3 bytes before"):
        list(read_blocks(io.BytesIO(b"0123456789"), start=2, end=13))


def test_reading_all_has_a_limit():
    assert read_all([b"ab", b"c"], 3) == b"abc"
    with pytest.raises(ValueError, match="more than 2 bytes"):
        read_all([b"ab", b"c"], 2)
