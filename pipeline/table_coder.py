"""The coder that carries Arrow tables between Beam steps, registered for `pa.Table` on import."""

from __future__ import annotations

from typing import Any

import apache_beam as beam
import pyarrow as pa
from apache_beam.coders import typecoders

TABLE = pa.Table
"""The element type of tables; steps that declare it get the coder below."""


class TableCoder(beam.coders.Coder):
    """Encodes a `pa.Table` as a compressed Arrow IPC stream.

    A slice is written as the rows it shows: pickle, Beam's default, carries the whole buffer behind it.
    Equal tables may be chunked differently inside, so encoded tables are no keys.
    """

    _OPTIONS = pa.ipc.IpcWriteOptions(compression="zstd")

    def encode(self, value: pa.Table) -> bytes:
        """The table's rows and schema as bytes."""
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, value.schema, options=self._OPTIONS) as writer:
            writer.write_table(value)
        return bytes(sink.getvalue())

    def decode(self, encoded: bytes) -> pa.Table:
        """The table that was encoded."""
        with pa.ipc.open_stream(encoded) as reader:
            return reader.read_all()

    def estimate_size(self, value: pa.Table) -> int:
        """Bytes of the table in memory: Beam asks often, and encoding to find out would cost too much."""
        return int(value.nbytes)

    def is_deterministic(self) -> bool:
        """No: see the class."""
        return False

    def to_type_hint(self) -> Any:
        """The type that this coder carries."""
        return pa.Table

    def __reduce__(self) -> tuple[type, tuple[()]]:
        return TableCoder, ()

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other)

    def __hash__(self) -> int:
        return hash(type(self))


typecoders.registry.register_coder(pa.Table, TableCoder)
