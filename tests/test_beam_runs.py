"""Beam's options, as a job takes them."""

from __future__ import annotations

import os
import sys

import pytest
from apache_beam.options.pipeline_options import DirectOptions, PortableOptions

from pipeline.beam_runs import pipeline_options, prompt_threads
from pipeline.build import run_job
from pipeline.config import JobConfig


def test_a_local_job_uses_all_cores():
    assert pipeline_options([]).view_as(DirectOptions).direct_num_workers == (os.cpu_count() or 1)


def test_unless_options_say_otherwise():
    assert pipeline_options(["--direct_num_workers=7"]).view_as(DirectOptions).direct_num_workers == 7


def test_another_runner_keeps_options_of_its_own():
    options = pipeline_options(["--runner=PortableRunner", "--job_endpoint=embed", "--its_own=1"])
    assert options.view_as(PortableOptions).job_endpoint == "embed"
    assert options.get_all_options(retain_unknown_options=True)["its_own"] == "1"


@pytest.mark.parametrize(
    ("flag", "problem"),
    [
        ("--runner=DaskRunner", "beam_options: DaskRunner drops rows without a word"),
        ("--runner=FlinkRuner", "beam_options: Unexpected pipeline runner: FlinkRuner. Valid values are "),
        ("--runner=no.such.Runner", "beam_options: No module named 'no'"),
        ("--runer=FlinkRunner", "beam_options: Beam knows no option --runer; did you mean --runner?"),
        ("--zzz", "beam_options: Beam knows no option --zzz"),
    ],
)
def test_options_that_would_be_lost_are_refused(flag, problem):
    with pytest.raises(ValueError, match=f"^{problem}"):
        pipeline_options([flag])


@pytest.mark.parametrize("setting", ["input", "output"])
def test_workers_elsewhere_need_paths_that_they_understand(setting):
    paths = {"input": "/docs/*.parquet", "output": "/out"}
    config = JobConfig(**{**paths, setting: "docs"}, beam_options=["--runner=PortableRunner", "--job_endpoint=x:1"])
    with pytest.raises(ValueError, match=f"^{setting}: 'docs' would mean another place .*/docs' if they share"):
        run_job(config)


def test_threads_switch_sooner_only_while_a_job_runs():
    before = sys.getswitchinterval()
    with prompt_threads():
        assert sys.getswitchinterval() < before / 10
    assert sys.getswitchinterval() == before
