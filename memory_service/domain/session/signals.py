"""Reads what the sentences of a turn do to the state of a conversation. By rule, English and Chinese (S2)."""

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
from memory_service.domain.text import analyse

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


@dataclass(frozen=True, slots=True)
class Signal:
    """What one sentence does to the state; `subject` is what it names (a topic, a goal), else the sentence."""

    kind: SignalKind
    text: str
    subject: str


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
    return QUESTION_RE.search(sentence) is not None


def read(turn: Turn) -> tuple[Signal, ...]:
    """The signals of a turn, in the order of its sentences; none for tools and systems."""
    if turn.role not in _SPEAKERS:
        return ()
    found: list[Signal] = []
    for place, sentence in enumerate(sentences(turn.text)):
        signals = _of_sentence(sentence, turn.role)
        decides = any(signal.kind is SignalKind.DECISION for signal in signals)
        if place == 0 and turn.role is TurnRole.USER and not decides and _confirms(sentence):
            found.append(Signal(SignalKind.CONFIRMATION, sentence, sentence))
        found += signals
    return tuple(found)


def _confirms(sentence: str) -> bool:
    if len(sentence) > _CONFIRMATION_CHARS_MAX or SIGNALS[SignalKind.CONFIRMATION].match(sentence) is None:
        return False
    return not is_question(sentence) and BUT_RE.search(sentence) is None


def _of_sentence(sentence: str, role: TurnRole) -> list[Signal]:
    """Signals of one sentence. A question decides nothing, and neither does what is only supposed."""
    user = role is TurnRole.USER
    topic = SIGNALS[SignalKind.TOPIC].search(sentence) if user else None
    intent = SIGNALS[SignalKind.INTENT].search(sentence) if user else None
    told = next((kind for kind in _TOLD if SIGNALS[kind].search(sentence)), None)
    # Most sentences change nothing, and are done with here.
    if (topic is None and intent is None and told is None) or HYPOTHETICAL_RE.search(sentence):
        return []
    asks = is_question(sentence)
    requests = not asks or REQUEST_QUESTION_RE.search(sentence) is not None
    found: list[Signal] = []
    if topic is not None and (requests or any(topic.groupdict()[name] for name in _OPENERS)):
        subject = _subject(topic)
        if len(subject) >= _TOPIC_CHARS_MIN and not _VAGUE_RE.fullmatch(subject):
            found.append(Signal(SignalKind.TOPIC, sentence, subject))
    yet = told is SignalKind.PENDING or not NOT_YET_RE.search(sentence)
    if told is not None and yet and not asks and not (told is SignalKind.DECISION and found):
        found.append(Signal(told, sentence, sentence))
    if intent is not None and requests and not found:
        found.append(Signal(SignalKind.INTENT, sentence, _subject(intent) or sentence))
    return found


def _subject(match: re.Match[str]) -> str:
    groups = match.groupdict()
    named = next((groups[name] for name in _GROUPS if groups.get(name)), "")
    return _LEAD_RE.sub("", named.strip(_TRIM)).strip(_TRIM)
