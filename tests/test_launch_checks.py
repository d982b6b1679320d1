"""What is found out about places before anything runs."""

from __future__ import annotations

import pytest
from apache_beam.io.filesystems import FileSystems
from apache_beam.options.pipeline_options import PipelineOptions

from pipeline.build import run_job
from pipeline.config import JobConfig
from pipeline.launch_checks import check_file_systems

pytest.importorskip("boto3", reason="needs llm-splitter[s3]")

pytestmark = pytest.mark.slow  # so that they run where the extra is installed

PATH = "s3://docs/in/*.parquet"
KEYS = ["--s3_access_key_id=test", "--s3_secret_access_key=test"]


@pytest.fixture
def without_keys(monkeypatch, tmp_path):
    """A machine on which nobody has set up keys for S3."""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    for name in ("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"):
        monkeypatch.setenv(name, str(tmp_path / "nothing"))
    monkeypatch.setattr(FileSystems, "_pipeline_options", PipelineOptions([]))


def test_without_keys_for_s3_nothing_is_tried(without_keys, tmp_path):
    with pytest.raises(ValueError, match=r"input: no keys are found to open 's3://docs.*AWS_ACCESS_KEY_ID"):
        run_job(JobConfig(input=PATH, output=str(tmp_path / "out")))
    with pytest.raises(ValueError, match="output: no keys are found to open 's3://docs/out'"):
        run_job(JobConfig(input="docs/*.parquet", output="s3://docs/out"))


def test_a_profile_that_is_not_there_is_named(without_keys, monkeypatch):
    monkeypatch.setenv("AWS_PROFILE", "nobody")
    with pytest.raises(ValueError, match="nobody"):
        check_file_systems("input", [PATH])


def test_keys_may_come_from_the_environment(without_keys, monkeypatch):
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")
    check_file_systems("input", [PATH])


def test_keys_may_come_from_the_options(without_keys):
    FileSystems.set_options(PipelineOptions(KEYS))
    check_file_systems("input", [PATH])
