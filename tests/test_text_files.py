"""Plain text files: a document each."""

import gzip

import pyarrow as pa
import pytest
import zstandard

from tests.reading import options, read


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (b"one\r\n\r\ntwo\n", "one\r\n\r\ntwo\n"),
        ("\ufeffmit BOM".encode(), "mit BOM"),
        ("日本\u2028語\x00".encode(), "日本\u2028語\x00"),
        (b"", ""),
    ],
)
@pytest.mark.parametrize("compress", [bytes, gzip.compress, zstandard.compress])
def test_the_content_is_the_text_and_the_path_the_id(tmp_path, content, text, compress):
    path = tmp_path / "a.txt"
    path.write_bytes(compress(content))
    outcome = read(path, options("body", id="id", metadata=[("lang", pa.string())]))
    assert outcome.rows == [{"doc_id": str(path), "_source": str(path), "_position": "", "text": text, "lang": None}]


def test_invalid_utf8_is_a_failed_document(tmp_path):
    (tmp_path / "a.txt").write_bytes(b"caf\xe9")
    outcome = read(tmp_path / "a.txt")
    assert (outcome.failed, outcome.documents_read) == ([("", "UnicodeDecodeError")], 1)
    assert "can't decode byte 0xe9 in position 3" in outcome.failures[0].message


def test_a_file_past_the_limit_fails(tmp_path):
    (tmp_path / "a.txt").write_bytes(b"x" * 11)
    outcome = read(tmp_path / "a.txt", options(max_line_bytes=10))
    assert "more than 10 bytes" in outcome.failures[0].message


def test_a_file_whose_name_is_not_unicode(tmp_path):
    path = tmp_path / "caf\udce9.txt"
    try:
        path.write_bytes(b"text")
    except OSError:
        pytest.skip("the file system takes only Unicode names")
    assert read(path).column("doc_id") == [str(path).replace("\udce9", "\ufffd")]
