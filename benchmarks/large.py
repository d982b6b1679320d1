"""The job over a corpus of gigabytes that is made for it: time, memory, counters, and every promise checked again.

The corpus comes in Parquet and JSON Lines, files of many sizes, documents of 20 bytes to some megabytes in a dozen
scripts, and now and then a line that is broken. It is made, chunked, verified and deleted in pieces of so many
gigabytes, so that it may be larger than the disk.
"""

from __future__ import annotations

import json
import random
import shutil
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import cyclopts
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.corpus import MB, documents
from benchmarks.processes import Run, job_arguments, run_python
from benchmarks.tables import show

GB = 1000 * MB
BASE_MB = 64
FILE_MB = (100, 500)
LARGE_EVERY, BROKEN_EVERY = 5_000, 2_000
BROKEN = (
    b'{"doc_id": "cut", "text": "off',
    b'{"doc_id": "number", "text": 17}',
    b'{"doc_id": "latin", "text": "\xe9"}',
)
COLUMNS = (
    "piece",
    "text GB",
    "seconds",
    "MB/s",
    "CPU s",
    "largest process MB",
    "all processes MB",
    "balanced",
    "verified",
)


@dataclass
class Piece:
    """Files with documents, and what a job over them should count."""

    folder: Path
    documents: int = 0
    broken: int = 0
    text_bytes: int = 0
    files: list[Path] = field(default_factory=list)


def main(
    *,
    gigabytes: float = 10,
    piece_gigabytes: float | None = None,
    verify_gigabytes: float | None = None,
    workers: int | None = None,
    corpus: Path | None = None,
    scratch: Path | None = None,
) -> None:
    """Print a table with a row for each piece.

    Args:
        gigabytes: Size of the text of the corpus.
        piece_gigabytes: Size of a piece; by default all of it.
        verify_gigabytes: How much is verified, from the first piece on; by default all.
        workers: Worker processes; by default the job is one process.
        corpus: Folder with Parquet or text files to make documents of; by default Python's own library.
        scratch: Folder for input and output; by default a temporary one. Twice the size of a piece must be free.
    """
    size = piece_gigabytes or gigabytes
    base = documents(corpus, BASE_MB)
    rows = []
    done = 0.0
    while done < gigabytes - 1e-6:
        wanted = min(size, gigabytes - done)
        with tempfile.TemporaryDirectory(dir=scratch) as folder:
            check_disk(Path(folder), 2 * wanted * GB)
            piece = make_piece(Path(folder) / "input", base, wanted * GB, seed=len(rows))
            verified = verify_gigabytes is None or done < verify_gigabytes
            rows.append((str(len(rows) + 1), *_row(piece, Path(folder) / "output", workers, verified=verified)))
        done += wanted
        print(f"{done:g} of {gigabytes:g} GB", file=sys.stderr, flush=True)
    notes = [
        "Parquet and JSON Lines in turn, files of 100 to 500 MB; cl100k_base, 512 tokens, overlap 64, with text.",
        f"Every {BROKEN_EVERY:,}th line is broken; balanced: documents read are those that were made, and are chunked,"
        " empty or failed, as many failed as lines are broken.",
    ]
    show("A large corpus", COLUMNS, rows, notes)


def check_disk(folder: Path, needed: float) -> None:
    """Make sure that there is room.

    Raises:
        SystemExit: If there is not.
    """
    free = shutil.disk_usage(folder).free
    if free < needed:
        sys.exit(
            f"{folder} has {free / GB:.0f} GB free, {needed / GB:.0f} are needed; give a smaller --piece-gigabytes"
        )


def make_piece(folder: Path, base: list[str], size: float, seed: int) -> Piece:
    """Files of 100 to 500 MB, or less at the end, Parquet and JSON Lines in turn."""
    folder.mkdir(parents=True)
    piece, generator = Piece(folder), random.Random(seed)
    while piece.text_bytes < size:
        wanted = min(generator.uniform(*FILE_MB) * MB, size - piece.text_bytes)
        write = _write_json_lines if len(piece.files) % 2 else _write_parquet
        write(piece, _texts(base, wanted, generator), generator)
    return piece


def _texts(base: list[str], size: float, generator: random.Random) -> Iterator[tuple[str, int]]:
    """Documents in a random order with their bytes, each with words of its own; now and then a large one."""
    made = 0
    while made < size:
        copies = 200 if generator.randrange(LARGE_EVERY) == 0 else 1
        text = f"{generator.getrandbits(64):x} " + "\n\n".join(generator.choices(base, k=copies))
        length = len(text.encode())
        made += length
        yield text, length


def _write_parquet(piece: Piece, texts: Iterator[tuple[str, int]], generator: random.Random) -> None:
    path = piece.folder / f"{len(piece.files):04}.parquet"
    kind = generator.choice([pa.string(), pa.large_string(), pa.string_view()])
    schema = pa.schema([("doc_id", pa.string()), ("text", kind), ("lang", pa.string())])
    with pq.ParquetWriter(path, schema, compression="zstd") as writer:
        for group in _groups(texts, generator.choice([4, 32, 128]) * MB):
            ids = [f"{path.name}-{piece.documents + row}" for row in range(len(group))]
            writer.write_table(pa.table([ids, group, ["mixed"] * len(group)], schema=schema))
            _count(piece, group)
    piece.files.append(path)


def _groups(texts: Iterator[tuple[str, int]], most_bytes: float) -> Iterator[list[str]]:
    group: list[str] = []
    held = 0
    for text, length in texts:
        group.append(text)
        held += length
        if held >= most_bytes:
            yield group
            group, held = [], 0
    if group:
        yield group


def _write_json_lines(piece: Piece, texts: Iterator[tuple[str, int]], generator: random.Random) -> None:
    path = piece.folder / f"{len(piece.files):04}.jsonl"
    as_ascii = generator.random() < 0.2
    with path.open("wb") as file:
        for text, _ in texts:
            record = {"doc_id": f"{path.name}-{piece.documents}", "text": text, "lang": "mixed"}
            file.write(json.dumps(record, ensure_ascii=as_ascii).encode() + b"\n")
            _count(piece, [text])
            if piece.documents % BROKEN_EVERY == 0:
                file.write(generator.choice(BROKEN) + b"\n")
                piece.broken += 1
    piece.files.append(path)


def _count(piece: Piece, texts: list[str]) -> None:
    piece.documents += len(texts)
    piece.text_bytes += sum(len(text.encode()) for text in texts)


def _row(piece: Piece, output: Path, workers: int | None, *, verified: bool) -> tuple[str, ...]:
    run = _run(piece, output, workers)
    manifest = json.loads((output / "manifest.json").read_text(encoding="utf-8"))
    size = piece.text_bytes / GB
    measured = (
        f"{size:.2f}",
        f"{run.cost.wall:.0f}",
        f"{1000 * size / run.cost.wall:.0f}",
        f"{run.cost.cpu:.0f}",
        f"{run.peak_bytes / MB:.0f}",
        f"{run.total_bytes / MB:.0f}",
        "yes" if is_balanced(manifest["counters"], piece) else "no",
    )
    print(*measured, file=sys.stderr, flush=True)  # before what may take as long again
    return (*measured, _verified(output) if verified else "left out")


def _run(piece: Piece, output: Path, workers: int | None) -> Run:
    beam = ["--runner=DirectRunner", "--direct_running_mode=multi_processing", f"--direct_num_workers={workers}"]
    options = ["--quiet", "--metadata-columns", "lang", *(["--", *beam] if workers else [])]
    return run_python(*job_arguments(piece.folder, output, options=options))


def is_balanced(counters: dict[str, Any], piece: Piece) -> bool:
    """Whether all documents were read, and each is chunked, empty or failed; none but the broken ones failed."""
    ends = sum(counters[f"documents_{end}"] for end in ("chunked", "empty", "failed"))
    return (
        counters["documents_read"] == ends == piece.documents + piece.broken
        and counters["documents_failed"] == counters["failures"] == piece.broken
    )


def _verified(output: Path) -> str:
    try:
        run = run_python("-m", "pipeline", "verify", str(output))
    except RuntimeError as error:
        return f"no: {' '.join(str(error).split())}"
    return f"in {run.cost.wall:.0f} s, {run.peak_bytes / MB:.0f} MB"


if __name__ == "__main__":
    cyclopts.run(main)
