"""What the library takes to import, and what it offers."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

import llm_splitter

ROOT = Path(__file__).parent.parent
PUBLIC = {"Chunk", "ChunkArrays", "Chunker", "Part", "SplitOptions", "Splitter", "TextBatch", "get_chunk", "split"}

REFUSING = """
import sys

for name in {missing!r}:
    sys.modules[name] = None  # an import fails, and none is found
{code}
"""

HEAVY = ("pyarrow", "apache_beam", "tiktoken", "tokenizers", "quicktok", "pandas", "pydantic", "pipeline")


def run_without(missing, code):
    script = REFUSING.format(missing=missing, code=code)
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", script], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_the_library_stands_on_numpy_alone():
    code = """
from llm_splitter import *
print([chunk.text for name in ("characters", "words", "sentences", "lines", str.split)
       for chunk in split("One. Two.", splitter=name)])
"""
    assert run_without(HEAVY, code) == str(["One. Two."] * 5)


def test_importing_it_loads_no_tokenizer():
    loaded = run_without((), "import llm_splitter; print(*sorted({name.partition('.')[0] for name in sys.modules}))")
    assert not set(loaded.split()) & set(HEAVY)


@pytest.mark.parametrize(
    ("missing", "engine"), [(("tiktoken", "tokenizers"), "quicktok"), (("quicktok", "tokenizers"), "tiktoken")]
)
def test_one_engine_is_enough(missing, engine, tmp_path):
    from tests.offline_encodings import rank_file

    path = tmp_path / "cl100k_base.tiktoken"
    path.write_bytes(rank_file("cl100k_base"))
    splitter = "cl100k_base" if engine == "quicktok" else str(path)
    code = f"""
from llm_splitter import Chunker, SplitOptions, TextBatch
chunker = Chunker(SplitOptions(chunk_size=2, splitter={splitter!r}))
print(chunker.engine.split()[0], chunker.chunk(TextBatch.from_strings(["one two three"])).end.tolist())
"""
    assert run_without(missing, code) == f"{engine} [7, 13]"


def test_a_missing_package_is_named(tmp_path):
    (tmp_path / "tokenizer.json").write_text("{}")
    code = f"""
from llm_splitter import split
try:
    split("one", splitter={str(tmp_path / "tokenizer.json")!r})
except ValueError as error:
    print(error)
"""
    assert "pip install 'llm-splitter[huggingface]'" in run_without(("tokenizers", "quicktok"), code)


def test_a_missing_file_is_told_before_a_missing_package(tmp_path):
    code = f"""
from llm_splitter import split
try:
    split("one", splitter={str(tmp_path / "missing.json")!r})
except ValueError as error:
    print(error)
"""
    assert run_without(("tokenizers",), code).endswith("missing.json: No such file or directory")


def test_the_version_is_that_of_the_package_and_is_looked_up_when_it_is_asked_for():
    assert "__version__" not in vars(llm_splitter)
    assert llm_splitter.__version__ == version("llm-splitter")
    with pytest.raises(AttributeError, match="module 'llm_splitter' has no attribute 'nothing'"):
        _ = llm_splitter.nothing


def test_a_star_import_gives_the_public_names():
    names: dict[str, object] = {}
    exec("from llm_splitter import *", names)
    assert {name for name in names if not name.startswith("__")} == PUBLIC


def test_the_public_names():
    assert set(llm_splitter.__all__) == PUBLIC
    for name in PUBLIC - {"Splitter"}:  # an alias, with its text below it
        assert getattr(llm_splitter, name).__doc__


def test_the_library_knows_nothing_of_the_pipeline():
    for path in (ROOT / "llm_splitter").glob("*.py"):
        source = path.read_text(encoding="utf-8")
        for name in ("pipeline", "apache_beam", "pyarrow"):
            assert f"import {name}" not in source
            assert f"from {name}" not in source


def test_types_are_shipped():
    assert (ROOT / "llm_splitter" / "py.typed").exists()
