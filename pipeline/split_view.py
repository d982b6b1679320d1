"""The chunks of one text, shown to a person who is deciding on settings, or as JSON Lines to a program."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import orjson
from rich.console import Console
from rich.text import Text

from llm_splitter import Chunker, TextBatch
from pipeline.wording import plural

# Control characters, which a terminal would obey, become their pictures; tabs and line feeds stay.
_PICTURES = {code: 0x2400 + code for code in range(32) if chr(code) not in "\t\n"} | dict.fromkeys(
    (*range(0x7F, 0xA0), *range(0x202A, 0x202F), *range(0x2066, 0x206A)), 0x2426
)
_TAIL = str.maketrans({"\n": "↵", " ": "·", "\t": "→"})
_MARKS = ("⟪", "⟫")
_INDENT = "  "


@dataclass(frozen=True)
class ShownChunk:
    """One chunk and how much of it the chunk before it holds too.

    Attributes:
        start: Offset of the first character, in the offset unit of the settings.
        end: Offset just behind the last one.
        token_count: Tokens (or words, lines, ...) in the chunk.
        repeated: The beginning of the text that the previous chunk ends with.
        fresh: The rest of the text.
    """

    chunk_index: int
    start: int
    end: int
    token_count: int
    repeated: str
    fresh: str


def shown_chunks(text: str, chunker: Chunker) -> Iterator[ShownChunk]:
    """The chunks of a text, in order."""
    batch = TextBatch.from_strings([text])
    arrays = chunker.chunk(batch)
    # A chunk's new part begins where the chunk before it ended.
    fresh_start = np.maximum(arrays.byte_start, np.concatenate(([0], arrays.byte_end[:-1])))
    columns = (arrays.start, arrays.end, arrays.token_count, arrays.byte_start, fresh_start, arrays.byte_end)
    rows = zip(*(column.tolist() for column in columns), strict=True)
    for index, (start, end, tokens, left, middle, right) in enumerate(rows):
        repeated, fresh = (batch.data[a:b].tobytes().decode() for a, b in ((left, middle), (middle, right)))
        yield ShownChunk(index, start, end, tokens, repeated, fresh)


def json_line(chunk: ShownChunk) -> str:
    """A chunk as one line of JSON, under the names of chunk rows."""
    row = {
        "chunk_index": chunk.chunk_index,
        "start": chunk.start,
        "end": chunk.end,
        "token_count": chunk.token_count,
        "text": chunk.repeated + chunk.fresh,
    }
    return orjson.dumps(row).decode()


def print_chunks(chunks: Sequence[ShownChunk], counted: str, console: Console) -> None:
    """Show chunks under headings with their offsets; text that is repeated stands in brackets and in colour.

    Args:
        chunks: all chunks of the text.
        counted: what `token_count` counts, in the plural: tokens, words, ...
        console: where to.
    """
    for chunk in chunks:
        console.print(_heading(chunk, counted))
        for line in _body(chunk).wrap(console, max(console.width - len(_INDENT), 20)):
            console.print(Text(_INDENT).append_text(line), soft_wrap=True)
        console.print()
    console.print(_closing([chunk.token_count for chunk in chunks], counted), style="bold", highlight=False)


def _heading(chunk: ShownChunk, counted: str) -> Text:
    repeated = f", {plural(len(chunk.repeated), 'character')} repeated" if chunk.repeated else ""
    return Text.assemble(
        (f"chunk {chunk.chunk_index}", "bold cyan"),
        (f"  [{chunk.start}:{chunk.end}]", "cyan"),
        (f"  {plural(chunk.token_count, counted.removesuffix('s'))}{repeated}", "dim"),
    )


def _body(chunk: ShownChunk) -> Text:
    body = Text(overflow="fold")
    if chunk.repeated:
        body.append(_visible(chunk.repeated).join(_MARKS), "black on yellow")
    return body.append_text(_with_tail(_visible(chunk.fresh)))


def _visible(text: str) -> str:
    return text.translate(_PICTURES)


def _with_tail(text: str) -> Text:
    """White space at the very end belongs to the chunk, so it gets marks that can be seen."""
    kept = text.rstrip(" \t\n")
    return Text.assemble(kept, (text[len(kept) :].translate(_TAIL), "dim"))


def _closing(counts: Sequence[int], counted: str) -> str:
    if not counts:
        return "0 chunks: the text is empty or blank"
    spread = f"min {min(counts)}, median {int(np.median(counts))}, max {max(counts)}"
    return f"{plural(len(counts), 'chunk')}; {counted} in a chunk: {spread}"
