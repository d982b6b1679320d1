"""Chunk ids: stable, and different wherever document, settings or offsets are."""

import itertools

import numpy as np
import pytest

from pipeline.chunk_ids import chunk_id_prefixes, chunk_ids


def ids(doc_id, fingerprint, start, end):
    return chunk_ids(chunk_id_prefixes([doc_id], fingerprint), np.array([start]), np.array([end])).to_pylist()[0]


def test_ids_never_change():
    """Databases hold these: a change here makes every loaded chunk a new one."""
    assert ids("docs/a.txt", "settings", 0, 12) == "2857aca04bc17b6bd3f4f4add77e2584:0:12"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        pytest.param(("a1", "s", 2, 3), ("a", "s", 12, 3), id="digits move from document to start"),
        pytest.param(("a", "s", 1, 23), ("a", "s", 12, 3), id="digits move from start to end"),
        pytest.param(("a:1", "s", 2, 3), ("a", "s", 1, 2), id="a colon in the document's id"),
        pytest.param(("as", "t", 0, 1), ("a", "st", 0, 1), id="letters move to the settings"),
        pytest.param(("", "s", 0, 1), ("s", "", 0, 1), id="nothing moves"),
    ],
)
def test_triples_that_join_to_the_same_text_have_different_ids(one, other):
    assert ids(*one) != ids(*other)


def test_all_triples_of_a_grid_differ():
    grid = list(itertools.product(["", "a", "b", "ab"], ["x", "y"], [0, 1, 10], [1, 11, 110]))
    assert len({ids(*triple) for triple in grid}) == len(grid)
