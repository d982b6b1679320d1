"""Finished files in a staging folder -> the output folder: complete, or untouched.

The order of things, so that whoever stops the process leaves nothing that looks like a complete output:

1. everything that may fail is done in the staging folder, a hidden folder inside the output;
2. the earlier run's manifest is removed, then its files;
3. the new files get their final names, and manifest.json is written last, itself by renaming.

A folder without manifest.json is no output. A second attempt finds what the first has moved, and goes on.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from pipeline import folders
from pipeline.manifest import (
    FAILURES_TO_READ,
    MANIFEST_NAME,
    Manifest,
    OutputFile,
    add_counts,
    manifest_bytes,
    summarize_tokens,
)
from pipeline.measured_file import MeasuredFile
from pipeline.schemas import FAILURE_SCHEMA, recorded_settings
from pipeline.shard_files import FORMATS, Format, JsonLinesShard
from pipeline.shards import Kind, Shard, ShardWriter
from pipeline.wording import plural

STAGING_PREFIX = ".llm-splitter-"
STOPPED_FAILURES = "stopped-run-failures.jsonl"
"""The failures of a run that `max_failures` stopped, which leaves the rest of the folder as it was."""

_SHARD_NAME = re.compile(rf"(chunks|failures)-\d{{5,}}-of-\d{{5,}}\.({'|'.join(FORMATS)})")

_OUTCOMES = ("documents_chunked", "documents_empty", "documents_failed")
_COUNTERS = (
    "documents_read",
    *_OUTCOMES,
    "duplicate_ids",
    "surrogates_replaced",
    "tokens",
    "text_bytes",
    "over_budget_chunks",
)


class TooManyFailures(Exception):  # noqa: N818 - named for what happened
    """More failures than `max_failures` allows; nothing was published."""


class NothingChunked(Exception):  # noqa: N818 - named for what happened
    """There were failures and not one chunk, and an earlier run's output is there: nothing was published."""


@dataclass(frozen=True)
class Output:
    """Where an output goes and what it looks like.

    Attributes:
        folder: The output folder.
        schema: The schema of all chunk files.
        file_format: Of the chunk files; failures are always Parquet, and JSON Lines for the eye.
        run: A name that no other run has.
        settings: The job's settings, for the manifest.
        max_failures: Most failure rows: a count (int), or a share of the documents read (float); None: any.
        started: When the job began, in seconds since 1970.
    """

    folder: str
    schema: pa.Schema
    file_format: Format
    run: str
    settings: Mapping[str, Any]
    max_failures: int | float | None
    started: float

    @property
    def staging(self) -> str:
        """The hidden folder in which this run writes."""
        return folders.join(self.folder, f"{STAGING_PREFIX}{self.run}")

    def format_of(self, kind: Kind) -> Format:
        """The format of the files of one kind."""
        return self.file_format if kind == "chunks" else "parquet"

    def writer(self, kind: Kind) -> ShardWriter:
        """A writer of new files of one kind into the staging folder."""
        schema = self.schema if kind == "chunks" else FAILURE_SCHEMA
        return ShardWriter(self.staging, kind, schema, self.format_of(kind))

    def path(self, name: str) -> str:
        """The final path of a file."""
        return folders.join(self.folder, name)


def publish(output: Output, shards: Iterable[Shard], counts: Mapping[str, int]) -> Manifest:
    """Make the shards the content of the output folder, in place of an earlier run's.

    Args:
        output: Where.
        shards: All files of the run.
        counts: What the shards do not show, such as `documents_empty`; see `ChunkCounts`.

    Raises:
        TooManyFailures: If there are more failures than allowed.
        NothingChunked: If nothing was chunked but failed, where an earlier output would go. After either the folder
            keeps what it held, and the failures are in `stopped-run-failures.jsonl`.
    """
    named = _named(output, _with_empty(output, list(shards)))
    moved = {shard.staged: output.path(name) for name, shard in named.items()}
    counters = count_all(named.values(), counts)
    readable = _write_readable_failures(output, [_where(shard, moved) for shard in _failures(named.values())])
    if stopped := _why_not(output, counters):
        folders.rename({readable.staged: output.path(STOPPED_FAILURES)})
        raise stopped
    named[FAILURES_TO_READ] = readable
    moved[readable.staged] = output.path(FAILURES_TO_READ)
    manifest = _manifest(output, named, counters)
    _replace(output, moved)
    _write_manifest(output, manifest)
    sweep(output.folder)
    return manifest


def sweep(folder: str) -> None:
    """Remove what this and earlier runs have left in staging folders."""
    folders.delete_below(folder, STAGING_PREFIX)


def discard(output: Output) -> None:
    """Remove what a failed run has written so far."""
    folders.delete_below(output.folder, f"{STAGING_PREFIX}{output.run}")


def exceeds(max_failures: int | float | None, counters: Mapping[str, int]) -> bool:
    """Whether there are more failure rows than allowed.

    Example:
        >>> exceeds(0.01, {"failures": 2, "documents_read": 100})
        True
    """
    if max_failures is None:
        return False
    if isinstance(max_failures, int):
        return counters["failures"] > max_failures
    return counters["failures"] > max_failures * counters["documents_read"]


def count_all(shards: Iterable[Shard], counts: Mapping[str, int]) -> dict[str, int]:
    """The counters of a whole run: what was counted on the way, and for the rest what the files hold."""
    shards = list(shards)
    rows = add_counts({shard.kind: shard.rows} for shard in shards)
    known = add_counts(shard.tallies for shard in shards) | dict(counts)
    counters = {name: known.get(name, 0) for name in _COUNTERS}
    counters["documents_read"] = known.get("documents_read", sum(map(counters.__getitem__, _OUTCOMES)))
    return counters | {"failures": rows.get("failures", 0), "chunks": rows.get("chunks", 0)}


def _with_empty(output: Output, shards: list[Shard]) -> list[Shard]:
    """The shards, and for a kind that has none a file without rows."""
    kinds: tuple[Kind, ...] = ("chunks", "failures")
    missing = [kind for kind in kinds if all(shard.kind != kind for shard in shards)]
    return [*shards, *(shard for kind in missing for shard in output.writer(kind).finish(at_least_one=True))]


def _named(output: Output, shards: Sequence[Shard]) -> dict[str, Shard]:
    """The shards by their final names, in the order of what they hold rather than of who was first."""
    return {
        f"{kind}-{number:05}-of-{len(members):05}.{output.format_of(kind)}": shard
        for kind, members in _by_kind(shards)
        for number, shard in enumerate(members)
    }


def _by_kind(shards: Sequence[Shard]) -> Iterator[tuple[Kind, list[Shard]]]:
    ordered = sorted(shards, key=lambda shard: (shard.order, shard.fingerprint))
    yield "chunks", [shard for shard in ordered if shard.kind == "chunks"]
    yield "failures", _failures(ordered)


def _failures(shards: Iterable[Shard]) -> list[Shard]:
    return [shard for shard in shards if shard.kind == "failures"]


def _where(shard: Shard, moved: Mapping[str, str]) -> str:
    """Where a shard is now: an earlier attempt may have moved it."""
    return shard.staged if folders.exists(shard.staged) else moved[shard.staged]


def _write_readable_failures(output: Output, paths: Iterable[str]) -> Shard:
    """The failure rows once more, as JSON Lines."""
    staged = folders.join(output.staging, f"{FAILURES_TO_READ}.part")
    file, rows = MeasuredFile(staged), 0
    shard = JsonLinesShard(file, FAILURE_SCHEMA)
    for path in paths:
        with folders.open_file(path) as source:
            parquet = pq.ParquetFile(source)
            for batch in parquet.iter_batches() if parquet.num_row_groups else ():  # pyarrow 18 needs one
                shard.write(pa.Table.from_batches([batch]))
                rows += batch.num_rows
    file.close()
    return Shard("failures", staged, ("", 0), rows, file.size, file.fingerprint)


def _why_not(output: Output, counters: Mapping[str, int]) -> Exception | None:
    """Why a run is not to be published, if so."""
    found = f"{plural(counters['failures'], 'failure')} with {plural(counters['documents_read'], 'document')} read"
    where = f"the failures are in {output.path(STOPPED_FAILURES)}"
    if exceeds(output.max_failures, counters):
        return TooManyFailures(
            f"{found}: more than max_failures={output.max_failures} allows. Nothing was published; {where}. "
            "Mend the input, or raise max_failures."
        )
    if counters["failures"] and not counters["documents_chunked"] and folders.exists(output.path(MANIFEST_NAME)):
        return NothingChunked(f"nothing was chunked: {found}. The earlier output stays as it was; {where}.")
    return None


def _manifest(output: Output, named: Mapping[str, Shard], counters: Mapping[str, int]) -> Manifest:
    shards = named.values()
    return Manifest(
        settings=output.settings,
        chunking=recorded_settings(output.schema),
        counters=counters,
        token_count=summarize_tokens(add_counts(shard.token_counts for shard in shards)),
        failures=add_counts(shard.reasons for shard in shards),
        files=tuple(OutputFile(name, shard.rows, shard.size, shard.fingerprint) for name, shard in named.items()),
        started=datetime.fromtimestamp(output.started, timezone.utc).isoformat(timespec="seconds"),
        seconds=round(time.time() - output.started, 3),
    )


def _replace(output: Output, moves: Mapping[str, str]) -> None:
    """Remove the earlier run's files and give the staged ones their final names."""
    staged = {folders.base_name(path) for path in folders.list_files(output.folder, below=STAGING_PREFIX)}
    pending = {path: target for path, target in moves.items() if folders.base_name(path) in staged}
    arrived = {folders.base_name(target) for path, target in moves.items() if path not in pending}
    present = {folders.base_name(path): path for path in folders.list_files(output.folder)}
    if lost := arrived - set(present):
        raise RuntimeError(f"staged files for {sorted(lost)} are gone; does another job write to {output.folder!r}?")
    stale = [path for name, path in present.items() if is_output_name(name) and name not in arrived]
    folders.delete_files([path for path in stale if folders.base_name(path) == MANIFEST_NAME])
    folders.delete_files([path for path in stale if folders.base_name(path) != MANIFEST_NAME])
    folders.rename(pending)


def is_output_name(name: str) -> bool:
    """Whether a file of that name in an output folder belongs to the output."""
    return name in (MANIFEST_NAME, FAILURES_TO_READ, STOPPED_FAILURES) or bool(_SHARD_NAME.fullmatch(name))


def _write_manifest(output: Output, manifest: Manifest) -> None:
    staged = folders.join(output.staging, f"{MANIFEST_NAME}.part")
    file = MeasuredFile(staged)
    file.write(manifest_bytes(manifest))
    file.close()
    folders.rename({staged: output.path(MANIFEST_NAME)})
