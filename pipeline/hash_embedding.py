"""Vectors that need no model: texts are near each other when they share words and parts of words.

For trying the way to the database and back without installing anything large, and for tests. It knows no
meaning: use a model where answers matter, such as `pipeline.minilm:embed`.
"""

from __future__ import annotations

import re
from collections import Counter
from hashlib import blake2b

import numpy as np
import numpy.typing as npt

DIMENSION = 384
_WORD = re.compile(r"\w+")


def embed(texts: list[str]) -> npt.NDArray[np.float32]:
    """A vector of length 1 for each text, the same on every machine.

    Example:
        >>> near, far = embed(["a loaf of bread", "bread, a loaf"]), embed(["the night train"])
        >>> bool(near[0] @ near[1] > near[0] @ far[0])
        True
    """
    matrix = np.zeros((len(texts), DIMENSION), np.float32)
    for row, text in enumerate(texts):
        for feature, times in Counter(_features(text)).items():
            digest = blake2b(feature.encode("utf-8", "surrogatepass"), digest_size=4).digest()
            number = int.from_bytes(digest, "little")
            matrix[row, (number >> 1) % DIMENSION] += (1 + np.log(times)) * (1 if number & 1 else -1)
    lengths = np.linalg.norm(matrix, axis=1, keepdims=True)
    lengths[lengths == 0] = 1
    matrix /= lengths
    return matrix


def _features(text: str) -> list[str]:
    words = _WORD.findall(text.lower())
    parts = [f" {word} "[start : start + 4] for word in words for start in range(max(len(word) - 1, 1))]
    return [f"word {word}" for word in words if len(word) > 3] + parts
