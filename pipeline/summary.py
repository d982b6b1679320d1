"""The table that ends a job: what was read, what came of it, how fast, and where it is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from rich.table import Table
from rich.text import Text

from pipeline.manifest import Manifest, TokenSummary
from pipeline.progress import elapsed

Row = tuple[str, str]

_REASONS_SHOWN = 10


def summary_table(manifest: Manifest, output: str, counted: str = "tokens") -> Table:
    """The end of a job on one screen.

    Args:
        manifest: what the finished output folder says of itself.
        output: the folder.
        counted: what `token_count` counts, in the plural.
    """
    table = Table.grid(padding=(0, 2))
    table.add_column(style="cyan", no_wrap=True)
    table.add_column(overflow="fold")
    for name, figure in _rows(manifest, output, counted):
        table.add_row(name, Text(figure, style="bold red" if _is_bad(name, figure) else ""))
    return table


def _rows(manifest: Manifest, output: str, counted: str) -> Iterator[Row]:
    counters = manifest.counters
    yield "documents read", _figure(counters, "documents_read")
    yield "  chunked", _figure(counters, "documents_chunked")
    yield "  empty", _figure(counters, "documents_empty")
    yield "  failed", _figure(counters, "documents_failed")
    if counters.get("duplicate_ids"):
        yield "  of a repeated id", f"at least {_figure(counters, 'duplicate_ids')}"
    yield from _failures(manifest.failures)
    yield "chunks", _figure(counters, "chunks")
    if counters.get("over_budget_chunks"):
        yield (
            "  over budget",
            f"{_figure(counters, 'over_budget_chunks')} (single characters of many {counted})",
        )
    yield f"{counted} in a chunk", _spread(manifest.token_count)
    yield "text", _speed(counters.get("text_bytes", 0), manifest.seconds)
    yield "output", _whereabouts(manifest, output)


def _figure(counters: Mapping[str, int], name: str) -> str:
    return f"{counters.get(name, 0):,}"


def _failures(reasons: Mapping[str, int]) -> Iterator[Row]:
    if not reasons:
        return
    yield "failures", f"{sum(reasons.values()):,}"
    ranked = sorted(reasons.items(), key=lambda reason: (-reason[1], reason[0]))
    for reason, amount in ranked[:_REASONS_SHOWN]:
        yield f"  {reason}", f"{amount:,}"
    if rest := ranked[_REASONS_SHOWN:]:
        yield f"  {len(rest)} other reasons", f"{sum(amount for _, amount in rest):,}"


def _spread(tokens: TokenSummary) -> str:
    if tokens.max is None:
        return "no chunks"
    return f"min {tokens.min:,}, median {tokens.median:,}, p95 {tokens.p95:,}, max {tokens.max:,}"


def _speed(text_bytes: int, seconds: float) -> str:
    return f"{_size(text_bytes)} in {_time(seconds)} ({text_bytes / 1e6 / max(seconds, 0.001):,.1f} MB/s)"


def _size(count: int) -> str:
    return f"{count / 1e6:,.1f} MB" if count >= 1e6 else f"{count / 1e3:,.1f} kB"


def _time(seconds: float) -> str:
    return f"{seconds:.1f} s" if seconds < 60 else elapsed(seconds)


def _whereabouts(manifest: Manifest, output: str) -> str:
    chunk_files = [file for file in manifest.files if file.name.startswith("chunks-")]
    size = sum(file.bytes for file in chunk_files)
    return f"{output} ({len(chunk_files)} chunk file{'s' * (len(chunk_files) != 1)}, {_size(size)})"


def _is_bad(name: str, figure: str) -> bool:
    return name in ("  failed", "failures", "  over budget") and figure != "0"
