"""The state block: what turns make of it, and how old blocks become one summary (S1, S2, S10)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final

from memory_service.domain.session.cues import SignalKind
from memory_service.domain.session.model import StateBlock, Turn, TurnRole
from memory_service.domain.session.revising import replaced, withdrawn
from memory_service.domain.session.signals import CHARS_READ, Revised, Signal, is_question, read, sentences, terms_of
from memory_service.domain.text import language_of, normalise
from memory_service.domain.text.traditional import to_simplified

ITEMS_MAX: Final = 12
ENTITIES_MAX: Final = 16
TURN_IDS_MAX: Final = 32
ITEM_CHARS_MAX: Final = 240
NAME_CHARS_MAX: Final = 80

_SAME_SHARE: Final = 0.5
_BARE_TERMS_MAX: Final = 2
"""So many terms and no more has "it's done": it names nothing."""
_ENTITY_RE: Final = re.compile(
    r"(?<![.!?]\s)(?<!^)\b[A-Z][\w'&-]*(?:\s+[A-Z][\w'&-]*){0,3}|\b[A-Z]{2,}[\w-]*\b"
    r"|[《「“\"]([^》」”\"]{1,40})[》」”\"]|\b\d[\d:.,/-]*(?:\s?(?:%|am|pm|km|kg|usd|eur|元|块|点|号|人|天|晚))?"
)
_STOP: Final = frozenset({"I", "I'm", "I'll", "I'd", "I've", "OK", "Ok"})


def advance(
    block: StateBlock | None, turns: Sequence[Turn], before: Sequence[Turn], now: datetime
) -> StateBlock | None:
    """The block after `turns`; None when they do not change the state (S2).

    Args:
        block: the newest block, None before the first.
        before: the turns that came just before, oldest first; what a confirmation confirms is in them.
    """
    state = replace(block, withdrawn=()) if block else StateBlock()
    said = list(before)
    evidence: list[str] = []
    for turn in turns:
        after = state
        for signal in read(turn):
            after = _apply(after, signal, said)
        if after != state:
            evidence.append(turn.id)
            state = replace(after, entities=_merged(after.entities, entities(turn.text), ENTITIES_MAX))
        said.append(turn)
    if not evidence:
        return None
    return replace(
        state,
        sequence=state.sequence + 1,
        updated_at=now,
        turn_ids=tuple([*(block.turn_ids if block else ()), *evidence][-TURN_IDS_MAX:]),
    )


def _apply(state: StateBlock, signal: Signal, said: Sequence[Turn]) -> StateBlock:
    kind = signal.kind
    if kind is SignalKind.TOPIC:
        topic = _cut(signal.subject, NAME_CHARS_MAX)
        return state if _same(topic, state.topic) else replace(state, topic=topic, intent="")
    if kind is SignalKind.INTENT:
        intent = _cut(signal.subject, ITEM_CHARS_MAX)
        if _same(intent, state.intent):
            return state
        return replace(state, intent=intent, topic=state.topic or _cut(intent, NAME_CHARS_MAX))
    if kind is SignalKind.PENDING:
        return replace(state, pending=_merged(state.pending, (_cut(signal.text, ITEM_CHARS_MAX),), ITEMS_MAX))
    if kind is SignalKind.DONE:
        return _without_done(state, signal.text)
    if kind is SignalKind.DECISION:
        return _decided(state, signal.text)
    if signal.revised is not None:
        return _revised(state, signal, signal.revised, said)
    return _confirmed(state, said)


def _revised(state: StateBlock, signal: Signal, revised: Revised, said: Sequence[Turn]) -> StateBlock:
    """What a revision or withdrawal makes of the state; where nothing is meant, what the sentence says alone."""
    if signal.kind is SignalKind.WITHDRAWAL:
        return withdrawn(state, revised, said)
    after = replaced(state, revised, said, lambda text: _cut(text, ITEM_CHARS_MAX))
    if after is None:
        return _apply(state, signal.otherwise, said) if signal.otherwise else state
    return after


def _decided(state: StateBlock, text: str) -> StateBlock:
    return replace(state, decisions=_merged(state.decisions, (_cut(text, ITEM_CHARS_MAX),), ITEMS_MAX))


def _confirmed(state: StateBlock, said: Sequence[Turn]) -> StateBlock:
    """A confirmation makes a decision of what the assistant just proposed; without a proposal it says nothing."""
    last = said[-1] if said else None
    if last is None or last.role is not TurnRole.ASSISTANT:
        return state
    proposals = [sentence for sentence in sentences(last.text) if is_question(sentence)]
    if not proposals:
        return state
    yes = "是" if language_of(proposals[-1]) == "zh" else "yes"
    return _decided(state, f"{_cut(proposals[-1], ITEM_CHARS_MAX - 6)} → {yes}")


def _without_done(state: StateBlock, text: str) -> StateBlock:
    """Take off the pending item that is told to be done: what shares most words; the last if hardly any are said."""
    if not state.pending:
        return state
    words = terms_of(text)
    shares = [len(words & terms_of(item)) for item in state.pending]
    best = max(range(len(shares)), key=lambda place: (shares[place], place))
    if not shares[best] and len(words) > _BARE_TERMS_MAX:
        return state
    return replace(state, pending=state.pending[:best] + state.pending[best + 1 :])


def entities(text: str) -> tuple[str, ...]:
    """Names, quoted titles and figures of a text, in order, each once."""
    read_in = text[:CHARS_READ]
    found = (
        read_in[slice(*match.span(1 if match.group(1) else 0))]
        for match in _ENTITY_RE.finditer(to_simplified(read_in))
    )
    return tuple(dict.fromkeys(name.strip()[:NAME_CHARS_MAX] for name in found if name.strip() and name not in _STOP))


def summary_of(blocks: Sequence[StateBlock]) -> str:
    """One text for blocks in order, each fact once: what was talked about, decided and left open (S10).

    By rule: it repeats what the blocks hold and adds nothing. In the language of the first block.
    """
    chinese = language_of(" ".join([b.topic + b.intent + " ".join(b.decisions) for b in blocks])) == "zh"
    labels = ("话题", "意图", "决定", "未完成", "涉及") if chinese else ("Topics", "Aims", "Decided", "Open", "About")
    columns = (
        [b.topic for b in blocks],
        [b.intent for b in blocks],
        _not_withdrawn(blocks),
        blocks[-1].pending,
        [name for b in blocks for name in b.entities],
    )
    parts = []
    for label, values in zip(labels, columns, strict=True):
        kept = list(dict.fromkeys(value for value in values if value))[: 2 * ITEMS_MAX]
        if kept:
            parts.append(f"{label}{'：' if chinese else ': '}{('；' if chinese else '; ').join(kept)}")
    return ("\n").join(parts)


def _not_withdrawn(blocks: Sequence[StateBlock]) -> list[str]:
    """The decisions of blocks in order, each once, without those that a later block took back."""
    kept: dict[str, None] = {}
    for block in blocks:
        for item in block.withdrawn:
            kept.pop(item, None)
        kept.update(dict.fromkeys(block.decisions))
    return list(kept)


def _merged(present: tuple[str, ...], new: Sequence[str], limit: int) -> tuple[str, ...]:
    """The newest `limit`, each once; what is said again moves to the end only if it was not there."""
    known = {normalise(item) for item in present}
    added = [item for item in new if normalise(item) not in known]
    return (*present, *added)[-limit:]


def _cut(text: str, limit: int) -> str:
    line = " ".join(text.split())
    return line if len(line) <= limit else line[: limit - 1] + "…"


def _same(one: str, other: str) -> bool:
    """Whether two short texts are about the same: half of the words of the shorter are shared."""
    if not one or not other:
        return one == other
    a, b = terms_of(one), terms_of(other)
    if not a or not b:
        return normalise(one) == normalise(other)
    return len(a & b) > _SAME_SHARE * min(len(a), len(b))
