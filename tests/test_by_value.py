"""Which splitters are sent to workers with their module, and which by name."""

from __future__ import annotations

import pickle
import subprocess
import sys
import textwrap
from functools import partial

import pytest
from apache_beam.internal import cloudpickle, pickler

from pipeline.by_value import ship_by_value


@pytest.fixture
def own_module(tmp_path, monkeypatch):
    """A module that only this process can import."""
    (tmp_path / "only_here.py").write_text("class Cutter:\n    def cut(self, text):\n        return [text]\n")
    monkeypatch.syspath_prepend(tmp_path)
    import only_here

    yield only_here
    del sys.modules["only_here"]


@pytest.mark.parametrize(
    "make",
    [
        pytest.param(lambda module: module.Cutter().cut, id="bound method"),
        pytest.param(lambda module: module.Cutter.cut, id="function"),
        pytest.param(lambda module: partial(partial(module.Cutter().cut)), id="partial of a partial"),
        pytest.param(lambda module: module.Cutter(), id="object"),
    ],
)
def test_a_module_of_ones_own_travels_with_its_splitter(own_module, make):
    ship_by_value(make(own_module))
    assert b"only_here" not in _names_imported(pickler.dumps(make(own_module)))


def _names_imported(pickled: bytes) -> bytes:
    """What a process says that has nothing of ours and unpickles."""
    code = "import sys; from apache_beam.internal import pickler; pickler.loads(sys.stdin.buffer.read())"
    done = subprocess.run([sys.executable, "-c", code], input=pickled, capture_output=True, check=False, cwd="/")
    return b"" if done.returncode == 0 else done.stderr


@pytest.mark.parametrize("splitter", ["words", textwrap.wrap, partial(textwrap.wrap, width=3), str.split])
def test_installed_code_goes_by_name(splitter):
    ship_by_value(splitter)
    assert pickle.dumps(splitter)
    assert "textwrap" not in cloudpickle.cloudpickle._PICKLE_BY_VALUE_MODULES
