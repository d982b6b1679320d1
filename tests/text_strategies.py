"""Generated text in many scripts, and options to split it with."""

from __future__ import annotations

import re

from hypothesis import strategies as st

PIECES = {
    "latin": ["The cat sat", " on the", " mat", "Straße", "naïve", "Übergröße", " ﬁne", "ǅ", "İ", "a", "Z"],
    "contractions": ["don't", "WE'LL", " it’s", "'s", "'", "l'été", "'RE ", "o'clock'd", "’"],
    "cyrillic_greek": ["Привет", " мир", "Ωμέγα", " ς", "ѣ"],
    "han": ["显示", "中文", "。", "灯塔的守护人", "，", "「引用」", "𠮷野家", "々", "㐂"],
    "japanese": ["カモメ", "ひらがな", "ー", "ﾊﾟﾝ", "々", "を", "！？", "東京タワー", "ゞ"],
    "korean": ["한국어", " 어젯밤", "ㅋㅋㅋ", "\u1100\u1161\u11a8", "갂"],
    "thai_lao_khmer_burmese": ["เมื่อคืนนี้", "ไม่มี", "ทะเล", "ๆ", "ສະບາຍດີ", "ເມືອງ", "ភាសាខ្មែរ", "។", "မြန်မာ", "၏။"],
    "indic": ["नमस्ते", " दुनिया", "।", "क्षत्रिय", "தமிழ்", " విజయ", "ਪੰਜਾਬੀ"],
    "arabic_hebrew": ["مرحبا", " بالعالم", "؟", "שָׁלוֹם", " עוֹלָם", "\u200f", "ـــ", "۱۲۳"],
    "emoji": ["👋🏻", "👨‍👩‍👧‍👦", "🇫🇷🇯🇵", "🏔️", "1️⃣", "🤫", "❤️‍🔥", "🏴\U000e0067\U000e0062\U000e007f", "🕷️"],
    "marks": ["e\u0301", "Z\u0351\u036b\u0343a\u0300", "\u0301", "o\u0338", "\u20dd", "ก\u0e33", "\u0903", "\u200d"],
    "astral": ["𝔗𝔥𝔢", "𐍈", "𝟘𝟙", "\U0001f9ff", "\U0010fffd", "𓀀", "𐐷𐐏"],
    "digits": ["0", "42", "1234567", "3.14", "½", "Ⅷ", "٣٤", "²", "1,000"],
    "white_space": [" ", "  ", "\n", "\n\n", "\r\n", "\r\n\r\n", "\r", "\t", "\u00a0", "\u3000", "\n \n", "\v", "\f"],
    "odd_space": ["\u2028", "\u2029", "\u0085", "\ufeff", "\u200b", "\u1680", "\u2009", "\u202f", "\x1c", "\u180e"],
    "code": ["    if x:\n", "\t\treturn {", "}\n\n", "def f(a):\n    pass\n", "a->b", "//", "#!/bin", "\\n", "{}[]"],
    "punctuation": [".", "!", "?", "...", "…", '"', "”", ")", "(", "[", "—", "/\n", "!!\r\n", "。」", "_", "$", "^^"],
    "broken": ["\ufffd", "\ufffd\ufffd", "\x00", "\x1b", "\udbc0", "a\udc00", "\uffff", "\ufdd0", "Ã©", "\ue000"],
    "special": ["<|endoftext|>", "<|fim_prefix|>", "<|im_start|>", "[CLS]", "</s>", "<unk>"],
}
ALL_PIECES = [piece for pieces in PIECES.values() for piece in pieces]


# New in Unicode 17: quicktok 0.4 knows them, tiktoken 0.14 does not yet, so they split words differently.
NEW_CHARACTERS = (
    "\u088f\u0c5c\u0cdc\u1acf-\u1add\u1ae0-\u1aeb\ua7ce\ua7cf\ua7d2\ua7d4\ua7f1\U00010940-\U00010959"
    "\U00010ec5-\U00010ec7\U00010efa\U00010efb\U00011b60-\U00011b67\U00011db0-\U00011ddb\U00011de0-\U00011de9"
    "\U00016ea0-\U00016eb8\U00016ebb-\U00016ed3\U00016ff2-\U00016ff6\U000187f8-\U000187ff"
    "\U00018d09-\U00018d1e\U00018d80-\U00018df2\U0001e6c0-\U0001e6de\U0001e6e0-\U0001e6f5"
    "\U0001e6fe\U0001e6ff\U0002b73a-\U0002b73f\U0002cea2-\U0002cead\U000323b0-\U00033479"
)


def _cleaned(text: str) -> str:
    """Without new characters, and without halves of a character side by side: they are that character in UTF-16."""
    text = re.sub(f"[{NEW_CHARACTERS}]", "?", text)
    return re.sub("([\ud800-\udbff])(?=[\udc00-\udfff])", r"\1-", text)


def _joined(pieces: st.SearchStrategy[str], most: int) -> st.SearchStrategy[str]:
    return st.lists(pieces, max_size=most).map("".join)


def texts(most: int = 16) -> st.SearchStrategy[str]:
    """Text of all scripts mixed, of one script, of any characters, or one piece again and again."""
    mixed = _joined(st.sampled_from(ALL_PIECES), most)
    spaced = st.sampled_from(sorted(PIECES)).flatmap(
        lambda script: _joined(st.sampled_from(PIECES[script] + PIECES["white_space"][:4]), most)
    )
    anything = st.text(max_size=2 * most)
    runs = st.builds(lambda piece, times: piece * times, st.sampled_from(ALL_PIECES), st.integers(1, 60))
    return st.one_of(mixed, spaced, anything, _joined(st.one_of(runs, mixed), 4)).map(_cleaned)


def well_formed_texts(most: int = 16) -> st.SearchStrategy[str]:
    """The same without lone surrogates, which have no UTF-8."""
    return texts(most).map(lambda text: re.sub("[\ud800-\udfff]", "\ufffd", text))


def documents(most: int = 16) -> st.SearchStrategy[str | list[str]]:
    """A text, or one in several parts."""
    return st.one_of(texts(most), st.lists(texts(most // 2), max_size=4))


@st.composite
def sizes(draw: st.DrawFn, largest: int = 64) -> dict[str, int]:
    """A chunk size and an overlap that goes with it."""
    size = draw(st.one_of(st.integers(1, min(largest, 8)), st.integers(1, largest)))
    overlap = draw(st.one_of(st.just(0), st.integers(0, size - 1), st.just(size - 1)))
    return {"chunk_size": size, "chunk_overlap": overlap}


def options(largest: int = 64) -> st.SearchStrategy[dict[str, object]]:
    """Everything but splitter and offset unit."""
    others = st.fixed_dictionaries(
        {
            "chunk_strategy": st.sampled_from(["character", "paragraph"]),
            "paragraph_break": st.sampled_from(["\n\n", "blank_line"]),
        }
    )
    return st.builds(lambda size, other: {**size, **other}, sizes(largest), others)


offset_units = st.sampled_from(["codepoint", "utf16", "utf8"])
