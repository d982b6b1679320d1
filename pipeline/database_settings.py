"""The section `database` of a job's settings: where rows are loaded, as what, and what makes their vectors."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, field_validator

from pipeline.config_values import WholeNumber, as_columns
from pipeline.settings_base import Settings

_PASSWORD = re.compile(r"://[^/@\s]*:[^\s]*@|\bpassword\s*=", re.IGNORECASE)


def as_mapping(value: object) -> object:
    """Pairs in any of the usual forms -> a mapping.

    >>> as_mapping("text:body, start:start_at")
    {'text': 'body', 'start': 'start_at'}
    """
    pairs = as_columns(value)
    if isinstance(pairs, dict) and None in pairs.values():
        raise ValueError("must be pairs such as {text: body}")
    return pairs


Pairs = Annotated[dict[str, str], BeforeValidator(as_mapping)]


class DatabaseSettings(Settings, title="Database"):
    """Where rows are loaded, and what makes their vectors."""

    url: str | None = Field(
        None, description="postgresql://user@host/database, without password; one with a password goes below."
    )
    url_file: str | None = Field(None, description="A file that holds the URL, password included.")
    url_variable: str = Field(
        "LLM_SPLITTER_DATABASE_URL", description="The environment variable that holds the URL, password included."
    )
    folder: str = Field(
        ".llm-splitter",
        description="Where no URL is given, a server of your own is started and keeps its data here.",
    )
    table: str = Field(
        "chunks", description="The table of chunk rows; beside it <table>_documents says what is loaded."
    )
    table_schema: str = Field("public", description="The Postgres schema that the tables are in.")
    create: bool = Field(True, description="Make missing tables and indexes.")
    columns: Pairs = Field({}, description="Names for columns that are to be called otherwise: text:body.")
    types: Pairs = Field({}, description="Types for columns that are to have another: price:numeric(10,2).")
    metadata_as: Literal["columns", "jsonb"] = Field(
        "columns", description="Each metadata column for itself, or all in one column `metadata`."
    )
    dimension: WholeNumber | None = Field(
        None, description="Length of the vectors; without it, that of the embedder, or no vector column."
    )
    distance: Literal["cosine", "l2", "inner_product"] = Field(
        "cosine", description="What the search and the vector index go by."
    )
    vector_index: Literal["none", "hnsw", "ivfflat"] = Field(
        "none", description="The index of the vector column, made when the rows are there."
    )
    corpus: str = Field("", description="A name for these documents; only documents of the same name are retired.")
    retire: bool = Field(False, description="Remove documents of the corpus that are not in the input any more.")
    embedder: str | None = Field(
        None,
        description="package.module:function from a list of texts to a float32 matrix, or one of Beam's embedding "
        "transforms; fills the vector column.",
    )
    embed_batch: WholeNumber = Field(64, ge=1, description="Most texts in one call of the embedder.")
    embed_retries: WholeNumber = Field(3, ge=0, description="How often a failed call is tried again.")
    embed_per_second: float | None = Field(None, gt=0, description="Most texts a second, in each worker process.")

    @field_validator("url")
    @classmethod
    def _without_password(cls, url: str | None) -> str | None:
        if url is not None and _PASSWORD.search(url):
            raise ValueError(
                "since it holds a password, which others could read here; "
                "put the URL into the environment variable LLM_SPLITTER_DATABASE_URL, or into a file named by url_file"
            )
        return url

    def layout(self) -> dict[str, Any]:
        """The fields of `TableLayout` that settings decide, but for the dimension."""
        shared = self.model_dump(include={"table", "columns", "types", "metadata_as", "distance", "vector_index"})
        return {**shared, "namespace": self.table_schema}
