"""The job as Dataflow gets it: its graph, what it holds, and the template's metadata. No network."""

from __future__ import annotations

import getpass
import json
import re
import socket
from pathlib import Path

import apache_beam as beam
import pyarrow as pa
import pytest
from apache_beam.options.pipeline_options import GoogleCloudOptions

from pipeline import read
from pipeline.beam_runs import pipeline_options
from pipeline.build import build_pipeline
from pipeline.config import JobConfig, load_settings
from pipeline.flex_template import NOT_PARAMETERS, pattern_of, split_flags, template_metadata
from pipeline.formats import InputFile
from tests.graphs import fused_stages, grouping_steps

ROOT = Path(__file__).parent.parent
TEMPLATE = ROOT / "deploy" / "dataflow"


@pytest.fixture
def graph(monkeypatch, tmp_path):
    """The graph of configs/dataflow.yaml, with Dataflow's options, as if its bucket held two files."""
    gcp = pytest.importorskip("apache_beam.io.gcp.gcsfilesystem", reason="needs apache-beam[gcp]")
    assert gcp
    files = [InputFile(f"gs://my-bucket/docs/{name}.parquet", 1 << 30, 0.0, "parquet") for name in "ab"]
    monkeypatch.setattr(read, "match_files", lambda *_: files)
    columns = pa.schema([("id", pa.string()), ("text", pa.string())])
    monkeypatch.setattr(read, "sample_schemas", lambda *_: [columns])
    # it asks the bucket for its policy, only to warn
    monkeypatch.setattr(GoogleCloudOptions, "_warn_if_soft_delete_policy_enabled", lambda *_: None, raising=False)
    monkeypatch.setenv("NO_GCE_CHECK", "true")
    monkeypatch.chdir(tmp_path)
    config = load_settings(JobConfig, ROOT / "configs" / "dataflow.yaml")
    options = pipeline_options([*config.beam_options, "--no_auth"])
    pipeline = beam.Pipeline("DataflowRunner", options=options)
    build_pipeline(pipeline, config)
    return pipeline.to_runner_api()


@pytest.mark.slow
def test_reading_chunking_and_writing_are_one_stage(graph):
    [fused] = [steps for steps in fused_stages(graph) if "Read/Read/ParDo(_ReadUnits)" in steps]
    assert {"Chunk/Chunk/ParDo(_ChunkTables)", "Write/Write chunks"} <= set(fused)


@pytest.mark.slow
def test_only_units_are_shuffled_and_no_document_is(graph):
    grouped = [step for step in grouping_steps(graph) if step.endswith("/GroupByKey")]
    assert grouped == [
        "Read/Spread files/ReshufflePerKey/GroupByKey",  # paths, to plan them side by side
        "Read/Spread units/ReshufflePerKey/GroupByKey",  # what is to be read: paths and row groups
        "Write/Add counts/CombinePerKey/GroupByKey",  # sums
        "Write/List shards/CombinePerKey/GroupByKey",  # what was written: a record for each file
    ]


@pytest.mark.slow
def test_nothing_of_the_launching_machine_is_in_it(graph, tmp_path):
    pickled = graph.SerializeToString()
    for trace in (str(tmp_path), str(Path.home()) + "/", socket.gethostname(), str(ROOT / "tests")):
        if len(trace) > 4:
            assert trace.encode() not in pickled
    assert f"/home/{getpass.getuser()}".encode() not in pickled


@pytest.mark.slow
def test_the_job_description_is_made(graph):
    apiclient = pytest.importorskip("apache_beam.runners.dataflow.internal.apiclient")
    config = load_settings(JobConfig, ROOT / "configs" / "dataflow.yaml")
    job = apiclient.Job(pipeline_options([*config.beam_options, "--job_name=chunks"]), graph)
    assert job.proto.name == "chunks"


def test_the_metadata_is_that_of_the_settings():
    written = json.loads((TEMPLATE / "metadata.json").read_text(encoding="utf-8"))
    assert written == template_metadata(), "run: python -m pipeline.flex_template --metadata"
    names = [parameter["name"] for parameter in written["parameters"]]
    assert names == [name for name in JobConfig.model_fields if name not in NOT_PARAMETERS]
    assert [each["name"] for each in written["parameters"] if not each["isOptional"]] == ["input", "output"]


GOOD = {
    "input": ["gs://bucket/docs/*.parquet"],
    "output": ["gs://bucket/out"],
    "input_format": ["auto", "jsonl"],
    "metadata_columns": ["lang", "lang,price:double", "lang, price:double"],
    "binary_text": ["true", "no"],
    "max_line_bytes": ["64MiB", "1000", "1GB"],
    "splitter": ["words", "cl100k_base", "my_package.module:callable"],
    "chunk_size": ["512"],
    "chunk_strategy": ["paragraph"],
    "paragraph_break": ["\\n\\n", "blank_line"],
    "max_failures": ["10", "1%", "0.5%", "0.01"],
}
BAD = {
    "input": ["docs/*.parquet", "/mnt/docs"],
    "output": ["out", "file:///out"],
    "input_format": ["xml"],
    "binary_text": ["maybe"],
    "max_line_bytes": ["much"],
    "chunk_size": ["-1", "many", ""],
    "chunk_strategy": ["paragraphs"],
    "max_failures": ["few", "-1"],
}


@pytest.mark.parametrize(("name", "value"), [(name, value) for name, values in GOOD.items() for value in values])
def test_what_the_job_takes_the_template_takes(name, value):
    field = JobConfig.model_fields[name]
    assert re.fullmatch(pattern_of(name, field), value)
    JobConfig(**{"input": "gs://b/d", "output": "gs://b/o", "splitter": "words", name: value} | (
        {"splitter": "textwrap:wrap"} if ":" in value and name == "splitter" else {}
    ))  # fmt: skip


@pytest.mark.parametrize(("name", "value"), [(name, value) for name, values in BAD.items() for value in values])
def test_what_the_template_refuses_would_not_have_run(name, value):
    assert not re.fullmatch(pattern_of(name, JobConfig.model_fields[name]), value)


@pytest.mark.parametrize("name", [name for name in JobConfig.model_fields if name not in NOT_PARAMETERS])
def test_defaults_fit_their_patterns(name):
    field = JobConfig.model_fields[name]
    if not field.is_required() and field.default not in (None, {}, ()):
        written = str(field.default).replace("\n", "\\n")
        written = written.lower() if field.annotation is bool else written
        assert re.fullmatch(pattern_of(name, field), written)


def test_flags_are_shared_out():
    settings, options = split_flags(["--input=gs://b/d", "--chunk_size=9", "--region=r", "--beam_options=x", "--flag"])
    assert settings == {"input": "gs://b/d", "chunk_size": "9"}
    assert options == ["--region=r", "--beam_options=x", "--flag"]


def test_the_container_has_the_wheel_the_launcher_and_one_version_of_beam():
    recipe = (TEMPLATE / "Dockerfile").read_text(encoding="utf-8")
    [version] = re.findall(r"^ARG BEAM=(\S+)$", recipe, re.MULTILINE)
    assert tuple(map(int, version.split("."))) >= (2, 70, 0)
    assert "FROM apache/beam_python${PYTHON}_sdk:${BEAM}" in recipe
    assert 'apache-beam[gcp]==${BEAM}"' in recipe
    copied = re.findall(r"^COPY (?!--from)(\S+) ", recipe, re.MULTILINE)
    assert copied == ["dist/*.whl", "deploy/dataflow/launch.py"]
    assert (ROOT / copied[1]).exists()
    [entry] = re.findall(r"FLEX_TEMPLATE_PYTHON_PY_FILE=(\S+)", recipe)
    assert f"COPY deploy/dataflow/launch.py {entry}" in recipe
