"""What every embedder does to a text before a tokenizer or a network sees it."""

from __future__ import annotations

import re
import unicodedata

#: Characters an embedder reads of one text; the rest is cut. Longer texts are stored in fragments anyway.
TEXT_CHARS_MAX = 4_000

_SURROGATE = re.compile("[\ud800-\udfff]")
_CJK = re.compile("[\u3400-\u9fff\uf900-\ufaff]")
_SPACE = re.compile(r"\s+")


def clean_text(text: str, chars_max: int = TEXT_CHARS_MAX) -> str:
    """Bring any text to a form every tokenizer takes: NFKC, no NUL, no surrogate, `chars_max` at most.

    The cut is made before and after normalising: NFKC may make one character eighteen (U+FDFA), and its cost
    grows with the square of a run of combining marks.
    """
    text = _SURROGATE.sub("\ufffd", text[:chars_max].replace("\x00", " "))
    return unicodedata.normalize("NFKC", text)[:chars_max]


def squeeze_spaces(text: str) -> str:
    """Every run of white space as one space, none at the ends."""
    return _SPACE.sub(" ", text).strip()


def is_chinese(text: str) -> bool:
    """Whether at least a third of the visible characters are CJK ideographs."""
    visible = sum(not c.isspace() for c in text)
    return visible > 0 and 3 * len(_CJK.findall(text)) >= visible


def cjk_characters() -> re.Pattern[str]:
    """The pattern of one CJK ideograph (extension A, unified, compatibility)."""
    return _CJK
