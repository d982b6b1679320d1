"""Every file in configs/ is a job that could be started."""

from __future__ import annotations

from pathlib import Path

import pytest

from llm_splitter import TextBatch
from pipeline.config import JobConfig, load_settings

CONFIGS = sorted((Path(__file__).parent.parent / "configs").glob("*.yaml"))


def test_there_are_examples():
    assert "quickstart.yaml" in [path.name for path in CONFIGS]


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.stem)
def test_it_loads(path):
    job = load_settings(JobConfig, path)
    assert job.output == "out" or job.output.startswith(("out/", "/mnt/", "gs://my-bucket/"))


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.stem)
def test_it_splits(path):
    text = "One sentence.  Another one,\n\nand 文章がある。"
    arrays = load_settings(JobConfig, path).chunker().chunk(TextBatch.from_strings([text]))
    assert arrays.end[-1] == len(text)


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.stem)
def test_it_begins_by_saying_what_it_is_for_and_how_it_is_run(path):
    first, *_ = text = path.read_text(encoding="utf-8").splitlines()
    assert first.startswith("# ")
    assert any(line.startswith(f"#   llm-splitter run configs/{path.name}") for line in text)


def test_the_quickstart_has_its_documents(monkeypatch):
    monkeypatch.chdir(Path(__file__).parent.parent)
    job = load_settings(JobConfig, "configs/quickstart.yaml")
    assert all(list(Path().glob(pattern)) for pattern in job.input)
