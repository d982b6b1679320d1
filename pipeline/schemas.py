"""The Arrow schemas of documents, chunks and failures."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from importlib import metadata as package_metadata
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.compute as pc

from pipeline.plain_types import stored_type

DOC_ID = "doc_id"
SOURCE = "source"
POSITION = "position"
TEXT = "text"

DOC_SOURCE = "_source"
DOC_POSITION = "_position"
DOCUMENT_COLUMNS = (DOC_ID, DOC_SOURCE, DOC_POSITION, TEXT)
"""The columns that every document table starts with; metadata columns follow them.

Where a document comes from has names of its own there, since many corpora have a column called `source`.
"""

TEXT_TYPE = pa.large_string()
PARTS_TYPE = pa.large_list(pa.large_string())

FAILURE_SCHEMA = pa.schema(
    [
        pa.field(SOURCE, pa.string(), nullable=False),
        pa.field(POSITION, pa.string(), nullable=False),
        pa.field(DOC_ID, pa.string()),
        pa.field("stage", pa.string(), nullable=False),
        pa.field("error", pa.string(), nullable=False),
        pa.field("message", pa.string(), nullable=False),
    ]
)
"""A row for each failed document, line, row group or file: where it was, in which stage, and why."""

METADATA_PREFIX = "llm_splitter."
CHUNK_COLUMNS = (
    "chunk_id",
    DOC_ID,
    "chunk_index",
    "start",
    "end",
    "token_count",
    TEXT,
    "text_hash",
    "doc_hash",
)
"""The names that a chunk row uses itself, so that no metadata column may have them."""
_READ_BACK: dict[str, Callable[[str], Any]] = {
    "chunk_size": int,
    "chunk_overlap": int,
    "strict_size": "True".__eq__,
}
_NAMES_IN_USE = frozenset(CHUNK_COLUMNS + DOCUMENT_COLUMNS)

_BEFORE_TEXT = (
    pa.field("chunk_id", pa.string(), nullable=False),
    pa.field(DOC_ID, pa.string(), nullable=False),
    pa.field("chunk_index", pa.int32(), nullable=False),
    pa.field("start", pa.int64(), nullable=False),
    pa.field("end", pa.int64(), nullable=False),
    pa.field("token_count", pa.int32(), nullable=False),
)
_AFTER_TEXT = (
    pa.field("text_hash", pa.string(), nullable=False),
    pa.field("doc_hash", pa.string(), nullable=False),
)


class ChunkSettings(Protocol):
    """What a chunk schema records about the chunker; `llm_splitter.Chunker` has all of it."""

    @property
    def options(self) -> Any: ...  # noqa: D102 - an attribute of SplitOptions, described there

    @property
    def tokenizer_name(self) -> str: ...  # noqa: D102

    @property
    def tokenizer_version(self) -> str: ...  # noqa: D102

    @property
    def fingerprint(self) -> str: ...  # noqa: D102


def product_version() -> str:
    """The installed version of llm-splitter, as written into files and manifests."""
    return package_metadata.version("llm-splitter")


def document_schema(metadata_fields: Iterable[pa.Field[Any]] = (), *, parts: bool = False) -> pa.Schema:
    """The schema of document tables.

    Args:
        metadata_fields: Columns that travel with each document into its chunk rows.
        parts: Whether a text is a list of parts rather than one string.

    Raises:
        ValueError: If a metadata column has a name that documents or chunks use themselves.
    """
    own: list[pa.Field[Any]] = [
        pa.field(DOC_ID, pa.string(), nullable=False),
        pa.field(DOC_SOURCE, pa.string(), nullable=False),
        pa.field(DOC_POSITION, pa.string(), nullable=False),
        pa.field(TEXT, PARTS_TYPE if parts else TEXT_TYPE),
    ]
    return pa.schema([*own, *checked_metadata_fields(metadata_fields)])


def chunk_schema(
    chunker: ChunkSettings,
    metadata_fields: Iterable[pa.Field[Any]] = (),
    *,
    include_text: bool = True,
) -> pa.Schema:
    """The one schema of chunk tables, whose metadata says how the chunks were made.

    Args:
        chunker: The chunker whose settings, tokenizer and fingerprint are recorded.
        metadata_fields: Columns carried through from the documents, in this order after the chunk's own.
        include_text: Whether rows carry the chunk's text.

    Raises:
        ValueError: If a metadata column has a name that documents or chunks use themselves.

    Example:
        >>> chunk_schema(Chunker(SplitOptions()), [pa.field("lang", pa.string())], include_text=False).names
        ['chunk_id', 'doc_id', 'chunk_index', 'start', 'end', 'token_count', 'text_hash', 'doc_hash', 'lang']
    """
    fields: list[pa.Field[Any]] = list(_BEFORE_TEXT)
    if include_text:
        fields.append(pa.field(TEXT, TEXT_TYPE, nullable=False))
    fields += [*_AFTER_TEXT, *checked_metadata_fields(metadata_fields)]
    return pa.schema(fields, metadata=schema_metadata(chunker))


def checked_metadata_fields(fields: Iterable[pa.Field[Any]]) -> list[pa.Field[Any]]:
    """The fields, all nullable and without metadata of their own, once their names are known to be free.

    Types become those of `stored_type`, which every reader knows and Arrow can repeat.

    Raises:
        ValueError: If a name is used twice, or is one that documents or chunks use themselves.
    """
    checked: dict[str, pa.Field[Any]] = {}
    for field in fields:
        if field.name in _NAMES_IN_USE:
            raise ValueError(
                f"metadata_columns: {field.name!r} is a name that chunk or document tables use themselves; "
                f"rename it in the documents. Names in use: {', '.join(sorted(_NAMES_IN_USE))}"
            )
        if field.name in checked:
            raise ValueError(f"metadata_columns: {field.name!r} is given twice; name it once")
        checked[field.name] = pa.field(field.name, stored_type(field.type))
    return list(checked.values())


def schema_metadata(chunker: ChunkSettings) -> dict[bytes | str, bytes | str]:
    """Schema metadata: every split option, the tokenizer and the product version, keys `llm_splitter.*`."""
    return {f"{METADATA_PREFIX}{name}".encode(): str(value).encode() for name, value in chunk_settings(chunker).items()}


def recorded_settings(schema: pa.Schema) -> dict[str, Any]:
    """What `schema_metadata` has recorded, as it was; {} for a schema without it.

    Example:
        >>> recorded_settings(chunk_schema(Chunker(SplitOptions())))["chunk_size"]
        512
    """
    own = {
        key.decode().removeprefix(METADATA_PREFIX): value.decode()
        for key, value in (schema.metadata or {}).items()
        if key.startswith(METADATA_PREFIX.encode())
    }
    return {name: _READ_BACK.get(name, str)(value) for name, value in own.items()}


def failed_documents(failures: pa.Table) -> int:
    """How many failure rows stand for a document each.

    The others stand for a file or a row group that could not be read: position empty, or `row group N`.
    """
    vague = pc.match_substring_regex(failures.column(POSITION), r"^(row group \d+)?$")
    unread = pc.and_(vague, pc.equal(failures.column("stage"), "read"))
    return int(failures.num_rows - pc.sum(unread, min_count=0).as_py())


def chunk_settings(chunker: ChunkSettings) -> dict[str, Any]:
    """The settings that decide the chunks, as plain values for schema metadata and manifests.

    A splitter that is not a name is recorded by the name the chunker gives it.
    """
    options = chunker.options
    return {
        "chunk_size": options.chunk_size,
        "chunk_overlap": options.chunk_overlap,
        "chunk_strategy": options.chunk_strategy,
        "splitter": options.splitter if isinstance(options.splitter, str) else chunker.tokenizer_name,
        "offset_unit": options.offset_unit,
        "paragraph_break": options.paragraph_break,
        "strict_size": options.strict_size,
        "tokenizer": chunker.tokenizer_name,
        "tokenizer_version": chunker.tokenizer_version,
        "fingerprint": chunker.fingerprint,
        "product_version": product_version(),
    }
