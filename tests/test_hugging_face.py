"""Hugging Face tokenizers, trained here on a few lines: exact offsets through normalising and byte levels."""

from __future__ import annotations

import hashlib
import json
import pickle
import re
from dataclasses import dataclass
from functools import lru_cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llm_splitter import Chunker, SplitOptions, TextBatch, split
from tests import contract
from tests.text_strategies import documents, options, texts

tokenizers = pytest.importorskip("tokenizers", reason="the extra llm-splitter[huggingface]")

LINES = [
    "The keeper of the lighthouse climbs the stairs twice each day.",
    "Der Wächter steigt täglich über hundert Stufen; größere Schiffe fahren vorüber.",
    "Le garçon à la crème brûlée est passé près du phare.",
    "灯塔的守护人每天清晨和黄昏各爬一次楼梯。",
    "カモメが台所の窓からパンを盗んだ。",
    "어젯밤 바다에는 짙은 안개가 끼었다.",
    "नाव संख्या ४२ का किराया १०० रुपये है।",
    "👋🏻 hello 👨‍👩‍👧 family 🇫🇷 flag",
    "def keep(light):\n    return light + 1\n",
]
OWN_SPECIAL = "[CLS]"


def byte_level():
    """Tokens of bytes, as of GPT-2: a character may take several."""
    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE())
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = tokenizers.decoders.ByteLevel()
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=400,
        special_tokens=["<|endoftext|>"],
        initial_alphabet=tokenizers.pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(LINES, trainer)
    return tokenizer


def word_pieces():
    """Lower case, no accents, Chinese characters set apart, unknown words as one token: as of BERT."""
    tokenizer = tokenizers.Tokenizer(tokenizers.models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = tokenizers.normalizers.BertNormalizer(
        lowercase=True, strip_accents=True, handle_chinese_chars=True
    )
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = tokenizers.decoders.WordPiece()
    trainer = tokenizers.trainers.WordPieceTrainer(
        vocab_size=500, special_tokens=["[UNK]", OWN_SPECIAL, "[SEP]", "[PAD]"], show_progress=False
    )
    tokenizer.train_from_iterator(LINES, trainer)
    return tokenizer


def meta_space():
    """Spaces as a character of their own, unknown characters as bytes: as of SentencePiece models."""
    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE(byte_fallback=True, unk_token="<unk>", fuse_unk=True))
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Metaspace()
    tokenizer.decoder = tokenizers.decoders.Sequence(
        [tokenizers.decoders.ByteFallback(), tokenizers.decoders.Metaspace()]
    )
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=600, special_tokens=["<unk>", *(f"<0x{byte:02X}>" for byte in range(256))], show_progress=False
    )
    tokenizer.train_from_iterator(LINES[:3], trainer)
    return tokenizer


def trimmed():
    """Compatibility forms first, offsets without the spaces that tokens begin with: as of RoBERTa."""
    tokenizer = byte_level()
    tokenizer.normalizer = tokenizers.normalizers.NFKC()
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=True)
    tokenizer.post_processor = tokenizers.processors.ByteLevel(trim_offsets=True)
    return tokenizer


def unigram():
    """Everything rewritten: decomposed, stripped, runs of spaces made one; pieces by likelihood: as of T5."""
    normalizers = tokenizers.normalizers
    tokenizer = tokenizers.Tokenizer(tokenizers.models.Unigram())
    tokenizer.normalizer = normalizers.Sequence(
        [normalizers.NFKD(), normalizers.StripAccents(), normalizers.Strip(), normalizers.Replace("  ", " ")]
    )
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Metaspace()
    tokenizer.decoder = tokenizers.decoders.Metaspace()
    trainer = tokenizers.trainers.UnigramTrainer(
        vocab_size=150, special_tokens=["<unk>"], unk_token="<unk>", show_progress=False
    )
    tokenizer.train_from_iterator(LINES, trainer)
    return tokenizer


def prepended():
    """A mark before the text that is not in it, another for each space: as of Llama 2."""
    tokenizer = meta_space()
    tokenizer.normalizer = tokenizers.normalizers.Sequence(
        [tokenizers.normalizers.Prepend("▁"), tokenizers.normalizers.Replace(" ", "▁")]
    )
    tokenizer.pre_tokenizer = None
    return tokenizer


def dropping():
    """Drops every character that it does not know, and puts those around together."""
    vocabulary = {"a": 0, "e": 1, "ae": 2, " ": 3, "\n": 4}
    return tokenizers.Tokenizer(tokenizers.models.BPE(vocab=vocabulary, merges=[("a", "e")]))


KINDS = {
    "byte level": byte_level,
    "dropping": dropping,
    "word pieces": word_pieces,
    "meta space": meta_space,
    "trimmed": trimmed,
    "unigram": unigram,
    "prepended": prepended,
}


@pytest.fixture(scope="module", params=KINDS)
def tokenizer(request):
    return KINDS[request.param]()


@pytest.fixture(scope="module")
def chunker(tokenizer):
    return Chunker(SplitOptions(splitter=tokenizer))


def with_options(chunker, tokenizer, given_options):
    """The same chunker with other options: loading a tokenizer from its JSON takes a while."""
    chunker.options = SplitOptions(splitter=tokenizer, **given_options)
    return chunker


def replaced(text):
    return re.sub("[\ud800-\udfff]", "\ufffd", contract.joined(text))


@lru_cache(maxsize=8)
def plain(tokenizer):
    copy = tokenizers.Tokenizer.from_str(tokenizer.to_str())
    copy.encode_special_tokens = True  # their strings are ordinary text
    return copy


def own_tokens(tokenizer, text):
    return len(plain(tokenizer).encode(replaced(text), add_special_tokens=False).ids)


# --- the guarantees


@dataclass
class Found:
    text: object
    start: int
    end: int


def found_chunks(source, arrays):
    whole = contract.joined(source)
    return [
        Found(whole[start:end], start, end)
        for start, end in zip(arrays.start.tolist(), arrays.end.tolist(), strict=True)
    ]


@given(source=documents(), given_options=options())
def test_guarantees(tokenizer, chunker, source, given_options):
    arrays = with_options(chunker, tokenizer, given_options).chunk(TextBatch.from_strings([source]))
    chunks = found_chunks(source, arrays)
    leading = contract.is_whitespace if given_options["chunk_strategy"] == "paragraph" else None
    contract.check_coverage(source, chunks, may_skip=leading)
    contract.check_order(chunks)
    for chunk, count, is_over in zip(chunks, arrays.token_count.tolist(), arrays.over_budget.tolist(), strict=True):
        assert own_tokens(tokenizer, chunk.text) == count
        assert is_over == (count > given_options["chunk_size"])
        assert not is_over or len(chunk.text) == 1


@given(source=documents(8), unit=st.sampled_from(["codepoint", "utf16", "utf8"]))
def test_chunks_lead_back_in_every_unit(source, unit):
    tokenizer = SMALL["word pieces"]
    contract.check(source, split(source, splitter=tokenizer, chunk_size=3, chunk_overlap=1, offset_unit=unit), unit)


@given(sources=st.lists(documents(8), max_size=3), given_options=options(6))
def test_a_document_has_the_same_chunks_in_any_batch(tokenizer, chunker, sources, given_options):
    chunker = with_options(chunker, tokenizer, given_options)
    together = chunker.chunk(TextBatch.from_strings(sources))
    alone = [chunker.chunk(TextBatch.from_strings([source])) for source in sources]
    assert together.start.tolist() == [start for arrays in alone for start in arrays.start.tolist()]
    assert together.end.tolist() == [end for arrays in alone for end in arrays.end.tolist()]


@given(text=texts(), given_options=options(6))
def test_a_loose_size_counts_the_tokens_of_the_document(tokenizer, chunker, text, given_options):
    loose = with_options(chunker, tokenizer, {**given_options, "strict_size": False})
    arrays = loose.chunk(TextBatch.from_strings([text]))
    contract.check_order(found_chunks(text, arrays))
    assert (arrays.token_count >= 0).all()  # 0 for a document of nothing but what the tokenizer drops


# --- examples to read

SMALL = {name: make() for name, make in KINDS.items()}


def test_positions_are_exact_where_the_tokenizer_rewrites_the_text():
    chunks = split("ÀÉÎ Größe 猫犬", splitter=SMALL["word pieces"], chunk_size=1, strict_size=False)
    assert "".join(chunk.text for chunk in chunks) == "ÀÉÎ Größe 猫犬"
    assert [chunk.text for chunk in chunks][-2:] == ["猫", "犬"]


def test_a_wide_character_of_many_tokens_stays_whole():
    chunks = split("Öl für 𝔗 und Größe", splitter=SMALL["byte level"], chunk_size=1)
    assert "𝔗" in [chunk.text.strip() for chunk in chunks]
    assert all(chunk.text for chunk in chunks)


def test_what_the_tokenizer_drops_belongs_to_the_chunk_before():
    text = "the \x00 keeper\t \ufffd of"  # a BERT tokenizer drops controls, U+FFFD and white space
    chunks = split(text, splitter=SMALL["word pieces"], chunk_size=1)
    assert "".join(chunk.text for chunk in chunks) == text


def test_trailing_white_space_that_offsets_leave_out():
    trimming = byte_level()
    trimming.post_processor = tokenizers.processors.ByteLevel(trim_offsets=True)
    for text in ("hello ", "hello  ", "a b  ", "  ", "é  ", "a\n\n"):
        for size in (1, 2, 3):
            for overlap in (0, size - 1):
                chunks = split(text, splitter=trimming, chunk_size=size, chunk_overlap=overlap)
                assert chunks[0].start == 0
                assert chunks[-1].end == len(text)
    together = Chunker(SplitOptions(chunk_size=1, splitter=trimming)).chunk(
        TextBatch.from_strings(["hi", "hello ", "hi"])
    )
    assert together.errors == []


def test_only_a_single_character_is_over_budget():
    pieces = tokenizers.models.WordPiece({"[UNK]": 0, "a": 1, "##\u1165": 2, "\u110b": 3}, unk_token="[UNK]")
    decomposing = tokenizers.Tokenizer(pieces)  # one Hangul character in, two tokens out
    decomposing.normalizer = tokenizers.normalizers.BertNormalizer()
    decomposing.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
    assert [chunk.text for chunk in split("어 ", splitter=decomposing, chunk_size=1)] == ["어", " "]
    assert [chunk.text for chunk in split("어 어", splitter=decomposing, chunk_size=1)] == ["어", " ", "어"]
    assert [chunk.text for chunk in split("어 ", splitter=decomposing, chunk_size=2)] == ["어 "]


def test_no_chunk_is_empty_behind_a_character_over_budget():
    vocabulary = {"[UNK]": 0, "a": 1, "\u1100": 2, "##\u1161": 3, "##\u11a8": 4}
    decomposing = tokenizers.Tokenizer(tokenizers.models.WordPiece(vocabulary, unk_token="[UNK]"))
    decomposing.normalizer = tokenizers.normalizers.BertNormalizer()
    decomposing.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
    chunks = split("각 가 a", splitter=decomposing, chunk_size=2, chunk_overlap=1)  # 3, 2 and 1 tokens
    assert chunks[0].text == "각"
    contract.check("각 가 a", chunks)


@pytest.mark.parametrize("size", [1, 2, 3])
def test_tokens_are_counted_where_a_token_is_cut(size):
    tokenizer = SMALL["byte level"]
    for text in ("röö", "각각r", "ö𓀀ö"):
        arrays = Chunker(SplitOptions(chunk_size=size, splitter=tokenizer)).chunk(TextBatch.from_strings([text]))
        chunks = [text[start:end] for start, end in zip(arrays.start.tolist(), arrays.end.tolist(), strict=True)]
        assert arrays.token_count.tolist() == [own_tokens(tokenizer, chunk) for chunk in chunks]
        assert arrays.over_budget.tolist() == [own_tokens(tokenizer, chunk) > size for chunk in chunks]


@pytest.mark.parametrize("strategy", ["character", "paragraph"])
def test_content_that_the_tokenizer_drops_wholly_is_a_chunk_without_tokens(strategy):
    for text in ("\u200b", "\U000e0041", "\n\n\n \n\x85\ufeff"):
        chunks = split(text, splitter=SMALL["word pieces"], chunk_strategy=strategy)
        assert [chunk.end for chunk in chunks] == [len(text)]
    assert split(" \n", splitter=SMALL["word pieces"], chunk_strategy=strategy) == []


# --- settings of the tokenizer that would spoil chunks


@pytest.fixture
def decorated():
    """Word pieces that pad, truncate and add special tokens, as models ship them."""
    tokenizer = word_pieces()
    tokenizer.enable_truncation(4)
    tokenizer.enable_padding(length=16, pad_token="[PAD]", pad_id=tokenizer.token_to_id("[PAD]"))
    tokenizer.post_processor = tokenizers.processors.TemplateProcessing(
        single=f"{OWN_SPECIAL} $A [SEP]",
        special_tokens=[(token, tokenizer.token_to_id(token)) for token in (OWN_SPECIAL, "[SEP]")],
    )
    return tokenizer


def test_padding_truncation_and_special_tokens_are_off(decorated):
    text = "the keeper of the lighthouse climbs the stairs"
    plain = SMALL["word pieces"]
    assert split(text, splitter=decorated, chunk_size=3) == split(text, splitter=plain, chunk_size=3)
    counts = Chunker(SplitOptions(chunk_size=3, splitter=decorated)).chunk(TextBatch.from_strings([text])).token_count
    assert counts.max() <= 3
    assert counts.sum() == own_tokens(plain, text)


def test_the_tokenizer_given_is_not_changed(decorated):
    before = decorated.to_str()
    split("the keeper", splitter=decorated, chunk_size=3)
    assert decorated.to_str() == before
    assert decorated.truncation
    assert decorated.padding


def test_the_string_of_a_special_token_is_ordinary_text():
    text = f"the {OWN_SPECIAL} keeper"
    arrays = Chunker(SplitOptions(chunk_size=1, splitter=SMALL["word pieces"])).chunk(TextBatch.from_strings([text]))
    assert len(arrays) >= 5  # the brackets are tokens of their own
    text = "a<|endoftext|>b"
    arrays = Chunker(SplitOptions(chunk_size=1, splitter=SMALL["byte level"])).chunk(TextBatch.from_strings([text]))
    assert len(arrays) > 5


# --- files


@pytest.fixture
def tokenizer_file(tmp_path):
    path = tmp_path / "tokenizer.json"
    SMALL["word pieces"].save(str(path))
    return path


def test_a_tokenizer_file_equals_its_object(tokenizer_file):
    text = "\n".join(LINES)
    for splitter in (tokenizer_file, str(tokenizer_file)):
        assert split(text, splitter=splitter, chunk_size=5) == split(text, splitter=SMALL["word pieces"], chunk_size=5)
    chunker = Chunker(SplitOptions(splitter=tokenizer_file))
    assert chunker.tokenizer_name == "tokenizer.json"
    assert chunker.tokenizer_version == f"sha256:{hashlib.sha256(tokenizer_file.read_bytes()).hexdigest()}"
    assert chunker.engine == f"tokenizers {tokenizers.__version__}"


def test_a_file_that_is_no_tokenizer(tmp_path):
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps({"a": 1}))
    with pytest.raises(ValueError, match=r"tokenizer\.json is no Hugging Face tokenizer\.json"):
        Chunker(SplitOptions(splitter=path))


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(ValueError, match=r"cannot read the tokenizer file .*missing\.json: No such file"):
        Chunker(SplitOptions(splitter=tmp_path / "missing.json"))


def test_tokenizers_that_differ_have_different_fingerprints():
    fingerprints = {Chunker(SplitOptions(splitter=tokenizer)).fingerprint for tokenizer in SMALL.values()}
    assert len(fingerprints) == len(SMALL)
    again = Chunker(SplitOptions(splitter=tokenizers.Tokenizer.from_str(SMALL["byte level"].to_str())))
    assert again.fingerprint in fingerprints


def test_a_chunker_travels_by_value(tokenizer_file):
    chunker = Chunker(SplitOptions(chunk_size=4, splitter=tokenizer_file))
    batch = TextBatch.from_strings(LINES)
    expected = chunker.chunk(batch).start.tolist()
    sent = pickle.dumps(chunker)
    tokenizer_file.unlink()
    assert pickle.loads(sent).chunk(batch).start.tolist() == expected


# --- wrappers and look-alikes


class FastTokenizer:
    """What transformers wraps around a tokenizer; it can be called, and is no splitter."""

    name_or_path = "some/model"

    def __init__(self, tokenizer):
        self.backend_tokenizer = tokenizer

    def __call__(self, text):
        raise AssertionError("a tokenizer is not called as a splitter")


def test_a_fast_tokenizer_of_transformers():
    wrapped = FastTokenizer(SMALL["word pieces"])
    text = LINES[0]
    assert split(text, splitter=wrapped, chunk_size=3) == split(text, splitter=SMALL["word pieces"], chunk_size=3)
    assert Chunker(SplitOptions(splitter=wrapped)).tokenizer_name == "some/model"


@dataclass
class Encoded:
    offsets: list[tuple[int, int]]


class SpacedTokenizer:
    """Knows nothing but to report offsets."""

    name = "spaced"

    def encode(self, text):
        return Encoded([match.span() for match in re.finditer(r"\S+", text)])


def test_any_object_that_reports_offsets():
    chunks = split("a bb  ccc dddd", splitter=SpacedTokenizer(), chunk_size=2)
    assert [chunk.text for chunk in chunks] == ["a bb  ", "ccc dddd"]
    chunks = split(["a bb", " ccc dddd"], splitter=SpacedTokenizer(), chunk_size=3, chunk_overlap=1)
    assert contract.spans(chunks) == [(0, 8), (5, 13)]
    assert Chunker(SplitOptions(splitter=SpacedTokenizer())).tokenizer_name == "spaced"


@given(source=documents(), given_options=options(6))
def test_any_object_that_reports_offsets_keeps_the_contract(source, given_options):
    chunks = split(source, splitter=SpacedTokenizer(), **given_options)
    contract.check(source, chunks, may_skip=contract.is_whitespace)


class ListedTokenizer:
    """Reports what it is told to, text by text."""

    def __init__(self, offsets):
        self.offsets = offsets

    def encode(self, text):
        return Encoded(self.offsets[text])


@pytest.mark.parametrize("strategy", ["character", "paragraph"])
def test_an_empty_token_at_the_end_of_a_document_is_not_the_next_ones(strategy):
    tokenizer = ListedTokenizer({"a": [(1, 1)], "b": []})
    chunker = Chunker(SplitOptions(chunk_size=1, splitter=tokenizer, chunk_strategy=strategy))
    together = chunker.chunk(TextBatch.from_strings(["a", "b"]))
    alone = [chunker.chunk(TextBatch.from_strings([text])) for text in ("a", "b")]
    assert together.token_count.tolist() == [count for arrays in alone for count in arrays.token_count.tolist()]
    assert together.end.tolist() == [1, 1]


def test_tokens_of_an_empty_text_make_no_chunk():
    marks = ListedTokenizer({"": [(0, 0), (0, 0)], "ab": [(0, 0), (0, 1), (1, 2), (2, 2)]})
    arrays = Chunker(SplitOptions(chunk_size=2, splitter=marks)).chunk(TextBatch.from_strings(["", "ab", ""]))
    assert arrays.doc_offsets.tolist() == [0, 0, 2, 2]
    assert Chunker(SplitOptions(chunk_size=1, splitter=marks)).chunk(TextBatch.from_strings([""])).doc_offsets[-1] == 0


class FailingTokenizer(SpacedTokenizer):
    def encode(self, text):
        if "bad" in text:
            raise RuntimeError("cannot encode")
        return super().encode(text)


def test_a_document_that_a_tokenizer_fails_on_is_collected():
    chunker = Chunker(SplitOptions(chunk_size=1, splitter=FailingTokenizer()))
    batch = TextBatch.from_strings(["a b", ["ok", "bad"], "", "c"])
    arrays = chunker.chunk(batch, on_error="collect")
    assert [(document, str(error)) for document, error in arrays.errors] == [(1, "cannot encode")]
    assert arrays.doc_offsets.tolist() == [0, 2, 2, 2, 3]
    assert (arrays.start.tolist(), arrays.end.tolist()) == ([0, 2, 0], [2, 3, 1])
    with pytest.raises(RuntimeError, match="cannot encode"):
        chunker.chunk(batch)
