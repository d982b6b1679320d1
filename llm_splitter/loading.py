"""From what the user names as splitter to the tokenizer that it means."""

from __future__ import annotations

import base64
import hashlib
import importlib.util
from collections.abc import Callable
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeoutError  # in Python 3.10 not yet the other
from functools import partial
from pathlib import Path
from threading import Thread
from typing import Any
from weakref import WeakKeyDictionary

from llm_splitter.encodings import ENCODINGS, KNOWN_PATTERNS, Encoding
from llm_splitter.hugging_face import HuggingFaceTokenizer, OffsetTokenizer
from llm_splitter.tokenizers import (
    BytePairTokenizer,
    Engine,
    EngineName,
    QuicktokEngine,
    TiktokenEngine,
    Tokenizer,
)

_DOWNLOAD_SECONDS = 60.0  # for two megabytes; tiktoken itself waits as long as the network does, which may be minutes


def load_encoding(name: str, engine: EngineName = "auto", rank_file: str | Path | None = None) -> Tokenizer:
    """The tokenizer of a token encoding.

    Args:
        name: ``"cl100k_base"``, ``"o200k_base"`` and so on; see ``encodings``.
        engine: ``"quicktok"`` (fast, vocabularies in its wheel), ``"tiktoken"`` (the reference), or
            ``"auto"``: quicktok where it is installed and knows the encoding.
        rank_file: A ``.tiktoken`` rank file to take the vocabulary from; its hash is checked.

    Raises:
        ValueError: an unknown encoding or engine, a rank file with another content, or a vocabulary that
            can be had neither from a wheel nor from tiktoken.
    """
    encoding = ENCODINGS.get(name)
    if encoding is None:
        raise ValueError(f"unknown token encoding {name!r}; known are {', '.join(sorted(ENCODINGS))}")
    version = f"sha256:{encoding.sha256}" if encoding.sha256 else "of quicktok"
    return BytePairTokenizer(name, version, _engine(encoding, engine, rank_file), has_safe_cuts=True)


def _engine(encoding: Encoding, engine: EngineName, rank_file: str | Path | None) -> Engine:
    if engine not in ("auto", "quicktok", "tiktoken"):
        raise ValueError(f"engine must be 'auto', 'quicktok' or 'tiktoken', got {engine!r}")
    quicktok_serves = encoding.in_quicktok and has_quicktok() and rank_file is None
    if engine == "quicktok" and not quicktok_serves:
        raise ValueError(_why_not_quicktok(encoding, rank_file))
    if engine != "tiktoken" and quicktok_serves:
        return QuicktokEngine(encoding.name)
    if not encoding.pattern:
        raise ValueError(
            f"tiktoken does not know {encoding.name!r}: install quicktok-v1 and use engine 'quicktok' or 'auto'"
        )
    return TiktokenEngine(encoding.name, encoding.pattern, _ranks(encoding, rank_file))


def _why_not_quicktok(encoding: Encoding, rank_file: str | Path | None) -> str:
    if rank_file is not None:
        return f"engine 'quicktok' takes no rank file ({rank_file}): use engine 'tiktoken' or 'auto'"
    if not has_quicktok():
        return "engine 'quicktok' needs the package quicktok-v1: pip install quicktok-v1, or use engine 'tiktoken'"
    known = ", ".join(_in_quicktok())
    return f"quicktok does not know {encoding.name!r} (it knows {known}): use engine 'tiktoken' or 'auto'"


def has_quicktok() -> bool:
    """Whether the fast engine is installed."""
    return importlib.util.find_spec("quicktok") is not None


def _ranks(encoding: Encoding, rank_file: str | Path | None) -> dict[bytes, int]:
    if rank_file is not None:
        return _read_rank_file(encoding, Path(rank_file))
    if encoding.in_quicktok and has_quicktok():
        tokens = QuicktokEngine(encoding.vocabulary).token_bytes()
        return {token: rank for rank, token in enumerate(tokens) if token}
    return _tiktoken_ranks(encoding)


def _read_rank_file(encoding: Encoding, path: Path) -> dict[bytes, int]:
    try:
        content = path.read_bytes()
    except OSError as error:
        raise ValueError(f"cannot read the rank file {path}: {error.strerror}") from error
    digest = hashlib.sha256(content).hexdigest()
    if digest != encoding.sha256:
        raise ValueError(
            f"{path} is not the vocabulary of {encoding.name!r}: its sha256 is {digest}, expected {encoding.sha256}"
        )
    lines = (line.split() for line in content.splitlines() if line)
    return {base64.b64decode(token): int(rank) for token, rank in lines}


def _tiktoken_ranks(encoding: Encoding) -> dict[bytes, int]:
    import tiktoken  # noqa: PLC0415 - only where no wheel carries the vocabulary

    try:
        loaded: Any = _within(_DOWNLOAD_SECONDS, partial(tiktoken.get_encoding, encoding.name))
    except Exception as error:  # tiktoken lets through whatever its download raises
        raise ValueError(
            f"cannot load the vocabulary of {encoding.name!r}: it is neither in an installed package nor in "
            f"tiktoken's cache, and downloading it failed ({_reason(error)}). Ways out: set "
            "TIKTOKEN_CACHE_DIR to a folder that tiktoken has filled, name a rank file "
            f"(splitter '/path/to/{encoding.vocabulary}.tiktoken'), or an encoding that quicktok-v1 carries "
            f"({', '.join(_in_quicktok())})"
        ) from error
    ranks: dict[bytes, int] = loaded._mergeable_ranks
    return ranks


def _within(seconds: float, work: Callable[[], Any]) -> Any:
    """What a function gives, or raises; after so many seconds nobody waits for it any longer.

    Raises:
        TimeoutError: It took longer.
    """
    future: Future[Any] = Future()

    def run() -> None:
        try:
            future.set_result(work())
        except BaseException as error:  # noqa: BLE001 - it is raised where it is waited for
            future.set_exception(error)

    Thread(target=run, daemon=True).start()
    return future.result(seconds)


def _reason(error: Exception) -> str:
    if isinstance(error, (TimeoutError, FutureTimeoutError)):
        return f"it took more than {_DOWNLOAD_SECONDS:g} seconds"
    return type(error).__name__


def _in_quicktok() -> list[str]:
    return sorted(name for name, encoding in ENCODINGS.items() if encoding.in_quicktok)


def encoding_of_model(model: str) -> str | None:
    """The encoding of a model that tiktoken knows by name; None for any other name."""
    import tiktoken.model  # noqa: PLC0415 - only to say what is wrong

    try:
        return tiktoken.model.encoding_name_for_model(model)
    except KeyError:
        return None


def load_file(path: Path) -> Tokenizer:
    """The tokenizer in a file: a Hugging Face ``tokenizer.json``, or ``<encoding>.tiktoken`` ranks.

    Raises:
        ValueError: the file is neither, or cannot be read, or not what its name says.
    """
    if path.suffix == ".tiktoken":
        return load_encoding(path.stem, "tiktoken", path)
    content = _tokenizer_json(path)
    _require_tokenizers()
    try:
        return HuggingFaceTokenizer(content, path.name)
    except Exception as error:  # tokenizers raises plain Exception for a file that is not its own
        raise ValueError(f"{path} is no Hugging Face tokenizer.json: {error}") from error


def _tokenizer_json(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise ValueError(f"cannot read the tokenizer file {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} is no Hugging Face tokenizer.json: {error}") from error


def _require_tokenizers() -> None:
    if importlib.util.find_spec("tokenizers") is None:
        raise ValueError("a tokenizer.json needs the package tokenizers: pip install 'llm-splitter[huggingface]'")


def load_object(tokenizer: Any) -> Tokenizer | None:
    """The tokenizer that an object of a tokenizer package is; ``None`` for anything else."""
    package = type(tokenizer).__module__.partition(".")[0]
    if package == "tiktoken":
        return _from_tiktoken(tokenizer)
    if package == "quicktok":
        return load_encoding(tokenizer.name, "quicktok")
    if package == "tokenizers":
        return HuggingFaceTokenizer(tokenizer.to_str(), "tokenizer")
    if hasattr(tokenizer, "backend_tokenizer"):  # transformers' fast tokenizers
        return HuggingFaceTokenizer(
            tokenizer.backend_tokenizer.to_str(), getattr(tokenizer, "name_or_path", "tokenizer")
        )
    if hasattr(tokenizer, "encode") and not callable(tokenizer):
        return OffsetTokenizer(tokenizer)
    return None


def _from_tiktoken(encoding: Any) -> Tokenizer:
    tokenizer = _OF_ENCODINGS.get(encoding)
    if tokenizer is None:
        tokenizer = _OF_ENCODINGS[encoding] = _build_from_tiktoken(encoding)
    return tokenizer


_OF_ENCODINGS: WeakKeyDictionary[Any, Tokenizer] = WeakKeyDictionary()
"""Kept as long as the encoding: its vocabulary takes a second to read, and ``split`` may be called for every text."""


def _build_from_tiktoken(encoding: Any) -> Tokenizer:
    name, pattern, ranks = encoding.name, encoding._pat_str, encoding._mergeable_ranks
    version = f"sha256:{_published_sha256(ranks)}"
    known = ENCODINGS.get(name)
    if known is None or pattern != known.pattern:
        version += f" pattern:{hashlib.sha256(pattern.encode()).hexdigest()}"
    return BytePairTokenizer(name, version, TiktokenEngine(name, pattern, ranks), pattern in KNOWN_PATTERNS)


def _published_sha256(ranks: dict[bytes, int]) -> str:
    """The hash that a vocabulary has in the format in which tiktoken publishes it."""
    digest = hashlib.sha256()
    for token, rank in sorted(ranks.items(), key=lambda item: item[1]):
        digest.update(base64.b64encode(token) + b" " + str(rank).encode() + b"\n")
    return digest.hexdigest()
