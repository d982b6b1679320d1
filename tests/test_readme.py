"""The README is true: every piece of code in it runs, and its tables know every setting."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from pipeline.__main__ import main
from pipeline.config import JobConfig
from pipeline.database_settings import DatabaseSettings
from pipeline.exit_codes import ExitCode
from pipeline.flags import shown_default
from pipeline.formats import KNOWN_NAMES
from pipeline.postgres.embedded import embedded_url

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


class Block(NamedTuple):
    language: str
    code: str
    line: int


def _blocks() -> list[Block]:
    fences = re.finditer(r"^```(.*)\n((?s:.*?))^```$", README, re.MULTILINE)
    return [Block(fence[1], fence[2], README[: fence.start()].count("\n") + 1) for fence in fences]


def blocks(language: str, *, sets_up: bool = False) -> list[object]:
    return [
        pytest.param(block.code, id=f"line {block.line}")
        for block in _blocks()
        if block.language == language and ("-m venv" in block.code) == sets_up
    ]


@pytest.fixture(scope="module")
def workplace(tmp_path_factory, server):
    """A folder with what the repository ships for trying, and what its first commands leave."""
    folder = tmp_path_factory.mktemp("readme")
    for name in ("samples", "configs"):
        shutil.copytree(ROOT / name, folder / name)
    before = Path.cwd()
    os.chdir(folder)
    try:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("LLM_SPLITTER_DATABASE_URL", embedded_url(server.folder))
            assert main(["run", "configs/quickstart.yaml", "--quiet"]) == ExitCode.FINE
            assert main(["load", "configs/pgvector.yaml", "--quiet"]) == ExitCode.FINE
            yield folder
    finally:
        os.chdir(before)


def test_every_known_ending_is_told():
    assert [ending for ending in re.findall(r"\.\w+", KNOWN_NAMES) if f"`{ending}`" not in README] == []


def test_every_block_is_of_a_kind_that_is_run_or_plain_text():
    assert {block.language for block in _blocks()} <= {"python", "sh", "text"}


@pytest.mark.parametrize("code", blocks("python"))
def test_python(code, workplace, monkeypatch):
    monkeypatch.chdir(workplace)
    exec(compile(code, "README.md", "exec"), {"__name__": "readme"})


@pytest.mark.parametrize("code", blocks("sh"))
def test_commands(code, workplace):
    run_shell(code, workplace)


@pytest.mark.slow
@pytest.mark.parametrize("code", [block for block in blocks("sh", sets_up=True) if "pytest" not in block.values[0]])
def test_setting_up_in_a_new_clone(code, tmp_path):
    if not (ROOT / ".git").exists():
        pytest.skip("not a clone: there is nothing to clone from")
    subprocess.run(["git", "clone", "--quiet", str(ROOT), str(tmp_path / "clone")], check=True)
    run_shell(code, tmp_path / "clone")
    assert (tmp_path / "clone" / "out" / "manifest.json").exists()


def run_shell(code: str, folder: Path) -> None:
    programs = str(Path(sys.executable).parent)
    environment = os.environ | {"PATH": programs + os.pathsep + os.environ["PATH"]}
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", code],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_settings_table_has_every_setting_with_its_default():
    table = README.partition("| setting | default |")[2].partition("\n\n")[0]
    written = dict(re.findall(r"^\| `(\w+)` \| `?([^|`]+)`? \|", table, re.MULTILINE))
    assert list(written) == list(JobConfig.model_fields)
    for name, field in JobConfig.model_fields.items():
        default = "needed" if field.is_required() else shown_default(field) or "none"
        assert written[name].strip() == default


def test_the_table_of_database_settings_has_every_one_with_its_default():
    table = README.partition("| setting of `database` | default |")[2].partition("\n\n")[0]
    written = dict(re.findall(r"^\| `(\w+)` \| `?([^|`]+)`? \|", table, re.MULTILINE))
    assert list(written) == list(DatabaseSettings.model_fields)
    for name, field in DatabaseSettings.model_fields.items():
        assert written[name].strip() == (shown_default(field) or "none")


def test_every_exit_code_is_told():
    assert set(re.findall(r"^\| (\d+) \|", README, re.MULTILINE)) == {str(code.value) for code in ExitCode}
