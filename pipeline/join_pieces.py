"""JoinPieces: pieces of documents that lie across chunk tables -> tables of whole documents, and failures."""

# ruff: noqa: B008, PLR0917 - that is how Beam hands states and timers to a step

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import apache_beam as beam
import pyarrow as pa
from apache_beam.coders import FastPrimitivesCoder
from apache_beam.pvalue import PCollection, TaggedOutput
from apache_beam.transforms.timeutil import TimeDomain
from apache_beam.transforms.userstate import BagStateSpec, ReadModifyWriteStateSpec, TimerSpec, on_timer
from apache_beam.typehints import typehints
from apache_beam.utils.timestamp import MAX_TIMESTAMP, Duration, Timestamp

from pipeline.counters import count
from pipeline.documents import Failure, failure_table
from pipeline.postgres.document_sets import IncompleteDocument, has_all_rows, join_pieces, rows_known
from pipeline.schemas import DOC_ID
from pipeline.table_coder import TABLE, TableCoder

WHOLE, FAILURES = "whole", "failures"
PATIENCE = 60
"""Seconds that pieces of a stream wait for others of their document, which come with them or never."""

Piece = typehints.Tuple[str, TABLE]
_PieceOfVersion = typehints.Tuple[typehints.Tuple[str, str], TABLE]


class JoinPieces(beam.PTransform[Any, Any]):
    """Joins the pieces of documents.

    In: a PCollection of pairs, the id of a document and a table of some of its chunk rows. Out: `.whole`, a table
    for each document; `.failures`, tables of `FAILURE_SCHEMA` for those whose rows are not all there.

    The pieces of a bounded PCollection are grouped. Those of a stream are joined when the last one has come,
    whatever the window and however late, or else after `PATIENCE` seconds; two versions of a document do not
    meet there.
    """

    def expand(self, pieces: PCollection[Any]) -> Any:
        """Bring the pieces of each document together."""
        together = self._grouped(pieces) if pieces.is_bounded else self._waited_for(pieces)
        outputs = together | "Join" >> beam.FlatMap(_join).with_outputs(FAILURES, main=WHOLE)
        outputs[WHOLE].element_type = outputs[FAILURES].element_type = TABLE
        return outputs

    @staticmethod
    def _grouped(pieces: PCollection[Any]) -> PCollection[Any]:
        grouped: PCollection[Any] = pieces | "Gather documents" >> beam.GroupByKey() | "Pieces" >> beam.Values()
        return grouped

    @staticmethod
    def _waited_for(pieces: PCollection[Any]) -> PCollection[Any]:
        wait = _Wait(pieces.windowing.allowed_lateness)
        together: PCollection[Any] = (
            pieces
            | "By version" >> beam.Map(_with_version).with_output_types(_PieceOfVersion)
            | "Wait" >> beam.ParDo(wait).with_output_types(list[TABLE])
        )
        return together


def load_failures(failures: Iterable[Failure]) -> pa.Table:
    """Failures of loading as a table, counted."""
    table = failure_table(failures, "load")
    count("failures_load", table.num_rows)
    return table


def _with_version(piece: tuple[str, pa.Table]) -> tuple[tuple[str, str], pa.Table]:
    doc_id, rows = piece
    return (doc_id, rows.column("doc_hash")[0].as_py()), rows


def _join(pieces: Iterable[pa.Table]) -> Iterator[Any]:
    together = list(pieces)
    try:
        yield join_pieces(together)
    except IncompleteDocument as error:
        doc_id = together[0].column(DOC_ID)[0].as_py()
        yield TaggedOutput(FAILURES, load_failures([replace(Failure.of(error, ""), doc_id=doc_id)]))


class _Wait(beam.DoFn):
    """Pieces of one version of a document and window -> all of them in a list.

    What is delivered twice may arrive in any order, so that one piece is left over when the document has been
    joined; it waits for others of its delivery, and is forgotten if none come.
    """

    PIECES = BagStateSpec("pieces", TableCoder())
    PROGRESS = ReadModifyWriteStateSpec("progress", FastPrimitivesCoder())
    OLD = TimerSpec("old", TimeDomain.REAL_TIME)
    OVER = TimerSpec("over", TimeDomain.WATERMARK)

    def __init__(self, allowed_lateness: Duration) -> None:
        self._allowed_lateness = allowed_lateness

    def process(
        self,
        keyed: tuple[tuple[str, str], pa.Table],
        window: Any = beam.DoFn.WindowParam,
        pieces: Any = beam.DoFn.StateParam(PIECES),
        progress: Any = beam.DoFn.StateParam(PROGRESS),
        old: Any = beam.DoFn.TimerParam(OLD),
        over: Any = beam.DoFn.TimerParam(OVER),
    ) -> Iterator[list[pa.Table]]:
        _, piece = keyed
        pieces.add(piece)
        now = _progress(progress).with_piece(piece)
        if now.may_be_complete and has_all_rows(together := list(pieces.read())):
            pieces.clear()
            progress.write(tuple(_Progress(is_joined=True)))
            yield together
        else:
            progress.write(tuple(now))
            old.set(Timestamp.now() + PATIENCE)
            over.set(min(window.max_timestamp() + self._allowed_lateness, MAX_TIMESTAMP))

    @on_timer(OLD)
    def too_old(
        self, pieces: Any = beam.DoFn.StateParam(PIECES), progress: Any = beam.DoFn.StateParam(PROGRESS)
    ) -> Iterator[list[pa.Table]]:
        yield from _give_up(pieces, progress)

    @on_timer(OVER)
    def window_is_over(
        self, pieces: Any = beam.DoFn.StateParam(PIECES), progress: Any = beam.DoFn.StateParam(PROGRESS)
    ) -> Iterator[list[pa.Table]]:
        yield from _give_up(pieces, progress)


class _Progress(NamedTuple):
    """What is known of the pieces that wait: their rows, how many there must be, whether all were joined before."""

    rows: int = 0
    known: int = 0
    is_joined: bool = False

    @property
    def may_be_complete(self) -> bool:
        return 0 < self.known <= self.rows

    def with_piece(self, piece: pa.Table) -> _Progress:
        return self._replace(rows=self.rows + piece.num_rows, known=max(self.known, rows_known([piece])))


def _progress(state: Any) -> _Progress:
    return _Progress(*(state.read() or ()))


def _give_up(pieces: Any, progress: Any) -> Iterator[list[pa.Table]]:
    """What still waits, unless it repeats what was joined."""
    together = list(pieces.read())
    is_joined = _progress(progress).is_joined
    pieces.clear()
    progress.write(tuple(_Progress(is_joined=is_joined)))
    if together and not is_joined:
        yield together
