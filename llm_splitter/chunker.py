"""The chunker: options with their splitter resolved once, then batch after batch."""

from __future__ import annotations

import difflib
import hashlib
import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NamedTuple

from llm_splitter.chunk_arrays import Boundaries, ChunkArrays, in_unit
from llm_splitter.encodings import ENCODINGS
from llm_splitter.loading import encoding_of_model, load_encoding, load_file, load_object
from llm_splitter.methods import Errors, OnError, split_built_in, split_custom, split_tokens
from llm_splitter.options import SplitOptions
from llm_splitter.splitters import BUILT_IN
from llm_splitter.texts import TextBatch
from llm_splitter.tokenizers import EngineName, Tokenizer

NAMES = (*BUILT_IN, *sorted(ENCODINGS))
"""The splitters that are known by name alone."""


class Chunker:
    """Splits batches of documents by one set of options; every way into the library goes through here.

    The splitter is looked up, and a tokenizer loaded, once, when the chunker is built. A pickled chunker
    carries all that it needs: the process that unpickles it loads nothing from a network.

    Args:
        options: How to split.
        engine: The package that encodes, for token encodings by name: ``"auto"``, ``"quicktok"`` or
            ``"tiktoken"``. All give the same chunks.

    Attributes:
        options: As given.
        tokenizer_name: The encoding, or the name of the splitter.
        tokenizer_version: The hash of its vocabulary; empty for splitters that are no tokenizers.
        engine: The package that encodes and its version; empty likewise.
        fingerprint: 32 hex digits that differ where options or tokenizer do, so that chunks do; the engine
            has no part in it. A custom splitter is known by module and name only.

    Raises:
        ValueError: an unknown splitter, or a vocabulary that cannot be loaded.

    >>> chunker = Chunker(SplitOptions(chunk_size=2, splitter="words"))
    >>> chunker.chunk(TextBatch.from_strings(["a b c", "d"])).start.tolist()
    [0, 4, 0]
    """

    def __init__(self, options: SplitOptions, engine: EngineName = "auto") -> None:
        self.options = options
        resolved = _resolve(options.splitter, engine)
        self._split = resolved.split
        self.tokenizer_name = resolved.name
        self.tokenizer_version = resolved.version
        self.engine = resolved.engine
        settings = {**vars(options), "splitter": [resolved.kind, resolved.name, resolved.version]}
        self.fingerprint = hashlib.blake2b(json.dumps(settings, sort_keys=True).encode(), digest_size=16).hexdigest()

    def chunk(self, batch: TextBatch, on_error: OnError = "raise") -> ChunkArrays:
        """The chunks of all documents of a batch.

        Args:
            batch: The documents.
            on_error: What to do where a custom splitter fails: ``"raise"`` what it raised, or ``"collect"`` it
                in ``errors`` and go on with the next document.
        """
        boundaries, errors = self._split(batch, self.options, on_error)
        return in_unit(batch, boundaries, self.options.offset_unit, errors)


class _Resolved(NamedTuple):
    """What a splitter setting means; kind, name and version together make two of them equal."""

    split: Callable[[TextBatch, SplitOptions, OnError], tuple[Boundaries, Errors]]
    kind: str
    name: str
    version: str = ""
    engine: str = ""


def _resolve(splitter: object, engine: EngineName) -> _Resolved:
    if isinstance(splitter, str) and splitter in BUILT_IN:
        return _Resolved(partial(split_built_in, splitter), "built-in", splitter)
    tokenizer = _load(splitter, engine)
    if tokenizer is not None:
        split = partial(split_tokens, tokenizer)
        return _Resolved(split, "tokenizer", tokenizer.name, tokenizer.version, tokenizer.engine)
    if not callable(splitter):
        raise ValueError(
            f"splitter must be a name ({_names()}), a callable from a text to its parts, or a tokenizer object, "
            f"got {splitter!r:.80}"
        )
    name = f"{getattr(splitter, '__module__', '')}.{getattr(splitter, '__qualname__', type(splitter).__qualname__)}"
    return _Resolved(partial(split_custom, splitter), "custom", name)


def _load(splitter: object, engine: EngineName) -> Tokenizer | None:
    if isinstance(splitter, (str, Path)):
        if Path(splitter).suffix in (".json", ".tiktoken"):
            return load_file(Path(splitter))
        if splitter in ENCODINGS:
            return load_encoding(str(splitter), engine)
        raise ValueError(_unknown(str(splitter)))
    return load_object(splitter)


def _unknown(splitter: str) -> str:
    return (
        f"unknown splitter {splitter!r}{_hint(splitter)} Known are {_names()}, the path of a tokenizer.json or of an "
        "<encoding>.tiktoken rank file, and in settings package.module:callable"
    )


def _hint(splitter: str) -> str:
    if encoding := encoding_of_model(splitter):
        return f": that is a model, and its encoding is {encoding}."
    close = difflib.get_close_matches(splitter.lower(), NAMES, n=1)
    return f": did you mean {close[0]!r}?" if close else "."


def _names() -> str:
    return ", ".join(NAMES)
