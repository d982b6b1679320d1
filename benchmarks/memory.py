"""The most memory that the job holds, for inputs that tempt it to hold much."""

from __future__ import annotations

import json
import random
import string
import tempfile
from collections.abc import Callable
from pathlib import Path

import cyclopts
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.corpus import MB, documents, size_of, write_parquet
from benchmarks.processes import job_arguments, run_python
from benchmarks.tables import show

LIMIT_MB = 1000
DENSE = {
    "letters and digits": string.ascii_letters + string.digits,
    "Han characters": "".join(map(chr, range(0x4E00, 0x9FA5))),
    "emoji": "".join(map(chr, range(0x1F300, 0x1F64F))),
}


def main(
    *,
    corpus: Path | None = None,
    megabytes: float = 300,
    document_megabytes: float = 20,
    line_megabytes: float = 100,
    scratch: Path | None = None,
) -> None:
    """Print a table of peaks.

    Args:
        corpus: Folder with Parquet or text files; by default Python's own library.
        megabytes: Size of the text.
        document_megabytes: Size of a large document.
        line_megabytes: Size of one JSON line: of the corpus, and of characters drawn from one range, without a space
            or a stop, of which each takes a token or more.
        scratch: Folder for input and output; by default a temporary one.
    """
    texts = documents(corpus, megabytes)
    big = ["".join(documents(corpus, document_megabytes))] * max(1, int(megabytes / document_megabytes / 2))
    inputs: dict[str, tuple[list[str], Callable[[Path, list[str]], Path]]] = {
        "files of 32 MB": (texts, write_parquet),
        "a tenth of it": (documents(corpus, megabytes / 10), write_parquet),
        "one file, one row group": (texts, _one_row_group),
        "JSON Lines, one file": (texts, _json_lines),
        f"documents of {document_megabytes:g} MB, one row group": (big, _one_row_group),
    }
    for name, text in _lines(corpus, line_megabytes).items():
        inputs[f"one JSON line of {line_megabytes:g} MB, {name}"] = ([text], _json_lines)
    rows = []
    for name, (given, write) in inputs.items():
        with tempfile.TemporaryDirectory(dir=scratch) as folder:
            rows.append(_row(name, given, write(Path(folder) / "input", given), Path(folder)))
    show("Peak memory of the job", ("input", "text MB", "with text: MB", "text-free: MB", f"below {LIMIT_MB} MB"), rows)


def _lines(corpus: Path | None, megabytes: float) -> dict[str, str]:
    lines = {"mixed": "".join(documents(corpus, megabytes))}
    generator = random.Random(1)
    for name, characters in DENSE.items():
        some = "".join(generator.choices(characters, k=100_000))
        lines[name] = some * int(megabytes * MB / len(some.encode()) + 1)
    return lines


def _row(name: str, texts: list[str], pattern: Path, root: Path) -> tuple[str, ...]:
    peaks = [run_python(*job_arguments(pattern, root / "output", text=text)).peak_bytes / 1e6 for text in (True, False)]
    met = "yes" if max(peaks) < LIMIT_MB else "no"
    return (name, f"{size_of(texts):.3g}", *(f"{peak:.0f}" for peak in peaks), met)


def _one_row_group(folder: Path, texts: list[str]) -> Path:
    folder.mkdir()
    ids = [f"document-{index}" for index in range(len(texts))]
    table = pa.table({"doc_id": ids, "text": pa.array(texts, pa.large_string())})
    pq.write_table(table, folder / "documents.parquet", compression="zstd", row_group_size=len(texts))
    return folder / "documents.parquet"


def _json_lines(folder: Path, texts: list[str]) -> Path:
    folder.mkdir()
    with (folder / "documents.jsonl").open("w", encoding="utf-8") as file:
        for index, text in enumerate(texts):
            file.write(json.dumps({"doc_id": f"document-{index}", "text": text}, ensure_ascii=False) + "\n")
    return folder / "documents.jsonl"


if __name__ == "__main__":
    cyclopts.run(main)
