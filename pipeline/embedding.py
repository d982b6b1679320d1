"""Texts -> vectors through a function of one's own: in batches, paced, tried again, with what fails told. No Beam."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from pipeline.documents import Failure
from pipeline.imported import import_object
from pipeline.schemas import DOC_ID, TEXT

Matrix = npt.NDArray[np.float32]
Embedder = Callable[[list[str]], Any]
"""A list of texts -> a matrix of float32 with a row for each."""

EMBEDDING = "embedding"
_LONGEST_PAUSE = 60.0
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class EmbedOptions:
    """How texts are handed to an embedder.

    Attributes:
        batch: Most texts in a call.
        retries: How often a call that failed is tried again, after pauses of 1, 2, 4, ... seconds.
        per_second: Most texts a second, in each worker process; None: as fast as it goes.
        first_pause: The first of those pauses, in seconds.

    Raises:
        ValueError: If a number is out of range.
    """

    batch: int = 64
    retries: int = 3
    per_second: float | None = None
    first_pause: float = 1.0

    def __post_init__(self) -> None:
        if self.batch < 1 or self.retries < 0 or (self.per_second is not None and not self.per_second > 0):
            raise ValueError(
                f"embed_batch must be at least 1, embed_retries at least 0, embed_per_second above 0; got "
                f"{self.batch}, {self.retries}, {self.per_second}"
            )


class Embedded(NamedTuple):
    """Chunk rows with a column `embedding`, null where embedding failed, and a failure for each of those."""

    rows: pa.Table
    failures: tuple[Failure, ...] = ()


class Embedding:
    """An embedder with its options; it is loaded when it is first used, in the process that uses it.

    Args:
        embedder: A function, or `package.module:function`, or one of Beam's embedding transforms
            (`apache_beam.ml.transforms.embeddings`), or where one is to be found.
        options: How texts are handed to it.

    Raises:
        ValueError: When it is first used, if there is no such function.
    """

    def __init__(self, embedder: Embedder | str | Any, options: EmbedOptions | None = None) -> None:
        self._given = embedder
        self.options = options or EmbedOptions()
        self._embed: Embedder | None = None
        self._free_at = 0.0

    def dimension(self) -> int:
        """The length of its vectors, found by asking for one."""
        return int(self._call(["dimension"]).shape[1])

    def embed_chunks(self, chunks: pa.Table, dimension: int, known: Collection[tuple[str, str]] = ()) -> Embedded:
        """Chunk rows with their vectors, each different text embedded once.

        Args:
            chunks: Chunk rows with text.
            dimension: The length that vectors must have.
            known: Pairs of document id and text hash whose vector is there already; theirs stays null.

        Raises:
            KeyError: If the rows carry no text.
            ValueError: If the embedder returns something other than such vectors.
        """
        hashes, doc_ids = chunks.column("text_hash").to_pylist(), chunks.column(DOC_ID).to_pylist()
        wanted = [pair not in known for pair in zip(doc_ids, hashes, strict=True)]
        first = {digest: row for row, digest in enumerate(hashes) if wanted[row]}
        different = list(first)
        texts = chunks.column(TEXT).take(pa.array(list(first.values()), pa.int64())).to_pylist()
        vectors: dict[str, Matrix] = {}
        errors: dict[str, Exception] = {}
        for places, result in self._results(texts, dimension):
            names = different[places.start : places.stop]
            if isinstance(result, Exception):
                errors.update(dict.fromkeys(names, result))
            else:
                vectors.update(zip(names, result, strict=True))
        column = _vector_column([vectors.get(digest) for digest in hashes], wanted, dimension)
        failures = [
            _failure(chunk_id, doc_id, errors[digest])
            for chunk_id, doc_id, digest, is_wanted in zip(
                chunks.column("chunk_id").to_pylist(), doc_ids, hashes, wanted, strict=True
            )
            if is_wanted and digest in errors
        ]
        return Embedded(chunks.append_column(EMBEDDING, column), tuple(failures))

    def vector(self, text: str) -> Matrix:
        """The vector of one text, such as a question."""
        return self._call([text])[0]  # type: ignore[no-any-return]

    def _results(self, texts: Sequence[str], dimension: int) -> Iterator[tuple[range, Matrix | Exception]]:
        for start in range(0, len(texts), self.options.batch):
            places = range(start, min(start + self.options.batch, len(texts)))
            yield from self._divided(texts, places, dimension, self.options.retries)

    def _divided(
        self, texts: Sequence[str], places: range, dimension: int, retries: int
    ) -> Iterator[tuple[range, Matrix | Exception]]:
        """The vectors of a batch; if it fails again and again, of its halves, until what fails stands alone."""
        try:
            matrix = self._try(list(texts[places.start : places.stop]), retries)
        except Exception as error:  # noqa: BLE001 - the function is not ours, and what it cannot do is told
            if len(places) == 1:
                yield places, error
                return
            middle = (places.start + places.stop) // 2
            yield from self._divided(texts, range(places.start, middle), dimension, 0)
            yield from self._divided(texts, range(middle, places.stop), dimension, 0)
            return
        if matrix.shape != (len(places), dimension):
            raise ValueError(
                f"the embedder returned an array of shape {matrix.shape} for {len(places)} texts, and the vectors "
                f"of this table have {dimension} numbers; set dimension to what the embedder returns"
            )
        yield places, matrix

    def _try(self, texts: list[str], retries: int) -> Matrix:
        pause = self.options.first_pause
        for left in reversed(range(retries + 1)):
            try:
                return self._call(texts)
            except Exception as error:
                if left == 0:
                    raise
                _log.info("embedding %d texts failed, trying again: %s", len(texts), error)
                time.sleep(pause)
                pause = min(2 * pause, _LONGEST_PAUSE)
        raise AssertionError("the last try returns or raises")

    def _call(self, texts: list[str]) -> Matrix:
        if self._embed is None:
            self._embed = as_embedder(self._given)
        self._wait_for(len(texts))
        matrix = np.asarray(self._embed(texts), dtype=np.float32)
        if matrix.ndim != 2:
            raise ValueError(f"the embedder must return a matrix, a row for each text; got shape {matrix.shape}")
        if not np.isfinite(matrix).all():
            raise ValueError("the embedder returned numbers that are not finite")
        return matrix

    def _wait_for(self, count: int) -> None:
        if self.options.per_second is None:
            return
        now = time.monotonic()
        if self._free_at > now:
            time.sleep(self._free_at - now)
        self._free_at = max(now, self._free_at) + count / self.options.per_second

    def __getstate__(self) -> dict[str, Any]:
        # a model is loaded where it works: on the way there it would be hundreds of megabytes
        return {**self.__dict__, "_embed": None}


def as_embedder(given: Any) -> Embedder:
    """The function that embeds, from whatever form it was given in.

    Raises:
        ValueError: If it is nothing that can be called.
    """
    found = import_object(given, "embedder") if isinstance(given, str) else given
    if hasattr(found, "get_model_handler"):
        return _of_beam(found.get_model_handler())
    if hasattr(found, "run_inference") and hasattr(found, "load_model"):
        return _of_beam(found)
    if not callable(found):
        raise ValueError(f"embedder: {given!r} is a {type(found).__name__}, not a function list[str] -> matrix")
    return found  # type: ignore[no-any-return]


def _of_beam(handler: Any) -> Embedder:
    """A model handler of Beam as a function."""
    model = handler.load_model()

    def embed(texts: list[str]) -> Any:
        results = handler.run_inference(texts, model, {})
        return np.stack([np.asarray(getattr(result, "inference", result), np.float32) for result in results])

    return embed


def _vector_column(vectors: Sequence[Matrix | None], wanted: Sequence[bool], dimension: int) -> pa.Array:
    """Vectors as a column of fixed-size lists, null where there is none."""
    there = [is_wanted and vector is not None for vector, is_wanted in zip(vectors, wanted, strict=True)]
    matrix = np.zeros((len(vectors), dimension), np.float32)
    for row, vector in enumerate(vectors):
        if there[row]:
            matrix[row] = vector
    mask = pa.array([not is_there for is_there in there], pa.bool_())
    return pa.FixedSizeListArray.from_arrays(pa.array(matrix.reshape(-1)), dimension, mask=mask)


def _failure(chunk_id: str, doc_id: str, error: Exception) -> Failure:
    return Failure("", f"chunk {chunk_id}", type(error).__name__, str(error) or "no further reason", doc_id)
