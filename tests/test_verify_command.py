"""`llm-splitter verify` on the command line: what it prints, and its exit codes."""

import json

import pytest

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
    assert capsys.readouterr().out == "1 documents, 2 chunks\nevery promise is kept\n"


def test_a_document_that_changed(output, tmp_path, capsys):
    (tmp_path / "a.jsonl").write_text(json.dumps({"text": "one two three [bold]five[/bold]"}) + "\n", encoding="utf-8")
    assert main(["verify", str(output), str(tmp_path / "*.jsonl")]) == 1
    shown = capsys.readouterr().out
    assert "doc_hash: broken 2 times" in shown
    assert "the document gives 'three [bold]five[/bold]'" in shown


def test_no_output(tmp_path, capsys):
    assert main(["verify", str(tmp_path)]) == 2
    assert "not a finished output" in capsys.readouterr().err
