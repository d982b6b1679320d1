"""A finished output against its documents: is every promise kept?"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from llm_splitter import Chunker, SplitOptions, TextBatch
from llm_splitter.splitters import BUILT_IN
from pipeline import folders
from pipeline.build import read_step
from pipeline.chunk_files import ChunkFile, open_chunk_file
from pipeline.chunk_index import ChunkIndex
from pipeline.config import DocumentSettings
from pipeline.guarantees import Break, Promises, check_document, chunk_texts
from pipeline.hashing import DIGEST_BYTES, hash_bytes
from pipeline.input_files import NoFilesError
from pipeline.manifest import MANIFEST_NAME, Manifest, parse_manifest
from pipeline.publish import is_output_name
from pipeline.read import ReadDocuments, plan_file, read_documents
from pipeline.schemas import DOC_ID, TEXT
from pipeline.text_buffers import document_text
from pipeline.wording import plural

MOST_SHOWN = 100
_WHOLE = (1 << 31) - 1  # a chunk size that leaves every text whole
_READ_BYTES = 1 << 20
_COUNTED = [DOC_ID, "chunk_index", "token_count"]


@dataclass
class Report:
    """What a check of an output found.

    Attributes:
        documents: Documents read again.
        chunks: Chunk rows in the output.
        repeated: Documents with the id of an earlier one, as far as they have chunks.
        broken: How many times each check failed.
        examples: The first `MOST_SHOWN` of those.
        notes: What could not be checked, and what may explain the rest.
    """

    documents: int = 0
    chunks: int = 0
    repeated: int = 0
    broken: Counter[str] = field(default_factory=Counter)
    examples: list[Break] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def is_clean(self) -> bool:
        """Whether every promise is kept."""
        return not self.broken

    def add(self, breaks: Iterable[Break]) -> None:
        """Note what is broken."""
        for found in breaks:
            self.broken[found.check] += 1
            if len(self.examples) < MOST_SHOWN:
                self.examples.append(found)


def verify_output(chunks: str, documents: Sequence[str] = (), **columns: str | None) -> Report:
    """Check all guarantees of a finished output against the documents it was made from.

    Files are as the manifest lists them, of one schema. Every chunk is the slice of its document that its
    offsets say, with the hashes and the id that follow; chunks are in order, leave no character out, and keep
    the budget when encoded again; every document has its chunks, and every chunk its document. Of files that
    have changed, the rows are checked as far as they can be read.

    Documents and rows are read piece by piece; what is held for all of them is 28 bytes a document.

    Args:
        chunks: The output folder.
        documents: Paths and patterns of the documents; those of the job by default.
        **columns: `id_column`, `text_column` and `input_format` of the documents, where the manifest does not
            say them or says other ones.

    Raises:
        ValueError: If the folder holds no finished output, or the documents cannot be found.
        OSError: If a file cannot be read.

    Example:
        >>> verify_output("out", ["docs/*.parquet"]).is_clean  # doctest: +SKIP
        True
    """
    manifest = _read_manifest(chunks)
    read = _documents_of(chunks, manifest, documents, columns)
    report = Report()
    report.add(_file_breaks(chunks, manifest))
    is_unchanged = report.is_clean
    try:
        _verify_rows(report, read, manifest, chunks)
    except (OSError, ValueError, pa.ArrowException) as error:
        if is_unchanged:
            raise
        report.notes.append(f"not all rows could be checked: {error}")
    return report


def _documents_of(
    folder: str, manifest: Manifest, documents: Sequence[str], columns: Mapping[str, str | None]
) -> ReadDocuments:
    """How the documents are read once more.

    Raises:
        ValueError: If they cannot be found; the message says what to do about it.
    """
    if "fingerprint" not in manifest.chunking:
        raise ValueError(
            f"{folder!r} does not say how its chunks were made: its files lack the schema metadata that the schema of "
            "ChunkDocuments has"
        )
    settings = {name: value for name, value in manifest.settings.items() if name in DocumentSettings.model_fields}
    settings |= {name: value for name, value in columns.items() if value is not None}
    if documents:
        settings["input"] = list(documents)
    if "input" not in settings:
        raise ValueError(
            f"{folder!r} does not say which documents it is made of, as the output of `run` does; name them, and their "
            f"columns: llm-splitter verify {folder} 'docs/*.parquet' --id-column id --text-column text"
        )
    try:
        return read_step(DocumentSettings(**settings))
    except NoFilesError as error:
        if documents:
            raise
        raise ValueError(
            f"the documents are not there: {str(error).partition(';')[0].removeprefix('input: ')} in {Path.cwd()}; "
            "start this where the job was started, or name them behind the output folder"
        ) from error


def _read_manifest(folder: str) -> Manifest:
    path = folders.join(folder, MANIFEST_NAME)
    if not folders.exists(path):
        if folders.is_local(folder) and not Path(folder).is_dir():
            raise ValueError(f"there is no folder {folder!r} in {Path.cwd()}; name the output folder of a job")
        raise ValueError(f"{folder!r} has no {MANIFEST_NAME}, so it is not a finished output; run the job again")
    with folders.open_file(path) as file:
        return parse_manifest(file.read())


def _file_breaks(folder: str, manifest: Manifest) -> Iterator[Break]:
    """Files that are not those of the manifest; `doc_id` is empty."""
    present = {folders.base_name(path) for path in folders.list_files(folder)}
    for file in manifest.files:
        if file.name not in present:
            yield Break("files", "", f"{file.name} is missing")
        elif (found := _fingerprint(folders.join(folder, file.name))) != file.fingerprint:
            yield Break("files", "", f"{file.name} has changed: its blake2b is {found}, not {file.fingerprint}")
    listed = {file.name for file in manifest.files} | {MANIFEST_NAME}
    for name in sorted(present - listed):
        if is_output_name(name):
            yield Break("files", "", f"{name} is not of this run")


def _fingerprint(path: str) -> str:
    digest = hashlib.blake2b(digest_size=DIGEST_BYTES)
    with folders.open_file(path) as file:
        while piece := file.read(_READ_BYTES):
            digest.update(piece)
    return digest.hexdigest()


def _verify_rows(report: Report, read: ReadDocuments, manifest: Manifest, folder: str) -> None:
    present = {folders.base_name(path) for path in folders.list_files(folder)}
    listed = [file.name for file in manifest.files if file.name.startswith("chunks-")]
    files = [open_chunk_file(folders.join(folder, name)) for name in listed if name in present]
    is_whole = len(files) == len(listed)
    report.add(_schema_breaks(files))
    index = ChunkIndex(files)
    report.chunks = index.rows
    checker = _Checker(index, manifest, _failed_ids(folder, manifest, present), is_whole)
    for table in _documents(read):
        report.documents += table.num_rows
        report.add(checker.check(table))
    report.repeated = index.claimed_again
    report.notes += checker.notes
    report.add(_unclaimed_breaks(report, index, read))


def _unclaimed_breaks(report: Report, index: ChunkIndex, read: ReadDocuments) -> Iterator[Break]:
    rows, doc_ids = index.unclaimed(3)
    if not rows:
        return
    others = f"; others are of {', '.join(map(repr, doc_ids[1:]))}" if doc_ids[1:] else ""
    yield Break("documents", doc_ids[0], f"is not there; {plural(rows, 'row')} of such documents{others}")
    if read.options.columns.id is None:
        report.notes.append("without an id column ids are made of paths as they were given: name the documents alike")


def _schema_breaks(files: Sequence[ChunkFile]) -> Iterator[Break]:
    for number, file in enumerate(files):
        first, schema = files[0].schema, file.schema
        if first is not None and schema is not None and not schema.equals(first, check_metadata=True):
            yield Break("schema", "", f"chunk file number {number + 1} has another schema than the first")


def _failed_ids(folder: str, manifest: Manifest, present: Container[str]) -> set[str]:
    """Documents that the splitter failed on."""
    failed: set[str] = set()
    for file in manifest.files:
        if file.name.startswith("failures-") and file.name in present:
            with folders.open_file(folders.join(folder, file.name)) as source:
                table = pq.read_table(source, columns=["stage", DOC_ID])
            failed.update(table.filter(pc.equal(table["stage"], "chunk"))[DOC_ID].to_pylist())
    return failed


def _documents(read: ReadDocuments) -> Iterator[pa.Table]:
    """The documents of the job once more, in the same tables."""
    for file in read.files:
        for unit in plan_file(file, read.options):
            for batch in read_documents(unit, read.options):
                if batch.documents is not None:
                    yield batch.documents


class _Checker:
    """Checks the chunk rows of tables of documents."""

    def __init__(self, index: ChunkIndex, manifest: Manifest, failed: set[str], is_whole: bool) -> None:
        said = {**manifest.chunking, **manifest.settings}
        self._index, self._failed, self._is_whole, self._size = index, failed, is_whole, said["chunk_size"]
        self._own_splitter = not manifest.chunking["tokenizer_version"] and said["splitter"] not in BUILT_IN
        by_paragraph = said["chunk_strategy"] == "paragraph"
        self._promises = Promises(
            said["offset_unit"],
            manifest.chunking["fingerprint"],
            "anything" if self._own_splitter else "space" if by_paragraph else "nothing",
        )
        self.notes: list[str] = (
            [] if is_whole else ["chunk files are missing, so documents without chunks are not told"]
        )
        counts_tokens = said["strict_size"] and not self._own_splitter and said["splitter"] not in BUILT_IN
        self._counter = self._token_counter(said) if counts_tokens else None

    def _token_counter(self, said: Mapping[str, Any]) -> Chunker | None:
        whole = SplitOptions(splitter=said["splitter"], chunk_size=_WHOLE, strict_size=False)
        try:
            return Chunker(whole, engine=said.get("engine", "auto"))
        except ValueError as error:
            self.notes.append(f"tokens were not counted again: {error}")
            return None

    def check(self, documents: pa.Table) -> Iterator[Break]:
        """The promises that the rows of these documents break."""
        text = document_text(documents.column(TEXT))
        offsets = text.doc_offsets.tolist()
        sound: list[tuple[bytes, pa.Table]] = []
        for number, doc_id in enumerate(documents.column(DOC_ID).to_pylist()):
            data = text.data[offsets[number] : offsets[number + 1]].tobytes()
            rows = self._rows_of(doc_id, data)
            if rows is None:
                yield from self._without_rows(doc_id, data)
            elif breaks := list(check_document(doc_id, data, rows, self._promises)):
                yield from breaks
            else:
                sound.append((data, rows))
        yield from self._budget_breaks(sound)

    def _rows_of(self, doc_id: str, data: bytes) -> pa.Table | None:
        """The rows of this very document, where several have its id, once each; None if it has none."""
        rows = self._index.rows_of(doc_id)
        if rows is None:
            return None
        rows = rows.filter(pc.equal(rows[DOC_ID], doc_id))
        if not rows.num_rows:
            return None
        its_own = rows.filter(pc.equal(rows["doc_hash"], hash_bytes(data)))
        if not its_own.num_rows and not self._needs_rows(doc_id, data):
            return None
        self._index.claim(doc_id)
        if (np.diff(rows.column("chunk_index").to_numpy()) > 0).all():  # one document's, with all that is wrong in them
            return rows
        _, first = np.unique(its_own.column("chunk_index").to_numpy(), return_index=True)
        return its_own.take(pa.array(first)) if its_own.num_rows else None

    def _needs_rows(self, doc_id: str, data: bytes) -> bool:
        return bool(data.decode().strip()) and not self._own_splitter and doc_id not in self._failed

    def _without_rows(self, doc_id: str, data: bytes) -> Iterator[Break]:
        if not self._needs_rows(doc_id, data):
            return
        if self._index.rows_of(doc_id) is None:
            if self._is_whole:
                yield Break("documents", doc_id, "has neither chunks nor a failure")
        else:
            yield Break("doc_hash", doc_id, "the rows of this id are of another text")

    def _budget_breaks(self, documents: list[tuple[bytes, pa.Table]]) -> Iterator[Break]:
        """Chunks whose text has another number of tokens than they say, or more than are allowed."""
        pieces = [piece for data, rows in documents for piece in chunk_texts(data, rows, self._promises.offset_unit)]
        rows = pa.concat_tables([rows.select(_COUNTED) for _, rows in documents]).to_pylist() if documents else []
        counts = [row["token_count"] for row in rows] if self._counter is None else _counts(self._counter, pieces)
        for row, piece, tokens in zip(rows, pieces, counts, strict=True):
            where = f"chunk {row['chunk_index']} has {tokens} parts"
            if tokens != row["token_count"]:
                yield Break("token_count", row[DOC_ID], f"{where}, not {row['token_count']}")
            if tokens > self._size and len(piece.decode()) > 1:
                yield Break("size", row[DOC_ID], f"{where}, and chunk_size is {self._size}")


def _counts(counter: Chunker, pieces: Sequence[bytes]) -> list[int]:
    """The tokens of each text, encoded alone."""
    offsets = np.concatenate(([0], np.cumsum([len(piece) for piece in pieces], dtype=np.int64)))
    arrays = counter.chunk(TextBatch.from_buffers(np.frombuffer(b"".join(pieces), np.uint8), offsets))
    sums = np.concatenate(([0], np.cumsum(arrays.token_count, dtype=np.int64)))
    tokens: list[int] = np.diff(sums[arrays.doc_offsets]).tolist()
    return tokens
