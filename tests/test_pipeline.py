"""The package's public names."""

from __future__ import annotations

import subprocess
import sys

import pytest

import pipeline


@pytest.mark.parametrize("name", sorted(pipeline._HOMES))
def test_every_public_name_is_there(name):
    assert name in dir(pipeline)
    assert getattr(pipeline, name).__name__ == name


def test_another_name_is_an_error():
    with pytest.raises(AttributeError, match="no attribute 'ReadDocument'"):
        pipeline.ReadDocument  # noqa: B018


def test_importing_the_package_does_not_load_beam():
    code = "import sys, pipeline; sys.exit('apache_beam' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_beams_warning_at_import_is_not_shown_unless_logging_is_set_up():
    code = "import pipeline.folders, logging; logging.warning('seen')"
    for setup, lines in (("", 1), ("import logging; logging.basicConfig(); ", 2)):
        done = subprocess.run([sys.executable, "-c", setup + code], capture_output=True, text=True, check=True)
        shown = [line for line in done.stderr.splitlines() if line.startswith("WARNING:root:")]
        assert len(shown) <= lines
        assert ("apitools" in done.stderr) <= bool(setup)
        assert "seen" in done.stderr
