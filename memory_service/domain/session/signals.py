"""Reads what the sentences of a turn do to the state of a conversation. By rule, English and Chinese (S2).

Rules look at a sentence in Simplified Chinese, place by place the same; what a signal says is as it was written.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from memory_service.domain.session.cues import (
    BUT_RE,
    HYPOTHETICAL_RE,
    NOT_YET_RE,
    QUESTION_RE,
    REQUEST_QUESTION_RE,
    SIGNALS,
    SignalKind,
)
from memory_service.domain.session.model import Turn, TurnRole
from memory_service.domain.session.revision_cues import (
    ACTUALLY_RE,
    CHANGE_RE,
    CORRECT_RE,
    MIND_RE,
    PLAN_RE,
    STILL_RE,
    TURN_AWAY_RE,
    VALUE_RES,
    WITHDRAW_RE,
)
from memory_service.domain.text import analyse, language_of
from memory_service.domain.text.traditional import to_simplified

CHARS_READ: Final = 2_000
"""Of a turn no more is read for its state."""
_SENTENCES_MAX: Final = 24
_CONFIRMATION_CHARS_MAX: Final = 60
_SENTENCE_RE: Final = re.compile(r"[^.!?。！？;；\n]+(?:\.(?=\S)[^.!?。！？;；\n]+)*[.!?。！？;；]*")
_SPEAKERS: Final = frozenset({TurnRole.USER, TurnRole.ASSISTANT})
_GROUPS: Final = ("topic", "topic2", "topic3", "topic4", "topic5", "goal", "goal2")
_TOLD: Final = (SignalKind.PENDING, SignalKind.DONE, SignalKind.DECISION)
"""What a sentence tells; the first that matches is what it says."""
_OPENERS: Final = ("topic2", "topic3", "topic5")
"""Ways to begin another topic that mean it even before a question."""
_LEAD_RE: Final = re.compile(
    r"^(?:(?:我们|咱们?|来|再|先|想)*(?:聊聊|谈谈|说说|讨论(?:一下|下)?|聊一?下|问一?下|看看)|is|it's)\s*"
)
_VAGUE_RE: Final = re.compile(
    r"(?:something|anything) (?:else|different)|others?|it|that|this|them|more|别的|其他的?|这个|那个|另外的",
    re.IGNORECASE,
)
"""What names no topic."""
_TRIM: Final = " \t,，:：。.!！?？;；-—吧吗呢了"
_TOPIC_CHARS_MIN: Final = 2
_VALUE_WORDS_MAX: Final = 5
_FRAGMENT_WORDS_MAX: Final = 3
_VALUE_CHARS_MAX: Final = 8
_FRAGMENT_CHARS_MAX: Final = 4
_BARE_RE: Final = re.compile(
    r"\b(?:it|that|this|them)\b|^(?:那|那就|就|还是|先|也|再|都)*(?:改|换|调|挪|推迟|提前|取消|不|别|甭)",
    re.IGNORECASE,
)
"""Names nothing of what it revises: a pronoun, or Chinese without a subject."""
_TRAILING_RE: Final = re.compile(r"\bactually\W*$", re.IGNORECASE)
_CLAUSE_RE: Final = re.compile(
    r"\b(?:i|you|we|he|she|it|they|there|that)\b|\b(?:is|are|was|were|do|does|did)\b", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Revised:
    """What a sentence says in the place of something, or that something is off.

    Attributes:
        text: the sentence.
        rest: the sentence without the cue at its beginning.
        bare: whether it names nothing of what it revises, and so means what was said last.
    """

    text: str
    rest: str
    bare: bool


@dataclass(frozen=True, slots=True)
class Signal:
    """What one sentence does to the state.

    Attributes:
        subject: what it names (a topic, a goal), else the sentence.
        revised: of a revision or withdrawal, what it says.
        otherwise: what a revision does when nothing is there that it revises.
    """

    kind: SignalKind
    text: str
    subject: str
    revised: Revised | None = None
    otherwise: Signal | None = None


def sentences(text: str) -> list[str]:
    """The sentences of a turn's first 2,000 characters."""
    found = (match.group().strip() for match in _SENTENCE_RE.finditer(text[:CHARS_READ]))
    return [sentence for sentence in found if sentence][:_SENTENCES_MAX]


@lru_cache(1_024)
def terms_of(text: str) -> frozenset[str]:
    """The terms of a short text, remembered: turns are compared with those before them again and again."""
    return frozenset(analyse(text))


def is_question(sentence: str) -> bool:
    """Whether a sentence asks."""
    return QUESTION_RE.search(to_simplified(sentence)) is not None


def read(turn: Turn) -> tuple[Signal, ...]:
    """The signals of a turn, in the order of its sentences; none for tools and systems."""
    if turn.role not in _SPEAKERS:
        return ()
    found: list[Signal] = []
    for place, sentence in enumerate(_joined(sentences(turn.text))):
        signals = _of_sentence(sentence, turn.role)
        decides = any(signal.kind is SignalKind.DECISION for signal in signals)
        if place == 0 and turn.role is TurnRole.USER and not decides and _confirms(sentence):
            found.append(Signal(SignalKind.CONFIRMATION, sentence, sentence))
        found += signals
    return tuple(found)


def _joined(said: list[str]) -> list[str]:
    """Sentences, of which one that only corrects ("No, wait.") begins the next."""
    joined: list[str] = []
    for sentence in said:
        if joined and CORRECT_RE.fullmatch(to_simplified(joined[-1]) + " ") and not is_question(joined[-1]):
            joined[-1] = f"{joined[-1]} {sentence}"
        else:
            joined.append(sentence)
    return joined


def _confirms(sentence: str) -> bool:
    folded = to_simplified(sentence)
    if len(folded) > _CONFIRMATION_CHARS_MAX or SIGNALS[SignalKind.CONFIRMATION].match(folded) is None:
        return False
    return not is_question(folded) and BUT_RE.search(folded) is None


def _of_sentence(sentence: str, role: TurnRole) -> list[Signal]:
    """Signals of one sentence. A question decides nothing, and neither does what is only supposed."""
    user = role is TurnRole.USER
    if user and (revision := _revision(sentence)) is not None:
        kind, revised = revision
        plain = _plain(sentence, role) if kind is SignalKind.REVISION else []
        return [Signal(kind, sentence, sentence, revised, plain[0] if plain else None)]
    return _plain(sentence, role)


def _revision(sentence: str) -> tuple[SignalKind, Revised] | None:
    """Whether a sentence replaces or withdraws something, and what it says; None for questions and suppositions."""
    plain = to_simplified(sentence).replace("\u2019", "'")
    if is_question(plain) or HYPOTHETICAL_RE.search(plain):
        return None
    away, correct, actually = TURN_AWAY_RE.match(plain), CORRECT_RE.match(plain), ACTUALLY_RE.match(plain)
    cue = away or correct
    rest = plain[cue.end() :].strip() if cue else plain
    again = CORRECT_RE.match(rest) if cue else None
    rest = rest[again.end() :] if again else rest
    if WITHDRAW_RE.search(rest):
        return SignalKind.WITHDRAWAL, _revised(sentence, rest, cue)
    if cue is None and actually is not None and (_comes_instead(plain[actually.end() :], None) or _is_value(plain)):
        return SignalKind.REVISION, _revised(sentence, plain[actually.end() :].strip(), actually)
    if _TRAILING_RE.search(plain) and _is_value(plain):
        return SignalKind.REVISION, Revised(sentence, _ending(sentence, plain), bare=True)
    if CHANGE_RE.search(rest) or (cue and _comes_instead(rest, cue)):
        return SignalKind.REVISION, _revised(sentence, rest, cue)
    if rest.startswith("还是") and _is_fragment(rest.partition("，")[0]):
        return SignalKind.REVISION, Revised(sentence, _ending(sentence, rest), bare=False)
    return (SignalKind.WITHDRAWAL, _revised(sentence, rest, cue)) if away else None


def _revised(sentence: str, rest: str, cue: re.Match[str] | None) -> Revised:
    return Revised(sentence, _ending(sentence, rest), bare=cue is not None or _BARE_RE.search(rest) is not None)


def _ending(sentence: str, rest: str) -> str:
    """The end of a sentence as it was written; `rest` is the same end as the rules look at it."""
    end = len(sentence.rstrip())
    return sentence[end - len(rest.rstrip()) : end].replace("\u2019", "'")


def _comes_instead(rest: str, cue: re.Match[str] | None) -> bool:
    """Whether what stands after a cue is something new: a decision, a plan, or only a value."""
    if SIGNALS[SignalKind.DECISION].search(rest) or STILL_RE.match(rest) or CHANGE_RE.search(rest):
        return True
    if cue is None:
        return False
    return (MIND_RE.search(cue.group()) and PLAN_RE.match(rest)) is not None or (bool(rest) and _is_fragment(rest))


def _is_value(sentence: str) -> bool:
    """Whether a value is all that a sentence with "actually" says: "actually, June"."""
    return any(p.search(sentence) for p in VALUE_RES) and len(sentence.split()) <= _VALUE_WORDS_MAX


def _is_fragment(rest: str) -> bool:
    """Whether what follows a cue is only a value: "June", 周五下午."""
    value = any(pattern.search(rest) for pattern in VALUE_RES)
    limit = _VALUE_WORDS_MAX if value else _FRAGMENT_WORDS_MAX
    if language_of(rest) == "zh":
        said = rest.strip(_TRIM)
        return len(said) <= (_VALUE_CHARS_MAX if value or STILL_RE.match(rest) else _FRAGMENT_CHARS_MAX)
    return len(rest.split()) <= limit and _CLAUSE_RE.search(rest) is None


def _plain(sentence: str, role: TurnRole) -> list[Signal]:
    """Signals of a sentence that revises nothing."""
    user, folded = role is TurnRole.USER, to_simplified(sentence)
    topic = SIGNALS[SignalKind.TOPIC].search(folded) if user else None
    intent = SIGNALS[SignalKind.INTENT].search(folded) if user else None
    told = next((kind for kind in _TOLD if SIGNALS[kind].search(folded)), None)
    # Most sentences change nothing, and are done with here.
    if (topic is None and intent is None and told is None) or HYPOTHETICAL_RE.search(folded):
        return []
    asks = is_question(folded)
    requests = not asks or REQUEST_QUESTION_RE.search(folded) is not None
    found: list[Signal] = []
    if topic is not None and (requests or any(topic.groupdict()[name] for name in _OPENERS)):
        subject = _subject(topic, sentence)
        if len(subject) >= _TOPIC_CHARS_MIN and not _VAGUE_RE.fullmatch(to_simplified(subject)):
            found.append(Signal(SignalKind.TOPIC, sentence, subject))
    yet = told is SignalKind.PENDING or not NOT_YET_RE.search(folded)
    if told is not None and yet and not asks and not (told is SignalKind.DECISION and found):
        found.append(Signal(told, sentence, sentence))
    if intent is not None and requests and not found:
        found.append(Signal(SignalKind.INTENT, sentence, _subject(intent, sentence) or sentence))
    return found


def _subject(match: re.Match[str], sentence: str) -> str:
    """What a match in the folded `sentence` names, as it was written; "" for nothing."""
    group = next((name for name in _GROUPS if match.groupdict().get(name)), None)
    if group is None:
        return ""
    start, end = match.span(group)
    named = match.string[:end].rstrip(_TRIM)
    lead = _LEAD_RE.match(named[start:].lstrip(_TRIM))
    bare = named[start:].lstrip(_TRIM)[lead.end() if lead else 0 :].lstrip(_TRIM)
    return sentence[len(named) - len(bare) : len(named)]
