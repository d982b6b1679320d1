"""The command line as a person meets it: commands, messages, exit codes."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from llm_splitter import split
from pipeline.__main__ import main
from pipeline.config import JobConfig
from pipeline.exit_codes import ExitCode

TEXT = "one two three four five six"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])  # the program adds the folder it is started in
    rows = [{"id": f"d{n}", "lang": "en", "text": TEXT} for n in range(3)]
    Path("docs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    Path("numbers.jsonl").write_text('{"text": 1}\n')
    Path("page.txt").write_text(TEXT, encoding="utf-8")
    return tmp_path


def errors(capsys: pytest.CaptureFixture[str]) -> list[str]:
    shown = capsys.readouterr().err.splitlines()
    assert all(line.startswith("llm-splitter: ") for line in shown)
    return [line.removeprefix("llm-splitter: ") for line in shown]


def program(*arguments: str, **options: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "pipeline", *arguments], capture_output=True, text=True, check=False, **options
    )


# run


def test_run_without_a_file(folder, capsys):
    arguments = "--input docs.jsonl --output out --id-column id --metadata-columns lang --splitter words --chunk-size 4"
    assert main(["run", *arguments.split()]) == ExitCode.FINE
    table = pq.read_table(next(Path("out").glob("chunks-*.parquet")))
    assert table.column("text").to_pylist() == [c.text for c in split(TEXT, splitter="words", chunk_size=4)] * 3
    assert table.column("lang").to_pylist() == ["en"] * 6
    shown = capsys.readouterr()
    assert "words in a chunk  min 2, median 2, p95 4, max 4" in shown.out
    assert "llm-splitter:" not in shown.err


def test_run_with_a_file_and_overrides(folder):
    Path("job.yaml").write_text("input: docs.jsonl\noutput: out\nsplitter: words\nchunk_size: 100\n")
    assert main(["run", "job.yaml", "--chunk-size", "2", "--no-text", "--format", "arrow", "--quiet"]) == ExitCode.FINE
    manifest = json.loads(Path("out/manifest.json").read_text())
    assert (manifest["settings"]["chunk_size"], manifest["settings"]["text"]) == (2, False)
    assert manifest["counters"]["chunks"] == 9
    assert list(Path("out").glob("chunks-*.arrow"))


def test_half_a_surrogate_pair_is_told(folder, capsys):
    Path("halves.jsonl").write_text('{"text": "a \\ud800"}\n{"text": "b"}\n')
    assert main(["run", "--input", "halves.jsonl", "--output", "out", "--splitter", "words"]) == ExitCode.FINE
    assert "  mended          1 (half a surrogate pair became U+FFFD)" in capsys.readouterr().out
    assert json.loads(Path("out/manifest.json").read_text())["counters"]["surrogates_replaced"] == 1
    assert main(["verify", "out"]) == ExitCode.FINE


def test_quiet_is_silent(folder):
    done = program("run", "--input", "docs.jsonl", "--output", "out", "--quiet", cwd=folder)
    assert (done.returncode, done.stdout, done.stderr) == (ExitCode.FINE, "", "")


def test_a_run_says_nothing_but_its_progress_and_its_summary(folder):
    done = program("run", "--input", "docs.jsonl", "--output", "out", cwd=folder)
    assert done.returncode == ExitCode.FINE
    assert done.stdout.startswith("documents read")
    assert [line for line in done.stderr.splitlines() if " · " not in line] == []


def test_several_inputs_without_quotes(folder):
    Path("more.jsonl").write_text('{"text": "seven"}\n')
    assert main(["run", "--input", "docs.jsonl", "more.jsonl", "--output", "out", "--quiet"]) == ExitCode.FINE
    assert json.loads(Path("out/manifest.json").read_text())["counters"]["documents_read"] == 4


def test_a_splitter_of_the_users_own(folder, capsys):
    Path("my_own_pieces.py").write_text("def pairs(text):\n    return text.split(' t')\n")
    arguments = ["run", "--input", "docs.jsonl", "--output", "out", "--splitter", "my_own_pieces:pairs"]
    assert main(arguments) == ExitCode.FINE
    assert "parts in a chunk  min 3, median 3, p95 3, max 3" in capsys.readouterr().out


def test_beam_options_follow_two_hyphens(folder):
    arguments = "run --input docs.jsonl --output out --quiet -- --runner=FnApiRunner --direct_num_workers=1"
    assert main(arguments.split()) == ExitCode.FINE


@pytest.mark.parametrize("given", ["run --input docs.jsonl --output out --", "run job.yaml --"])
def test_beam_options_reach_beam(folder, capsys, given):
    Path("job.yaml").write_text("input: docs.jsonl\noutput: out\n")
    assert main([*given.split(), "--runner=DaskRunner"]) == ExitCode.WRONG_SETTINGS
    assert "DaskRunner" in errors(capsys)[0]


# mistakes


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ("run --input docs.jsonl --output out --chunk-size 0", "--chunk-size: must be an integer of at least 1, got 0"),
        (
            "run --input docs.jsonl --output out --chunk-sise 9",
            "Unknown option: --chunk-sise. Did you mean --chunk-size?",
        ),
        ("run --input docs.jsonl", "output: is needed (--output or a line `output:` in the settings file)"),
        ("run nothing.yaml", "nothing.yaml: cannot be read: No such file or directory"),
        ("run job.yaml stray --output out", "stray: not understood: a job has one settings file"),
        ("run docs.jsonl", "docs.jsonl: is no settings file; documents are given as --input docs.jsonl"),
        ("run docs/*.parquet --output out", "docs/*.parquet: is no settings file; documents are given as --input"),
        ("load docs/a.parquet", "docs/a.parquet: is no settings file"),
        ("watch docs.jsonl", "docs.jsonl: is no settings file"),
        (
            "run --input docs.jsonl --output out --text false",
            "false: a switch takes no value; write --text or --no-text",
        ),
        ("run job.yaml --text false", "false: a switch takes no value"),
        ("run --input docs.jsonl,page.txt --output out", "--input: no file matches 'docs.jsonl,page.txt'; several are"),
        (
            "run --input docs.jsonl --output out --splitter gpt-4o",
            "--splitter: unknown splitter 'gpt-4o': that is a model",
        ),
        ("run --input numbers.jsonl --output out", "text_column: column 'text' has type int64; a document is a string"),
        ("search what is this", "search: takes a settings file and a question in quotes, not 3 words"),
        ("search job.yaml", "QUESTION: is needed behind job.yaml"),
        ("search what", "CONFIG: is needed, the settings that the rows were loaded with"),
        ("rum", 'Unknown command "rum". Did you mean "run"?'),
        ("split", 'Command "split" parameter FILE requires an argument.'),
        ("search job.yaml question -n 0", "--most: is 0; it must be at least 1 passage"),
        ("verify nope", "there is no folder 'nope'"),
        ("split page.txt --splitter missing.json", "--splitter: cannot read the tokenizer file missing.json: No such"),
        ("split --chunk-sise 9 page.txt", "Unknown option: --chunk-sise. Did you mean --chunk-size?"),
        ("split nothing.txt", "nothing.txt: cannot be read: No such file or directory"),
        ("split page.txt --chunk-overlap 600", "--chunk-overlap: must be less than chunk_size, got 600"),
        ("split page.txt --splitter nosuch_base", "--splitter: unknown splitter 'nosuch_base'"),
        ("split page.txt --splitter nosuch/tokenizer.json", "--splitter: "),
        ("run --input nothing/*.parquet --output out", "--input: "),
        ("run --input docs.jsonl --output out --metadata-columns lang:strin", "--metadata-columns: "),
        ("run --input docs.jsonl --output out --splitter nosuch_base", "--splitter: "),
    ],
)
def test_a_mistake_is_one_line_and_nothing_runs(folder, capsys, arguments, problem):
    assert main(arguments.split()) == ExitCode.WRONG_SETTINGS
    (line,) = errors(capsys)
    assert line.startswith(problem)
    assert not Path("out").exists()


def test_an_unknown_encoding_lists_the_known_ones(folder, capsys):
    main(["run", "--input", "docs.jsonl", "--output", "out", "--splitter", "cl100k"])
    (line,) = errors(capsys)
    assert "'cl100k'" in line
    assert "cl100k_base" in line
    assert "o200k_base" in line


def test_a_pattern_that_matches_nothing_is_named(folder, capsys):
    main(["run", "--input", "docs.jsonl", "nothing/*.parquet", "--output", "out"])
    (line,) = errors(capsys)
    assert "nothing/*.parquet" in line


def test_text_that_is_not_utf8_is_told_by_place(folder, capsys):
    Path("latin.txt").write_bytes(b"caf\xe9")
    assert main(["split", "latin.txt"]) == ExitCode.WRONG_SETTINGS
    assert errors(capsys) == ["latin.txt: not UTF-8 text: byte 3 is 0xe9"]


def test_an_output_is_not_taken_for_documents(folder, capsys):
    job = ["run", "--splitter", "words", "--quiet", "--input"]
    assert main([*job, ".", "--output", "out"]) == ExitCode.FINE
    rows = pq.read_table(next(Path("out").glob("chunks-*.parquet"))).num_rows
    capsys.readouterr()
    for pattern, output in ((".", "./out/"), (".", "other"), ("**/*.*", "other"), (".", ".")):
        assert main([*job, pattern, "--output", output]) == ExitCode.FINE
        assert pq.read_table(next(Path(output).glob("chunks-*.parquet"))).num_rows == rows
        assert "no documents are taken from earlier outputs of this program: '" in errors(capsys)[0]


@pytest.mark.parametrize(
    ("pattern", "words"),
    [
        ("out/*.parquet", "is a file of the output folder './out/'"),
        ("out", "'out' matches only outputs of this program, such as '/"),
    ],
)
def test_only_outputs_are_no_documents(folder, capsys, pattern, words):
    assert main(["run", "--input", "docs.jsonl", "--output", "out", "--quiet"]) == ExitCode.FINE
    assert main(["run", "--input", pattern, "--output", "./out/", "--quiet"]) == ExitCode.WRONG_SETTINGS
    assert words in errors(capsys)[0]


# failures


def test_more_failures_than_allowed(folder, capsys):
    Path("bad.jsonl").write_text("{\n")
    assert (
        main(["run", "--input", "*.jsonl", "--output", "out", "--max-failures", "0", "--quiet"])
        == ExitCode.TOO_MANY_FAILURES
    )
    (line,) = errors(capsys)
    assert "max_failures=0" in line
    assert not Path("out/manifest.json").exists()


def test_failures_within_what_is_allowed(folder):
    Path("bad.jsonl").write_text("{\n")
    assert main(["run", "--input", "*.jsonl", "--output", "out", "--max-failures", "50%", "--quiet"]) == ExitCode.FINE


def test_a_job_that_fails_is_one_line(folder, capsys, monkeypatch):
    def fail(*_: object) -> None:
        raise RuntimeError("the disk\nis on fire")

    monkeypatch.setattr("pipeline.write.publish", fail)
    assert main(["run", "--input", "docs.jsonl", "--output", "out", "--quiet"]) == ExitCode.JOB_FAILED
    (line,) = errors(capsys)
    assert line.startswith("the job failed: RuntimeError: the disk is on fire")
    assert line.endswith("(--debug shows more)")


def test_debug_shows_the_traceback(folder):
    done = program("--debug", "split", "nothing.txt", cwd=folder)
    assert done.returncode == ExitCode.WRONG_SETTINGS
    assert "Traceback" in done.stderr


def test_an_interrupt_is_told(folder, capsys, monkeypatch):
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("pipeline.commands.split.shown_chunks", interrupted)
    assert main(["split", "page.txt"]) == ExitCode.INTERRUPTED
    assert errors(capsys) == ["interrupted; nothing was published"]


@pytest.mark.parametrize("module", ["pipeline.command_line", "cyclopts", "apache_beam", "pyarrow"])
def test_an_interrupt_while_modules_are_loaded_is_told(folder, module):
    code = f"""
import sys
from pipeline.__main__ import main

class Interrupted:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            raise KeyboardInterrupt

sys.meta_path.insert(0, Interrupted())
sys.exit(main("run --input docs.jsonl --output out --splitter words --quiet".split()))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=folder)
    assert (done.returncode, done.stderr) == (130, "llm-splitter: interrupted; nothing was published\n")


# split


def test_split_shows_chunks(folder, capsys):
    assert (
        main(["split", "page.txt", "--splitter", "words", "--chunk-size", "4", "--chunk-overlap", "1"]) == ExitCode.FINE
    )
    assert "chunk 1  [14:27]  3 words, 4 characters repeated" in capsys.readouterr().out


def test_split_reads_standard_input_and_writes_json_lines(folder):
    text = "小さな🐟が泳ぐ。大きな🐟も泳ぐ。"
    arguments = ["split", "-", "--splitter", "sentences", "--chunk-size", "1", "--json"]
    done = subprocess.run(
        [sys.executable, "-m", "pipeline", *arguments], input=text.encode(), capture_output=True, check=True
    )
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert [row["text"] for row in rows] == [c.text for c in split(text, splitter="sentences", chunk_size=1)]


def test_split_leaves_a_byte_order_mark_out_as_the_job_does(folder, capsys):
    Path("marked.txt").write_bytes(b"\xef\xbb\xbfone")
    main(["split", "marked.txt", "--json"])
    row = json.loads(capsys.readouterr().out)
    assert (row["text"], row["end"]) == ("one", 3)


def test_a_reader_that_has_seen_enough_is_no_error(folder):
    Path("long.txt").write_text("word " * 200_000)
    command = f"{sys.executable} -m pipeline split long.txt --json --chunk-size 1 | head -n 1; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (ExitCode.FINE, "")


def test_a_run_that_chunked_nothing_shows_why(folder, capsys):
    Path("bad.jsonl").write_text('{"text": "\n')
    Path("good.jsonl").write_text('{"text": "one"}\n')
    assert main(["run", "--input", "bad.jsonl", "--output", "out"]) == ExitCode.JOB_FAILED
    shown = capsys.readouterr()
    assert "  read: JSONDecodeError" in shown.out
    assert "1; at bad.jsonl, line 1, byte 0: unexpected end of data: column 11" in shown.out
    assert "llm-splitter: nothing was chunked: 1 document read, 1 failure; see out/failures.jsonl" in shown.err
    assert main(["run", "--input", "bad.jsonl", "good.jsonl", "--output", "out", "--quiet"]) == ExitCode.FINE


@pytest.mark.parametrize(
    "command", ["load job.yaml", "search job.yaml what", "recover job.yaml --rows database --to a"]
)
def test_a_missing_extra_is_one_line_with_the_command(folder, command):
    Path("job.yaml").write_text("input: docs.jsonl\noutput: out\n")
    code = (
        "import importlib.util, sys; found = importlib.util.find_spec\n"
        "importlib.util.find_spec = lambda name, *rest: None if name == 'psycopg' else found(name, *rest)\n"
        f"sys.modules['psycopg'] = None; from pipeline.__main__ import main; sys.exit(main({command.split()}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == ExitCode.WRONG_SETTINGS
    (line,) = done.stderr.splitlines()
    assert line.endswith("needs psycopg: pip install 'llm-splitter[pgvector]'")


def test_an_import_that_fails_within_is_no_wrong_setting(folder, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "pipeline.load", None)
    Path("job.yaml").write_text("input: docs.jsonl\noutput: out\n")
    assert main(["load", "job.yaml"]) == ExitCode.JOB_FAILED
    assert errors(capsys)[0].startswith("the job failed: import of pipeline.load halted")


# help


def test_help_names_every_setting(capsys):
    assert main(["run", "--help"]) == ExitCode.FINE
    shown = capsys.readouterr().out
    assert all(f"--{name.replace('_', '-')}" in shown for name in JobConfig.model_fields if name != "database")


@pytest.mark.parametrize(
    ("command", "usage", "tells_codes"),
    [
        ("run", "[CONFIG] [OPTIONS] [-- BEAM-OPTIONS]", True),
        ("search", "[CONFIG] QUESTION [OPTIONS]", False),
        ("split", "FILE [OPTIONS]", False),
        ("verify", "OUTPUT [DOCUMENTS ...] [OPTIONS]", True),
    ],
)
def test_help_of_a_command(capsys, command, usage, tells_codes):
    assert main([command, "--help"]) == ExitCode.FINE
    shown = capsys.readouterr().out
    assert shown.startswith(f"Usage: llm-splitter {command} {usage}\n")
    assert ("Exit codes:" in shown) == tells_codes
    assert "configs/" not in shown


def test_help_and_version_do_not_wait_for_beam():
    code = "import sys; from pipeline.__main__ import main; main(['--help']); sys.exit('apache_beam' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, check=False).returncode == 0


def test_version(capsys):
    assert main(["--version"]) == ExitCode.FINE
    assert capsys.readouterr().out.strip().count(".") == 2


def test_the_console_script_is_the_module(folder):
    script = Path(sys.executable).parent / "llm-splitter"
    done = subprocess.run([script, "split", "page.txt", "--json"], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout)["text"] == TEXT
