"""Literal chunk and failure tables for the tests of what becomes of them."""

from dataclasses import dataclass, field

import pyarrow as pa

from llm_splitter import SplitOptions
from pipeline.schemas import FAILURE_SCHEMA, chunk_schema


@dataclass(frozen=True)
class Settings:
    """What a chunk schema records, without a tokenizer behind it."""

    options: SplitOptions = field(default_factory=lambda: SplitOptions(chunk_size=8, splitter="words"))
    tokenizer_name: str = "words"
    tokenizer_version: str = "1"
    fingerprint: str = "f"


SCHEMA = chunk_schema(Settings(), [pa.field("lang", pa.string())])


def chunk_table(doc_id, *texts, lang="en"):
    """The chunks of one document, end to end."""
    rows, start = [], 0
    for index, text in enumerate(texts):
        rows.append(
            {
                "chunk_id": f"{doc_id}:{start}:{start + len(text)}",
                "doc_id": doc_id,
                "chunk_index": index,
                "start": start,
                "end": start + len(text),
                "token_count": len(text.split()),
                "text": text,
                "text_hash": f"hash of {text}",
                "doc_hash": f"hash of {doc_id}",
                "lang": lang,
            }
        )
        start += len(text)
    return pa.Table.from_pylist(rows, schema=SCHEMA)


def failure_table(*positions, source="docs/a.jsonl", stage="read", error="ValueError"):
    """Failures of one file."""
    rows = [
        {
            "source": source,
            "position": position,
            "stage": stage,
            "error": error,
            "message": f"bad \u00e9 {position}",
        }
        for position in positions
    ]
    return pa.Table.from_pylist(rows, schema=FAILURE_SCHEMA)
