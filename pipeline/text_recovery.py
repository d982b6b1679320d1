"""RecoverText: chunk tables without text, and document tables -> chunk tables with text; Beam."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import apache_beam as beam
import numpy as np
import pyarrow as pa
from apache_beam.pvalue import PCollection, TaggedOutput
from apache_beam.typehints import typehints

from pipeline.hashing import hash_keys
from pipeline.schemas import DOC_ID, TEXT
from pipeline.source_text import Recovery
from pipeline.table_coder import TABLE

ROWS, DOCUMENTS, FAILURES = "rows", "documents", "failures"
_BUCKETS = 256

_Keyed = typehints.Tuple[int, TABLE]


class RecoverText(beam.PTransform[Any, Any]):
    """Gives chunk rows the text that they stand for.

    In: a mapping of two PCollections: `rows`, chunk tables, and `documents`, document tables.
    Out: `.rows`, chunk tables with a column `text`; `.failures`, tables of `FAILURE_SCHEMA` with the rows whose
    document is missing, or is no longer the one that was chunked.

    Rows and documents meet by a hash of the document's id; each bucket is worked on in memory.

    Args:
        buckets: How many buckets there are: one should hold no more than a worker's memory.

    Example:
        >>> {"rows": rows, "documents": documents} | RecoverText()
    """

    def __init__(self, *, buckets: int = _BUCKETS) -> None:
        super().__init__()
        self._buckets = buckets

    def expand(self, inputs: Mapping[str, PCollection[pa.Table]]) -> Any:
        """Bring rows and documents together, and cut."""
        keyed = {
            name: inputs[name]
            | f"Key {name}" >> beam.FlatMap(_by_bucket, self._buckets, name).with_output_types(_Keyed)
            for name in (ROWS, DOCUMENTS)
        }
        outputs = (
            keyed
            | "Meet" >> beam.CoGroupByKey()
            | "Recover" >> beam.FlatMap(_recover).with_outputs(FAILURES, main=ROWS)
        )
        outputs[ROWS].element_type = outputs[FAILURES].element_type = TABLE
        return outputs


def _by_bucket(table: TABLE, buckets: int, name: str) -> Iterator[tuple[int, pa.Table]]:
    """The table in parts, by the bucket of each row's document."""
    if name == DOCUMENTS:
        table = table.select([DOC_ID, TEXT])
    digests = hash_keys(table.column(DOC_ID).to_pylist(), "recover")
    keys = digests[:, :4].copy().view("<u4")[:, 0] % buckets
    for key in np.unique(keys).tolist():
        yield key, table.filter(pa.array(keys == key))


def _recover(bucket: tuple[int, Mapping[str, Iterable[pa.Table]]]) -> Iterator[Any]:
    rows = list(bucket[1][ROWS])
    if not rows:
        return
    recovery = Recovery(pa.concat_tables(rows))
    for part in (*map(recovery.recover_from, bucket[1][DOCUMENTS]), recovery.not_found()):
        if part.rows.num_rows:
            yield part.rows
        if part.failures.num_rows:
            yield TaggedOutput(FAILURES, part.failures)
