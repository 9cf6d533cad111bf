"""What is noticed about a turn when it arrives (C2, C3)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Final

from memory_service.domain.session.model import ToolStatus, Turn, TurnRole, TurnTag
from memory_service.domain.session.signals import CHARS_READ, terms_of
from memory_service.domain.text.traditional import to_simplified

_CORRECTION_RE: Final = re.compile(
    r"^(?:no|nope|wrong)[,.!]\s|\b(?:that(?:['\u2019]s| is| was)? (?:not (?:right|correct|what i)|wrong"
    r"|incorrect)|i meant|i said|not what i (?:asked|meant|said|wanted)"
    r"|you (?:got|have) (?:it|that) wrong|you misunderstood|actually,? (?:it|that|my|i)\b|correction:"
    r"|let me correct|stop (?:calling|using|doing))"
    r"|^不[,，。!！]|不对|错了|搞错|弄错|说错|不是这个意思|我(?:的意思|说的|指的|要的)是|更正|纠正|改正|理解错",
    re.IGNORECASE,
)
_PRAISE_RE: Final = re.compile(
    r"\b(?:perfect|great (?:job|work|answer)|well done|good (?:job|work|bot)|awesome|excellent|brilliant"
    r"|love (?:it|this|that)|exactly what i (?:needed|wanted)"
    r"|that(?:['\u2019]s| is) (?:great|perfect|very helpful)|thank(?:s| you)[^.!]{0,20}(?:help|great"
    r"|perfect|much))\b"
    r"|太好了|太棒|真棒|很棒|棒极了|完美|厉害|做得(?:很|真)?好|说得对|非常好|很有(?:帮助|用)|帮了?大忙|正是我(?:想|需)要的|不错",
    re.IGNORECASE,
)
_UNPRAISED_RE: Final = re.compile(
    r"\b(?:not|isn['\u2019]t|wasn['\u2019]t|less than)\s+(?:\w+\s+)?(?:perfect|great|helpful)|不太?(?:完美|好|棒)",
    re.IGNORECASE,
)
_AGAIN_RE: Final = re.compile(
    r"\b(?:as i (?:already )?said|i (?:already|just) (?:told|said|asked)|i['\u2019]ve (?:already )?(?:told"
    r"|asked) you|asking again|how many times|once more:)"
    r"|我(?:刚才?|已经|都|前面)?(?:说过|问过|讲过|告诉过)|再(?:说|问)一(?:遍|次)|说了(?:好几|多少|几)[遍次]",
    re.IGNORECASE,
)
_REPEAT_SHARE: Final = 0.9
_REPEAT_TERMS_MIN: Final = 3
_REPEAT_LENGTH_SHARE: Final = 0.7


def tags_of(turn: Turn, before: Sequence[Turn]) -> tuple[TurnTag, ...]:
    """The tags of a turn, given the turns just before it, oldest first."""
    if turn.role is TurnRole.TOOL:
        return (TurnTag.TOOL_FAILURE,) if turn.tool_status is ToolStatus.FAILED else ()
    if turn.role is not TurnRole.USER:
        return ()
    text = to_simplified(turn.text[:CHARS_READ])
    tags = []
    if _CORRECTION_RE.search(text):
        tags.append(TurnTag.CORRECTION)
    elif _PRAISE_RE.search(text) and not _UNPRAISED_RE.search(text):
        tags.append(TurnTag.PRAISE)
    if _AGAIN_RE.search(text) or any(_repeats(text, old.text) for old in before if old.role is TurnRole.USER):
        tags.append(TurnTag.REPEAT)
    return tuple(tags)


@lru_cache(1_024)
def _words(text: str) -> frozenset[str]:
    """Words between spaces, or the characters of a text without: a quick look at how much two texts share."""
    folded = to_simplified(text[:CHARS_READ]).casefold()
    words = folded.split()
    return frozenset(words if 8 * len(words) > len(folded) else folded)


def _repeats(text: str, old: str) -> bool:
    """Whether a request is said once more: the same words, or nearly all of them. Short replies do not count."""
    shorter, longer = sorted((len(text), len(old)))
    if shorter < _REPEAT_LENGTH_SHARE * longer:
        return False
    new_words, old_words = _words(text), _words(old)
    if 2 * len(new_words & old_words) < len(new_words | old_words):
        return False
    new_terms, old_terms = terms_of(text), terms_of(old[:CHARS_READ])
    shared = len(new_terms & old_terms)
    return len(new_terms) >= _REPEAT_TERMS_MIN and shared >= _REPEAT_SHARE * len(new_terms | old_terms)
