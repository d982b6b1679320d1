"""The lines that end a job: what was read, what came of it, how fast, and where it is."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from rich.text import Text

from pipeline.manifest import FAILURES_TO_READ, Manifest, TokenSummary
from pipeline.progress import elapsed
from pipeline.wording import plural

_KINDS_SHOWN = 10
_FEWEST_SECONDS, _FEWEST_BYTES = 1.0, 1e6
"""Of shorter jobs the speed says nothing: they are over before they have begun."""


class Row(NamedTuple):
    """A line of a summary."""

    name: str
    figure: str
    is_bad: bool = False


def aligned(rows: Iterable[Row]) -> Text:
    """The rows in two columns; what is bad stands out on a terminal."""
    rows = list(rows)
    width = max(len(row.name) for row in rows) + 2
    pieces = [((row.name.ljust(width), "cyan"), (row.figure, "bold red" if row.is_bad else "")) for row in rows]
    return Text("\n").join(Text.assemble(*line) for line in pieces)


def summary(
    manifest: Manifest, output: str, counted: str = "tokens", examples: Mapping[str, str] | None = None
) -> Text:
    """The end of a job on one screen.

    Args:
        manifest: What the finished output folder says of itself.
        output: The folder.
        counted: What `token_count` counts, in the plural.
        examples: The first message of each kind of failure; see `first_failures`.
    """
    return aligned(_rows(manifest, output, counted, examples or {}))


def _rows(manifest: Manifest, output: str, counted: str, examples: Mapping[str, str]) -> Iterator[Row]:
    counters = manifest.counters
    yield Row("documents read", _figure(counters, "documents_read"))
    yield Row("  chunked", _figure(counters, "documents_chunked"))
    yield Row("  empty", _figure(counters, "documents_empty"))
    yield Row("  failed", _figure(counters, "documents_failed"), is_bad=counters.get("documents_failed", 0) > 0)
    if repeated := counters.get("duplicate_ids"):
        yield Row("  of a repeated id", f"{repeated:,} seen, maybe more; all are chunked (`verify` counts them)")
    if mended := counters.get("surrogates_replaced"):
        yield Row("  mended", f"{mended:,} (half a surrogate pair became U+FFFD)", is_bad=True)
    yield from _failures(manifest.failures, output, examples)
    yield Row("chunks", _figure(counters, "chunks"))
    if over := counters.get("over_budget_chunks"):
        yield Row("  over budget", f"{over:,} (single characters of many {counted})", is_bad=True)
    yield Row(f"{counted} in a chunk", _spread(manifest.token_count))
    yield Row("text", _speed(counters.get("text_bytes", 0), manifest.seconds))
    yield Row("output", _whereabouts(manifest, output))


def _figure(counters: Mapping[str, int], name: str) -> str:
    return f"{counters.get(name, 0):,}"


def _failures(kinds: Mapping[str, int], output: str, examples: Mapping[str, str]) -> Iterator[Row]:
    if not kinds:
        return
    yield Row("failures", f"{sum(kinds.values()):,}, see {output.rstrip('/')}/{FAILURES_TO_READ}", is_bad=True)
    ranked = sorted(kinds.items(), key=lambda kind: (-kind[1], kind[0]))
    for kind, amount in ranked[:_KINDS_SHOWN]:
        example = f"; {'first' if amount > 1 else 'at'} {examples[kind]}" if kind in examples else ""
        yield Row(f"  {kind}", f"{amount:,}{example}")
    if rest := ranked[_KINDS_SHOWN:]:
        yield Row(f"  {plural(len(rest), 'other kind')}", f"{sum(amount for _, amount in rest):,}")


def _spread(tokens: TokenSummary) -> str:
    if tokens.max is None:
        return "no chunks"
    return f"min {tokens.min:,}, median {tokens.median:,}, p95 {tokens.p95:,}, max {tokens.max:,}"


def _speed(text_bytes: int, seconds: float) -> str:
    taken = f"{_size(text_bytes)} in {_time(seconds)}"
    if seconds < _FEWEST_SECONDS or text_bytes < _FEWEST_BYTES:
        return taken
    return f"{taken} ({text_bytes / 1e6 / seconds:,.1f} MB/s)"


def _size(count: int) -> str:
    if count < 1000:
        return plural(count, "byte")
    return f"{count / 1e6:,.1f} MB" if count >= 1e6 else f"{count / 1e3:,.1f} kB"


def _time(seconds: float) -> str:
    return f"{seconds:.1f} s" if seconds < 60 else elapsed(seconds)


def _whereabouts(manifest: Manifest, output: str) -> str:
    chunk_files = [file for file in manifest.files if file.name.startswith("chunks-")]
    size = sum(file.bytes for file in chunk_files)
    return f"{output} ({plural(len(chunk_files), 'chunk file')}, {_size(size)})"
