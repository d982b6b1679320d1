"""Whether time grows with the text, and no faster: ten times the data, and one document as large as a thousand."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import cyclopts

from benchmarks.corpus import MB, documents, size_of, write_parquet
from benchmarks.processes import job_arguments, process_work
from benchmarks.tables import COMPARISON, Target, comparison, show
from benchmarks.timing import Clock, Cost, Work, interleaved, timed
from llm_splitter import Chunker, SplitOptions, TextBatch

SPLITTERS = ("cl100k_base", "words", "sentences", "lines", "characters")
TENFOLD = Target("at most", 10.5)
ONE_DOCUMENT = Target("at most", 1.5)


def main(
    *,
    corpus: Path | None = None,
    megabytes: float = 300,
    document_megabytes: float = 20,
    repeats: int = 3,
    cpu_time: bool = False,
    scratch: Path | None = None,
) -> None:
    """Print a table: in memory for each splitter, and for the job.

    Args:
        corpus: Folder with Parquet or text files; by default Python's own library.
        megabytes: Size of the larger corpus of the job; in memory, a tenth of it is the larger one.
        document_megabytes: Size of the one large document.
        repeats: How often all is run in turn.
        cpu_time: Judge by processor time instead of time.
        scratch: Folder for input and output; by default a temporary one.
    """
    clock: Clock = "cpu" if cpu_time else "wall"
    rows = [
        *_tenfold_in_memory(documents(corpus, megabytes / 10), repeats, clock),
        *_one_document_in_memory(documents(corpus, document_megabytes), repeats, clock),
    ]
    with tempfile.TemporaryDirectory(dir=scratch) as folder:
        rows += _job_rows(corpus, megabytes, document_megabytes, Path(folder), repeats=repeats, clock=clock)
    notes = [
        "Chunks of 512 parts, overlap 64. The job is timed as a process, from the start of Python to its end.",
    ]
    show("Growth", COMPARISON, rows, notes)


def _tenfold_in_memory(texts: list[str], repeats: int, clock: Clock) -> Iterator[tuple[str, ...]]:
    tenth = texts[: max(1, len(texts) // 10)]
    # by documents, so that both hold the same mixture; the target is for their true ratio of sizes
    times = size_of(texts) / size_of(tenth)
    target = Target("at most", round(TENFOLD.bound * times / 10, 2))
    name = f"{size_of(texts):.3g} MB"
    for splitter in SPLITTERS:
        costs = _chunk_costs(splitter, [texts, tenth], repeats)
        yield comparison(
            f"{splitter}, {name}", f"{size_of(tenth):.3g} MB", size_of(texts), costs, target=target, clock=clock
        )


def _one_document_in_memory(texts: list[str], repeats: int, clock: Clock) -> Iterator[tuple[str, ...]]:
    whole = "".join(texts)
    pieces = _in_pieces(whole, 1000)
    for splitter in SPLITTERS:
        costs = _chunk_costs(splitter, [[whole], pieces], repeats)
        name = f"{splitter}, one document of {size_of([whole]):.3g} MB"
        yield comparison(name, f"in {len(pieces)} documents", size_of([whole]), costs, target=ONE_DOCUMENT, clock=clock)


def _in_pieces(text: str, count: int) -> list[str]:
    length = -(-len(text) // count)
    return [text[start : start + length] for start in range(0, len(text), length)]


def _chunk_costs(splitter: str, corpora: list[list[str]], repeats: int) -> tuple[list[Cost], list[Cost]]:
    chunker = Chunker(SplitOptions(512, 64, splitter=splitter))
    batches = [TextBatch.from_strings(texts) for texts in corpora]
    chunker.chunk(batches[0])  # the first run takes memory that later ones have
    first, second = interleaved(
        {str(number): timed(lambda batch=batch: chunker.chunk(batch)) for number, batch in enumerate(batches)},  # type: ignore[misc]
        repeats,
    ).values()
    return first, second


def _job_rows(
    corpus: Path | None, megabytes: float, document_megabytes: float, root: Path, *, repeats: int, clock: Clock
) -> Iterator[tuple[str, ...]]:
    whole = "".join(documents(corpus, document_megabytes))
    inputs = {
        "all": documents(corpus, megabytes),
        "tenth": documents(corpus, megabytes / 10),
        "one": [whole],
        "pieces": _in_pieces(whole, 1000),
    }
    works = {name: _job(root / name, texts) for name, texts in inputs.items()}
    costs = interleaved(works, repeats)
    pair = (costs["all"], costs["tenth"])
    yield comparison(f"job, {megabytes:g} MB", f"{megabytes / 10:g} MB", megabytes, pair, target=TENFOLD, clock=clock)
    size = len(whole.encode()) / MB
    pair = (costs["one"], costs["pieces"])
    yield comparison(
        f"job, one document of {size:.0f} MB", "in 1000 documents", size, pair, target=ONE_DOCUMENT, clock=clock
    )


def _job(folder: Path, texts: list[str]) -> Work:
    pattern = write_parquet(folder, texts)
    output = folder / "output"
    work = process_work(*job_arguments(pattern, output))

    def run() -> Cost:
        shutil.rmtree(output, ignore_errors=True)
        return work()

    return run


if __name__ == "__main__":
    cyclopts.run(main)
