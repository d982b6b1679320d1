"""An output folder changes as a whole: complete, or as it was."""

import contextlib
import json
import shutil
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pipeline import folders, publish
from pipeline.manifest import parse_manifest
from pipeline.publish import STAGING_PREFIX, Output, TooManyFailures, count_all, discard, exceeds
from tests.chunk_tables import SCHEMA, chunk_table, failure_table


@pytest.fixture
def output(tmp_path):
    return Output(str(tmp_path / "out"), SCHEMA, "parquet", "run1", {"chunk_size": 8}, None, 1_700_000_000.0)


def shards_of(output, chunks=(), failures=()):
    """A shard for each table, as that many bundles would write."""
    shards = []
    for kind, tables in (("chunks", chunks), ("failures", failures)):
        for table in tables:
            writer = output.writer(kind)
            writer.write(table)
            shards += writer.finish()
    return shards


def names(output):
    return sorted(folders.base_name(path) for path in folders.list_files(output.folder))


def everything(output):
    return {path: Path(path).read_bytes() for path in folders.list_files(output.folder)}


def read_manifest(output):
    return parse_manifest(Path(output.path("manifest.json")).read_bytes())


def chunk_rows(output):
    paths = [path for path in folders.list_files(output.folder) if "/chunks-" in path]
    return pa.concat_tables([pq.read_table(path) for path in paths]).to_pylist()


def hidden(output):
    return folders.list_files(output.folder, below=STAGING_PREFIX)


TABLES = [chunk_table("b", "one"), chunk_table("a", "two ", "three")]


def test_a_finished_output(output):
    shards = shards_of(output, TABLES, [failure_table("line 2, byte 9")])
    manifest = publish.publish(output, shards, {"documents_empty": 2})
    assert names(output) == [
        "chunks-00000-of-00002.parquet",
        "chunks-00001-of-00002.parquet",
        "failures-00000-of-00001.parquet",
        "failures.jsonl",
        "manifest.json",
    ]
    assert [row["doc_id"] for row in chunk_rows(output)] == ["a", "a", "b"]
    assert read_manifest(output) == manifest
    assert manifest.counters["documents_read"] == 2 + 2 + 1
    assert manifest.chunking["splitter"] == "words"
    assert hidden(output) == []


def test_the_manifest_lists_every_other_file_as_it_is(output):
    manifest = publish.publish(output, shards_of(output, TABLES, [failure_table("line 2")]), {})
    sizes = {file.name: file.bytes for file in manifest.files}
    assert sizes == {
        folders.base_name(path): len(content)
        for path, content in everything(output).items()
        if not path.endswith("manifest.json")
    }
    assert sum(file.rows for file in manifest.files if file.name.startswith("chunks")) == 3


def test_failures_can_be_read_by_eye(output):
    publish.publish(output, shards_of(output, [], [failure_table("line 2"), failure_table("line 1")]), {})
    lines = [json.loads(line) for line in Path(output.path("failures.jsonl")).read_bytes().splitlines()]
    assert [(line["position"], line["message"]) for line in lines] == [
        ("line 1", "bad \u00e9 line 1"),
        ("line 2", "bad \u00e9 line 2"),
    ]


def test_no_rows_at_all_still_make_files_with_their_schemas(output):
    publish.publish(output, [], {})
    table = pq.read_table(output.path("chunks-00000-of-00001.parquet"))
    assert table.schema.equals(SCHEMA, check_metadata=True)
    assert pq.read_table(output.path("failures-00000-of-00001.parquet")).num_rows == 0


def test_the_order_of_shards_does_not_depend_on_who_was_first(output, tmp_path):
    other = replace(output, folder=str(tmp_path / "other"))
    publish.publish(output, shards_of(output, TABLES), {})
    publish.publish(other, shards_of(other, TABLES[::-1])[::-1], {})
    assert chunk_rows(output) == chunk_rows(other)


def test_an_earlier_run_is_replaced_whole_and_strangers_stay(output):
    publish.publish(output, shards_of(output, [*TABLES, chunk_table("c", "four")]), {})
    Path(output.path("notes.txt")).touch()
    Path(output.path("chunks-of-mine.parquet")).touch()
    second = replace(output, run="run2", file_format="jsonl")
    publish.publish(second, shards_of(second, TABLES[:1]), {})
    assert names(output) == [
        "chunks-00000-of-00001.jsonl",
        "chunks-of-mine.parquet",
        "failures-00000-of-00001.parquet",
        "failures.jsonl",
        "manifest.json",
        "notes.txt",
    ]


def test_orphans_of_killed_runs_are_swept(output):
    killed = replace(output, run="killed")
    shards_of(killed, TABLES)
    assert hidden(output)
    publish.publish(output, shards_of(output, TABLES), {})
    assert hidden(output) == []


def test_files_of_an_attempt_that_nobody_named_are_not_published(output):
    shards_of(output, TABLES)
    publish.publish(output, shards_of(output, TABLES), {})
    assert len(chunk_rows(output)) == 3


class Stop(BaseException):
    """The process ends here."""


@pytest.mark.parametrize("moment", range(1, 12))
def test_an_output_is_never_half_old_and_half_new_with_a_manifest(output, monkeypatch, moment):
    """Whichever change to a file is the last: with a manifest, the folder holds all files of one run."""
    publish.publish(output, shards_of(output, [*TABLES, chunk_table("old", "x")]), {})
    second = replace(output, run="run2")
    shards = shards_of(second, TABLES)
    with monkeypatch.context() as patch:
        stop_after(patch, moment)
        with contextlib.suppress(Stop):
            publish.publish(second, shards, {})
    if "manifest.json" in names(output):
        listed = {file.name for file in read_manifest(output).files}
        assert listed == set(names(output)) - {"manifest.json"}
    publish.publish(second, shards, {})  # the second attempt completes whatever the first has left
    assert [row["doc_id"] for row in chunk_rows(output)] == ["a", "a", "b"]
    assert hidden(output) == []


def stop_after(patch, changes):
    """Let so many renamings and removals of single files happen, and raise at the next one."""
    left = [changes]
    rename, delete = folders.rename, folders.delete_files

    def step():
        left[0] -= 1
        if left[0] < 0:
            raise Stop

    def rename_one_by_one(moves):
        for source, target in moves.items():
            step()
            rename({source: target})

    def delete_one_by_one(paths):
        for path in paths:
            step()
            delete([path])

    patch.setattr(folders, "rename", rename_one_by_one)
    patch.setattr(folders, "delete_files", delete_one_by_one)


def test_a_second_attempt_after_the_first_has_finished_changes_nothing(output):
    shards = shards_of(output, TABLES, [failure_table("line 1")])
    publish.publish(output, shards, {})
    before = everything(output)
    publish.publish(output, shards, {})
    after = everything(output)
    manifest = output.path("manifest.json")
    assert before.keys() == after.keys()
    assert all(before[path] == after[path] for path in before if path != manifest)


def test_staged_files_that_are_gone_are_an_error_and_the_folder_stays(output):
    publish.publish(output, shards_of(output, TABLES), {})
    before = everything(output)
    second = replace(output, run="run2")
    shards = shards_of(second, [chunk_table("x", "y"), *TABLES, chunk_table("z", "y")])
    shutil.rmtree(second.staging)
    with pytest.raises(RuntimeError, match="does another job write to"):
        publish.publish(second, shards, {})
    assert everything(output) == before


def test_too_many_failures_leave_the_folder_as_it_was_and_themselves_readable(output):
    publish.publish(output, shards_of(output, TABLES), {})
    before = everything(output)
    strict = replace(output, run="run2", max_failures=1)
    with pytest.raises(TooManyFailures, match="2 failures with 2 documents read: more than"):
        publish.publish(strict, shards_of(strict, [], [failure_table("line 1", "line 2")]), {})
    after = everything(output)
    failures = after.pop(output.path("stopped-run-failures.jsonl"))
    assert after == before
    assert failures.count(b"\n") == 2
    discard(strict)
    assert hidden(output) == []


def test_the_next_finished_run_removes_the_failures_of_a_stopped_one(output):
    strict = replace(output, max_failures=0)
    with pytest.raises(TooManyFailures):
        publish.publish(strict, shards_of(strict, TABLES, [failure_table("line 1")]), {})
    publish.publish(output, shards_of(output, TABLES), {})
    assert "stopped-run-failures.jsonl" not in names(output)


@pytest.mark.parametrize(
    ("limit", "failures", "documents", "too_many"),
    [
        (None, 100, 100, False),
        (0, 0, 10, False),
        (0, 1, 10, True),
        (2, 2, 10, False),
        (0.5, 5, 10, False),
        (0.5, 6, 10, True),
        (0.01, 1, 0, True),
        (0.0, 1, 10, True),
        (1.0, 10, 10, False),
    ],
)
def test_the_threshold(limit, failures, documents, too_many):
    assert exceeds(limit, {"failures": failures, "documents_read": documents}) is too_many


def test_counters_balance_from_rows_alone(output):
    counters = count_all(shards_of(output, TABLES, [failure_table("line 1", "row group 2")]), {})
    assert counters["documents_read"] == 3
    assert (counters["documents_chunked"], counters["documents_failed"], counters["failures"]) == (2, 1, 2)
    assert (counters["chunks"], counters["tokens"]) == (3, 3)


def test_a_folder_name_full_of_pattern_characters(output, tmp_path):
    odd = replace(output, folder=str(tmp_path / "o[1]*?"))
    publish.publish(odd, shards_of(odd, TABLES), {})
    publish.publish(replace(odd, run="run2"), [], {})
    assert names(odd)[0] == "chunks-00000-of-00001.parquet"
    assert hidden(odd) == []
