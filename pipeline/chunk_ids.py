"""Chunk ids, made of the document's id, the settings and the offsets: a re-run gives the same ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from pipeline.hashing import hash_keys, hex_strings


def chunk_id_prefixes(doc_ids: list[str], fingerprint: str) -> pa.StringArray:
    """The first part of the ids of each document's chunks: a hash over the settings and the document's id.

    Args:
        doc_ids: Ids of documents.
        fingerprint: `Chunker.fingerprint`, which stands for everything that decides where chunks lie.
    """
    return hex_strings(hash_keys(doc_ids, fingerprint))


def chunk_ids(prefixes: pa.StringArray, starts: npt.NDArray[np.int64], ends: npt.NDArray[np.int64]) -> pa.Array[Any]:
    """Ids `<prefix>:<start>:<end>`, a prefix for each chunk.

    The prefix has a fixed width and numbers hold no colon: ids are equal only where all three parts are.

    Example:
        >>> chunk_ids(chunk_id_prefixes(["a"], "settings"), np.array([0]), np.array([9])).to_pylist()
        ['70728a73d8c76eca55a94af557889db6:0:9']
    """
    texts = (pa.array(numbers).cast(pa.string()) for numbers in (starts, ends))
    return pc.binary_join_element_wise(prefixes, *texts, ":")
