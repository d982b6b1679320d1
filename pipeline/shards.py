"""Tables -> files in a staging folder, a new file when one has grown large, and what each file holds."""

from __future__ import annotations

import contextlib
import uuid
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pipeline import folders
from pipeline.measured_file import MeasuredFile
from pipeline.schemas import DOC_ID, POSITION, SOURCE, failed_documents
from pipeline.shard_files import Format, open_shard

Kind = Literal["chunks", "failures"]

FILE_BYTES = 256 << 20
"""A file that has reached this size is closed, and a new one begun."""


@dataclass(frozen=True)
class Shard:
    """A finished file in the staging folder.

    Attributes:
        kind: What its rows are.
        staged: Its path.
        order: What the files of one kind are put in order by: where the first row comes from.
        rows: Number of rows.
        size: Bytes.
        fingerprint: blake2b-128 of the file's bytes, in hexadecimal.
        tallies: Sums over the rows, for the manifest.
        token_counts: How many chunks have how many tokens.
        reasons: How many failures have which stage and error.
    """

    kind: Kind
    staged: str
    order: tuple[str, int]
    rows: int
    size: int
    fingerprint: str
    tallies: Mapping[str, int] = field(default_factory=dict)
    token_counts: Mapping[int, int] = field(default_factory=dict)
    reasons: Mapping[str, int] = field(default_factory=dict)


class ShardWriter:
    """Writes tables of one kind into new files of a staging folder.

    Names are random: a bundle that is tried again writes other files, and only files that a finished bundle
    has named are ever published.
    """

    def __init__(self, folder: str, kind: Kind, schema: pa.Schema, file_format: Format) -> None:
        self._folder, self._kind, self._schema, self._format = folder, kind, schema, file_format
        self._open: _OpenShard | None = None
        self._done: list[Shard] = []

    def write(self, table: pa.Table) -> None:
        """Append the table's rows to the open file.

        Raises:
            ValueError: If the table's columns are not those of the schema.
        """
        check_schema(table.schema, self._schema)
        if self._open is None:
            self._open = self._new_file()
        self._open.write(table)
        if self._open.size >= FILE_BYTES:
            self._roll()

    def finish(self, *, at_least_one: bool = False) -> list[Shard]:
        """Close the open file; all files written, which are complete now."""
        if at_least_one and self._open is None and not self._done:
            self._open = self._new_file()
        self._roll()
        done, self._done = self._done, []
        return done

    def abandon(self) -> None:
        """Close and forget: what was written so far will not be published."""
        if self._open is not None:
            self._open.discard()
        self._open, self._done = None, []

    def _new_file(self) -> _OpenShard:
        path = folders.join(self._folder, f"{self._kind}-{uuid.uuid4().hex}.part")
        return _OpenShard(path, self._kind, self._schema, self._format)

    def _roll(self) -> None:
        if self._open is not None:
            self._done.append(self._open.finish())
        self._open = None


def check_schema(given: pa.Schema, wanted: pa.Schema) -> None:
    """Make sure that a table fits a file.

    Raises:
        ValueError: If names, order or types differ; the message says where.
    """
    if given.types == wanted.types and given.names == wanted.names:
        return
    ours, theirs = ({f"{field.name}: {field.type}" for field in schema} for schema in (wanted, given))
    raise ValueError(
        f"a table does not have the schema of the output; missing: {sorted(ours - theirs)}, "
        f"unknown: {sorted(theirs - ours)}, wanted in this order: {wanted.names}"
    )


class _OpenShard:
    """One file, and the sums over its rows."""

    def __init__(self, path: str, kind: Kind, schema: pa.Schema, file_format: Format) -> None:
        self._path, self._kind = path, kind
        self._file = MeasuredFile(path)
        self._shard = open_shard(self._file, schema, file_format)
        self._rows = 0
        self._order: tuple[str, int] = ("", 0)
        self._tallies: Counter[str] = Counter()
        self._token_counts: Counter[int] = Counter()
        self._reasons: Counter[str] = Counter()

    @property
    def size(self) -> int:
        return self._file.size

    def write(self, table: pa.Table) -> None:
        if not table.num_rows:
            return
        if not self._rows:
            self._order = _order(self._kind, table)
        self._rows += table.num_rows
        self._tally(table)
        self._shard.write(table)

    def finish(self) -> Shard:
        self._shard.close()
        self._file.close()
        return Shard(
            kind=self._kind,
            staged=self._path,
            order=self._order,
            rows=self._rows,
            size=self._file.size,
            fingerprint=self._file.fingerprint,
            tallies=dict(self._tallies),
            token_counts=dict(self._token_counts),
            reasons=dict(self._reasons),
        )

    def discard(self) -> None:
        with contextlib.suppress(OSError):  # the reason for giving up, such as a full disk, is known already
            self._file.close()
            folders.delete_files([self._path])

    def _tally(self, table: pa.Table) -> None:
        if self._kind == "failures":
            self._tallies["documents_failed"] += failed_documents(table)
            self._reasons.update(failure_reasons(table))
            return
        tokens = table.column("token_count")
        self._token_counts.update(value_counts(tokens.to_numpy()))
        self._tallies["tokens"] += pc.sum(tokens).as_py()
        self._tallies["documents_chunked"] += int(np.count_nonzero(table.column("chunk_index").to_numpy() == 0))


def _order(kind: Kind, table: pa.Table) -> tuple[str, int]:
    first = table.slice(0, 1)
    if kind == "chunks":
        return first.column(DOC_ID)[0].as_py(), first.column("chunk_index")[0].as_py()
    return f"{first.column(SOURCE)[0]}\0{first.column(POSITION)[0]}", 0


def value_counts(values: np.ndarray[Any, Any]) -> dict[int, int]:
    """How often each value occurs.

    Example:
        >>> value_counts(np.array([3, 3, 7]))
        {3: 2, 7: 1}
    """
    distinct, counts = np.unique(values, return_counts=True)
    return dict(zip(distinct.tolist(), counts.tolist(), strict=True))


def failure_reasons(failures: pa.Table) -> dict[str, int]:
    """How many failures there are of each `stage: error`."""
    return dict(
        Counter(
            f"{stage}: {error}"
            for stage, error in zip(
                failures.column("stage").to_pylist(), failures.column("error").to_pylist(), strict=True
            )
        )
    )
