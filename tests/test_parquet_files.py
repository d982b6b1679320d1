"""Parquet: every text type, damage of every kind, files that differ, and steps of bounded size."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pipeline.parquet_files import read_parquet
from tests.reading import options, read

TEXTS = ["one", None, "", "zwei 🚄", "  ", "三"]
PARTS = [["ab", "cd"], [], None, ["x", None, "y"]]


def write(path, *columns, row_group_size=None, **settings):
    names = [name for name, _ in columns]
    table = pa.table([column for _, column in columns], names=names)
    try:
        pq.write_table(table, path, row_group_size=row_group_size, **settings)
    except pa.ArrowNotImplementedError as error:
        pytest.skip(f"this pyarrow cannot write the file: {error}")
    return path


def damage(path, needle, count=16):
    """Overwrite the bytes that follow a needle."""
    content = bytearray(path.read_bytes())
    at = content.index(needle)
    content[at : at + count] = b"\xff" * count
    path.write_bytes(content)


@pytest.mark.parametrize(
    "kind",
    [
        pa.string(),
        pa.large_string(),
        pa.string_view(),
        pa.dictionary(pa.int32(), pa.string()),
        pa.dictionary(pa.int8(), pa.large_string()),
    ],
    ids=str,
)
def test_every_text_type_gives_the_same_documents(tmp_path, kind):
    outcome = read(write(tmp_path / "a.parquet", ("text", pa.array(TEXTS, pa.string()).cast(kind))))
    assert outcome.texts == TEXTS
    assert outcome.tables[0].schema.field("text").type == pa.large_string()
    assert outcome.failures == []


@pytest.mark.parametrize(
    "kind",
    [
        pa.list_(pa.string()),
        pa.large_list(pa.large_string()),
        pa.list_(pa.string_view()),
        pa.list_(pa.dictionary(pa.int32(), pa.string())),
    ],
    ids=str,
)
def test_lists_are_documents_in_parts_and_a_null_part_is_empty(tmp_path, kind):
    parts = pa.array(PARTS, pa.list_(pa.string())).cast(kind)
    outcome = read(write(tmp_path / "a.parquet", ("parts", parts)), options("parts"))
    assert outcome.texts == [["ab", "cd"], [], None, ["x", "", "y"]]


def test_fixed_size_lists_are_documents_in_parts(tmp_path):
    parts = pa.array([["a", "b"], ["c", None]], pa.list_(pa.string(), 2))
    assert read(write(tmp_path / "a.parquet", ("text", parts))).texts == [["a", "b"], ["c", ""]]


def test_dictionaries_that_differ_between_row_groups(tmp_path):
    with pq.ParquetWriter(
        tmp_path / "a.parquet", pa.schema([("text", pa.dictionary(pa.int32(), pa.string()))])
    ) as writer:
        for texts in (["a", "b", None, "a"], ["c", "a", "c"]):
            writer.write_table(pa.table({"text": pa.array(texts).dictionary_encode()}))
    assert read(tmp_path / "a.parquet").texts == ["a", "b", None, "a", "c", "a", "c"]


@pytest.mark.parametrize("kind", [pa.binary(), pa.large_binary(), pa.binary_view(), pa.binary(3)], ids=str)
def test_binary_is_text_when_asked_for(tmp_path, kind):
    path = write(tmp_path / "a.parquet", ("text", pa.array([b"abc", None, b"\xff23"], kind)))
    outcome = read(path, options(binary_text=True))
    assert (outcome.texts, outcome.failed) == (["abc", None], [("row group 0, row 2", "UnicodeDecodeError")])


@pytest.mark.parametrize(
    ("column", "words"),
    [
        (pa.array([b"a"]), "binary_text"),
        (pa.array([1]), "type int64; a document is a string or a list of strings"),
        (pa.array([{"a": "b"}]), "type struct"),
        (pa.array([[["a"]]]), "type list<"),
    ],
)
def test_a_column_that_is_no_text_fails_the_file_once(tmp_path, column, words):
    path = write(tmp_path / "a.parquet", ("text", pa.concat_arrays([column] * 3)), row_group_size=1)
    outcome = read(path, split_bytes=1)
    assert outcome.failed == [("", "TypeError")]
    assert words in outcome.failures[0].message


def test_ids_are_path_and_row_of_the_file_and_positions_are_within_the_row_group(tmp_path):
    path = write(tmp_path / "a.parquet", ("text", list("abcde")), row_group_size=2)
    for outcome in (read(path), read(path, split_bytes=1)):
        assert outcome.column("doc_id") == [f"{path}#{row}" for row in range(5)]
        assert outcome.column("_position")[2:4] == ["row group 1, row 0", "row group 1, row 1"]
        assert set(outcome.column("_source")) == {str(path)}


@pytest.mark.parametrize(
    ("ids", "expected"),
    [
        (pa.array(["x", None]), ["x", "#1"]),
        (pa.array([7, None]), ["7", "#1"]),
        (pa.array([b"x", b"y"]), ["x", "y"]),
        (pa.array(["x", "y"]).dictionary_encode(), ["x", "y"]),
        (None, ["#0", "#1"]),
    ],
    ids=["null: from the position", "number", "binary", "dictionary", "no such column in this file"],
)
def test_an_id_column_of_any_flat_type(tmp_path, ids, expected):
    columns = [("text", ["a", "b"])] + ([] if ids is None else [("id", ids)])
    outcome = read(write(tmp_path / "a.parquet", *columns), options(id="id"))
    assert [doc_id.replace(str(tmp_path / "a.parquet"), "") for doc_id in outcome.column("doc_id")] == expected
    assert outcome.notes.get("ids_from_position", 0) == sum(doc_id[0] == "#" for doc_id in expected)


def test_invalid_utf8_fails_its_row_alone(tmp_path):
    bad = pa.array([b"ok", b"\xc3(", b"fine", b"a\xed\xa0\x80"]).view(pa.string())
    path = write(tmp_path / "a.parquet", ("text", bad), ("id", list("wxyz")))
    outcome = read(path, options(id="id"))
    assert outcome.texts == ["ok", "fine"]
    assert [(failure.position, failure.doc_id) for failure in outcome.failures] == [
        ("row group 0, row 1", "x"),
        ("row group 0, row 3", "z"),
    ]
    assert "column 'text': 'utf-8' codec can't decode byte 0xc3 in position 0" in outcome.failures[0].message
    assert outcome.documents_read == 4


def test_invalid_utf8_in_ids_and_metadata_fails_the_row(tmp_path):
    bad = pa.array([b"ok", b"\xff"]).view(pa.string())
    nested = pa.StructArray.from_arrays([bad], ["name"])
    path = write(tmp_path / "a.parquet", ("text", ["a", "b"]), ("s", bad), ("n", nested))
    for wanted in (options(id="s"), options(metadata=[("s", pa.string())]), options(metadata=[("n", nested.type)])):
        outcome = read(path, wanted)
        assert (outcome.texts, len(outcome.failures)) == (["a"], 1)


def test_a_corrupt_row_group_fails_alone_and_is_named(tmp_path):
    texts = [letter * 5000 for letter in "abc"]
    path = write(tmp_path / "a.parquet", ("text", texts), row_group_size=1, compression="none", use_dictionary=False)
    content = path.read_bytes()
    start = pq.ParquetFile(path).metadata.row_group(1).column(0).data_page_offset
    path.write_bytes(content[:start] + b"\xff" * 16 + content[start + 16 :])
    for outcome in (read(path), read(path, split_bytes=1)):
        assert [text[0] for text in outcome.texts] == ["a", "c"]
        assert [failure.position for failure in outcome.failures] == ["row group 1"]
        assert outcome.failures[0].message.startswith("rows 0 to 0 of the row group are lost: ")
        assert outcome.column("doc_id") == [f"{path}#0", f"{path}#2"]


def test_rows_before_a_corrupt_page_are_kept(tmp_path):
    texts = [f"row {row};" * 10 for row in range(5000)]
    path = write(tmp_path / "a.parquet", ("text", texts), compression="none", use_dictionary=False, data_page_size=2000)
    damage(path, b"row 4000;", 16_000)
    outcome = read(path)
    assert 0 < len(outcome.texts) < 5000
    assert outcome.texts == texts[: len(outcome.texts)]
    assert outcome.failures[0].message.startswith(f"rows {len(outcome.texts)} to 4999 of the row group are lost")


@pytest.mark.parametrize("verified", [False, True])
def test_page_checksums_are_verified_by_choice(tmp_path, verified):
    path = write(
        tmp_path / "a.parquet",
        ("text", ["needle" + "x" * 100]),
        compression="none",
        use_dictionary=False,
        write_page_checksum=True,
        write_statistics=False,
    )
    content = path.read_bytes()
    path.write_bytes(content.replace(b"needlexxxx", b"needleyyyy", 1))
    outcome = read(path, options(verify_checksums=verified))
    assert len(outcome.texts) == (not verified)
    assert [failure.position for failure in outcome.failures] == ["row group 0"] * verified


@pytest.mark.parametrize(
    "content",
    [b"", b"PAR1", b"not parquet at all", b'{"text": "a"}\n', b"PAR1" + bytes(1000) + b"PAR1"],
    ids=["empty", "magic only", "text", "JSON", "zeros"],
)
def test_what_is_no_parquet_file_fails_that_file(tmp_path, content):
    (tmp_path / "a.parquet").write_bytes(content)
    outcome = read(tmp_path / "a.parquet", split_bytes=1)
    assert [(failure.position, failure.scope) for failure in outcome.failures] == [("", "file")]
    assert outcome.documents_read == 0


def test_a_truncated_file_fails(tmp_path):
    path = write(tmp_path / "a.parquet", ("text", ["a"] * 1000))
    path.write_bytes(path.read_bytes()[:-20])
    assert [failure.scope for failure in read(path, split_bytes=1).failures] == ["file"]


def test_every_cut_and_many_flipped_bytes_end_in_documents_or_failures(tmp_path):
    path = write(tmp_path / "a.parquet", ("text", ["abc", None, "defg"] * 20), row_group_size=20)
    content = path.read_bytes()
    changed = np.random.default_rng(7)
    for _ in range(150):
        broken = bytearray(content)
        for at in changed.integers(0, len(content), 3):
            broken[at] ^= 1 << changed.integers(0, 8)
        path.write_bytes(broken)
        outcome = read(path)
        assert outcome.failures or outcome.documents_read


def test_a_file_with_an_encrypted_column_fails_and_the_process_survives(tmp_path):
    pe = pytest.importorskip("pyarrow.parquet.encryption")
    path = tmp_path / "a.parquet"
    for plaintext_footer in (True, False):
        settings = pe.EncryptionConfiguration(
            footer_key="key", column_keys={"key": ["text"]}, plaintext_footer=plaintext_footer
        )
        factory = pe.CryptoFactory(lambda _: InMemoryKms())
        properties = factory.file_encryption_properties(pe.KmsConnectionConfig(), settings)
        table = pa.table({"id": ["1"], "text": ["secret"]})
        with pq.ParquetWriter(path, table.schema, encryption_properties=properties) as writer:
            writer.write_table(table)
        outcome = read(path, split_bytes=1)
        assert (outcome.texts, len(outcome.failures)) == ([], 1)
        assert outcome.failures[0].scope in ("file", "row_group")


class InMemoryKms(pytest.importorskip("pyarrow.parquet.encryption").KmsClient):
    def wrap_key(self, key_bytes, master_key_identifier):
        return key_bytes.hex().encode()

    def unwrap_key(self, wrapped_key, master_key_identifier):
        return bytes.fromhex(wrapped_key.decode())


@pytest.mark.parametrize(
    ("columns", "lang"),
    [
        ([("text", ["t"]), ("lang", ["de"])], "de"),
        ([("lang", ["de"]), ("more", [1]), ("text", ["t"])], "de"),
        ([("text", ["t"])], None),
        ([("text", ["t"]), ("lang", pa.nulls(1))], None),
        ([("text", ["t"]), ("lang", pa.array(["de"]).dictionary_encode())], "de"),
        ([("text", ["t"]), ("lang", [7])], "7"),
    ],
    ids=["as expected", "other order", "missing", "null-typed", "dictionary", "another type"],
)
def test_files_that_differ_give_tables_of_one_schema(tmp_path, columns, lang):
    outcome = read(write(tmp_path / "a.parquet", *columns), options(metadata=[("lang", pa.string())]))
    assert outcome.column("lang") == [lang]
    assert outcome.tables[0].schema.field("lang").type == pa.string()


def test_a_null_typed_text_column_holds_empty_documents(tmp_path):
    assert read(write(tmp_path / "a.parquet", ("text", pa.nulls(3)))).texts == [None] * 3


def test_metadata_that_cannot_be_cast_fails_its_row(tmp_path):
    path = write(tmp_path / "a.parquet", ("text", list("abc")), ("n", ["1", "two", "3"]))
    outcome = read(path, options(metadata=[("n", pa.int64())]))
    assert outcome.rows[1]["n"] == 3
    assert outcome.failed == [("row group 0, row 1", "ArrowInvalid")]
    assert outcome.failures[0].doc_id == f"{path}#1"
    assert "column 'n'" in outcome.failures[0].message


@pytest.mark.parametrize("name", ["missing", "a.b"])
def test_a_missing_text_column_fails_the_file_and_shows_what_there_is(tmp_path, name):
    path = write(tmp_path / "a.parquet", ("content", ["a"]), ("a", pa.array([{"b": "c"}])))
    outcome = read(path, options(name), split_bytes=1)
    assert outcome.failed == [("", "KeyError")]
    assert outcome.failures[0].message == f"there is no column '{name}'; the columns are content, a"


def test_two_columns_of_a_name_fail_the_file(tmp_path):
    path = write(tmp_path / "a.parquet", ("text", ["a"]), ("text", ["b"]))
    assert "two columns 'text'" in read(path).failures[0].message


def test_a_column_name_with_a_dot(tmp_path):
    path = write(tmp_path / "a.parquet", ("doc.text", ["a"]), ("doc", ["b"]))
    assert read(path, options("doc.text")).texts == ["a"]


def test_no_rows_no_tables(tmp_path):
    outcome = read(write(tmp_path / "a.parquet", ("text", pa.array([], pa.string()))))
    assert (outcome.tables, outcome.failures) == ([], [])


def test_pandas_metadata_and_index_do_no_harm(tmp_path):
    pandas = pytest.importorskip("pandas")
    pandas.DataFrame({"text": ["a", None]}, index=["x", "y"]).to_parquet(tmp_path / "a.parquet")
    assert read(tmp_path / "a.parquet").texts == ["a", None]


def test_one_large_row_group_is_read_in_steps_of_about_a_mebibyte(tmp_path):
    texts = ["x" * 100] * 200_000 + ["y" * 50_000] * 200 + ["z" * 3_000_000] * 4
    path = write(tmp_path / "a.parquet", ("text", texts), compression="zstd", row_group_size=len(texts))
    with pa.OSFile(str(path)) as file:
        steps = [batch.documents for batch in read_parquet(file, "a", options())]
    # a step is made for the rows before it, so one may be too large where documents grow at once
    assert sorted(table.nbytes for table in steps)[-2] < 8 << 20
    assert sum(table.num_rows for table in steps) == len(texts)
    assert len(steps) < 120


def test_a_large_dictionary_does_not_make_steps_small(tmp_path):
    texts = [f"{row:06d}" * 20 for row in range(50_000)]
    path = write(tmp_path / "a.parquet", ("text", pa.array(texts).dictionary_encode()), row_group_size=50_000)
    with pa.OSFile(str(path)) as file:
        steps = [batch.documents.num_rows for batch in read_parquet(file, "a", options())]
    assert sum(steps) == 50_000
    assert len(steps) < 20


def test_tables_hold_about_batch_bytes_and_a_larger_document_is_its_own(tmp_path):
    texts = ["a" * 1000] * 3000 + ["b" * 2_000_000] + ["c" * 1000] * 100
    outcome = read(write(tmp_path / "a.parquet", ("text", texts)), options(batch_bytes=1 << 20))
    assert outcome.texts == texts
    large = [table for table in outcome.tables if table.nbytes > 1 << 20]
    assert [table.num_rows for table in large] == [1]
