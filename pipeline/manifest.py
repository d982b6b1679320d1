"""manifest.json: what a finished output folder holds and how it was made. Pure; no Beam."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import orjson

MANIFEST_NAME = "manifest.json"
MANIFEST_VERSION = 1
FAILURES_TO_READ = "failures.jsonl"


@dataclass(frozen=True)
class OutputFile:
    """A file of the output: its name in the folder, rows, bytes, and the blake2b-128 of its bytes."""

    name: str
    rows: int
    bytes: int
    fingerprint: str


@dataclass(frozen=True)
class TokenSummary:
    """The distribution of `token_count` over all chunks; all None where there are no chunks."""

    min: int | None = None
    median: int | None = None
    p95: int | None = None
    max: int | None = None


@dataclass(frozen=True)
class Manifest:
    """What a finished output folder holds.

    Attributes:
        settings: The job's settings by name.
        chunking: Every split option, the tokenizer and its version, as in the files' schema metadata.
        counters: Sums over the whole job; `documents_read = documents_chunked + documents_empty +
            documents_failed`.
        token_count: Distribution of tokens (or parts) in a chunk.
        failures: Number of failure rows by `stage: error`.
        files: The files, in order.
        started: When the job began, ISO 8601, UTC.
        seconds: How long it took up to here.
        version: Of this file's layout.
    """

    settings: Mapping[str, Any]
    chunking: Mapping[str, Any]
    counters: Mapping[str, int]
    token_count: TokenSummary
    failures: Mapping[str, int]
    files: tuple[OutputFile, ...]
    started: str
    seconds: float
    version: int = field(default=MANIFEST_VERSION)


def manifest_bytes(manifest: Manifest) -> bytes:
    """The manifest as the content of manifest.json."""
    return orjson.dumps(asdict(manifest), default=str, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)


def parse_manifest(content: bytes) -> Manifest:
    """The manifest that manifest.json holds.

    Raises:
        ValueError: If the content is no manifest, or one of a later version.
    """
    try:
        fields = orjson.loads(content)
        if fields["version"] != MANIFEST_VERSION:
            raise ValueError(
                f"the manifest has version {fields['version']!r}, this program reads {MANIFEST_VERSION}; "
                "read it with the llm-splitter that wrote it, or run the job again"
            )
        files = tuple(OutputFile(**entry) for entry in fields.pop("files"))
        summary = TokenSummary(**fields.pop("token_count"))
        return Manifest(files=files, token_count=summary, **fields)
    except (KeyError, TypeError, orjson.JSONDecodeError) as error:
        raise ValueError(f"not a manifest of llm-splitter: {error!r}") from error


def summarize_tokens(counts: Mapping[int, int]) -> TokenSummary:
    """The distribution behind a histogram; the median and p95 are values that occur (nearest rank).

    Example:
        >>> summarize_tokens({10: 1, 512: 3})
        TokenSummary(min=10, median=512, p95=512, max=512)
    """
    if not counts:
        return TokenSummary()
    return TokenSummary(min(counts), _quantile(counts, 0.5), _quantile(counts, 0.95), max(counts))


def add_counts(counts: Iterable[Mapping[Any, int]]) -> dict[Any, int]:
    """The sum of several counts, by name.

    Example:
        >>> add_counts([{"chunks": 2}, {"chunks": 3, "tokens": 9}])
        {'chunks': 5, 'tokens': 9}
    """
    total: Counter[Any] = Counter()
    for each in counts:
        total.update(each)
    return dict(total)


def _quantile(counts: Mapping[int, int], share: float) -> int:
    rank = share * sum(counts.values())
    seen = 0
    for value in sorted(counts):
        seen += counts[value]
        if seen >= rank:
            return value
    return max(counts)
