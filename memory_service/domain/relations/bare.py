"""What is left of a wording when what fills it is taken out; the order of its words and every small word stay."""

from __future__ import annotations

import re
from typing import Final

from memory_service.domain.text.storable import same_text_key

_FILL_RE: Final = re.compile(
    r"\b(?:the|an?|really|very|truly|honestly|actually|just|please|so much|a lot|indeed|absolutely|quite|as ever"
    r"|you know)\b"
    "|真的|很|非常|特别|其实|确实|超级|啦|呢|吧|哦|啊|嘛"
)
_LIKING_RE: Final = re.compile(
    r"\b(?:likes?|loves?|enjoys?|adores?|am fond of|is fond of|am keen on|am a fan of)\b|喜欢|喜爱|钟爱"
)
_PREFER_RE: Final = re.compile(r"\bprefers?\b")


def bare_wording(folded: str) -> str:
    """The key of a normalised text under which claims in the same words are equal."""
    plain = _PREFER_RE.sub("prefer", _LIKING_RE.sub(" like ", _FILL_RE.sub(" ", folded)))
    return same_text_key(plain) or folded
