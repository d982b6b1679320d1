"""Hashes as columns equal hashes one by one."""

import numpy as np

from pipeline.hashing import hash_bytes, hash_keys, hash_slices, hex_strings


def test_slices_are_hashed_one_by_one():
    data = "naïve 日本 text".encode()
    digests = hash_slices(np.frombuffer(data, np.uint8), np.array([0, 3, 5]), np.array([5, 3, len(data)]))
    assert hex_strings(digests).to_pylist() == [hash_bytes(data[0:5]), hash_bytes(b""), hash_bytes(data[5:])]


def test_contents_are_hashed_as_the_specification_of_xxh3_says():
    assert hash_bytes(b"") == "99aa06d3014798d86001c324468d497f"
    assert hash_bytes(b"abc") == "06b05ab6733a618578af5f94892f3950"


def test_no_slices_give_no_strings():
    none = np.zeros(0, np.int64)
    assert hex_strings(hash_slices(np.zeros(0, np.uint8), none, none)).to_pylist() == []


def test_keys_and_scopes_that_join_to_the_same_text_differ():
    assert hash_keys(["bc"], "a").tobytes() != hash_keys(["c"], "ab").tobytes()
