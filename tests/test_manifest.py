"""The manifest comes back as it was written, and what is none is refused."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.manifest import (
    Manifest,
    OutputFile,
    TokenSummary,
    add_counts,
    manifest_bytes,
    parse_manifest,
    summarize_tokens,
)

MANIFEST = Manifest(
    settings={"input": ["docs/*.parquet"], "chunk_size": 512},
    chunking={"splitter": "cl100k_base"},
    counters={"documents_read": 3},
    token_count=TokenSummary(1, 2, 3, 4),
    failures={"read: ValueError": 1},
    files=(OutputFile("chunks-00000-of-00001.parquet", 7, 1234, "ab"),),
    started="2024-02-03T04:05:06+00:00",
    seconds=1.5,
)


def test_a_manifest_comes_back():
    assert parse_manifest(manifest_bytes(MANIFEST)) == MANIFEST


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"{", "not a manifest"),
        (b"[]", "not a manifest"),
        (b"{}", "not a manifest"),
        (b'{"version": 1}', "not a manifest"),
        (b'{"version": 99}', "version 99, this program reads 1"),
    ],
)
def test_what_is_no_manifest_is_refused(content, message):
    with pytest.raises(ValueError, match=message):
        parse_manifest(content)


@given(st.lists(st.integers(1, 600), min_size=1, max_size=50))
def test_the_summary_is_that_of_the_values(values):
    counts = {value: values.count(value) for value in values}
    nearest = {share: np.quantile(values, share, method="inverted_cdf") for share in (0.5, 0.95)}
    assert summarize_tokens(counts) == TokenSummary(min(values), nearest[0.5], nearest[0.95], max(values))


def test_no_chunks_have_no_distribution():
    assert summarize_tokens({}) == TokenSummary(None, None, None, None)


def test_counts_add_up_by_name():
    assert add_counts([{"a": 1}, {}, {"a": 2, "b": 3}]) == {"a": 3, "b": 3}
    assert add_counts([]) == {}
