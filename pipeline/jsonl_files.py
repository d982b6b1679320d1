"""JSON Lines -> document tables: a line is a document, and a bad line fails alone. No Beam.

What a line may hold: one JSON object in UTF-8. Blank lines are skipped, a byte order mark and CR before LF are ignored,
of duplicate keys the last counts, NaN and Infinity are numbers, and a lone surrogate escape becomes U+FFFD before
anything else sees the text (such documents are counted).
"""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
import orjson
import pyarrow as pa

from pipeline.conversion import Converted
from pipeline.documents import Failure, Places, ReadBatch, ReadOptions, assemble, join_text
from pipeline.json_values import id_values, metadata_values
from pipeline.lines import Line, Lines, LineSplitter, LongLine
from pipeline.schemas import PARTS_TYPE, TEXT_TYPE

_SURROGATE = re.compile("[\ud800-\udfff]")
_MISSING = object()
_TEXT_KINDS = {str, type(None)}


class Record(NamedTuple):
    """A line's object, and whether its lone surrogates were replaced."""

    value: dict[str, Any]
    mended: bool = False


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
            yield from documents_from_lines(lines, path, options)
    except Exception as error:  # noqa: BLE001 - whatever stops the stream is the file's failure
        position = f"line {splitter.line}, byte {splitter.byte}"
        yield ReadBatch(
            failures=(Failure.of(error, path, position, context="the file is lost from here on: "),)
        )


def first_records(blocks: Iterable[bytes], options: ReadOptions, most: int = 100) -> list[dict[str, Any]]:
    """The objects in the first lines of a file, for a look at their types; lines that hold none are left out."""
    for lines in LineSplitter(blocks, options.max_line_bytes):
        records, _ = _parse(lines.lines[:most], options)
        return [record.value for record in records.values()]
    return []


def documents_from_lines(lines: Lines, path: str, options: ReadOptions) -> Iterator[ReadBatch]:
    """The documents and failures of some lines: plain documents first, then those in parts.

    Example:
        >>> batch = next(documents_from_lines(Lines(1, 0, [b'{"text": "a"}', b'{"text": 1}']), "f.jsonl", ReadOptions()))
        >>> batch.documents.column("doc_id").to_pylist()
        ['f.jsonl#1']
    """
    starts = lines.starts()
    numbers = lines.first + np.arange(len(starts))
    places = Places(path, numbers, join_text("line ", numbers, ", byte ", starts))
    records, errors = _parse(lines.lines, options)
    plain, parts, mistyped = _by_text(records, options.columns.text)
    errors |= mistyped
    if errors:
        yield ReadBatch(
            failures=tuple(_failure(places, row, errors[row], records, options) for row in sorted(errors))
        )
    for rows, kind in ((plain, TEXT_TYPE), (parts, PARTS_TYPE)):
        if rows:
            yield _assemble_rows(rows, kind, records, lines, places, options)


def parse_line(line: Line, limit: int) -> Record | None:
    """The object of one line, or None for a blank line.

    Raises:
        ValueError: If the line is too long, not UTF-8 or not JSON.
        TypeError: If it holds anything but an object.
    """
    if isinstance(line, LongLine):
        raise ValueError(f"the line has {len(line)} bytes; at most {limit} are read (max_line_bytes)")
    try:
        return Record(_object(orjson.loads(line)))
    except orjson.JSONDecodeError as refused:
        text = line.strip().removeprefix(codecs.BOM_UTF8)
        return _parse_leniently(bytes(text), refused) if text else None


def _parse(lines: list[Line], options: ReadOptions) -> tuple[dict[int, Record], dict[int, Exception]]:
    records: dict[int, Record] = {}
    errors: dict[int, Exception] = {}
    for row, line in enumerate(lines):
        try:
            record = parse_line(line, options.max_line_bytes)
        except (ValueError, TypeError, RecursionError) as error:
            errors[row] = error
            continue
        if record is not None:
            records[row] = record
    return records, errors


def _parse_leniently(line: bytes, refused: orjson.JSONDecodeError) -> Record:
    """What orjson refuses and Python's parser takes: NaN, Infinity, lone surrogates; and a byte order mark.

    The first refusal stands when this one fails too, since it says more.
    """
    try:
        value = _object(json.loads(line.decode()))
    except json.JSONDecodeError:
        raise refused from None
    mended = _replace_surrogates(value)
    return Record(mended, mended != value)


def _object(value: Any) -> dict[str, Any]:
    if type(value) is not dict:
        raise TypeError(f"the line holds {_shown(value)}; a document is a JSON object")
    return value


def _replace_surrogates(value: Any) -> Any:
    if isinstance(value, str):
        return _SURROGATE.sub("\ufffd", value)
    if isinstance(value, list):
        return [_replace_surrogates(item) for item in value]
    if isinstance(value, dict):
        return {_replace_surrogates(key): _replace_surrogates(item) for key, item in value.items()}
    return value


def _shown(value: Any) -> str:
    names = {
        bool: "a boolean",
        int: "a number",
        float: "a number",
        str: "a string",
        list: "a list",
        dict: "an object",
    }
    shown = json.dumps(value)
    return f"{names.get(type(value), 'null')} ({shown if len(shown) <= 40 else shown[:37] + '...'})"


def _by_text(records: dict[int, Record], name: str) -> tuple[list[int], list[int], dict[int, Exception]]:
    """Rows whose text is a string or null, rows whose text is a list of such, and errors for all others."""
    plain: list[int] = []
    parts: list[int] = []
    errors: dict[int, Exception] = {}
    for row, record in records.items():
        text = record.value.get(name, _MISSING)
        kind = type(text)
        if kind in _TEXT_KINDS:
            plain.append(row)
        elif kind is list and _TEXT_KINDS.issuperset(map(type, text)):
            parts.append(row)
        else:
            errors[row] = _text_error(text, record.value, name)
    return plain, parts, errors


def _text_error(text: Any, record: dict[str, Any], name: str) -> Exception:
    if text is _MISSING:
        return KeyError(f"there is no key {name!r}; the keys are {', '.join(record) or 'none'}")
    return TypeError(f"key {name!r} holds {_shown(text)}; a document is a string, null or a list of strings")


def _failure(
    places: Places, row: int, error: Exception, records: dict[int, Record], options: ReadOptions
) -> Failure:
    return places.fail(row, error, _known_id(places, row, records, options))


def _known_id(places: Places, row: int, records: dict[int, Record], options: ReadOptions) -> str | None:
    column = options.columns.id
    if column is None:
        return str(places.take([row]).ids()[0].as_py())
    value = records[row].value.get(column) if row in records else None
    return str(value) if isinstance(value, (str, int)) else None


def _assemble_rows(
    rows: list[int],
    kind: pa.DataType,
    records: dict[int, Record],
    lines: Lines,
    places: Places,
    options: ReadOptions,
) -> ReadBatch:
    columns = options.columns
    values = [records[row].value for row in rows]
    raw = [lines.lines[row] for row in rows]
    texts = [value[columns.text] for value in values]
    if kind == PARTS_TYPE:
        texts = [[part or "" for part in text] for text in texts]
    batch = assemble(
        columns,
        places if len(rows) == len(places.numbers) else places.take(rows),
        Converted(pa.array(texts, kind), {}),
        None if columns.id is None else id_values(values, columns.id, raw),
        [metadata_values(values, field, raw) for field in columns.metadata],
    )
    mended = sum(records[row].mended for row in rows)
    return batch._replace(notes={**batch.notes, "surrogates_replaced": mended}) if mended else batch
