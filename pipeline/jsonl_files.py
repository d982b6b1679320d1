"""JSON Lines -> document tables: a line is a document, and a bad line fails alone. No Beam.

What a line may hold: one JSON object in UTF-8. Blank lines are skipped, a byte order mark and CR before LF
are ignored, of duplicate keys the last counts, NaN and Infinity are numbers, and a lone surrogate escape
becomes U+FFFD before anything else sees the text (such documents are counted).
"""

from __future__ import annotations

import codecs
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

import numpy as np
import orjson
import pyarrow as pa

from pipeline.compression import BLOCK_BYTES
from pipeline.conversion import Converted
from pipeline.documents import (
    SURROGATES,
    DocumentColumns,
    Failure,
    Places,
    ReadBatch,
    ReadOptions,
    assemble,
    join_text,
)
from pipeline.json_values import id_values, metadata_values
from pipeline.lines import Line, Lines, LineSplitter, LongLine
from pipeline.long_strings import LONG_BYTES, CutLine, cut_line, json_error
from pipeline.schemas import PARTS_TYPE, TEXT_TYPE

_MISSING = object()
_TEXT_KINDS = frozenset((str, bytearray, type(None)))  # a bytearray is the UTF-8 of a long text
_KINDS = {
    bool: "a boolean",
    int: "a number",
    float: "a number",
    str: "a string",
    list: "a list",
    dict: "an object",
}


def read_jsonl(
    blocks: Iterable[bytes], path: str, options: ReadOptions, first_line: int = 1, first_byte: int = 0
) -> Iterator[ReadBatch]:
    """The documents of a JSON Lines file, or of a range of its lines, a block at a time.

    When the blocks end in an error, the rows before it are kept and the file is a failure.

    Args:
        blocks: The file's bytes.
        path: Its name, for ids and failures. Ids and positions count lines from 1, blank ones too.
        options: How to read.
        first_line: Number of the first line in the blocks.
        first_byte: Where it begins.
    """
    splitter = LineSplitter(blocks, options.max_line_bytes, first_line, first_byte)
    try:
        for lines in splitter:
            batches = documents_from_lines(lines.lines, _places(lines, path), options)
            del lines  # a long line is as large as its document
            yield from batches
    except Exception as error:  # noqa: BLE001 - whatever stops the stream is the file's failure
        position = f"line {splitter.line}, byte {splitter.byte}"
        lost = "the file is lost from here on: "
        yield ReadBatch(failures=(Failure.of(error, path, position, context=lost),))


def first_records(blocks: Iterable[bytes], options: ReadOptions) -> list[dict[str, Any]]:
    """The objects in the first block of a file, for a look at their types; in a small file all of them."""
    found: list[dict[str, Any]] = []
    for lines in islice(LineSplitter(blocks, options.max_line_bytes), 2):  # a line without an end comes by itself
        found += objects(lines.lines, options)
        if sum(map(len, lines.lines)) >= BLOCK_BYTES // 2:
            break
    return found


def objects(lines: list[Line], options: ReadOptions) -> list[dict[str, Any]]:
    """The objects that lines hold; other lines are left out. A long text is a bytearray of UTF-8."""
    return list(_parse(lines, options).records.values())


def _places(lines: Lines, path: str) -> Places:
    starts = lines.starts()
    numbers = lines.first + np.arange(len(starts))
    return Places(path, numbers, join_text("line ", numbers, ", byte ", starts))


def documents_from_lines(lines: list[Line], places: Places, options: ReadOptions) -> list[ReadBatch]:
    """The documents and failures of some lines: first failures, then plain documents, then those in parts.

    Example:
        >>> places = Places("f.jsonl", np.array([1]), pa.array(["line 1, byte 0"]))
        >>> [batch] = documents_from_lines([b'{"text": "a"}'], places, ReadOptions())
        >>> batch.documents.column("doc_id").to_pylist()
        ['f.jsonl#1']
    """
    columns = options.columns
    parsed = _parse(lines, options)
    plain, parts = _by_text(parsed, columns.text)
    batches = []
    if parsed.errors:
        batches.append(ReadBatch(failures=tuple(_failures(parsed, places, columns))))
    for rows, kind in ((plain, TEXT_TYPE), (parts, PARTS_TYPE)):
        if rows:
            mended = len(parsed.mended.intersection(rows))
            batch = _assemble_rows(parsed, rows, kind, places, columns)
            notes = {**batch.notes, "surrogates_replaced": mended} if mended else batch.notes
            batches.append(batch._replace(notes=notes))
    return batches


@dataclass
class _Parsed:
    """What lines hold, by row.

    Attributes:
        lines: The lines themselves.
        records: Their objects; blank and failed lines have none.
        errors: Why lines failed.
        mended: Rows whose lone surrogates were replaced.
    """

    lines: list[Line]
    records: dict[int, dict[str, Any]] = field(default_factory=dict)
    errors: dict[int, Exception] = field(default_factory=dict)
    mended: set[int] = field(default_factory=set)


def _parse(lines: list[Line], options: ReadOptions) -> _Parsed:
    parsed = _Parsed([*lines])
    records, loads = parsed.records, orjson.loads
    for row, line in enumerate(lines):
        if len(line) > LONG_BYTES:
            _parse_long(parsed, row, options)
            continue
        try:
            value = loads(line)  # type: ignore[arg-type]  # a LongLine is refused like anything malformed
        except orjson.JSONDecodeError as refused:
            if isinstance(line, LongLine):
                parsed.errors[row] = _too_long(line, options.max_line_bytes)
            else:
                _parse_refused(parsed, row, refused)
            continue
        if type(value) is dict:
            records[row] = value
        else:
            parsed.errors[row] = _not_an_object(value)
    return parsed


def _parse_long(parsed: _Parsed, row: int, options: ReadOptions) -> None:
    """Take a line that may be as long as a line can be, so that little more than the line and its text is held."""
    line = parsed.lines[row]
    if isinstance(line, LongLine):
        parsed.errors[row] = _too_long(line, options.max_line_bytes)
        return
    try:
        cut = cut_line(line)
        if cut is None:
            _parse_line(parsed, row)
        else:
            _parse_cut(parsed, row, cut, _long_text(options.columns))
    except (ValueError, RecursionError) as error:
        parsed.errors[row] = error.with_traceback(None)  # which would keep the line


def _parse_cut(parsed: _Parsed, row: int, cut: CutLine, text: str | None) -> None:
    """Take a line without its long strings, and fill them in: as UTF-8 those of the text, as strings all others.

    Raises:
        ValueError: If one is no JSON string.
    """
    size = len(parsed.lines[row])
    parsed.lines[row] = cut.rest
    _parse_line(parsed, row)
    record = parsed.records.pop(row, None)
    if record is not None:
        parsed.records[row] = {cut.filled(key): cut.filled(value, key == text) for key, value in record.items()}
    if cut.is_mended:
        parsed.mended.add(row)
    if row in parsed.errors:
        parsed.errors[row] = _without_place(parsed.errors[row], size)


def _without_place(error: Exception, size: int) -> Exception:
    """The error of a line whose long strings were cut out: what it says of places and values is not the line's."""
    if isinstance(error, json.JSONDecodeError):
        return json_error(f"{error.msg}, in a line of {size} bytes")
    if isinstance(error, TypeError):
        return TypeError(f"found no object in a line of {size} bytes; a document is a JSON object")
    return error


def _parse_line(parsed: _Parsed, row: int) -> None:
    try:
        value = orjson.loads(parsed.lines[row])  # type: ignore[arg-type]  # no LongLine comes here
    except orjson.JSONDecodeError as refused:
        _parse_refused(parsed, row, refused)
    else:
        _take(parsed, row, value, changed=False)


def _too_long(line: LongLine, limit: int) -> Exception:
    return ValueError(f"the line has {len(line)} bytes; at most {limit} are read (max_line_bytes)")


def _long_text(columns: DocumentColumns) -> str | None:
    """The key whose long strings need be no `str`; None if they have another use as well."""
    return None if columns.text in (columns.id, *columns.metadata.names) else columns.text


def _parse_refused(parsed: _Parsed, row: int, refused: orjson.JSONDecodeError) -> None:
    """Take a line that the fast parser does not: it may be blank, or hold NaN, Infinity or lone surrogates."""
    line = parsed.lines[row]
    assert not isinstance(line, LongLine)
    text = bytes(line.strip()).removeprefix(codecs.BOM_UTF8)
    if not text:
        return
    try:
        value = json.loads(text.decode())
        mended = _replace_surrogates(value)
    except (json.JSONDecodeError, RecursionError):
        parsed.errors[row] = _within_line(refused)  # which says more
    except ValueError as error:
        parsed.errors[row] = error
    else:
        _take(parsed, row, mended, changed=mended != value)


def _within_line(error: orjson.JSONDecodeError) -> json.JSONDecodeError:
    """The error without the words `line 1`, which would contradict the line's number in the file."""
    return json_error(f"{error.msg}: column {error.colno}" if error.lineno == 1 else str(error))


def _take(parsed: _Parsed, row: int, value: Any, *, changed: bool) -> None:
    if type(value) is not dict:
        parsed.errors[row] = _not_an_object(value)
        return
    parsed.records[row] = value
    if changed:
        parsed.mended.add(row)


def _not_an_object(value: Any) -> Exception:
    return TypeError(f"found {_shown(value)}; a document is a JSON object")


def _replace_surrogates(value: Any) -> Any:
    if isinstance(value, str):
        return SURROGATES.sub("\ufffd", value)
    if isinstance(value, list):
        return [_replace_surrogates(item) for item in value]
    if isinstance(value, dict):
        return {_replace_surrogates(key): _replace_surrogates(item) for key, item in value.items()}
    return value


def _shown(value: Any) -> str:
    if value is None:
        return "null"
    shown = repr(value)
    return f"{_KINDS[type(value)]} ({shown if len(shown) <= 40 else shown[:37] + '...'})"


def _by_text(parsed: _Parsed, name: str) -> tuple[list[int], list[int]]:
    """Rows whose text is a string or null, and rows whose text is a list of such; others are errors."""
    plain: list[int] = []
    parts: list[int] = []
    for row, record in parsed.records.items():
        text = record.get(name, _MISSING)
        kind = type(text)
        if kind in _TEXT_KINDS:
            plain.append(row)
        elif kind is list and _TEXT_KINDS.issuperset(map(type, text)):
            parts.append(row)
        else:
            parsed.errors[row] = _text_error(text, record, name)
    return plain, parts


def _text_error(text: Any, record: dict[str, Any], name: str) -> Exception:
    if text is _MISSING:
        return KeyError(f"there is no key {name!r}; the keys are {', '.join(record) or 'none'}")
    return TypeError(f"key {name!r} holds {_shown(text)}; a document is a string, null or a list of strings")


def _failures(parsed: _Parsed, places: Places, columns: DocumentColumns) -> Iterator[Failure]:
    rows = sorted(parsed.errors)
    positional = places.take(rows).ids().to_pylist()
    for row, positional_id in zip(rows, positional, strict=True):
        known = parsed.records.get(row, {}).get(columns.id) if columns.id else positional_id
        doc_id = str(known) if isinstance(known, (str, int)) else None
        yield places.fail(row, parsed.errors[row], doc_id)


def _assemble_rows(
    parsed: _Parsed, rows: list[int], kind: pa.DataType, places: Places, columns: DocumentColumns
) -> ReadBatch:
    records = [parsed.records[row] for row in rows]
    lines = [parsed.lines[row] for row in rows]
    ids = None if columns.id is None else id_values(records, columns.id, lines)
    metadata = [metadata_values(records, wanted, lines) for wanted in columns.metadata]
    texts = _text_array([record.pop(columns.text) for record in records], kind)
    its_places = places if len(rows) == len(places.numbers) else places.take(rows)
    return assemble(columns, its_places, Converted(texts, {}), ids, metadata)


def _text_array(texts: list[Any], kind: pa.DataType) -> pa.Array[Any]:
    if kind == PARTS_TYPE:
        return _parts_array(texts)
    return _utf8_array(texts) if len(texts) == 1 and _is_long(texts) else pa.array(texts, kind)


def _parts_array(texts: list[list[Any]]) -> pa.Array[Any]:
    if len(texts) > 1 or not _is_long(texts[0]):
        return pa.array([[part or "" for part in text] for text in texts], PARTS_TYPE)
    parts = texts.pop()
    offsets = pa.array([0, len(parts)], pa.int64())
    return pa.LargeListArray.from_arrays(offsets, _utf8_array(parts), type=PARTS_TYPE)


def _is_long(texts: list[Any]) -> bool:
    """Whether some text may be as long as a line can be."""
    return bytearray in set(map(type, texts))


def _utf8_array(texts: list[Any]) -> pa.Array[Any]:
    """Texts as large strings, a long one not copied if it is alone; the list is emptied."""
    encoded = [text if isinstance(text, bytearray) else (text or "").encode() for text in texts]
    texts.clear()
    offsets = pa.py_buffer(np.cumsum([0, *map(len, encoded)], dtype=np.int64))
    content = encoded[0] if len(encoded) == 1 else b"".join(encoded)
    return pa.LargeStringArray.from_buffers(len(encoded), offsets, pa.py_buffer(content))
