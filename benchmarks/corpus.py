"""The text that is measured on: a folder's, or what every Python installation carries; of any size wanted."""

from __future__ import annotations

import random
import sysconfig
from collections.abc import Iterator
from itertools import cycle
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

MB = 1_000_000

_SEED = 7
_SCRIPTS = (
    ("Greek", 0x3B1, 0x3C9, " ", ". "),
    ("Cyrillic", 0x430, 0x44F, " ", ". "),
    ("Arabic", 0x627, 0x64A, " ", ". "),
    ("Devanagari", 0x905, 0x939, " ", "। "),
    ("Thai", 0xE01, 0xE2E, "", " "),
    ("Kana", 0x3042, 0x3093, "", "。"),
    ("Han", 0x4E00, 0x6FFF, "", "。"),
    ("Hangul", 0xAC00, 0xC500, " ", ". "),
    ("Emoji", 0x1F600, 0x1F64F, " ", "! "),
)


def documents(folder: Path | None, megabytes: float) -> list[str]:
    """Documents of about so many megabytes of UTF-8 together, in a mixed order that is always the same.

    Args:
        folder: Parquet files with a column `text`, and text files; by default Python's own library.
        megabytes: Repeated, or cut off, to this size.

    Raises:
        ValueError: If the folder holds no text.
    """
    found = [text for text in (_texts(folder) if folder else _default_texts()) if text.strip()]
    if not found:
        raise ValueError(f"{folder} holds no Parquet file with a column 'text', and no text file")
    random.Random(_SEED).shuffle(found)
    return list(_up_to(found, megabytes * MB))


def size_of(texts: list[str]) -> float:
    """Megabytes of UTF-8."""
    return sum(len(text.encode()) for text in texts) / MB


def write_parquet(folder: Path, texts: list[str], *, file_megabytes: float = 32) -> Path:
    """The documents in Parquet files with columns `doc_id` and `text`, one row group each; their pattern."""
    folder.mkdir(parents=True, exist_ok=True)
    for number, (first, group) in enumerate(_files(texts, file_megabytes * MB)):
        ids = [f"document-{first + index}" for index in range(len(group))]
        table = pa.table({"doc_id": ids, "text": pa.array(group, pa.large_string())})
        pq.write_table(table, folder / f"documents-{number:04}.parquet", compression="zstd")
    return folder / "documents-*.parquet"


def _files(texts: list[str], most_bytes: float) -> Iterator[tuple[int, list[str]]]:
    group: list[str] = []
    held = first = 0
    for index, text in enumerate(texts):
        group.append(text)
        held += len(text.encode())
        if held >= most_bytes:
            yield first, group
            group, held, first = [], 0, index + 1
    if group:
        yield first, group


def _up_to(texts: list[str], most_bytes: float) -> Iterator[str]:
    held = 0
    for text in cycle(texts):
        encoded = text.encode()
        if held + len(encoded) >= most_bytes:
            yield encoded[: int(most_bytes) - held].decode(errors="ignore") or " "
            return
        held += len(encoded)
        yield text


def _texts(folder: Path) -> Iterator[str]:
    for path in sorted(folder.iterdir()):
        if path.suffix == ".parquet":
            yield from pq.read_table(path, columns=["text"]).column("text").drop_null().to_pylist()
        elif path.is_file():
            yield path.read_text(encoding="utf-8", errors="ignore")


def _default_texts() -> Iterator[str]:
    """Sources and help topics of the standard library, and made-up text in other scripts."""
    library = Path(sysconfig.get_path("stdlib"))
    for path in sorted([*library.glob("*.py"), *library.glob("*/*.py")]):
        if "site-packages" not in path.parts:
            yield path.read_text(encoding="utf-8", errors="ignore")
    generator = random.Random(_SEED)
    for script in _SCRIPTS * 20:
        yield _made_up(generator, *script[1:])


def _made_up(generator: random.Random, low: int, high: int, space: str, stop: str) -> str:
    """Paragraphs of random words from one range of characters."""
    words = ["".join(chr(generator.randint(low, high)) for _ in range(generator.randint(1, 8))) for _ in range(500)]
    sentences = (space.join(generator.choices(words, k=12)) + stop for _ in range(8))
    return "\n\n".join("".join(sentences) for _ in range(12)) if space else "".join(sentences)
