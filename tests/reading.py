"""Reading test files whole, for tests of the readers."""

from dataclasses import replace

import pyarrow as pa

from pipeline.documents import DocumentColumns, ReadOptions
from pipeline.formats import InputFile, ReadUnit
from pipeline.input_files import match_files
from pipeline.jsonl_files import read_jsonl
from pipeline.read import plan_file, read_documents


def options(text="text", id=None, metadata=(), binary_text=False, **others):  # noqa: A002
    return ReadOptions(DocumentColumns(text, id, pa.schema(list(metadata)), binary_text), **others)


class Outcome:
    """What came out of files: documents as dicts without source, in the order of their files; failures; counts."""

    def __init__(self, batches):
        batches = list(batches)
        self.tables = [batch.documents for batch in batches if batch.documents is not None]
        self.rows = [row for table in self.tables for row in table.to_pylist()]
        self.failures = [failure for batch in batches for failure in batch.failures]
        self.notes = {}
        for batch in batches:
            for name, amount in batch.notes.items():
                self.notes[name] = self.notes.get(name, 0) + amount
        self.documents_read = sum(batch.documents_read for batch in batches)
        for table in self.tables:
            table.validate(full=True)

    @property
    def texts(self):
        return [row["text"] for row in self.rows]

    def column(self, name):
        return [row[name] for row in self.rows]

    @property
    def failed(self):
        """(position, error) of each failure."""
        return [(failure.position, failure.error) for failure in self.failures]


def read(path, read_options=None, format="auto", split_bytes=None):  # noqa: A002
    """The outcome of one file, as units of `split_bytes` or whole."""
    [file] = match_files(str(path), format)
    wanted = replace(read_options or options(), split_bytes=split_bytes or 1 << 26)
    units = plan_file(file, wanted) if split_bytes else [ReadUnit(file)]
    return Outcome(batch for unit in units for batch in read_documents(unit, wanted))


def read_missing(path, read_options=None):
    """The outcome of a file that was listed as it is described."""
    return Outcome(read_documents(ReadUnit(InputFile(str(path), 1, 0.0, "jsonl")), read_options or options()))


def read_lines(*lines, end=b"\n", **columns):
    """The outcome of lines given as bytes."""
    content = b"".join(line + end for line in lines)
    return Outcome(read_jsonl([content], "f.jsonl", options(**columns)))
