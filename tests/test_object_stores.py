"""Reading, writing and publishing in a bucket: a local server that speaks S3, through Beam's file system."""

from __future__ import annotations

import io
import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pipeline.build import run_job
from pipeline.config import JobConfig

boto3 = pytest.importorskip("boto3", reason="needs llm-splitter[s3]")
moto_server = pytest.importorskip("moto.server", reason="needs moto[server,s3]")

pytestmark = pytest.mark.slow  # every file operation makes a client, which takes seconds

KEYS = {"aws_access_key_id": "test", "aws_secret_access_key": "test", "region_name": "us-east-1"}


@pytest.fixture
def server(monkeypatch):
    server = moto_server.ThreadedMotoServer(ip_address="127.0.0.1", port=0)
    server.start()
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    yield "http://{}:{}".format(*server.get_host_and_port())
    server.stop()


@pytest.fixture
def bucket(server):
    bucket = boto3.resource("s3", endpoint_url=server, **KEYS).Bucket("docs")
    bucket.create()
    bucket.objects.all().delete()  # the servers of a process share what they hold
    documents = pa.table({"id": ["a", "b"], "text": ["one two three four five", "猫坐着 🚄"]})
    data = io.BytesIO()
    pq.write_table(documents, data)
    bucket.put_object(Key="in/a.parquet", Body=data.getvalue())
    bucket.put_object(Key="in/b.jsonl", Body=b'{"id": "c", "text": "six seven"}\n{bad\n')
    return bucket


def job(server, output="s3://docs/out", **settings):
    flags = [f"--s3_endpoint_url={server}", "--s3_region_name=us-east-1", "--s3_disable_ssl"]
    flags += ["--s3_access_key_id=test", "--s3_secret_access_key=test"]
    return JobConfig(
        input=["s3://docs/in/*.parquet", "s3://docs/in/*.jsonl"], output=output, id_column="id", splitter="words",
        chunk_size=3, beam_options=flags, **settings,
    )  # fmt: skip


def keys(bucket):
    return sorted(found.key for found in bucket.objects.all() if not found.key.startswith("in/"))


def test_a_job_from_bucket_to_bucket(server, bucket, tmp_path):
    result = run_job(job(server))
    assert (result.exit_code, result.error) == (0, "")
    assert [key for key in keys(bucket) if ".llm-splitter" in key] == []
    names = [file.name for file in result.manifest.files]
    assert keys(bucket) == sorted(f"out/{name}" for name in [*names, "manifest.json"])
    rows = [row for name in names if name.startswith("chunks") for row in rows_of(bucket, f"out/{name}")]
    local = run_job(job(server, output=str(tmp_path / "out")))
    expected = pa.concat_tables(map(pq.read_table, (tmp_path / "out").glob("chunks-*.parquet"))).to_pylist()
    assert sorted(rows, key=lambda row: row["chunk_id"]) == sorted(expected, key=lambda row: row["chunk_id"])
    assert local.counters == result.counters
    assert result.counters["failures"] == 1


def rows_of(bucket, key):
    return pq.read_table(io.BytesIO(bucket.Object(key).get()["Body"].read())).to_pylist()


def test_a_second_job_replaces_the_first_as_a_whole(server, bucket):
    run_job(job(server))
    first = keys(bucket)
    bucket.put_object(Key="out/mine.txt", Body=b"left alone")
    result = run_job(job(server, format="jsonl"))
    assert result.exit_code == 0, result.error
    assert "out/mine.txt" in keys(bucket)
    assert not [key for key in keys(bucket) if key in first and key.startswith("out/chunks")]
    manifest = json.loads(bucket.Object("out/manifest.json").get()["Body"].read())
    assert manifest["settings"]["format"] == "jsonl"


def test_a_job_that_stops_publishes_nothing(server, bucket):
    result = run_job(job(server, max_failures=0))
    assert result.exit_code == 3
    assert "out/manifest.json" not in keys(bucket)
