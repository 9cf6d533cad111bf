"""Whether a statement affirms or denies, by its own words: for telling opposites within one topic."""

from __future__ import annotations

import re
from typing import Final, Literal

from memory_service.domain.text.traditional import to_simplified

Polarity = Literal["+", "-"]

_CHARS_MAX: Final = 2_000
# "Not only", 不仅, 不错: words with a negator inside that deny nothing.
_HARMLESS_RE: Final = re.compile(
    r"\bnot (?:only|just|to mention|least)\b|\bno (?:doubt|matter|problem|wonder|one but)\b|\bwhy not\b"
    r"|不仅|不但|不光|不只|不错|不过(?!敏)|不论|不管|不断|不久|不同|差不多|不好意思|没关系|没事"
    r"|没问题|要不|不然|不一会"
    r"|别的|别人|特别|分别|区别",
    re.IGNORECASE,
)
# Two negators that make one affirmation.
_DOUBLE_RE: Final = re.compile(
    r"\b(?:can['\u2019]?t|cannot|couldn['\u2019]?t) (?:live|do|be|go|start)(?: \w+){0,3} without\b"
    r"|不得不|不能不|不会不|没有不|非[^。,\uff0c]{1,6}不可"
    r"|离不开|少不了",
    re.IGNORECASE,
)
_NEGATOR_RE: Final = re.compile(
    r"\b(?:not|never|no|none|nobody|nothing|nowhere|neither|cannot|without|no longer|hardly|rarely"
    r"|seldom)\b|n['\u2019]t\b"
    r"|\b(?:hates?|hated|dislikes?|disliked|loathes?|detests?|refuses?|avoids?)\b"
    r"|\b(?:quit|stopped|gave up|given up|gone off|went off|done with|sick of|fed up with)\b"
    r"|从不|从来不|再也不|不再|不|没有?|未(?!来|婚|必)|别|勿|讨厌|厌恶|戒(?!指|备|律|尺|严|心)|停[了掉]|退[了出]|取消",
    re.IGNORECASE,
)
_OVERLAPPING_RE: Final = re.compile(r"\bno longer\b|\b(?:any ?more|at all)\b", re.IGNORECASE)


def polarity(text: str) -> Polarity:
    """ "-" when the statement denies, rejects or ends something, "+" otherwise.

    Counts negators: an odd number is a denial, so "I don't hate it" affirms. Words of dislike and of giving up
    count as negators, since "I hate tea" is the opposite of "I like tea". Reads the first 2,000 characters; a
    question is read as its statement. Never raises.
    """
    bare = _DOUBLE_RE.sub(" ", _HARMLESS_RE.sub(" ", to_simplified(text[:_CHARS_MAX])))
    bare = _OVERLAPPING_RE.sub(lambda match: "not" if match.group().lower() == "no longer" else " ", bare)
    return "-" if len(_NEGATOR_RE.findall(bare)) % 2 else "+"
