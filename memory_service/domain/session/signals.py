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

_CHARS_MAX: Final = 2_000
_SENTENCES_MAX: Final = 24
_CONFIRMATION_CHARS_MAX: Final = 60
_SENTENCE_RE: Final = re.compile(r"[^.!?。！？;；\n]+(?:\.(?=\S)[^.!?。！？;；\n]+)*[.!?。！？;；]*")
_SPEAKERS: Final = frozenset({TurnRole.USER, TurnRole.ASSISTANT})
_GROUPS: Final = ("topic", "topic2", "topic3", "topic4", "topic5", "goal", "goal2")
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
    found = (match.group().strip() for match in _SENTENCE_RE.finditer(text[:_CHARS_MAX]))
    return [sentence for sentence in found if sentence][:_SENTENCES_MAX]


@lru_cache(4_096)
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
    short = len(sentence) <= _CONFIRMATION_CHARS_MAX and not is_question(sentence)
    return short and BUT_RE.search(sentence) is None and SIGNALS[SignalKind.CONFIRMATION].search(sentence) is not None


def _of_sentence(sentence: str, role: TurnRole) -> list[Signal]:
    """Signals of one sentence. A question decides nothing, and neither does what is only supposed."""
    asks = is_question(sentence)
    if HYPOTHETICAL_RE.search(sentence):
        return []
    found: list[Signal] = []
    matched = {kind: SIGNALS[kind].search(sentence) for kind in SignalKind if kind is not SignalKind.CONFIRMATION}
    topic = matched[SignalKind.TOPIC]
    opens = topic is not None and any(topic.groupdict()[name] for name in _OPENERS)
    if topic is not None and role is TurnRole.USER and (opens or not asks or REQUEST_QUESTION_RE.search(sentence)):
        subject = _subject(topic)
        if len(subject) >= _TOPIC_CHARS_MIN and not _VAGUE_RE.fullmatch(subject):
            found.append(Signal(SignalKind.TOPIC, sentence, subject))
    if not asks:
        open_yet = NOT_YET_RE.search(sentence) is not None
        if matched[SignalKind.PENDING] is not None:
            found.append(Signal(SignalKind.PENDING, sentence, sentence))
        elif matched[SignalKind.DONE] is not None and not open_yet:
            found.append(Signal(SignalKind.DONE, sentence, sentence))
        elif matched[SignalKind.DECISION] is not None and not open_yet and not found:
            found.append(Signal(SignalKind.DECISION, sentence, sentence))
    intent = matched[SignalKind.INTENT]
    if (
        intent is not None
        and role is TurnRole.USER
        and not found
        and (not asks or REQUEST_QUESTION_RE.search(sentence))
    ):
        found.append(Signal(SignalKind.INTENT, sentence, _subject(intent) or sentence))
    return found


def _subject(match: re.Match[str]) -> str:
    groups = match.groupdict()
    named = next((groups[name] for name in _GROUPS if groups.get(name)), "")
    return _LEAD_RE.sub("", named.strip(_TRIM)).strip(_TRIM)
