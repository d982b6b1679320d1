"""Messages of a stream -> document tables and failures. Pure: no Beam."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from pipeline.documents import Places, ReadBatch, ReadOptions
from pipeline.jsonl_files import documents_from_lines


class Message(NamedTuple):
    """A message as it came.

    Attributes:
        data: A JSON object in UTF-8.
        position: What the source calls it: a message id, or partition and offset.
    """

    data: bytes
    position: str = ""


def documents_from_messages(messages: Sequence[Message], source: str, options: ReadOptions) -> list[ReadBatch]:
    r"""The documents of some messages, each a JSON object, and a failure for each one that is none.

    Args:
        messages: In any order.
        source: What failures call the stream.
        options: Which fields make a document. An id field is needed: messages have no lasting number, and ids
            made of one would differ from delivery to delivery.

    Raises:
        ValueError: If there is no id field.

    Example:
        >>> from pipeline.documents import DocumentColumns
        >>> options = ReadOptions(DocumentColumns(id="id"))
        >>> [batch] = documents_from_messages([Message(b'{"id": "a",\n "text": "b"}')], "topic", options)
        >>> batch.documents.column("doc_id").to_pylist()
        ['a']
    """
    if options.columns.id is None:
        raise ValueError("id_column: a stream needs one: without it, a message delivered twice would be two documents")
    numbers = np.arange(len(messages), dtype=np.int64)
    places = Places(source, numbers, pa.array([message.position for message in messages], pa.string()))
    return documents_from_lines([message.data for message in messages], places, options)
