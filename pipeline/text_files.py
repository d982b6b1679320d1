"""Plain text files -> document tables: one document a file. No Beam."""

from __future__ import annotations

import codecs
from collections.abc import Iterable, Iterator

import numpy as np
import pyarrow as pa

from pipeline.compression import read_all
from pipeline.conversion import Converted, text_rows
from pipeline.documents import Places, ReadBatch, ReadOptions, assemble, printable


def read_text(blocks: Iterable[bytes], path: str, options: ReadOptions) -> Iterator[ReadBatch]:
    """The one document of a text file; its id is the path, its metadata null.

    The text is the file's content as it stands, line ends too, without a byte order mark at its beginning.
    A file that is not UTF-8 is a failed document.

    Args:
        blocks: The file's bytes.
        path: Its name.
        options: How to read; `max_line_bytes` bounds the whole file.

    Raises:
        ValueError: If the file is too long.
    """
    content = read_all(blocks, options.max_line_bytes)
    if content.startswith(codecs.BOM_UTF8):
        del content[: len(codecs.BOM_UTF8)]
    text = pa.LargeBinaryArray.from_buffers(
        pa.large_binary(), 1, [None, pa.py_buffer(np.array([0, len(content)], np.int64)), pa.py_buffer(content)]
    )
    nothing = [Converted(pa.nulls(1, field.type), {}) for field in options.columns.metadata]
    ids = Converted(pa.array([printable(path)]), {})
    places = Places(path, np.zeros(1, np.int64), pa.array([""]))
    yield assemble(options.columns, places, text_rows(text, "text", binary_text=True), ids, nothing)
