"""ReadDocuments: files -> document tables and failures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import apache_beam as beam
import pyarrow as pa
from apache_beam.pvalue import PCollection, TaggedOutput

from pipeline.column_types import (
    MetadataColumns,
    check_sampled,
    metadata_schema,
    requested_types,
    typed_schema,
)
from pipeline.counters import count
from pipeline.documents import DocumentColumns, Failure, MiB, ReadBatch, ReadOptions, failure_table, rebatch
from pipeline.formats import Format, InputFile, ReadUnit, checked_format, plan_units, read_unit
from pipeline.input_files import check_unchanged, list_again, list_or_name, match_files, open_file, sample_schemas
from pipeline.limits import MAX_LINE_BYTES
from pipeline.table_coder import TABLE

DOCUMENTS, FAILURES, COUNTS = "documents", "failures", "counts"


class ReadDocuments(beam.PTransform[Any, Any]):
    """Reads the documents of files.

    In: the pipeline.
    Out: `.documents`, tables of `document_schema`, of about `batch_bytes`; `.failures`, tables of
    `FAILURE_SCHEMA`, a row for each document, row group or file that could not be read; `.counts`, a dict of
    counts for each unit read. With an `error_handler` the failures go there, and the output is the
    PCollection of documents alone.

    Files are cut into units, row groups or ranges of lines, that are read in parallel; a retry reads a unit
    again and gives the same rows. Documents have no order.

    Args:
        patterns: Paths, patterns or folders, one or several, on any of Beam's file systems.
        id_column: Column with the document's id. Without one, and where it is null, ids are the path and the
            number of the row (from 0) or line (from 1): `docs/a.jsonl#3`; for a text file, its path.
        text_column: Column with the text (of any Arrow string type), or with lists of texts (documents in
            parts).
        metadata_columns: Columns that travel with the documents: names, or names with Arrow types. A type
            that is not given is found in the first files, and then holds for all.
        format: "parquet", "jsonl", "csv", "arrow" or "text"; "auto" goes by the ending of each file's name.
        binary_text: Whether a text column of type binary is taken as UTF-8.
        verify_checksums: Whether the page checksums of Parquet files are checked.
        max_line_bytes: A longer JSON line or text file fails, that one alone; of CSV records, one of a quarter of it.
        batch_bytes: Bytes in a document table; a larger document is a table of its own.
        split_bytes: Bytes in a unit of a large file.
        expect_input: Whether files and columns must be there. Otherwise a file that is gone, and files without the
            columns, are failures, as they are among others that can be read.
        error_handler: Takes the failures, as `apache_beam.transforms.error_handling` describes.

    Attributes:
        files: The files that will be read.
        metadata: The schema of the metadata columns.

    Raises:
        ValueError: If a pattern matches nothing, a column is in none of the first files, or an option is
            wrong.

    Example:
        >>> documents, failures, counts = pipeline | ReadDocuments("docs/*.parquet", id_column="url")
    """

    def __init__(
        self,
        patterns: str | Sequence[str],
        *,
        id_column: str | None = None,
        text_column: str = "text",
        metadata_columns: MetadataColumns = (),
        format: Format | str = "auto",  # noqa: A002 - the setting's name everywhere
        binary_text: bool = False,
        verify_checksums: bool = False,
        max_line_bytes: int = MAX_LINE_BYTES,
        batch_bytes: int = 8 * MiB,
        split_bytes: int = 64 * MiB,
        expect_input: bool = True,
        error_handler: Any = None,
    ) -> None:
        super().__init__()
        self._patterns = (patterns,) if isinstance(patterns, str) else tuple(patterns)
        self._format = format
        self.files = match_files(self._patterns, format) if expect_input else list_again(self._patterns, format)
        columns = DocumentColumns(text_column, id_column, binary_text=binary_text)
        options = ReadOptions(columns, verify_checksums, max_line_bytes, batch_bytes, split_bytes)
        self.options = replace(options, columns=_resolve(options, metadata_columns, self.files, expect_input))
        self._error_handler = error_handler

    @property
    def metadata(self) -> pa.Schema:
        """The metadata columns with their types."""
        return self.options.columns.metadata

    def expand(self, pipeline: Any) -> Any:
        """List, plan and read the files."""
        files = pipeline | "List files" >> _ListFiles(self._patterns, self._format)
        return _read(files, self.options, self._error_handler)


class _ListFiles(beam.PTransform[Any, Any]):
    """Patterns -> the files that they name, each once.

    They are listed again where the job runs: in its graph the files of a large corpus would be too much for a runner
    to take.
    """

    def __init__(self, patterns: tuple[str, ...], format: str) -> None:  # noqa: A002
        super().__init__()
        self._patterns, self._format = patterns, format

    def expand(self, pipeline: Any) -> PCollection[InputFile]:
        files: PCollection[InputFile] = (
            pipeline | "Patterns" >> beam.Create([self._patterns]) | "Match" >> beam.FlatMap(list_again, self._format)
        )
        return files


class ReadAllDocuments(beam.PTransform[Any, Any]):
    """Reads the documents of files whose paths arrive as elements, such as those of a watched bucket.

    In: a PCollection of paths, patterns or folders.
    Out: as `ReadDocuments`, in the windows of the paths. A path that matches nothing is a failure.

    Args:
        metadata_columns: Columns that travel with the documents, each with its Arrow type: no file is there
            yet in which to find it.
        **options: As `ReadDocuments`, except `patterns`.

    Raises:
        ValueError: If a metadata column has no type, or an option is wrong.

    Example:
        >>> paths = pipeline | beam.Create(["docs/*.jsonl"])
        >>> outputs = paths | ReadAllDocuments(metadata_columns={"lang": "string"})
    """

    def __init__(
        self,
        *,
        id_column: str | None = None,
        text_column: str = "text",
        metadata_columns: MetadataColumns = (),
        format: Format | str = "auto",  # noqa: A002 - the setting's name everywhere
        binary_text: bool = False,
        verify_checksums: bool = False,
        max_line_bytes: int = MAX_LINE_BYTES,
        batch_bytes: int = 8 * MiB,
        split_bytes: int = 64 * MiB,
        error_handler: Any = None,
    ) -> None:
        super().__init__()
        metadata = typed_schema(requested_types(metadata_columns))
        columns = DocumentColumns(text_column, id_column, metadata, binary_text)
        self.options = ReadOptions(columns, verify_checksums, max_line_bytes, batch_bytes, split_bytes)
        self._format = checked_format(format)
        self._error_handler = error_handler

    def expand(self, paths: PCollection[str]) -> Any:
        """List, plan and read the files."""
        files = paths | "List files" >> beam.FlatMap(list_or_name, self._format)
        return _read(files, self.options, self._error_handler)


def _resolve(
    options: ReadOptions, requested: MetadataColumns, files: Sequence[InputFile], expected: bool
) -> DocumentColumns:
    """The columns with the types of the metadata, after a look into the first files."""
    types = requested_types(requested)
    samples = list(sample_schemas(files, options))
    if expected:
        # a key may be rare in JSON lines; in other formats a column is there from the first row or not at all
        certain = types if all(file.format not in ("jsonl", "text") for file in files) else ()
        check_sampled(options.columns, certain, samples)
    return replace(options.columns, metadata=metadata_schema(types, samples))


def _read(files: PCollection[InputFile], options: ReadOptions, error_handler: Any) -> Any:
    outputs = (
        files
        | "Spread files"
        >> beam.Reshuffle()  # planning reads a footer or counts lines: those of one pattern side by side
        | "Plan units" >> beam.FlatMap(plan_file, options)
        | "Spread units" >> beam.Reshuffle()
        | "Read" >> beam.ParDo(_ReadUnits(options)).with_outputs(FAILURES, COUNTS, main=DOCUMENTS)
    )
    outputs[DOCUMENTS].element_type = outputs[FAILURES].element_type = TABLE
    outputs[COUNTS].element_type = dict[str, int]
    if error_handler is None:
        return outputs
    error_handler.add_error_pcollection(outputs[FAILURES])
    return outputs[DOCUMENTS]


def plan_file(file: InputFile, options: ReadOptions) -> list[ReadUnit]:
    """The units of a file; the whole file where it cannot be planned, since reading it will say why."""
    try:
        with open_file(file.path) as handle:
            return plan_units(handle, file, options)
    except Exception:  # noqa: BLE001 - see above
        return [ReadUnit(file)]


def read_documents(unit: ReadUnit, options: ReadOptions) -> Iterator[ReadBatch]:
    """The documents and failures of a unit, in tables of about `batch_bytes`.

    Whatever is wrong with a file becomes a failure; nothing about it raises.
    """
    return rebatch(_read_or_fail(unit, options), options.batch_bytes)


def _read_or_fail(unit: ReadUnit, options: ReadOptions) -> Iterator[ReadBatch]:
    try:
        check_unchanged(unit.file)
        with open_file(unit.file.path) as handle:
            yield from read_unit(handle, unit, options)
        check_unchanged(unit.file)
    except Exception as error:  # noqa: BLE001 - whatever is wrong with a file is its failure
        yield ReadBatch(failures=(Failure.of(error, unit.file.path, unit.position),))


class _ReadUnits(beam.DoFn):
    """`read_documents` over units."""

    def __init__(self, options: ReadOptions) -> None:
        self._options = options

    def process(self, unit: ReadUnit) -> Iterator[Any]:
        counts: Counter[str] = Counter()
        for batch in read_documents(unit, self._options):
            counts.update(batch_counts(batch))
            if batch.failures:
                yield TaggedOutput(FAILURES, failure_table(batch.failures))
            if batch.documents is not None:
                yield batch.documents
        yield TaggedOutput(COUNTS, dict(counts))


def batch_counts(batch: ReadBatch) -> dict[str, int]:
    """What a batch adds to the counters, and adding it.

    Documents that failed on their own were read; of a row group or file that failed, nobody knows what it
    held.
    """
    failed = Counter(failure.scope for failure in batch.failures)
    counts = {
        "documents_read": batch.documents_read,
        "documents_failed": failed["document"],
        "failures_read": len(batch.failures),
        "failures_row_groups": failed["row_group"],
        "failures_files": failed["file"],
        **batch.notes,
    }
    for name, amount in counts.items():
        count(name, amount)
    return counts
