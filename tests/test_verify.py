"""`verify` is quiet about what is right, and names what is not."""

import json

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from llm_splitter import Chunker, SplitOptions
from pipeline.build import run_job
from pipeline.chunk_rows import chunk_documents
from pipeline.config import JobConfig
from pipeline.guarantees import Promises, character_boundaries, check_document
from pipeline.hashing import hash_bytes
from pipeline.verify import verify_output

TEXTS = [
    "One two three four.\n\nFive six, seven eight nine.",
    "猫坐着。狗跑了。 👋🏽 café naïve",
    "",
    " \n ",
    "echo echo echo echo echo echo",
    "a\ufffdb and more of it",
]


@pytest.fixture
def job(tmp_path):
    """Makes an output of some documents; the folder it is in."""
    documents = pa.table({"id": [f"d{number}" for number in range(len(TEXTS))], "text": TEXTS})
    pq.write_table(documents, tmp_path / "docs.parquet", row_group_size=2)

    def run(**settings):
        config = {"splitter": "cl100k_base", "chunk_size": 4, "chunk_overlap": 1, "id_column": "id", **settings}
        result = run_job(JobConfig(input=str(tmp_path / "docs.parquet"), output=str(tmp_path / "out"), **config))
        assert result.exit_code == 0, result.error
        return tmp_path / "out"

    return run


SETTINGS = [
    {},
    {"text": False},
    {"chunk_strategy": "paragraph", "paragraph_break": "blank_line"},
    {"offset_unit": "utf16"},
    {"offset_unit": "utf8", "chunk_overlap": 0},
    {"splitter": "words"},
    {"splitter": "sentences", "chunk_size": 1, "chunk_overlap": 0},
    {"splitter": "textwrap:wrap", "chunk_size": 1, "chunk_overlap": 0},
    {"format": "arrow"},
    {"format": "jsonl"},
    {"chunk_size": 1, "chunk_overlap": 0},
    {"strict_size": False},
]


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_a_right_output_is_clean(job, settings):
    output = job(**settings)
    report = verify_output(str(output))
    assert report.examples == []
    assert report.is_clean
    assert report.documents == len(TEXTS)
    assert report.chunks == json.loads((output / "manifest.json").read_bytes())["counters"]["chunks"]


def tamper(output, change):
    """Change the rows of the only chunk file, and its fingerprint, as a program with an error in it would."""
    path = output / "chunks-00000-of-00001.parquet"
    table = pq.read_table(path)
    pq.write_table(change(table).cast(table.schema), path, row_group_size=3)
    manifest = json.loads((output / "manifest.json").read_bytes())
    for file in manifest["files"]:
        if file["name"] == path.name:
            file["fingerprint"] = hash_bytes(path.read_bytes())
    (output / "manifest.json").write_text(json.dumps(manifest))


def with_column(name, change):
    def changed(table):
        values = table[name].to_pylist()
        return table.set_column(table.schema.get_field_index(name), name, [change(values)])

    return changed


def at(row, change):
    return lambda values: [change(value) if number == row else value for number, value in enumerate(values)]


TAMPERED = [
    ("text", with_column("text", at(1, lambda text: text + "x"))),
    ("text", with_column("text", at(1, lambda _: "\ufffd"))),
    ("text_hash", with_column("text_hash", at(2, lambda _: "0" * 32))),
    ("doc_hash", with_column("doc_hash", at(2, lambda _: "0" * 32))),
    ("chunk_id", with_column("chunk_id", at(0, lambda _: "0" * 32 + ":0:1"))),
    ("token_count", with_column("token_count", at(0, lambda count: count + 1))),
    ("order", with_column("chunk_index", at(1, lambda index: index + 1))),
    ("offsets", with_column("end", at(0, lambda _: 10_000))),
    ("coverage", lambda table: table.slice(0, table.num_rows - 1)),
    ("coverage", lambda table: table.filter(pc.not_equal(table["chunk_index"], 0))),
    ("documents", lambda table: table.filter(pc.not_equal(table["doc_id"], "d0"))),
    ("documents", with_column("doc_id", at(0, lambda _: "nobody"))),
]


@pytest.mark.parametrize(("check", "change"), TAMPERED, ids=lambda value: value if isinstance(value, str) else "")
def test_what_is_wrong_is_named(job, check, change):
    output = job()
    tamper(output, change)
    assert verify_output(str(output)).broken[check] > 0


def test_chunks_over_the_budget_are_found(job):
    """Chunks cut at the document's tokens may encode to more on their own; these are such, passed off as strict."""
    output = job(chunk_size=8)
    manifest = json.loads((output / "manifest.json").read_bytes())
    manifest["settings"]["chunk_size"] = 3
    (output / "manifest.json").write_text(json.dumps(manifest))
    assert verify_output(str(output)).broken.keys() == {"size"}


def test_a_document_that_changed_is_found(job, tmp_path):
    output = job()
    changed = [text.replace("echo", "Echo") for text in TEXTS]
    ids = [f"d{number}" for number in range(len(TEXTS))]
    pq.write_table(pa.table({"id": ids, "text": changed}), tmp_path / "changed.parquet")
    report = verify_output(str(output), [str(tmp_path / "changed.parquet")])
    assert {found.doc_id for found in report.examples} == {"d4"}
    assert {"doc_hash", "text", "text_hash"} <= report.broken.keys()


def test_changed_missing_and_foreign_files_are_found(job):
    output = job()
    with (output / "failures.jsonl").open("ab") as file:
        file.write(b"{}\n")
    (output / "failures-00000-of-00001.parquet").unlink()
    (output / "chunks-00007-of-00009.parquet").touch()
    messages = sorted(found.message for found in verify_output(str(output)).examples)
    assert [message.split(":")[0] for message in messages] == [
        "chunks-00007-of-00009.parquet is not of this run",
        "failures-00000-of-00001.parquet is missing",
        "failures.jsonl has changed",
    ]


def test_documents_that_share_an_id(tmp_path):
    texts = ["one two three four five six", "seven eight nine ten", "one two three four five six"]
    pq.write_table(pa.table({"id": ["same"] * 3, "text": texts}), tmp_path / "docs.parquet")
    settings = {"splitter": "words", "chunk_size": 2, "id_column": "id"}
    run_job(JobConfig(input=str(tmp_path / "docs.parquet"), output=str(tmp_path / "out"), **settings))
    report = verify_output(str(tmp_path / "out"))
    assert report.examples == []
    assert report.chunks == 3 + 2 + 3


SHARED = ["one two three four five", "", "x y", " ", "one two three four five"]


@pytest.mark.parametrize("first", SHARED)
def test_an_id_may_be_that_of_several_documents_also_empty_ones(tmp_path, first):
    rows = [{"id": f"d{number}", "text": text} for number, other in enumerate(SHARED) for text in (first, other)]
    (tmp_path / "docs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    settings = {"splitter": "words", "chunk_size": 2, "id_column": "id"}
    run_job(JobConfig(input=str(tmp_path / "docs.jsonl"), output=str(tmp_path / "out"), **settings))
    assert verify_output(str(tmp_path / "out")).examples == []


def test_rows_whose_document_is_empty_now_are_found(job, tmp_path):
    output = job()
    ids = [f"d{number}" for number in range(len(TEXTS))]
    pq.write_table(pa.table({"id": ids, "text": ["", *TEXTS[1:]]}), tmp_path / "emptied.parquet")
    report = verify_output(str(output), [str(tmp_path / "emptied.parquet")])
    assert [(found.check, found.doc_id) for found in report.examples] == [("documents", "d0")]


def test_documents_that_the_splitter_failed_on_need_no_chunks(tmp_path, monkeypatch):
    (tmp_path / "one_bad_word.py").write_text("def split(text):\n    return [text[: 1 // ('bad' not in text)]]\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    pq.write_table(pa.table({"text": ["good", "bad", "fine"]}), tmp_path / "docs.parquet")
    result = run_job(
        JobConfig(input=str(tmp_path / "docs.parquet"), output=str(tmp_path / "out"), splitter="one_bad_word:split")
    )
    assert result.counters["documents_failed"] == 1
    assert verify_output(str(tmp_path / "out")).is_clean


def test_a_folder_without_a_manifest_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r"has no manifest.json, so it is not a finished output"):
        verify_output(str(tmp_path))


@pytest.mark.parametrize(
    ("unit", "offsets"),
    [("codepoint", [0, 1, 2, 3, 4]), ("utf16", [0, 1, 2, 3, 5]), ("utf8", [0, 1, 3, 6, 10])],
)
def test_boundaries_of_characters(unit, offsets):
    boundaries = character_boundaries("aé三😀".encode(), unit)
    assert boundaries.offsets.tolist() == offsets
    assert boundaries.bytes.tolist() == [0, 1, 3, 6, 10]


def test_an_offset_inside_a_character_is_found():
    text = "aé".encode()
    options = SplitOptions(splitter="characters", chunk_size=1, offset_unit="utf8")
    chunker = Chunker(options)
    rows = chunk_documents(pa.table({"doc_id": ["d"], "text": ["aé"]}), chunker).chunks
    promises = Promises("utf8", chunker.fingerprint, "nothing")
    assert list(check_document("d", text, rows, promises)) == []
    moved = rows.set_column(rows.schema.get_field_index("start"), "start", pa.array([0, 2]))
    assert "characters" in {found.check for found in check_document("d", text, moved, promises)}
