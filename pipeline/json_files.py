"""JSON files whose objects span lines, such as one large array -> document tables. No Beam."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

import numpy as np

from pipeline.compression import BLOCK_BYTES
from pipeline.documents import Failure, Places, ReadBatch, ReadOptions, join_text
from pipeline.json_items import split_items
from pipeline.jsonl_files import documents_from_lines, objects
from pipeline.lines import Line

_BATCH_ITEMS = 1000


def spans_lines(head: bytes) -> bool:
    r"""Whether a JSON file, by its beginning, is an array or an indented object rather than an object a line.

    Example:
        >>> spans_lines(b'[{"text": "a"}]'), spans_lines(b'{"text": "a"}\n{"text": "b"}\n')
        (True, False)
    """
    text = head.removeprefix(codecs.BOM_UTF8).lstrip()
    return text.startswith(b"[") or re.match(rb"\{[ \t\r]*\n", text) is not None


def read_json(blocks: Iterable[bytes], path: str, options: ReadOptions) -> Iterator[ReadBatch]:
    """The documents of a JSON file: the items of an array, or objects that follow each other.

    When the blocks end in an error, or within an item, what comes before is kept and the file is a failure.

    Args:
        blocks: The file's bytes.
        path: Its name, for ids and failures, which count items from 0.
        options: How to read; the file is lost from an item on that is longer than `max_line_bytes`.
    """
    done = 0
    try:
        for batch in _batches(split_items(blocks, options.max_line_bytes)):
            numbers = np.arange(done, done + len(batch))
            done += len(batch)
            batches = documents_from_lines(batch, Places(path, numbers, join_text("item ", numbers)), options)
            del batch  # a long item is as large as its document
            yield from batches
    except Exception as error:  # noqa: BLE001 - whatever stops the stream is the file's failure
        lost = "the file is lost from here on: "
        yield ReadBatch(failures=(Failure.of(error, path, f"item {done}", context=lost),))


def first_items(blocks: Iterable[bytes], options: ReadOptions, most: int = 100) -> list[dict[str, Any]]:
    """The first objects of a file, for a look at their types."""
    items = split_items(islice(blocks, 1), options.max_line_bytes)
    return objects(next(_batches(islice(items, most)), []), options)


def _batches(items: Iterator[bytearray]) -> Iterator[list[Line]]:
    """The items, some at a time, a long one alone; before an error, those that came before it."""
    batch: list[Line] = []
    held = 0
    try:
        for item in items:
            if batch and (len(batch) == _BATCH_ITEMS or held + len(item) > BLOCK_BYTES):
                yield batch
                batch, held = [], 0
            batch.append(item)
            held += len(item)
            del item
    except Exception:
        if batch:
            yield batch
        raise
    if batch:
        yield batch
