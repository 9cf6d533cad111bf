"""The key of a statement's wording, equal for wordings of one claim: the preference it states, or all its words.

Of any statement but a preference only what fills it is taken out; the order of its words and every small word stay.
"""

from __future__ import annotations

import re
from typing import Final

from memory_service.domain.relations.preference import preference
from memory_service.domain.text.storable import normalise, same_text_key
from memory_service.domain.text.traditional import to_simplified

# After a negator they say how far it goes: "not very tall", "not quite done", 不很.
_FILL_RE: Final = re.compile(
    r"(?<!\bnot )(?<!n't )(?<!\bno )(?<!\bnever )\b(?:really|very|truly|honestly|actually|quite|also"
    r"|indeed|absolutely|as ever)\b"
    r"|, you know\b|\byou know,"
    r"|(?<![不没])真的|(?<![不没])(?<!不是)很(?![少多])|(?<![不没])非常|(?<![不没])特别地?(?=[喜爱想讨怕好难大高重累忙])"
    r"|其实|确实|超级(?=[喜爱想讨怕好难大])|(?<![不没了得打差满考])十分(?=[喜爱想讨怕好难大高重满需感擅])"
    r"|(?<=[我你他她它们])也(?![许门])|[啦呢哦啊嘛呀](?=$|[,。!])|(?<![酒网茶水书])吧(?=$|[,。!])"
)
_ARTICLE_RE: Final = re.compile(r"\b(?:the|an?)\b")
# "Vitamin A", "plan A": no article.
_LETTER_RE: Final = re.compile(r"(?<=\w )A\b")
_USER_RE: Final = re.compile(r"\bthe user\b|用户|本人")
# Loving a person is more than liking one; a name shows by its capital.
_LIKING_RE: Final = re.compile(
    r"\b(?:likes?|loves?|enjoys?|adores?|(?:am|is) (?:fond of|keen on|a fan of))\b"
    r"(?!\s+(?:my|your|his|her|our|their|you|him|them|me|us)\b)(?!\s+[A-Z])|喜欢|喜爱|钟爱"
)
_PREFER_RE: Final = re.compile(r"\bprefers?\b")


def bare_wording(text: str) -> str:
    """The key of a statement under which claims in the same words are equal, and of one preference in any it knows.

    Equal keys are the only ground on which two statements are one claim (see `acting`, `domain.merging`).
    """
    text = to_simplified(text)
    found = preference(text)
    return found.key if found is not None else _without_fillers(text)


def _without_fillers(text: str) -> str:
    """The key of a wording but for what fills it ("really", 真的), for verbs of liking, and for marks and case."""
    cased = text.lower() if text.isupper() else _LETTER_RE.sub("a_", text)
    liked = _LIKING_RE.sub(" like ", cased)
    folded = normalise(liked).replace("\u2019", "'")
    folded = _USER_RE.sub(lambda match: " i " if match[0].isascii() else "我", folded)
    plain = _PREFER_RE.sub("prefer", _ARTICLE_RE.sub(" ", _FILL_RE.sub(" ", folded)))
    return same_text_key(plain) or f"={folded}"
