"""The main job from files to files: what the library gives in memory, every document accounted for."""

import gzip
import json
import logging

import apache_beam as beam
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from apache_beam.runners.portability.fn_api_runner.fn_runner import FnApiRunner

from llm_splitter import split
from pipeline.beam_runs import MOST_WORKERS, pipeline_options, quiet_beam
from pipeline.build import build_pipeline, run_job
from pipeline.config import JobConfig
from pipeline.counters import LIVE
from pipeline.publish import STAGING_PREFIX

TEXTS = {
    "p0": "One two three four.\n\nFive six, seven.",
    "p1": "猫坐着。狗跑了。\n\nสวัสดี 👋🏽 café",
    "p2": "",
    "j0": "echo echo echo <|endoftext|> echo",
    "j1": " \n\t",
    "j2": "नमस्ते दुनिया। कैसे हो?",
}
LANGUAGES = {"p0": "en", "p1": "zh", "p2": None, "j0": None, "j1": None, "j2": None}
SPLIT = {"splitter": "cl100k_base", "chunk_size": 6, "chunk_overlap": 2}


@pytest.fixture
def corpus(tmp_path):
    """Three Parquet documents in three row groups, and three JSON lines with a bad one between them."""
    folder = tmp_path / "docs"
    folder.mkdir()
    parquet = pa.table({"id": ["p0", "p1", "p2"], "text": [TEXTS[name] for name in ("p0", "p1", "p2")]})
    pq.write_table(parquet.append_column("lang", [["en", "zh", None]]), folder / "a.parquet", row_group_size=1)
    lines = [json.dumps({"id": name, "text": TEXTS[name]}) for name in ("j0", "j1", "j2")]
    lines.insert(1, '{"id": "bad", "text": "cut')
    with gzip.open(folder / "b.jsonl.gz", "wt", encoding="utf-8") as file:
        file.write("\n".join(lines))
    return folder


def config(corpus, output, **settings):
    return JobConfig(
        **{
            "input": [f"{corpus}/*.parquet", f"{corpus}/*.jsonl.gz"],
            "output": str(output),
            "id_column": "id",
            "metadata_columns": {"lang": "string"},
            **SPLIT,
            **settings,
        }
    )


def rows_of(output):
    tables = [pq.read_table(path) for path in sorted(output.glob("chunks-*.parquet"))]
    return sorted(pa.concat_tables(tables).to_pylist(), key=lambda row: (row["doc_id"], row["chunk_index"]))


def content_of(output):
    return {path.name: path.read_bytes() for path in output.iterdir()}


@pytest.mark.parametrize("settings", [{}, {"chunk_strategy": "paragraph"}, {"offset_unit": "utf8"}], ids=str)
def test_rows_are_those_of_the_library(corpus, tmp_path, settings):
    result = run_job(config(corpus, tmp_path / "out", **settings))
    assert result.exit_code == 0, result.error
    expected = [
        (doc_id, index, chunk.start, chunk.end, chunk.text)
        for doc_id in sorted(TEXTS)
        for index, chunk in enumerate(split(TEXTS[doc_id], **SPLIT, **settings))
    ]
    names = ("doc_id", "chunk_index", "start", "end", "text")
    rows = rows_of(tmp_path / "out")
    assert [tuple(row[name] for name in names) for row in rows] == expected
    assert all(row["lang"] == LANGUAGES[row["doc_id"]] for row in rows)


def test_every_document_is_accounted_for(corpus, tmp_path):
    result = run_job(config(corpus, tmp_path / "out"))
    counters = result.counters
    assert counters["documents_read"] == 7
    assert counters["documents_chunked"] == 5
    assert counters["documents_empty"] == 1
    assert counters["documents_failed"] == counters["failures"] == 1
    assert counters["chunks"] == len(rows_of(tmp_path / "out"))
    (failure,) = map(json.loads, (tmp_path / "out" / "failures.jsonl").read_bytes().splitlines())
    assert failure["source"].endswith("b.jsonl.gz")
    assert failure["position"].startswith("line 2, byte ")
    assert failure["stage"] == "read"


def test_beam_counts_what_the_manifest_says(corpus, tmp_path):
    pipeline = beam.Pipeline(runner=FnApiRunner())
    build_pipeline(pipeline, config(corpus, tmp_path / "out"))
    metrics = pipeline.run().metrics().query()["counters"]
    counted = {counter.key.metric.name: counter.committed for counter in metrics}
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_bytes())["counters"]
    names = counted.keys() & manifest.keys()
    assert names >= {"documents_read", "documents_chunked", "documents_empty", "documents_failed", "chunks", "tokens"}
    assert {name: counted[name] for name in names} == {name: manifest[name] for name in names}


def test_a_watcher_sees_the_counts(corpus, tmp_path):
    result = run_job(config(corpus, tmp_path / "out"))
    live = LIVE.snapshot()
    assert {name: live[name] for name in ("documents_read", "chunks")} == {
        name: result.counters[name] for name in ("documents_read", "chunks")
    }


WORKERS = [
    ["--direct_num_workers=1"],
    ["--direct_num_workers=3"],
    ["--direct_num_workers=2", "--direct_running_mode=multi_threading"],
    pytest.param(["--direct_num_workers=2", "--direct_running_mode=multi_processing"], marks=pytest.mark.slow),
]


@pytest.mark.parametrize("flags", WORKERS, ids=str)
def test_rows_and_ids_do_not_depend_on_the_workers(corpus, tmp_path, flags):
    run_job(config(corpus, tmp_path / "reference"))
    result = run_job(config(corpus, tmp_path / "out"), beam_args=flags)
    assert result.exit_code == 0, result.error
    assert rows_of(tmp_path / "out") == rows_of(tmp_path / "reference")


def test_both_engines_give_the_same_rows(corpus, tmp_path):
    for engine in ("quicktok", "tiktoken"):
        run_job(config(corpus, tmp_path / engine, engine=engine))
    assert rows_of(tmp_path / "quicktok") == rows_of(tmp_path / "tiktoken")


def test_a_run_again_replaces_the_output_with_the_same_rows(corpus, tmp_path):
    output = tmp_path / "out"
    run_job(config(corpus, output), beam_args=["--direct_num_workers=3"])
    before, files = rows_of(output), set(content_of(output))
    run_job(config(corpus, output), beam_args=["--direct_num_workers=1"])
    assert rows_of(output) == before
    assert "chunks-00000-of-00001.parquet" in content_of(output)
    assert files != set(content_of(output))


def test_both_engines_write_the_same_bytes(corpus, tmp_path):
    written = []
    for engine in ("quicktok", "tiktoken"):
        run_job(config(corpus, tmp_path / engine, engine=engine), beam_args=["--direct_num_workers=1"])
        content = content_of(tmp_path / engine)
        written.append({name: content[name] for name in content if name.endswith(".parquet")})
    assert written[0] == written[1]
    assert {name.split("-")[0] for name in written[0]} == {"chunks", "failures"}


def test_without_text(corpus, tmp_path):
    run_job(config(corpus, tmp_path / "full"))
    run_job(config(corpus, tmp_path / "bare", text=False))
    full = [{name: value for name, value in row.items() if name != "text"} for row in rows_of(tmp_path / "full")]
    assert rows_of(tmp_path / "bare") == full


def test_the_manifest_knows_the_settings_but_no_beam_options(corpus, tmp_path):
    secret = config(corpus, tmp_path / "out", beam_options=["--s3_secret_access_key=hidden"])
    assert run_job(secret).exit_code == 0
    content = (tmp_path / "out" / "manifest.json").read_text()
    assert "hidden" not in content
    assert json.loads(content)["settings"]["chunk_overlap"] == 2


def test_too_many_failures_leave_the_output_as_it_was(corpus, tmp_path):
    output = tmp_path / "out"
    assert run_job(config(corpus, output, max_failures=1)).exit_code == 0
    before = content_of(output)
    result = run_job(config(corpus, output, max_failures=0))
    assert result.exit_code == 3
    assert result.manifest is None
    assert "1 failure with 7 documents read: more than max_failures=0 allows" in result.error
    after = content_of(output)
    assert after.pop("stopped-run-failures.jsonl").count(b"\n") == 1
    assert after == before


def test_too_many_failures_are_told_apart_on_other_runners(corpus, tmp_path):
    flags = ["--direct_running_mode=multi_threading", "--direct_num_workers=2"]
    result = run_job(config(corpus, tmp_path / "out", max_failures="1%"), beam_args=flags)
    assert result.exit_code == 3
    assert result.error.startswith("1 failure with 7 documents read")


def test_a_job_that_chunked_nothing_has_failed_and_shows_why(tmp_path):
    (tmp_path / "docs.jsonl").write_text('{"body": "one"}\n{"body": "two"}\n{"text": ""}\n')
    settings = {"input": str(tmp_path / "docs.jsonl"), "output": str(tmp_path / "out")}
    result = run_job(JobConfig(**settings))
    assert result.exit_code == 1
    assert result.error == f"nothing was chunked: 3 documents read, 2 failures; see {tmp_path}/out/failures.jsonl"
    assert result.manifest.counters["documents_failed"] == 2
    assert (tmp_path / "out" / "failures.jsonl").read_text().count("no key 'text'") == 2


def test_a_job_that_chunked_nothing_leaves_an_earlier_output_as_it_was(corpus, tmp_path):
    output = tmp_path / "out"
    assert run_job(config(corpus, output)).exit_code == 0
    before = content_of(output)
    (tmp_path / "bad.jsonl").write_text('{"text": ""}\n{"body": 5}\n{"text"\n')
    result = run_job(JobConfig(input=str(tmp_path / "bad.jsonl"), output=str(output)))
    assert result.exit_code == 1
    assert result.error == (
        "nothing was chunked: 2 failures with 3 documents read. The earlier output stays as it was; the failures are "
        f"in {output}/stopped-run-failures.jsonl."
    )
    after = content_of(output)
    assert after.pop("stopped-run-failures.jsonl").count(b"\n") == 2
    assert after == before


def test_a_job_over_empty_documents_is_fine(tmp_path):
    (tmp_path / "docs.jsonl").write_text('{"text": ""}\n')
    assert run_job(JobConfig(input=str(tmp_path / "docs.jsonl"), output=str(tmp_path / "out"))).exit_code == 0


def test_the_manifest_has_values_of_their_types(corpus, tmp_path):
    manifest = run_job(config(corpus, tmp_path / "out", text=False)).manifest
    assert (manifest.chunking["chunk_overlap"], manifest.chunking["strict_size"]) == (2, True)
    assert "database" not in manifest.settings
    assert manifest.counters["text_bytes"] > 0


def test_an_output_that_cannot_be_written(corpus, tmp_path):
    (tmp_path / "out").write_text("a file, not a folder")
    for output in (tmp_path / "out", tmp_path / "out" / "below" / "it"):
        with pytest.raises(
            ValueError, match=r"output: '.*' cannot be a folder, since '.*/out' is a file; name another"
        ):
            run_job(config(corpus, output))


def test_settings_that_cannot_be_worked_with_fail_before_anything_runs(corpus, tmp_path):
    with pytest.raises(ValueError, match="no_such"):
        run_job(config(corpus, tmp_path / "out", input=f"{corpus}/no_such*.parquet"))
    assert not (tmp_path / "out").exists()


def test_a_job_is_silent(corpus, tmp_path, capfd, caplog):
    assert run_job(config(corpus, tmp_path / "out")).exit_code == 0
    assert run_job(config(corpus, tmp_path / "out", max_failures=0)).exit_code == 3
    assert capfd.readouterr() == ("", "")
    assert caplog.records == []


def test_beam_may_talk_when_a_level_is_set():
    logger = logging.getLogger("apache_beam")
    with quiet_beam():
        assert not logging.getLogger("apache_beam.runners").isEnabledFor(logging.ERROR)
    logger.setLevel(logging.INFO)
    try:
        with quiet_beam():
            assert logging.getLogger("apache_beam.runners").isEnabledFor(logging.INFO)
    finally:
        logger.setLevel(logging.NOTSET)


@pytest.mark.parametrize("runner", ["DaskRunner", "apache_beam.runners.dask.dask_runner.DaskRunner"])
def test_a_runner_that_loses_rows_is_refused(runner):
    with pytest.raises(ValueError, match="use FlinkRunner"):
        pipeline_options([f"--runner={runner}"])


@pytest.mark.parametrize(
    ("flags", "cores", "workers"),
    [
        ([], 2, 2),
        ([], 64, MOST_WORKERS),
        ([], None, 1),
        (["--direct_num_workers=9"], 64, 9),
        (["--runner=PortableRunner"], 64, 1),
    ],
)
def test_local_jobs_use_the_cores(monkeypatch, flags, cores, workers):
    monkeypatch.setattr("os.cpu_count", lambda: cores)
    assert pipeline_options(flags).get_all_options()["direct_num_workers"] == workers


def test_an_interrupted_job_leaves_nothing(corpus, tmp_path, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("pipeline.write.publish", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run_job(config(corpus, tmp_path / "out"), beam_args=["--direct_num_workers=1"])
    assert list((tmp_path / "out").glob(f"{STAGING_PREFIX}*")) == []
