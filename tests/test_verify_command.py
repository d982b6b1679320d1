"""`llm-splitter verify` on the command line: what it prints, and its exit codes."""

import json

import apache_beam as beam
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from apache_beam.runners.portability.fn_api_runner.fn_runner import FnApiRunner

from pipeline import ChunkDocuments, WriteChunks
from pipeline.__main__ import main


@pytest.fixture
def output(tmp_path):
    (tmp_path / "a.jsonl").write_text(json.dumps({"text": "one two three [bold]four[/bold]"}) + "\n", encoding="utf-8")
    out = tmp_path / "out"
    flags = ["--splitter", "words", "--chunk-size", "2", "--quiet"]
    assert main(["run", "--input", str(tmp_path / "*.jsonl"), "--output", str(out), *flags]) == 0
    return out


def test_a_clean_output(output, capsys):
    assert main(["verify", str(output)]) == 0
    assert capsys.readouterr().out == "1 document and 2 chunks checked\nevery promise is kept\n"


def test_a_document_that_changed(output, tmp_path, capsys):
    (tmp_path / "a.jsonl").write_text(json.dumps({"text": "one two three [bold]five[/bold]"}) + "\n", encoding="utf-8")
    assert main(["verify", str(output), str(tmp_path / "*.jsonl")]) == 1
    shown = capsys.readouterr().out
    assert "doc_hash: 2 breaks" in shown
    assert "the document gives 'three [bold]five[/bold]'" in shown


def test_no_output(tmp_path, capsys):
    assert main(["verify", str(tmp_path)]) == 2
    assert "not a finished output" in capsys.readouterr().err


def test_no_folder(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["verify", "nope"]) == 2
    assert capsys.readouterr().err.startswith(f"llm-splitter: there is no folder 'nope' in {tmp_path}; ")


def test_a_text_column_that_is_not_there(output, capsys):
    assert main(["verify", str(output), "--text-column", "body"]) == 2
    assert capsys.readouterr().err == (
        "llm-splitter: --text-column: no column 'body' in the input; its columns are text\n"
    )


def test_a_changed_row_is_named_beside_its_file(output, capsys):
    path = next(output.glob("chunks-*.parquet"))
    table = pq.read_table(path)
    texts = ["one twO ", *table["text"].to_pylist()[1:]]
    place, field = table.schema.get_field_index("text"), table.schema.field("text")
    pq.write_table(table.set_column(place, field, pa.array(texts, field.type)), path)
    assert main(["verify", str(output)]) == 1
    shown = capsys.readouterr().out.splitlines()
    assert shown[:3] == ["1 document and 2 chunks checked", "files: 1 break", "text: 1 break"]
    assert shown[3].startswith(f"  files: {path.name} has changed: its blake2b is ")
    assert shown[4].endswith("a.jsonl#1': chunk 0 has 'one twO ', the document gives 'one two '")


def test_a_damaged_file(output, capsys):
    path = next(output.glob("chunks-*.parquet"))
    path.write_bytes(path.read_bytes()[:-20])
    assert main(["verify", str(output)]) == 1
    assert "not all rows could be checked: " in capsys.readouterr().out


def test_a_missing_file(output, capsys):
    next(output.glob("chunks-*.parquet")).unlink()
    assert main(["verify", str(output)]) == 1
    shown = capsys.readouterr().out
    assert "is missing\n" in shown
    assert "has neither chunks" not in shown


def test_documents_that_are_gone(output, tmp_path, capsys):
    (tmp_path / "a.jsonl").unlink()
    assert main(["verify", str(output)]) == 2
    assert f"the documents are not there: no file matches '{tmp_path}/*.jsonl' in " in capsys.readouterr().err


def test_some_documents_that_are_gone(output, tmp_path, capsys):
    (tmp_path / "a.jsonl").rename(tmp_path / "b.jsonl")
    assert main(["verify", str(output)]) == 1
    shown = capsys.readouterr().out
    assert f"documents: '{tmp_path}/a.jsonl#1': is not there; 2 rows of such documents" in shown
    assert "ids are made of paths as they were given" in shown


@pytest.fixture
def own_output(tmp_path):
    """What somebody's own pipeline has written."""
    documents = pa.table({"url": ["a", "b"], "body": ["one two three", "four"]})
    pq.write_table(documents, tmp_path / "docs.parquet")
    rows = documents.rename_columns(["doc_id", "text"])
    chunk = ChunkDocuments(splitter="words", chunk_size=2)
    with beam.Pipeline(FnApiRunner()) as pipeline:
        chunks = pipeline | beam.Create([rows]) | chunk
        chunks.chunks | WriteChunks(str(tmp_path / "own"), chunk.schema)
    return tmp_path / "own"


def test_the_output_of_another_pipeline(own_output, tmp_path, capsys):
    named = [str(own_output), str(tmp_path / "docs.parquet")]
    assert main(["verify", *named, "--id-column", "url", "--text-column", "body"]) == 0
    assert capsys.readouterr().out.splitlines() == ["2 documents and 3 chunks checked", "every promise is kept"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "does not say which documents it is made of, as the output of `run` does; name them"),
        (["docs.parquet"], "text_column: no column 'text' in the input; its columns are url, body"),
        (["docs.parquet", "--text-column", "txt"], "--text-column: no column 'txt' in the input"),
    ],
)
def test_what_is_missing_is_one_line(own_output, tmp_path, monkeypatch, capsys, arguments, words):
    monkeypatch.chdir(tmp_path)
    assert main(["verify", "own", *arguments]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert words in line


def test_documents_that_share_an_id_are_counted(tmp_path, capsys):
    (tmp_path / "a.jsonl").write_text(
        "".join(json.dumps({"id": "x", "text": text}) + "\n" for text in ("one two three", "four five"))
    )
    flags = ["--input", str(tmp_path / "a.jsonl"), "--output", str(tmp_path / "out"), "--id-column", "id"]
    assert main(["run", *flags, "--splitter", "words", "--chunk-size", "2", "--quiet"]) == 0
    assert main(["verify", str(tmp_path / "out")]) == 0
    assert "1 document with the id of an earlier one; each has its chunks" in capsys.readouterr().out
