"""Loading on a real server: rows a second, against a bare binary COPY of the same rows; re-runs; changes; recovery.

    python benchmarks/load.py copy                        # 100,000 rows with vectors of 384 numbers
    python benchmarks/load.py changes --corpus 'docs/*.parquet' --id-column doc_id
    python benchmarks/load.py recover --corpus 'docs/*.parquet' --id-column doc_id

Figures are ratios within one run: the machine's own speed falls out of them.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import apache_beam as beam
import numpy as np
import psycopg
import pyarrow as pa
import pyarrow.parquet as pq
from apache_beam.runners.portability.fn_api_runner.fn_runner import FnApiRunner
from pgvector.psycopg import register_vector

from llm_splitter import Chunker, SplitOptions
from pipeline.chunk_rows import chunk_documents
from pipeline.config import JobConfig
from pipeline.document_files import DocumentFiles
from pipeline.load import run_load
from pipeline.pgvector import WriteToPgvector
from pipeline.postgres.address import DatabaseAddress
from pipeline.postgres.layout import TableLayout
from pipeline.postgres.merge import load_documents
from pipeline.postgres.registry import LoadSettings
from pipeline.postgres.tables import create_tables, existing_layout
from pipeline.recover_job import Source
from pipeline.source_text import recover_tables, recover_text

DIMENSION = 384


def chunk_rows(rows: int) -> list[pa.Table]:
    """Chunk tables with text and vectors, 20 chunks a document, as `ChunkDocuments` and `EmbedChunks` make them."""
    random = np.random.default_rng(1)
    words = np.array([f"word{number}" for number in range(5000)])
    texts = [" ".join(words[random.integers(0, len(words), 20 * 60)]) for _ in range(rows // 20)]
    documents = pa.table({"doc_id": [f"document-{number}" for number in range(len(texts))], "text": texts})
    chunker = Chunker(SplitOptions(splitter="words", chunk_size=60))
    chunks = chunk_documents(documents, chunker).chunks.combine_chunks()
    vectors = pa.array(random.standard_normal(len(chunks) * DIMENSION, np.float32))
    with_vectors = chunks.append_column("embedding", pa.FixedSizeListArray.from_arrays(vectors, DIMENSION))
    return [with_vectors.slice(start, 5000) for start in range(0, len(with_vectors), 5000)]


def bare_copy(connection: psycopg.Connection, layout: TableLayout, tables: list[pa.Table]) -> None:
    """The same rows by the driver's COPY, with pgvector's own adapter for the vectors, and nothing else."""
    register_vector(connection)
    columns = [column.name for column in layout.all_columns]
    types = ["vector" if column.source == "embedding" else column.type for column in layout.all_columns]
    statement = f'COPY "{layout.table}" ({", ".join(f"{chr(34)}{name}{chr(34)}" for name in columns)})'
    with connection.transaction(), connection.cursor() as cursor:
        for table in tables:
            vectors = table.column("embedding").combine_chunks().flatten().to_numpy().reshape(-1, DIMENSION)
            values = [table.column(name).to_pylist() for name in columns[:-1]]
            with cursor.copy(f"{statement} FROM STDIN (FORMAT BINARY)") as copy:
                copy.set_types(types)
                for row in zip(*values, vectors, strict=True):
                    copy.write_row(row)


def timed(work: Callable[[], object]) -> float:
    """Seconds that the work takes."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def compare_copy(address: DatabaseAddress, rows: int, repeat: int) -> None:
    """Bare COPY, the library function, and the Beam transform, each into an empty table with the same indexes."""
    tables = chunk_rows(rows)
    rows = sum(map(len, tables))
    seconds: dict[str, list[float]] = {}
    with address.connect() as connection, tempfile.TemporaryDirectory() as folder:
        for _ in range(repeat):
            for name, work in _contestants(address, connection, tables, folder).items():
                seconds.setdefault(name, []).append(timed(work))
                print(f"{name:34} {seconds[name][-1]:6.2f} s", flush=True)
    bare = seconds["bare COPY"]
    print(f"{rows:,} rows with vectors of {DIMENSION}, medians of {repeat} runs, each next to the others")
    for name, times in seconds.items():
        ratio = statistics.median(time / base for time, base in zip(times, bare, strict=True))
        median = statistics.median(times)
        print(f"{name:34} {median:6.2f} s {rows / median:9,.0f} rows/s {ratio:6.2f} x bare COPY")


def _contestants(
    address: DatabaseAddress, connection: psycopg.Connection, tables: list[pa.Table], folder: str
) -> dict[str, Callable[[], object]]:
    settings = LoadSettings("s", "e", "", "r")
    schema = tables[0].schema.remove(tables[0].schema.get_field_index("embedding"))
    layouts = {}
    for name in ("bare", "own", "beam"):
        connection.execute(f"DROP TABLE IF EXISTS bench_{name}, bench_{name}_documents")
        create_tables(connection, TableLayout(schema, f"bench_{name}", dimension=DIMENSION))
        layouts[name] = existing_layout(connection, TableLayout(schema, f"bench_{name}", dimension=DIMENSION))
    connection.execute("CHECKPOINT")
    paths = [f"{folder}/{number}.arrow" for number in range(len(tables))]
    for path, table in zip(paths, tables, strict=True):
        with pa.ipc.new_file(path, table.schema) as writer:
            writer.write_table(table)

    def load(name: str) -> None:
        for table in tables:
            load_documents(connection, layouts[name], table, settings)

    def job() -> None:
        with beam.Pipeline(FnApiRunner()) as pipeline:
            chunks = pipeline | beam.Create(paths) | beam.Map(_table).with_output_types(pa.Table)
            chunks | WriteToPgvector(address, schema, settings=settings, table="bench_beam", dimension=DIMENSION)

    return {
        "bare COPY": lambda: bare_copy(connection, layouts["bare"], tables),
        "load_documents, empty table": lambda: load("own"),
        "load_documents, again": lambda: load("own"),
        "WriteToPgvector, empty table": job,
        "WriteToPgvector, again": job,
    }


def _table(path: str) -> pa.Table:
    with pa.memory_map(path) as file:
        return pa.ipc.open_file(file).read_all()


def compare_changes(address: DatabaseAddress, documents: pa.Table, repeat: int, embedder: str | None) -> None:
    """A first load of a corpus, one with nothing changed, and one with 1% of the documents changed."""
    ratios: dict[str, list[float]] = {"nothing changed": [], "1% changed": []}
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(repeat):
            job = _job(address, folder, embedder)
            _write(documents, folder, changed=0)
            first, report = _load(job)
            print(f"first load          {first:6.2f} s  {report}")
            for name, share in (("nothing changed", 0.0), ("1% changed", 0.01)):
                _write(documents, folder, changed=share)
                again, report = _load(job)
                ratios[name].append(again / first)
                print(f"{name:18}  {again:6.2f} s  {again / first:6.1%} of the first  {report}")
    for name, found in ratios.items():
        print(f"{name}: median {statistics.median(found):.1%} of the first load")


def _read(corpus: str, id_column: str) -> pa.Table:
    return pa.concat_tables(
        table.select(["doc_id", "text"]) for table in DocumentFiles(corpus, id_column=id_column).tables()
    )


def _copies(documents: pa.Table, copies: int) -> pa.Table:
    doc_ids = documents.column("doc_id").to_pylist()
    return pa.concat_tables(
        documents.set_column(0, "doc_id", pa.array([f"{number}/{doc_id}" for doc_id in doc_ids]))
        for number in range(copies)
    )


def _write(documents: pa.Table, folder: str, changed: float) -> None:
    """The corpus as Parquet; of the changed documents the first word is another."""
    texts = documents.column("text").to_pylist()
    for row in range(0, len(texts), int(1 / changed)) if changed else ():
        texts[row] = f"Changed. {texts[row] or ''}"
    table = documents.set_column(1, "text", pa.array(texts, pa.large_string()))
    pq.write_table(table, Path(folder) / "documents.parquet", row_group_size=2000)


def _job(address: DatabaseAddress, folder: str, embedder: str | None) -> JobConfig:
    with address.connect() as connection:
        connection.execute("DROP TABLE IF EXISTS bench_load, bench_load_documents")
    database = {"table": "bench_load", "folder": address.folder, "url": address.url, "embedder": embedder}
    return JobConfig.model_validate(
        {
            "input": f"{folder}/documents.parquet",
            "output": f"{folder}/out",
            "id_column": "doc_id",
            "splitter": "cl100k_base",
            "chunk_overlap": 64,
            "database": database,
        }
    )


def _load(job: JobConfig) -> tuple[float, dict[str, int]]:
    start = time.perf_counter()
    result = run_load(job)
    seconds = time.perf_counter() - start
    assert result.report is not None, result.error
    told = ("documents_new", "documents_changed", "documents_unchanged", "chunks_loaded", "documents_refused")
    return seconds, {name: result.report.counts[name] for name in told if name in result.report.counts}


def round_trip(address: DatabaseAddress, corpus: str, id_column: str, chunk_size: int) -> None:
    """Text-free rows of a corpus into the database, and the text of every row back, against the source's slices."""
    with tempfile.TemporaryDirectory() as folder:
        documents = _read(corpus, id_column)
        _write(documents, folder, changed=0)
        job = _job(address, folder, None).model_copy(
            update={"text": False, "chunk_size": chunk_size, "chunk_overlap": 0}
        )
        _load(job)
        source = Source(job, "database")
        rows = source.all_rows()
        start = time.perf_counter()
        recovered = list(recover_tables(rows, source.documents()))
        seconds = time.perf_counter() - start
        texts = dict(zip(*(documents.column(name).to_pylist() for name in ("doc_id", "text")), strict=True))
        equal = sum(
            texts[row["doc_id"]][row["start"] : row["end"]] == row["text"]
            for table in recovered
            for row in table.rows.to_pylist()
        )
        refused = sum(table.failures.num_rows for table in recovered)
        print(f"{len(rows):,} rows, {equal:,} texts equal to the source's slice, {refused} refused")
        print(f"in bulk, reading included: {seconds:.2f} s, {len(rows) / seconds:,.0f} rows/s")
        _one_hit(source, rows, DocumentFiles.of(job))
        shutil.rmtree(folder, ignore_errors=True)


def _one_hit(source: Source, rows: pa.Table, files: DocumentFiles) -> None:
    sample = rows.take(pa.array(np.random.default_rng(2).integers(0, len(rows), 200))).to_pylist()
    first = timed(lambda: files.text(sample[0]["doc_id"]))
    times = [
        timed(
            lambda row=row: recover_text(files.text(row["doc_id"]), row["start"], row["end"], doc_hash=row["doc_hash"])
        )
        for row in sample
    ]
    print(f"one hit from Parquet: median {statistics.median(times) * 1e3:.2f} ms, after {first:.2f} s for the first")


def main() -> None:
    """Read the arguments and measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["copy", "changes", "recover"])
    parser.add_argument("--corpus", default="samples/*.parquet")
    parser.add_argument("--id-column", default="id")
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--embedder")
    parser.add_argument("--chunk-size", type=int, default=512, help="tokens, for `recover`; small ones make many rows")
    parser.add_argument("--copies", type=int, default=1, help="of the corpus, under ids of their own, for `changes`")
    parser.add_argument("--url", help="a server to measure on; by default one is started")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        address = DatabaseAddress(given.url, folder=f"{folder}/server")
        if given.what == "copy":
            compare_copy(address, given.rows, given.repeat)
        elif given.what == "changes":
            documents = _copies(_read(given.corpus, given.id_column), given.copies)
            compare_changes(address, documents, given.repeat, given.embedder)
        else:
            round_trip(address, given.corpus, given.id_column, given.chunk_size)


if __name__ == "__main__":
    main()
