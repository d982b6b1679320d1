"""``split`` as its documentation shows it, and what goes in and comes out."""

from __future__ import annotations

import copy
import dataclasses
import re
from operator import attrgetter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llm_splitter import Chunk, Chunker, Part, SplitOptions, TextBatch, get_chunk, split
from tests import contract
from tests.offline_encodings import OFFLINE, decoded_one_by_one, tiktoken_encoding
from tests.text_strategies import PIECES, texts

type_name = attrgetter("__class__.__name__")  # where a repr holds an address

HELLO = "Hello world! This is a test."
HELLO_PARTS = ["Hello world!", "This is a test."]
WIND = [
    "Who has seen the wind?\n\nNeither I nor you.",
    "But when the leaves hang trembling,",
    "The wind is passing through.",
    "Who has seen the wind?\n\nNeither you nor I.",
    "But when the trees bow down their heads,",
    "The wind is passing by.",
]
SPIDER = """
A noiseless 🤫 patient spider, 🕷️
I mark'd where on a little 🏔️ promontory it stood isolated,
Mark'd how to explore 🔍 the vacant vast 🌌 surrounding,
"""


def by_white_space(text):
    return re.split(r"\s+", text)


def cl100k_pieces(text):
    return decoded_one_by_one(lambda: tiktoken_encoding("cl100k_base"))(text)


# --- the examples of the npm package's documentation


def test_size_and_overlap():
    assert split(HELLO, chunk_size=10, chunk_overlap=2) == [
        Chunk("Hello worl", 0, 10),
        Chunk("rld! This ", 8, 18),
        Chunk("s is a tes", 16, 26),
        Chunk("est.", 24, 28),
    ]


@pytest.mark.parametrize("splitter", [by_white_space, "words"])
def test_words(splitter):
    assert split(HELLO, chunk_size=3, chunk_overlap=1, splitter=splitter) == [
        Chunk("Hello world! This", 0, 17),
        Chunk("This is a", 13, 22),
        Chunk("a test.", 21, 28),
    ]


@pytest.mark.parametrize("splitter", [lambda text: text.split(" "), "words"])
@pytest.mark.parametrize("parts", [HELLO_PARTS, tuple(HELLO_PARTS)])
def test_several_parts(parts, splitter):
    assert split(parts, chunk_size=5, splitter=splitter) == [
        Chunk(["Hello world!", "This is a "], 0, 22),
        Chunk(["test."], 22, 27),
    ]


@pytest.mark.parametrize("splitter", [by_white_space, "words"])
@pytest.mark.parametrize("paragraph_break", ["\n\n", "blank_line"])
def test_paragraphs(splitter, paragraph_break):
    chunks = split(
        WIND,
        chunk_size=20,
        chunk_overlap=2,
        chunk_strategy="paragraph",
        splitter=splitter,
        paragraph_break=paragraph_break,
    )
    assert chunks == [
        Chunk(WIND[:3], 0, 105),
        Chunk(["passing through.", *WIND[3:5]], 89, 187),
        Chunk(["their heads,", WIND[5]], 175, 210),
    ]


@pytest.mark.parametrize("splitter", [cl100k_pieces, "cl100k_base"])
def test_tokens(splitter):
    assert split(HELLO, chunk_size=3, chunk_overlap=1, splitter=splitter) == [
        Chunk("Hello world!", 0, 12),
        Chunk("! This is", 11, 20),
        Chunk(" is a test", 17, 27),
        Chunk(" test.", 22, 28),
    ]


def test_emoji_paragraphs_and_overlap_together():
    """The leading line end is in no chunk: paragraphs are trimmed, and no chunk before could take it."""
    chunks = split(
        SPIDER,
        chunk_size=15,
        chunk_overlap=2,
        chunk_strategy="paragraph",
        splitter=cl100k_pieces,
        offset_unit="utf16",
    )
    assert chunks == [
        Chunk("A noiseless 🤫 patient spider, 🕷️\nI mark'd where on", 1, 53),
        Chunk(" where on a little 🏔️ promontory it stood isolated,\nMark'd", 44, 103),
        Chunk("Mark'd how to explore 🔍 the vacant vast 🌌 surrounding,\n", 97, 154),
    ]


def test_emoji_paragraphs_and_overlap_with_the_built_in_tokens():
    """The pieces of an emoji that took several tokens count here, so chunks are shorter and keep the budget."""
    options = {"chunk_size": 15, "chunk_overlap": 2, "chunk_strategy": "paragraph", "splitter": "cl100k_base"}
    chunks = split(SPIDER, **options)
    contract.check(SPIDER, chunks, may_skip=contract.is_whitespace)
    assert chunks[0].start == 1
    assert all(len(tiktoken_encoding("cl100k_base").encode(chunk.text)) <= 15 for chunk in chunks)


@pytest.mark.parametrize(
    ("splitter", "expected"),
    [
        (list, ["He", "ll", "o."]),
        (lambda text: re.split(r"[.!?]+", text), ["Hello."]),
        (lambda text: text.split("\n"), ["Hello."]),
    ],
    ids=["characters", "sentences", "lines"],
)
def test_sample_splitters(splitter, expected):
    assert [chunk.text for chunk in split("Hello.", chunk_size=2, splitter=splitter)] == expected


# --- what upstream's documentation says in words


def test_zero_length_parts_are_skipped():
    assert contract.spans(split("a  b", chunk_size=2, splitter=lambda text: text.split(" "))) == [(0, 4)]


def test_part_boundaries_are_token_boundaries():
    """Joined, ``hello`` would be one token."""
    assert len(split(["hel", "lo"], chunk_size=1, splitter="cl100k_base")) == 2
    assert [chunk.text for chunk in split(["hel", "lo"], chunk_size=1, splitter="words")] == [["hel"], ["lo"]]


@pytest.mark.parametrize("splitter", ["characters", "words", "sentences", "lines", "cl100k_base", list, str.split])
@pytest.mark.parametrize("source", ["", [], [""], ["", ""], ()])
def test_nothing_gives_no_chunks(source, splitter):
    assert split(source, splitter=splitter) == []


@pytest.mark.parametrize("splitter", ["characters", "words", "sentences", "lines", "cl100k_base", list, str.split])
@pytest.mark.parametrize("source", [" ", "\n\n\t", "\u3000\ufeff", [" ", "\n"]])
def test_white_space_alone_gives_no_chunks_where_paragraphs_are_kept(source, splitter):
    assert split(source, splitter=splitter, chunk_strategy="paragraph") == []


def test_what_a_splitter_drops_belongs_to_the_chunk_before():
    assert [chunk.text for chunk in split("a, b,, c", chunk_size=1, splitter=lambda text: re.findall(r"\w", text))] == [
        "a, ",
        "b,, ",
        "c",
    ]


def test_a_reported_part_needs_no_search():
    """``b`` stands twice; the part says which is meant."""
    assert contract.spans(split("b ab", splitter=lambda _: [Part("b", 3)])) == [(3, 4)]


def test_a_part_may_be_a_lookalike():
    @dataclasses.dataclass
    class Token:
        text: str
        start: int

    assert contract.spans(split("ab", chunk_size=1, splitter=lambda _: [Token("a", 0), Token("b", 1)])) == [
        (0, 1),
        (1, 2),
    ]


# --- what comes out


def test_chunks_are_frozen():
    chunk = split("abc")[0]
    assert chunk == Chunk("abc", 0, 3)
    assert hash(chunk) == hash(Chunk("abc", 0, 3))
    with pytest.raises(dataclasses.FrozenInstanceError):
        chunk.start = 5
    assert repr(chunk) == "Chunk(text='abc', start=0, end=3)"


def test_parts_are_frozen():
    with pytest.raises(dataclasses.FrozenInstanceError):
        Part("a", 0).start = 1


@pytest.mark.parametrize("unit", ["codepoint", "utf16", "utf8"])
def test_offsets_are_ints(unit):
    for chunk in split(["añ", "👋"], chunk_size=1, offset_unit=unit):
        assert type(chunk.start) is int
        assert type(chunk.end) is int
        assert type(chunk.text) is list
        assert all(type(piece) is str for piece in chunk.text)


def test_a_tuple_gives_lists():
    assert split(("ab", "c"), chunk_size=2) == [Chunk(["ab"], 0, 2), Chunk(["c"], 2, 3)]


def test_the_input_is_not_changed():
    source = ["one\n\n", "two"]
    before = copy.deepcopy(source)
    for splitter in ("words", "cl100k_base", str.split):
        split(source, splitter=splitter, chunk_strategy="paragraph")
    assert source == before


def test_a_str_subclass_is_a_str():
    class Text(str):
        __slots__ = ()

    assert split(Text("abc"), chunk_size=2) == [Chunk("ab", 0, 2), Chunk("c", 2, 3)]
    assert split([Text("abc")], chunk_size=3) == [Chunk(["abc"], 0, 3)]


# --- what is refused


@pytest.mark.parametrize("text", [None, 5, 1.5, b"abc", {"a": 1}, {"a"}, iter(["a"]), object()], ids=type_name)
def test_only_strings_and_lists_of_strings(text):
    with pytest.raises(TypeError, match=f"text must be a str or a list of str, got {type(text).__name__}"):
        split(text)


@pytest.mark.parametrize("item", [None, 5, b"abc", ["abc"]], ids=repr)
def test_every_item_is_a_string(item):
    with pytest.raises(TypeError, match=f"but item 1 is {type(item).__name__}"):
        split(["abc", item])


@pytest.mark.parametrize("result", ["abc", None, 5, {"a": 1}, (item for item in "abc"), b"abc"], ids=type_name)
def test_a_splitter_returns_a_list(result):
    with pytest.raises(TypeError, match=r"the splitter .* must return a list of str or Part, got"):
        split("abc", splitter=lambda _: result)


@pytest.mark.parametrize("part", [None, 5, 1.5, True, b"abc", object()], ids=type_name)
def test_a_part_is_a_str_or_part(part):
    with pytest.raises(ValueError, match="neither a str nor a Part"):
        split("abc", splitter=lambda _: [part])


def test_a_part_that_the_text_does_not_hold():
    with pytest.raises(ValueError, match="a part that the text does not hold from index 2 on: 'HE'") as caught:
        split("to help", splitter=lambda _: ["to", "HE"])
    assert "Part(text, start)" in str(caught.value)


@pytest.mark.parametrize("start", [-1, 8, 1.0, "0", None, True], ids=repr)
def test_a_reported_start_is_an_index(start):
    with pytest.raises(TypeError, match="a part's start must be an index into the text of length 7"):
        split("to help", splitter=lambda _: [Part("to", start)])


def test_reported_parts_come_in_order():
    with pytest.raises(TypeError, match="before the end 2 of the part before it"):
        split("to help", splitter=lambda _: [Part("to", 0), Part("o", 1)])


def test_what_a_splitter_raises_comes_through():
    def failing(text):
        raise ZeroDivisionError(text)

    with pytest.raises(ZeroDivisionError, match="abc"):
        split("abc", splitter=failing)


# --- errors collected in a batch


class Panic(BaseException):
    """As the panic of a Rust extension: no ``Exception``."""


def fragile(text):
    if text == "panic":
        raise Panic("overflow")
    if text == "lost":
        return ["elsewhere"]
    return list(text)


def test_errors_are_collected_document_by_document():
    batch = TextBatch.from_strings(["ab", "panic", "", ["ok", "lost"], "cd"])
    arrays = Chunker(SplitOptions(chunk_size=1, splitter=fragile)).chunk(batch, on_error="collect")
    assert [document for document, _ in arrays.errors] == [1, 3]
    assert isinstance(arrays.errors[0][1], Panic)
    assert isinstance(arrays.errors[1][1], ValueError)
    assert arrays.doc_offsets.tolist() == [0, 2, 2, 2, 2, 4]
    assert arrays.start.tolist() == [0, 1, 0, 1]


def test_errors_are_raised_by_default():
    with pytest.raises(Panic):
        Chunker(SplitOptions(splitter=fragile)).chunk(TextBatch.from_strings(["ab", "panic"]))


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, MemoryError])
def test_what_ends_the_process_is_never_collected(error):
    def ending(text):
        raise error

    with pytest.raises(error):
        Chunker(SplitOptions(splitter=ending)).chunk(TextBatch.from_strings(["ab"]), on_error="collect")


# --- tiktoken's own recipe, decoding each token alone

WRITTEN = {
    "Korean": "어젯밤 바다에는 짙은 안개가 끼어서 배가 늦게 들어왔습니다. 등대지기는 밤새 불을 켰어요.",
    "Chinese": "显示设置已保存，请重新启动应用程序。灯塔的守护人每天清晨爬一次楼梯，看见远处的帆船驶过。",
    "Japanese": "東京の港では、カモメが窓からパンを盗んだが、料理人は笑っただけだった。春眠暁を覚えず。",
    "Thai": "เมื่อคืนนี้ทะเลมีหมอกหนามาก ไม่มีใครเห็นเรือข้ามฟากจนถึงรุ่งเช้า",
    "Hindi": "नाव संख्या ४२ का किराया १०० रुपये है, और क्षत्रिय ज्ञानी किनारे पर प्रतीक्षा करता है।",
    "emoji": "👋🏻 hi 👨‍👩‍👧‍👦 🇫🇷🇯🇵 ok 🏔️🕷️ 1️⃣ ❤️‍🔥 fin 🧑🏽‍🚀𝔗𝔥𝔢",
}
SCRIPTS = ["han", "japanese", "korean", "thai_lao_khmer_burmese", "indic", "emoji", "marks", "astral"]


@pytest.mark.parametrize("name", OFFLINE)
@pytest.mark.parametrize("language", WRITTEN)
@pytest.mark.parametrize("chunk_size", [1, 3, 10])
def test_the_recipe_places_every_script(name, language, chunk_size):
    text = WRITTEN[language]
    for unit in ("codepoint", "utf16", "utf8"):
        splitter = decoded_one_by_one(lambda: tiktoken_encoding(name))
        chunks = split(text, splitter=splitter, chunk_size=chunk_size, chunk_overlap=chunk_size // 2, offset_unit=unit)
        # a first character that took several tokens left nothing that could be placed
        contract.check_coverage(text, chunks, unit, may_skip=lambda skipped: len(skipped) <= 2)
        contract.check_order(chunks)
        contract.check_no_new_replacement_characters(text, chunks)
        assert len(chunks) > 1


@pytest.mark.parametrize("name", OFFLINE)
@given(
    text=st.one_of(
        texts(), st.lists(st.sampled_from([piece for script in SCRIPTS for piece in PIECES[script]])).map("".join)
    )
)
def test_the_recipe_never_raises(name, text):
    splitter = decoded_one_by_one(lambda: tiktoken_encoding(name))
    contract.check(text, split(text, splitter=splitter, chunk_size=2), may_skip=lambda _: True)


@pytest.mark.parametrize("text", [" 显示", "显示", "a 显示 b", "한국어한국어"])
def test_pieces_that_share_a_character(text):
    chunks = split(text, splitter=cl100k_pieces, chunk_size=1)
    assert "".join(chunk.text for chunk in chunks) == text


def test_halves_of_a_character_side_by_side_stay_halves():
    source = "\ud83d\ude84"
    for chunk in split(source, chunk_size=2, offset_unit="utf16"):
        assert get_chunk(source, chunk.start, chunk.end, offset_unit="utf16") == chunk.text == source


def test_offsets_far_behind_the_text_are_clamped_in_every_unit():
    for unit in ("codepoint", "utf16", "utf8"):
        assert get_chunk("é🐟", 0, 10**30, offset_unit=unit) == "é🐟"
