"""Settings: the forms they may be written in, and what a person is told about a wrong one."""

from __future__ import annotations

import sys
from dataclasses import fields
from pathlib import Path

import pytest
from pydantic import ValidationError

from llm_splitter.options import SplitOptions
from pipeline.config import JobConfig, SplitSettings, load_settings
from pipeline.config_errors import SettingsError
from pipeline.config_values import as_columns, as_flags, as_paths, as_threshold

NEEDED = {"input": "docs/*.parquet", "output": "out"}


def problems(path: Path | None = None, /, **overrides: object) -> list[str]:
    with pytest.raises(SettingsError) as caught:
        load_settings(JobConfig, path, overrides)
    return list(caught.value.problems)


def settings_file(folder: Path, text: str) -> Path:
    path = folder / "job.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def test_every_split_option_is_a_setting_with_the_same_default():
    assert SplitSettings().split_options() == SplitOptions()
    assert {field.name for field in fields(SplitOptions)} <= set(SplitSettings.model_fields)


def test_every_setting_is_described():
    assert all(field.description for field in JobConfig.model_fields.values())


def test_settings_cannot_be_changed():
    job = JobConfig(**NEEDED)
    with pytest.raises(ValidationError, match="frozen"):
        job.chunk_size = 3


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("docs/*.parquet", ("docs/*.parquet",)),
        (["a.parquet", Path("b.jsonl")], ("a.parquet", "b.jsonl")),
    ],
)
def test_input_is_a_pattern_or_a_list(written, read):
    assert as_paths(written) == read


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("lang", {"lang": None}),
        ("lang, price:double", {"lang": None, "price": "double"}),
        (["lang", "price:double"], {"lang": None, "price": "double"}),
        (["lang", {"price": "double"}], {"lang": None, "price": "double"}),
        ({"a:b": "string"}, {"a:b": "string"}),
        ([], {}),
    ],
)
def test_metadata_columns_are_names_with_or_without_a_type(written, read):
    assert as_columns(written) == read


@pytest.mark.parametrize(
    ("written", "read"),
    [
        (None, None),
        (0, 0),
        ("10", 10),
        (0.25, 0.25),
        ("0.25", 0.25),
        ("25%", 0.25),
        ("1e-3", 0.001),
        ("1.0", 1.0),
    ],
)
def test_max_failures_is_a_count_or_a_share(written, read):
    threshold = as_threshold(written)
    assert threshold == read
    assert type(threshold) is type(read)


@pytest.mark.parametrize("written", [-1, "-1", 1.5, "150%", "many", "%", "nan", "inf", True, [1]])
def test_other_thresholds_are_refused(written):
    with pytest.raises(ValueError, match="count of failures such as 10"):
        as_threshold(written)


def test_beam_options_are_a_mapping_or_flags():
    written = {
        "runner": "FlinkRunner",
        "streaming": True,
        "experiments": ["a", "b"],
        "off": False,
        "none": None,
    }
    assert as_flags(written) == ("--runner=FlinkRunner", "--streaming", "--experiments=a", "--experiments=b")
    assert as_flags(["--runner=FlinkRunner"]) == ("--runner=FlinkRunner",)


def test_the_command_line_wins_over_the_file(tmp_path):
    path = settings_file(tmp_path, "input: a.jsonl\noutput: out\nchunk_size: 100\nsplitter: words\n")
    job = load_settings(JobConfig, path, {"chunk_size": "7"})
    assert (job.input, job.chunk_size, job.splitter) == (("a.jsonl",), 7, "words")


def test_beam_options_of_file_and_command_line_are_joined(tmp_path):
    path = settings_file(tmp_path, "input: a\noutput: b\nbeam_options: {runner: FlinkRunner}\n")
    job = load_settings(JobConfig, path, {"beam_options": ["--parallelism=2"]})
    assert job.beam_options == ("--runner=FlinkRunner", "--parallelism=2")


def test_the_two_characters_backslash_n_are_a_line_feed():
    assert JobConfig(**NEEDED, paragraph_break=r"\n\n").paragraph_break == "\n\n"


@pytest.mark.parametrize(
    ("setting", "value", "line"),
    [
        ("chunk_size", "0", "--chunk-size: must be an integer of at least 1, got 0"),
        ("chunk_size", "many", "--chunk-size: 'many' is not allowed, must be a whole number"),
        ("chunk_size", 2.5, "--chunk-size: 2.5 is not allowed, must be a whole number"),
        ("chunk_size", True, "--chunk-size: True is not allowed, must be a number, not a truth value"),
        (
            "chunk_overlap",
            "512",
            "--chunk-overlap: must be less than chunk_size, got 512 with chunk_size 512",
        ),
        (
            "chunk_strategy",
            "page",
            "--chunk-strategy: 'page' is not allowed, must be one of 'character', 'paragraph'",
        ),
        (
            "offset_unit",
            "bytes",
            "--offset-unit: 'bytes' is not allowed, must be one of 'codepoint', 'utf16', 'utf8'",
        ),
        ("format", "csv", "--format: 'csv' is not allowed, must be one of 'parquet', 'arrow', 'jsonl'"),
        ("text", "perhaps", "--text: 'perhaps' is not allowed, must be true or false"),
        (
            "max_line_bytes",
            "3 parsec",
            "--max-line-bytes: '3 parsec' is not allowed, must be a size such as 64MiB, 500MB or a number of bytes",
        ),
        ("text_column", 5, "--text-column: 5 is not allowed, must be text"),
        ("input", [], "--input: [] is not allowed, must be a path or pattern, or a list of them"),
        ("chunk_sise", 5, "--chunk-sise: unknown setting; did you mean chunk_size?"),
        ("Chunk-Size", 5, "--Chunk-Size: unknown setting; did you mean chunk_size?"),
        (
            "splitter",
            "no_such_module:cut",
            "--splitter: 'no_such_module:cut': module no_such_module cannot be imported: "
            "No module named 'no_such_module'",
        ),
        ("splitter", "textwrap:cut", "--splitter: 'textwrap:cut': module textwrap has no cut"),
        (
            "splitter",
            "textwrap:__name__",
            "--splitter: 'textwrap:__name__': __name__ is a str, not a callable str -> list",
        ),
    ],
)
def test_a_wrong_setting_is_one_line_with_key_value_and_what_is_allowed(setting, value, line):
    assert problems(**(NEEDED | {setting: value})) == [line]


def test_an_unknown_setting_like_no_other_lists_them_all():
    (line,) = problems(**NEEDED, zzz=1)
    assert line.startswith("--zzz: unknown setting; known settings: input, input_format, ")


def test_every_problem_gets_its_line():
    assert len(problems(chunk_size="x", format="y")) == 4


def test_missing_settings_say_how_to_give_them():
    assert problems()[0] == "input: is needed (--input or a line `input:` in the settings file)"


def test_a_wrong_setting_in_a_file_names_the_file(tmp_path):
    path = settings_file(tmp_path, "input: a\noutput: b\nchunk_size: many\n")
    assert problems(path) == [f"{path}: chunk_size: 'many' is not allowed, must be a whole number"]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("input: [a\noutput: b", "line 2, column 7: not valid YAML: expected ',' or ']', but got ':'"),
        ("input: a\ninput: b", "line 2, column 1: not valid YAML: input is given twice"),
        ("- input", "must hold settings, one `key: value` a line"),
        ("1: input", "must hold settings, one `key: value` a line"),
        ("just text", "must hold settings, one `key: value` a line"),
        (
            "input: !!python/name:os.system",
            "line 1, column 8: not valid YAML: could not determine a constructor",
        ),
    ],
)
def test_a_file_that_holds_no_settings_says_where(tmp_path, text, problem):
    path = settings_file(tmp_path, text)
    (line,) = problems(path)
    assert line.startswith(f"{path}: {problem}")


def test_a_file_that_is_not_text_is_one_line(tmp_path):
    path = tmp_path / "job.yaml"
    path.write_bytes(b"input: \xff\xfe\x00")
    (line,) = problems(path)
    assert line.startswith(f"{path}: not valid YAML")


def test_a_missing_file_says_so(tmp_path):
    assert problems(tmp_path / "no.yaml") == [f"{tmp_path / 'no.yaml'}: cannot be read: No such file or directory"]


def test_an_empty_file_leaves_everything_to_the_command_line(tmp_path):
    assert load_settings(JobConfig, settings_file(tmp_path, "# nothing\n"), NEEDED).output == "out"


def test_a_custom_splitter_is_imported(tmp_path, monkeypatch):
    (tmp_path / "my_pieces.py").write_text("def by_comma(text):\n    return text.split(',')\n")
    monkeypatch.syspath_prepend(tmp_path)
    options = JobConfig(**NEEDED, splitter="my_pieces:by_comma").split_options()
    assert options.splitter("a,b") == ["a", "b"]
    del sys.modules["my_pieces"]


def test_a_splitter_module_that_fails_on_import_is_one_line(tmp_path, monkeypatch):
    (tmp_path / "bad_pieces.py").write_text("1 / 0\n")
    monkeypatch.syspath_prepend(tmp_path)
    (line,) = problems(**NEEDED, splitter="bad_pieces:cut")
    assert line.endswith("module bad_pieces cannot be imported: division by zero")
