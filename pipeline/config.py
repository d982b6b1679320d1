"""The job's settings, each with its default and its description in one place.

The command line (`pipeline/flags.py`) and the settings files (`configs/*.yaml`) are made from these models.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BeforeValidator, ByteSize, Field, ValidationError, model_validator

from llm_splitter import Chunker, SplitOptions
from llm_splitter.splitters import BUILT_IN
from llm_splitter.tokenizers import EngineName
from llm_splitter.types import ChunkStrategy, OffsetUnit, ParagraphBreak
from pipeline.config_errors import SettingsError, explain
from pipeline.config_file import read_config_file
from pipeline.config_values import BeamFlags, Bytes, Columns, Folder, Paths, Threshold, WholeNumber, unescape_newlines
from pipeline.custom_splitter import import_splitter, is_import_path
from pipeline.database_settings import DatabaseSettings
from pipeline.limits import MAX_LINE_BYTES
from pipeline.settings_base import Settings

_DEFAULTS = SplitOptions()
_Settings = TypeVar("_Settings", bound="Settings")


class DocumentSettings(Settings, title="Documents"):
    """What is read."""

    input: Paths = Field(
        description="Files to read: paths, folders or patterns such as 'docs/*.parquet', one or several; ~ is your "
        "home. Earlier outputs of this program that lie in a folder, or below a **, are left out."
    )
    input_format: Literal["auto", "parquet", "jsonl", "csv", "arrow", "text"] = Field(
        "auto", description="What the files are; auto goes by the ending of each file's name."
    )
    id_column: str | None = Field(
        None,
        description="Column with the document's id; without one, ids are path#row (a text file: its path).",
    )
    text_column: str = Field("text", description="Column with the text, or with a list of texts (a document in parts).")
    metadata_columns: Columns = Field(
        {},
        description="Columns carried through to the chunk rows: names, or with a type: price:double. Without one it "
        "is found in the first files; what JSON nests is carried as JSON text.",
    )
    binary_text: bool = Field(False, description="Take a text column of Arrow type binary as UTF-8.")
    verify_checksums: bool = Field(False, description="Check the page checksums of Parquet files while reading.")
    max_line_bytes: Bytes = Field(
        ByteSize(MAX_LINE_BYTES),
        validate_default=True,
        description="A longer line in a JSON Lines file fails, that line alone (64MiB, 1GB, ...); so does a longer "
        "text file, or a CSV field of a quarter of it. A longer item of a JSON array ends its file. Chunking a "
        "document takes five to sixteen times its length in memory.",
    )


class SplitSettings(Settings, title="Splitting"):
    """How texts are cut; the same names as in `llm_splitter.split`."""

    splitter: str = Field(
        str(_DEFAULTS.splitter),
        description="What is counted: characters, words, sentences, lines, a tiktoken encoding such as "
        "cl100k_base, a file (tokenizer.json, <encoding>.tiktoken), or package.module:callable.",
    )
    chunk_size: WholeNumber = Field(_DEFAULTS.chunk_size, description="Most parts (tokens, words, ...) in one chunk.")
    chunk_overlap: WholeNumber = Field(
        _DEFAULTS.chunk_overlap,
        description="Parts that a chunk repeats from the one before it; less than chunk_size.",
    )
    chunk_strategy: ChunkStrategy = Field(
        _DEFAULTS.chunk_strategy,
        description="character fills each chunk; paragraph ends chunks between paragraphs.",
    )
    paragraph_break: Annotated[ParagraphBreak, BeforeValidator(unescape_newlines)] = Field(
        _DEFAULTS.paragraph_break,
        description=r"What divides paragraphs: '\n\n', or blank_line for any kind of empty line.",
    )
    offset_unit: OffsetUnit = Field(
        _DEFAULTS.offset_unit,
        description="Unit of start and end: codepoint (Python, SQL), utf16 (JavaScript), utf8 (bytes).",
    )
    strict_size: bool = Field(
        _DEFAULTS.strict_size, description="Hold every chunk's own text, encoded alone, to chunk_size tokens."
    )
    engine: EngineName = Field("auto", description="Which package encodes; the chunks are the same.")

    @model_validator(mode="after")
    def _splittable(self) -> SplitSettings:
        try:
            self.split_options()
        except TypeError as error:
            raise ValueError(str(error)) from error
        return self

    def split_options(self) -> SplitOptions:
        """The options that the core works with.

        Raises:
            ValueError: a value is outside what the core allows, or the splitter cannot be imported.
        """
        return SplitOptions(
            splitter=import_splitter(self.splitter) if is_import_path(self.splitter) else self.splitter,
            chunk_size=self.chunk_size,
            chunk_overlap=self.chunk_overlap,
            chunk_strategy=self.chunk_strategy,
            paragraph_break=self.paragraph_break,
            offset_unit=self.offset_unit,
            strict_size=self.strict_size,
        )

    def chunker(self) -> Chunker:
        """The chunker with these settings, its tokenizer loaded.

        Raises:
            SettingsError: no such splitter or encoding, or its vocabulary cannot be had.
        """
        try:
            return Chunker(self.split_options(), engine=self.engine)
        except (ValueError, TypeError, OSError) as error:
            raise SettingsError(f"splitter: {' '.join(str(error).split())}") from error

    @property
    def counted(self) -> str:
        """What chunk_size and token counts count, in the plural."""
        if self.splitter in BUILT_IN:
            return self.splitter
        return "parts" if is_import_path(self.splitter) else "tokens"


class OutputSettings(Settings, title="Chunk rows"):
    """What is written, and where."""

    output: Folder = Field(
        description="Folder for chunks-*, failures-* and manifest.json; an earlier run's are replaced; ~ is your home."
    )
    text: bool = Field(True, description="Write each chunk's text; without it, rows lead back to the text by offsets.")
    format: Literal["parquet", "arrow", "jsonl"] = Field("parquet", description="Format of the chunk files.")


class RunSettings(Settings, title="Job"):
    """How the job runs."""

    max_failures: Threshold = Field(
        None, description="Fail the job above this many failures (10) or this share of the documents (1%)."
    )
    beam_options: BeamFlags = Field(
        (),
        description="Options for Apache Beam, such as a runner; on the command line write them after `--`.",
    )
    database: DatabaseSettings | None = Field(None, description="Where `load` puts the rows; a section of its own.")


class JobConfig(RunSettings, OutputSettings, SplitSettings, DocumentSettings):
    """Everything that one job needs to know, checked as a whole when it is built.

    >>> JobConfig(input="docs/*.parquet", output="out", chunk_size="256").chunk_size
    256
    """


def load_settings(
    model: type[_Settings], path: str | Path | None = None, overrides: Mapping[str, Any] | None = None
) -> _Settings:
    """Settings from a file and from the command line, which wins; Beam options from both are joined.

    Args:
        model: `JobConfig`, or one group of its settings.
        path: a YAML file with settings.
        overrides: settings by name, as given on the command line.

    Raises:
        SettingsError: one line for each problem, naming where the setting was written.
    """
    from_file = read_config_file(path) if path is not None else {}
    given = dict(overrides or {})
    origins = {key: f"{path}: {key}" for key in from_file} | {key: f"--{key.replace('_', '-')}" for key in _flat(given)}
    try:
        return model.model_validate(_joined(from_file, given))
    except ValidationError as error:
        raise explain(error, list(model.model_fields), origins) from error


def _joined(from_file: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    joined = {**from_file, **given}
    if "beam_options" in from_file and "beam_options" in given:
        joined["beam_options"] = [from_file["beam_options"], given["beam_options"]]
    if isinstance(from_file.get("database"), Mapping) and "database" in given:
        joined["database"] = {**from_file["database"], **given["database"]}
    return joined


def _flat(given: Mapping[str, Any]) -> Iterator[str]:
    """The names of the settings that flags have given, those of a section by their own."""
    for name, value in given.items():
        if name == "database":
            yield from value
        else:
            yield name
