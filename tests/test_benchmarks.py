from __future__ import annotations

import importlib.util
import os
from pathlib import Path

import pytest

from benchmarks import core, end_to_end, growth, large, memory, npm, quality
from benchmarks.corpus import documents, size_of, write_parquet
from benchmarks.faults import Faults
from benchmarks.peers import Piece
from benchmarks.tables import Target
from benchmarks.timing import Cost, interleaved, ratio, timed
from benchmarks.vocabulary import provide_vocabularies
from tests.reading import read

needs_quicktok = pytest.mark.skipif(
    importlib.util.find_spec("quicktok") is None, reason="quicktok-v1 carries the vocabularies"
)


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    """A small corpus in two kinds of files."""
    folder = tmp_path / "corpus"
    folder.mkdir()
    (folder / "a.txt").write_text("Ein Satz. Noch einer!\n\n次の電車は九時です。\n" * 20, encoding="utf-8")
    write_parquet(folder, ["🚄 red, blue; green. " * 30, "слово за словом " * 40])
    return folder


@pytest.fixture(autouse=True)
def same_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", os.environ.get("TIKTOKEN_CACHE_DIR", ""))


def test_documents_fill_the_size_wanted(corpus: Path) -> None:
    for megabytes in (0.001, 0.05):
        texts = documents(corpus, megabytes)
        assert size_of(texts) == pytest.approx(megabytes, abs=5e-6)
        assert texts == documents(corpus, megabytes)


def test_default_corpus_is_there_and_has_many_scripts() -> None:
    text = "".join(documents(None, 5))
    assert all(any(low <= character <= high for character in text) for low, high in ("az", "аю", "一浰", "กฮ"))


def test_a_corpus_without_text_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="holds no Parquet file with a column 'text'"):
        documents(tmp_path, 1)


def test_works_run_in_turn_and_ratios_are_of_neighbours() -> None:
    order: list[str] = []
    costs = interleaved({name: timed(lambda name=name: order.append(name)) for name in "ab"}, 3)
    assert order == ["a", "b"] * 3
    assert [len(runs) for runs in costs.values()] == [3, 3]
    ours, base = [Cost(2, 1), Cost(9, 1), Cost(4, 1)], [Cost(1, 1), Cost(3, 1), Cost(1, 1)]
    assert str(ratio(ours, base, "wall")) == "3.00 (2.00-4.00)"


def test_targets_have_a_direction() -> None:
    assert Target("at most", 1.5).is_met(1.5)
    assert not Target("at most", 1.5).is_met(1.6)
    assert Target("at least", 8).is_met(8)
    assert not Target("at least", 8).is_met(7.9)


def test_every_kind_of_fault_is_seen() -> None:
    faults = Faults()
    faults.add("abc d", [Piece("ab", 0), Piece("c", 1), Piece("d", None), Piece("\ufffd", 2)])
    assert (faults.chunks, faults.invented, faults.no_offset, faults.wrong_offset) == (4, 1, 1, 2)
    assert (faults.unowned, faults.unowned_space) == (2, 1)


@needs_quicktok
def test_sizes_are_those_of_the_text_alone(tmp_path: Path) -> None:
    import tiktoken

    provide_vocabularies(tmp_path)
    faults = Faults()
    faults.add_sizes(["one two three", "one"], 2, tiktoken.get_encoding("cl100k_base"))
    assert faults.over_budget == 1


@needs_quicktok
def test_core(corpus: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(npm, "why_not", lambda: "node not found")
    core.main(corpus=corpus, megabytes=0.02, peer_megabytes=0.002, repeats=1, cpu_time=True)
    shown = capsys.readouterr().out
    assert "| paragraph, size promise kept | raw encode, all cores |" in shown
    assert "Skipped: node not found." in shown
    assert "(CPU) |" in shown


@needs_quicktok
def test_quality_finds_no_fault_of_ours(corpus: Path, capsys: pytest.CaptureFixture[str]) -> None:
    quality.main(corpus=corpus, megabytes=0.005, peer_megabytes=0.002)
    rows = [line.split(" | ")[2:] for line in capsys.readouterr().out.splitlines() if "base, " in line]
    assert len(rows) == 24
    assert {cell.strip(" |") for row in rows for cell in row} == {"0"}


@needs_quicktok
@pytest.mark.slow
def test_end_to_end(corpus: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    end_to_end.main(corpus=corpus, megabytes=0.02, peer_megabytes=0.002, repeats=1, scratch=tmp_path)
    shown = capsys.readouterr().out
    assert "| job, with text | raw encode, all cores |" in shown
    assert "## Plain loops" in shown


@needs_quicktok
@pytest.mark.slow
def test_growth(corpus: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    growth.main(corpus=corpus, megabytes=0.2, document_megabytes=0.01, repeats=1, scratch=tmp_path)
    assert "| job, one document of " in capsys.readouterr().out


@needs_quicktok
@pytest.mark.slow
def test_memory(corpus: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    memory.main(corpus=corpus, megabytes=0.02, document_megabytes=0.01, line_megabytes=0.01, scratch=tmp_path)
    shown = capsys.readouterr().out
    assert "| one file, one row group | 0.02 |" in shown
    assert "| one JSON line of 0.01 MB, Han characters | 0.3 |" in shown


def test_a_large_corpus_knows_what_is_in_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(large, "FILE_MB", (0.05, 0.1))
    monkeypatch.setattr(large, "BROKEN_EVERY", 10)
    piece = large.make_piece(tmp_path / "input", ["a b c " * 100, "次の電車 " * 50], 300_000, seed=1)
    assert {path.suffix for path in piece.files} == {".parquet", ".jsonl"}
    outcomes = [read(path) for path in piece.files]
    assert sum(outcome.documents_read for outcome in outcomes) == piece.documents + piece.broken
    assert sum(len(outcome.failures) for outcome in outcomes) == piece.broken > 0
    texts = [text for outcome in outcomes for text in outcome.texts]
    assert sum(len(text.encode()) for text in texts) == piece.text_bytes >= 300_000


def test_a_corpus_larger_than_the_disk_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="give a smaller --piece-gigabytes"):
        large.main(gigabytes=1e6, scratch=tmp_path)


@needs_quicktok
@pytest.mark.slow
def test_large(corpus: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    large.main(gigabytes=0.002, piece_gigabytes=0.001, verify_gigabytes=0.0005, corpus=corpus, scratch=tmp_path)
    rows = [line.split(" | ") for line in capsys.readouterr().out.splitlines() if line.startswith(("| 1 |", "| 2 |"))]
    assert [row[-2] for row in rows] == ["yes", "yes"]
    assert [row[-1].split()[0] for row in rows] == ["in", "left"]
