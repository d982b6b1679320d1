"""ReadMessages: a stream of messages -> document tables and failures, in batches of bounded size and age."""

# ruff: noqa: B008, PLR0917 - that is how Beam hands states and timers to a step

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import apache_beam as beam
from apache_beam.coders import BytesCoder, FastPrimitivesCoder, StrUtf8Coder, TupleCoder
from apache_beam.pvalue import PCollection, TaggedOutput
from apache_beam.transforms.combiners import CountCombineFn
from apache_beam.transforms.timeutil import TimeDomain
from apache_beam.transforms.userstate import (
    BagStateSpec,
    CombiningValueStateSpec,
    TimerSpec,
    on_timer,
)
from apache_beam.utils.timestamp import Timestamp

from pipeline.column_types import MetadataColumns, requested_types, typed_schema
from pipeline.documents import DocumentColumns, MiB, ReadBatch, ReadOptions, failure_table, rebatch
from pipeline.messages import Message, documents_from_messages
from pipeline.read import COUNTS, DOCUMENTS, FAILURES, batch_counts
from pipeline.table_coder import TABLE


@dataclass(frozen=True)
class BatchLimits:
    """When a batch of messages goes on: as soon as one of these is reached, and when its window ends.

    Attributes:
        rows: Messages in a batch.
        bytes: Bytes of their data.
        seconds: Age of the first one.

    Raises:
        ValueError: If one of them is not positive.
    """

    rows: int = 1000
    bytes: int = 8 * MiB
    seconds: float = 5.0

    def __post_init__(self) -> None:
        for name, limit in vars(self).items():
            if limit <= 0:
                raise ValueError(f"{name} is {limit}; a batch needs more than 0 of them")


class ReadMessages(beam.PTransform[Any, Any]):
    """Reads documents from messages, such as those of Pub/Sub or Kafka.

    In: a PCollection, bounded or not and in any windows, of `bytes`, each a JSON object; of pairs of `bytes`,
    as Kafka's connector gives them, whose second is one; or of `Message`.
    Out: `.documents`, `.failures` and `.counts` as of `ReadDocuments`, in the windows of the messages.

    A message that is no document becomes a row of the failures; none stops the stream. One that is delivered
    twice gives the same chunks with the same ids twice. Messages are gathered before they are parsed: chunking
    a table at a time is what makes it fast.

    Args:
        source: What failures call the stream, such as the topic.
        id_column: Field with the document's id; needed, see `documents_from_messages`.
        text_column: Field with the text, or with lists of texts.
        metadata_columns: Fields that travel with the documents, each with its Arrow type.
        limits: How large and how old a batch may become.
        keys: Batches that fill side by side, for so many workers at least.

    Raises:
        ValueError: If there is no id field, a type is missing or a limit is wrong.

    Example:
        >>> messages = pipeline | beam.io.ReadFromPubSub(subscription="projects/p/subscriptions/docs")
        >>> outputs = messages | ReadMessages("docs", id_column="url", metadata_columns={"lang": "string"})
    """

    def __init__(
        self,
        source: str,
        *,
        id_column: str,
        text_column: str = "text",
        metadata_columns: MetadataColumns = (),
        limits: BatchLimits | None = None,
        keys: int = 8,
    ) -> None:
        super().__init__()
        metadata = typed_schema(requested_types(metadata_columns))
        self.options = ReadOptions(DocumentColumns(text_column, id_column, metadata))
        documents_from_messages([], source, self.options)
        self._source, self._limits, self._keys = source, limits or BatchLimits(), keys

    def expand(self, messages: PCollection[Any]) -> Any:
        """Gather, then parse."""
        outputs = (
            messages
            | "As messages" >> beam.Map(as_message).with_output_types(tuple[bytes, str])
            | "Share out" >> beam.ParDo(_ShareOut(self._keys)).with_output_types(tuple[int, tuple[bytes, str]])
            | "Gather" >> beam.ParDo(_Gather(self._limits)).with_output_types(list[tuple[bytes, str]])
            | "Parse" >> beam.ParDo(_Parse(self._source, self.options)).with_outputs(FAILURES, COUNTS, main=DOCUMENTS)
        )
        outputs[DOCUMENTS].element_type = outputs[FAILURES].element_type = TABLE
        outputs[COUNTS].element_type = dict[str, int]
        return outputs


def as_message(element: Any) -> tuple[bytes, str]:
    """A message as data and position, whatever connector it comes from.

    >>> as_message((b"key", b"{}"))
    (b'{}', 'key')
    """
    if isinstance(element, bytes):
        return element, ""
    if isinstance(element, Message):
        return element.data, element.position
    if hasattr(element, "message_id"):  # Pub/Sub, with attributes
        return element.data, str(element.message_id or "")
    key, data = element
    return data if data is not None else b"", key.decode("utf-8", "replace") if key else ""


class _ShareOut(beam.DoFn):
    """A key for each message, so that batches fill side by side."""

    def __init__(self, keys: int) -> None:
        self._keys = keys
        self._next = 0

    def setup(self) -> None:
        self._next = random.randrange(self._keys)

    def process(self, message: tuple[bytes, str]) -> Iterator[tuple[int, tuple[bytes, str]]]:
        self._next = (self._next + 1) % self._keys
        yield self._next, message


class _Gather(beam.DoFn):
    """Messages of one key and window -> lists within the limits."""

    WAITING = BagStateSpec("waiting", TupleCoder((BytesCoder(), StrUtf8Coder())))
    ROWS = CombiningValueStateSpec("rows", combine_fn=CountCombineFn())
    BYTES = CombiningValueStateSpec("bytes", FastPrimitivesCoder(), sum)
    OLD = TimerSpec("old", TimeDomain.REAL_TIME)
    WINDOW_ENDS = TimerSpec("window_ends", TimeDomain.WATERMARK)

    def __init__(self, limits: BatchLimits) -> None:
        self._limits = limits

    def process(
        self,
        keyed: tuple[int, tuple[bytes, str]],
        window: Any = beam.DoFn.WindowParam,
        waiting: Any = beam.DoFn.StateParam(WAITING),
        rows: Any = beam.DoFn.StateParam(ROWS),
        size: Any = beam.DoFn.StateParam(BYTES),
        old: Any = beam.DoFn.TimerParam(OLD),
        window_ends: Any = beam.DoFn.TimerParam(WINDOW_ENDS),
    ) -> Iterator[list[tuple[bytes, str]]]:
        _, message = keyed
        waiting.add(message)
        rows.add(1)
        size.add(len(message[0]))
        if rows.read() == 1:
            window_ends.set(window.max_timestamp())
            old.set(Timestamp.now() + self._limits.seconds)
        if rows.read() >= self._limits.rows or size.read() >= self._limits.bytes:
            old.clear()
            yield from _take(waiting, rows, size)

    @on_timer(OLD)
    def too_old(
        self,
        waiting: Any = beam.DoFn.StateParam(WAITING),
        rows: Any = beam.DoFn.StateParam(ROWS),
        size: Any = beam.DoFn.StateParam(BYTES),
    ) -> Iterator[list[tuple[bytes, str]]]:
        yield from _take(waiting, rows, size)

    @on_timer(WINDOW_ENDS)
    def window_ends(
        self,
        waiting: Any = beam.DoFn.StateParam(WAITING),
        rows: Any = beam.DoFn.StateParam(ROWS),
        size: Any = beam.DoFn.StateParam(BYTES),
    ) -> Iterator[list[tuple[bytes, str]]]:
        yield from _take(waiting, rows, size)


def _take(waiting: Any, rows: Any, size: Any) -> Iterator[list[tuple[bytes, str]]]:
    """All that waits, in one list; nothing if nothing does."""
    batch = list(waiting.read())
    for state in (waiting, rows, size):
        state.clear()
    if batch:
        yield batch


class _Parse(beam.DoFn):
    """`documents_from_messages` over lists of messages."""

    def __init__(self, source: str, options: ReadOptions) -> None:
        self._source, self._options = source, options

    def process(self, messages: list[tuple[bytes, str]]) -> Iterator[Any]:
        found = documents_from_messages([Message(*each) for each in messages], self._source, self._options)
        yield from _outputs(rebatch(found, self._options.batch_bytes))


def _outputs(batches: Iterable[ReadBatch]) -> Iterator[Any]:
    for batch in batches:
        if batch.failures:
            yield TaggedOutput(FAILURES, failure_table(batch.failures))
        if batch.documents is not None:
            yield batch.documents
        yield TaggedOutput(COUNTS, batch_counts(batch))
