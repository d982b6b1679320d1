"""Started by tests as a program of its own: one job with every kind of splitter, on the runner that the Beam
options name. Prints one line of JSON: for each kind its rows, and the number of failures.

    python portable_job.py FOLDER [--runner=... and other Beam options]

It is copied beside `my_splitters.py`, which workers do not have, and what it defines is in `__main__`.
"""

import functools
import json
import sys
from pathlib import Path

import apache_beam as beam
import my_splitters
import pyarrow as pa
import pyarrow.parquet as pq
import tiktoken

from llm_splitter import SplitOptions
from pipeline import ChunkDocuments, ReadDocuments, WriteChunks
from pipeline.beam_runs import pipeline_options, runner_of

TEXTS = [
    "one two, three; four",
    "Wien 🚄 Köln",
    "次の電車は九時です。",
    "",
    "é" * 50,
    "a b c " * 20,
    "x",
    " ",
    "नमस्ते दुनिया।",
    "end.",
]


def main_words(text):
    return text.split()


class Knife:
    def __init__(self, edges):
        self.edges = edges

    def cut(self, text):
        return [piece for piece in text.replace(self.edges, self.edges + "\0").split("\0") if piece]


def closure(size):
    return lambda text: [text[start : start + size] for start in range(0, len(text), size)]


def byte_encoding():
    ranks = {bytes([byte]): byte for byte in range(256)}
    return tiktoken.Encoding("bytes", pat_str=r"[\s\S]", mergeable_ranks=ranks, special_tokens={})


def hugging_face():
    from tokenizers import Tokenizer, models, pre_tokenizers

    vocabulary = {character: number for number, character in enumerate(sorted(pre_tokenizers.ByteLevel.alphabet()))}
    tokenizer = Tokenizer(models.BPE(vocabulary, []))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    return tokenizer


KINDS = {
    "built-in name": lambda: "words",
    "encoding name": lambda: "cl100k_base",
    "lambda": lambda: lambda text: text.split(" "),
    "closure": lambda: closure(7),
    "function in __main__": lambda: main_words,
    "bound method": lambda: Knife(",").cut,
    "partial": lambda: functools.partial(str.split, sep="e"),
    "function in a module that workers do not have": lambda: my_splitters.by_comma,
    "method of a class in such a module": lambda: my_splitters.Halver().halve,
    "partial of a function in such a module": lambda: functools.partial(my_splitters.by, mark=";"),
    "tiktoken Encoding": byte_encoding,
    "Hugging Face Tokenizer": hugging_face,
}


def branch(documents, kind, splitter, folder):
    chunk = ChunkDocuments(SplitOptions(splitter=splitter, chunk_size=4, chunk_overlap=1))
    outputs = documents | f"Chunk by {kind}" >> chunk
    parts = {"chunks": outputs.chunks, "failures": outputs.failures}
    return parts | f"Write {kind}" >> WriteChunks(str(folder), chunk.schema)


def rows(folder):
    tables = [pq.read_table(path) for path in sorted(folder.glob("chunks-*.parquet"))]
    failures = sum(pq.read_table(path).num_rows for path in folder.glob("failures-*.parquet"))
    return pa.concat_tables(tables).sort_by("chunk_id").to_pylist(), failures


def main(folder, flags):
    documents = pa.table({"id": [f"d{number}" for number in range(len(TEXTS))], "text": TEXTS})
    pq.write_table(documents, folder / "docs.parquet", row_group_size=2)
    options = pipeline_options(flags)
    with beam.Pipeline(runner_of(options), options=options) as pipeline:
        read = (pipeline | ReadDocuments(str(folder / "docs.parquet"), id_column="id")).documents
        for kind, make in KINDS.items():
            branch(read, kind, make(), folder / kind)
    json.dump({kind: rows(folder / kind) for kind in KINDS}, sys.stdout)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
