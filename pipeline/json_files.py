"""JSON files whose objects span lines, such as one large array -> document tables. No Beam.

Such a file is held in memory as a whole, which `max_line_bytes` bounds; JSON Lines have no such limit.
"""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

import numpy as np

from pipeline.compression import read_all
from pipeline.documents import Failure, Places, ReadBatch, ReadOptions, join_text
from pipeline.jsonl_files import documents_from_lines, objects
from pipeline.lines import Line

_BATCH_ITEMS = 1000
_GAP = re.compile(r"[\s,]*")
_DECODER = json.JSONDecoder()


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

    From an item that is not JSON on, the file is lost: nobody knows where the next one begins.

    Args:
        blocks: The file's bytes.
        path: Its name, for ids and failures, which count items from 0.
        options: How to read; `max_line_bytes` bounds the whole file.

    Raises:
        ValueError: If the file is too long, or not UTF-8.
    """
    items = _items(read_all(blocks, options.max_line_bytes).decode("utf-8-sig"))
    done = 0
    try:
        for batch in _batches(items):
            numbers = np.arange(done, done + len(batch))
            yield from documents_from_lines(batch, Places(path, numbers, join_text("item ", numbers)), options)
            done += len(batch)
    except (ValueError, RecursionError) as error:
        lost = "the file is lost from here on: "
        yield ReadBatch(failures=(Failure.of(error, path, f"item {done}", context=lost),))


def first_items(blocks: Iterable[bytes], options: ReadOptions, most: int = 100) -> list[dict[str, Any]]:
    """The first objects of a file, for a look at their types."""
    items = _items(next(iter(blocks), b"").decode("utf-8-sig", "ignore"))
    return objects(next(_batches(islice(items, most))), options)


def _batches(items: Iterator[bytes]) -> Iterator[list[Line]]:
    """The items, some at a time; before an error, those that came before it."""
    batch: list[Line] = []
    try:
        for item in items:
            batch.append(item)
            if len(batch) == _BATCH_ITEMS:
                yield batch
                batch = []
    except (ValueError, RecursionError):
        yield batch
        raise
    yield batch


def _items(text: str) -> Iterator[bytes]:
    """Each item of the arrays, and each value outside of them, as it is written.

    Raises:
        ValueError: If what comes next is not JSON.
    """
    in_array, position = False, _skip_gap(text, 0)
    while position < len(text):
        if text[position] == "[]"[in_array]:
            in_array = not in_array
            position = _skip_gap(text, position + 1)
            continue
        end = _DECODER.raw_decode(text, position)[1]
        yield text[position:end].encode()
        position = _skip_gap(text, end)
    if in_array:
        raise ValueError("the array is not closed")


def _skip_gap(text: str, position: int) -> int:
    gap = _GAP.match(text, position)
    return gap.end() if gap else position
