"""Chunking in memory: against the tokenizer alone, the npm package, and other Python packages."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cyclopts

from benchmarks import npm
from benchmarks.corpus import documents, size_of
from benchmarks.peers import Peer, installed_peers, missing_note
from benchmarks.tables import COMPARISON, Target, comparison, show
from benchmarks.timing import Clock, interleaved, timed
from benchmarks.vocabulary import provide_vocabularies
from llm_splitter import Chunker, SplitOptions, TextBatch, split

ENCODING = "cl100k_base"
SIZE, OVERLAP = 512, 64


@dataclass(frozen=True)
class Setting:
    """A way to split, and what it may cost in raw batch encodes."""

    name: str
    options: dict[str, Any]
    target: Target


SETTINGS = (
    Setting("character", {"strict_size": False}, Target("at most", 1.15)),
    Setting("character, size promise kept", {}, Target("at most", 1.5)),
    Setting("paragraph", {"chunk_strategy": "paragraph", "strict_size": False}, Target("at most", 1.3)),
    Setting("paragraph, size promise kept", {"chunk_strategy": "paragraph"}, Target("at most", 1.7)),
)


def main(
    *,
    corpus: Path | None = None,
    megabytes: float = 32,
    peer_megabytes: float = 2,
    repeats: int = 7,
    cpu_time: bool = False,
    npm_folder: Path | None = None,
) -> None:
    """Print three tables: against raw batch encode, against npm, and against other packages.

    Args:
        corpus: Folder with Parquet or text files; by default Python's own library.
        megabytes: Size of the text.
        peer_megabytes: Size of the text for other packages, some of which are slow.
        repeats: How often all is run in turn.
        cpu_time: Judge by processor time instead of time.
        npm_folder: Where the npm package is, or is to be installed; by default a temporary folder.
    """
    clock: Clock = "cpu" if cpu_time else "wall"
    texts = documents(corpus, megabytes)
    encode_table(texts, repeats, clock)
    with tempfile.TemporaryDirectory() as folder:
        npm_table(texts, repeats, clock, npm_folder or Path(folder) / "npm")
        provide_vocabularies(Path(folder) / "vocabularies")
        peer_table(documents(corpus, peer_megabytes), max(1, repeats // 3), clock)


def encode_table(texts: list[str], repeats: int, clock: Clock) -> None:
    """Token chunks as arrays, against the engine's own ids of the same documents."""
    rows = list(_encode_rows(texts, repeats, clock, 0, "all cores"))
    notes = [
        f"{ENCODING}, {SIZE} tokens, overlap {OVERLAP}, {len(texts)} documents of {size_of(texts):.3g} MB; a ratio is "
        "our cost in costs of `encode_batch` alone.",
    ]
    if hasattr(os, "sched_setaffinity"):
        with _one_core():
            rows += _encode_rows(texts, repeats, clock, 1, "one core")
    else:
        notes.append("Skipped: one core, since this system does not let a process choose its cores.")
    show("Token chunks in memory", COMPARISON, rows, notes)


def _encode_rows(texts: list[str], repeats: int, clock: Clock, threads: int, cores: str) -> Iterator[tuple[str, ...]]:
    import quicktok

    encoded = [text.encode() for text in texts]
    batch, tokenizer = TextBatch.from_strings(texts), quicktok.get_encoding(ENCODING)
    works = {"raw": timed(lambda: tokenizer.encode_batch(encoded, threads=threads))}
    for setting in SETTINGS:
        chunker = Chunker(SplitOptions(SIZE, OVERLAP, splitter=ENCODING, **setting.options))
        works[setting.name] = timed(lambda chunker=chunker: chunker.chunk(batch))  # type: ignore[misc]
    costs = interleaved(works, repeats)
    for setting in SETTINGS:
        pair = (costs[setting.name], costs["raw"])
        yield comparison(setting.name, f"raw encode, {cores}", size_of(texts), pair, target=setting.target, clock=clock)


@contextmanager
def _one_core() -> Iterator[None]:
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(cores)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, cores)


def npm_table(texts: list[str], repeats: int, clock: Clock, folder: Path) -> None:
    """Words, sentences, lines and characters against the npm package, one thread each."""
    title = f"Splitters without a tokenizer, against npm {npm.PACKAGE}"
    try:
        reason = npm.why_not()
        entry = Path() if reason else npm.install(folder)
    except RuntimeError as error:
        reason = str(error)
    if reason:
        show(title, COMPARISON, [], [f"Skipped: {reason}."])
        return
    with tempfile.TemporaryDirectory() as scratch, npm.node(entry, texts, SIZE, OVERLAP, Path(scratch)) as theirs:
        rows = [row for name in npm.SPLITTERS for row in _npm_rows(texts, name, theirs[name], repeats, clock)]
    notes = [
        "Theirs: the sample splitters of its documentation. A ratio is their cost in ours: strings in, arrays of "
        "offsets out; and strings in, `Chunk` objects with text out, as theirs.",
    ]
    show(title, COMPARISON, rows, notes)


def _npm_rows(texts: list[str], name: str, theirs: Any, repeats: int, clock: Clock) -> Iterator[tuple[str, ...]]:
    chunker = Chunker(SplitOptions(SIZE, OVERLAP, splitter=name))
    works = {
        "arrays": timed(lambda: chunker.chunk(TextBatch.from_strings(texts))),
        "npm": theirs,
        "objects": timed(
            lambda: [split(text, chunk_size=SIZE, chunk_overlap=OVERLAP, splitter=name) for text in texts]
        ),
    }
    theirs()  # lets Node compile
    costs = interleaved(works, repeats)
    for kind in ("arrays", "objects"):
        pair = (costs[kind], costs["npm"])
        yield comparison(
            f"{name}, {kind}", "npm on Node", size_of(texts), pair, target=Target("at least", 5), clock=clock
        )


def peer_table(texts: list[str], repeats: int, clock: Clock) -> None:
    """Token chunks with the size promise kept against other packages."""
    batch = TextBatch.from_strings(texts)
    chunker = Chunker(SplitOptions(SIZE, OVERLAP, splitter=ENCODING))
    works = {"ours": timed(lambda: chunker.chunk(batch))}
    for peer in installed_peers():
        works[peer.name] = timed(_over(texts, peer))
    works["ours"]()  # the first run takes memory that later ones have
    costs = interleaved(works, repeats)
    rows = [
        comparison(_STRICT, name, size_of(texts), (costs["ours"], theirs), target=Target("at least", 1), clock=clock)
        for name, theirs in costs.items()
        if name != "ours"
    ]
    notes = [f"{size_of(texts):.3g} MB; a ratio is their cost in ours.", *missing_note()]
    show("Token chunks in memory, against other packages", COMPARISON, rows, notes)


_STRICT = "character, size promise kept"


def _over(texts: list[str], peer: Peer) -> Any:
    cut = peer.make(ENCODING, SIZE, OVERLAP)
    return lambda: [cut(text) for text in texts]


if __name__ == "__main__":
    cyclopts.run(main)
