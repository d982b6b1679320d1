"""Whether chunks keep the budget, lead back to the source and lose nothing: ours, and those of other packages."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from itertools import pairwise, product
from pathlib import Path

import cyclopts
import tiktoken

from benchmarks.corpus import documents, size_of
from benchmarks.faults import COLUMNS, Faults
from benchmarks.peers import Peer, Piece, installed_peers, missing_note
from benchmarks.tables import show
from benchmarks.vocabulary import ENCODINGS, provide_vocabularies
from llm_splitter import Chunker, SplitOptions, TextBatch

SIZES = ((16, 0), (16, 8), (64, 0), (64, 32), (512, 0), (512, 64))
"""Chunk sizes and overlaps in tokens; an overlap of 64 needs a size above it."""


def main(*, corpus: Path | None = None, megabytes: float = 32, peer_megabytes: float = 4) -> None:
    """Print a table of faults for us, and one for other packages.

    Args:
        corpus: Folder with Parquet or text files; by default Python's own library.
        megabytes: Size of the text.
        peer_megabytes: Size of the text for other packages, some of which are slow.
    """
    with tempfile.TemporaryDirectory() as folder:
        provide_vocabularies(Path(folder))
        our_table(documents(corpus, megabytes))
        peer_table(documents(corpus, peer_megabytes))


def our_table(texts: list[str]) -> None:
    """Ours, for both encodings and strategies and all sizes."""
    rows = []
    for encoding, strategy, (size, overlap) in product(ENCODINGS, ("character", "paragraph"), SIZES):
        options = SplitOptions(size, overlap, strategy, encoding)  # type: ignore[arg-type]
        faults = our_faults(texts, options)
        rows.append((f"{encoding}, {strategy}, {size}/{overlap}", *faults.counts()))
    notes = [f"{size_of(texts):.3g} MB; sizes are encoded again by tiktoken.", _LEADING]
    show("Faults in our chunks", ("chunks of", *COLUMNS), rows, notes)


_LEADING = (
    "White space that leads a document belongs to no chunk in paragraph mode, by design. A single character that "
    "alone needs more tokens than a chunk may have is not counted as over budget."
)


def our_faults(texts: list[str], options: SplitOptions) -> Faults:
    """What is wrong with our chunks of these documents."""
    faults = Faults()
    found: list[str] = []
    for text, pieces in our_pieces(texts, Chunker(options)):
        faults.add(text, pieces)
        found += [piece.text for piece in pieces]
    faults.add_sizes(found, options.chunk_size, tiktoken.get_encoding(str(options.splitter)))
    return faults


def our_pieces(texts: list[str], chunker: Chunker) -> Iterator[tuple[str, list[Piece]]]:
    """Each document with its chunks, their text cut from the buffer and not by their offsets."""
    batch = TextBatch.from_strings(texts)
    arrays = chunker.chunk(batch)
    data = batch.data.tobytes()
    ranges = list(zip(arrays.byte_start.tolist(), arrays.byte_end.tolist(), arrays.start.tolist(), strict=True))
    for text, (first, last) in zip(texts, pairwise(arrays.doc_offsets.tolist()), strict=True):
        yield text, [Piece(data[start:end].decode(), offset) for start, end, offset in ranges[first:last]]


def peer_table(texts: list[str]) -> None:
    """Other packages and ours side by side, on less text."""
    rows = []
    for encoding in ENCODINGS:
        ours = our_faults(texts, SplitOptions(512, 64, splitter=encoding))
        rows.append((f"ours, {encoding}", *ours.counts()))
        for peer in installed_peers():
            rows.append((f"{peer.name}, {encoding}", *peer_faults(texts, peer, encoding, 512, 64).counts()))
    notes = [f"{size_of(texts):.3g} MB, 512 tokens, overlap 64 where there is one.", *missing_note()]
    show("Faults in the chunks of other packages", ("chunks of", *COLUMNS), rows, notes)


def peer_faults(texts: list[str], peer: Peer, encoding: str, size: int, overlap: int) -> Faults:
    """What is wrong with a peer's chunks of these documents."""
    faults = Faults()
    cut = peer.make(encoding, size, overlap)
    found: list[str] = []
    for text in texts:
        try:
            pieces = cut(text)
        except Exception:  # noqa: BLE001 - that a document fails is what is counted
            faults.failed += 1
            continue
        faults.add(text, pieces)
        found += [piece.text for piece in pieces]
    faults.add_sizes(found, size, tiktoken.get_encoding(encoding))
    return faults


if __name__ == "__main__":
    cyclopts.run(main)
