"""Which decision or open item a revision is about, and what becomes of it (S2).

What is withdrawn is taken off; what is replaced is worded anew, so that the state block never says both. An item is
meant that shares words with the sentence. A sentence that names nothing ("scrap that", 改成周五) means what was last
decided or left open, if that was within the turns just before.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

from memory_service.domain.session.model import StateBlock, Turn
from memory_service.domain.session.revision_cues import FILLING_RE, VALUE_RES
from memory_service.domain.session.signals import Revised, sentences, terms_of
from memory_service.domain.text.traditional import to_simplified

Cut = Callable[[str], str]


class _Item(NamedTuple):
    """One entry of the block: in `decisions` or `pending`, its words, and the place of the turn that said it."""

    column: str
    text: str
    said: int


def withdrawn(state: StateBlock, revised: Revised, said: Sequence[Turn]) -> StateBlock:
    """The state without what is withdrawn; the same when it is not known what that is."""
    item = _meant(state, revised, said)
    return state if item is None else _put(state, item, None)


def replaced(state: StateBlock, revised: Revised, said: Sequence[Turn], cut: Cut) -> StateBlock | None:
    """The state with the new value in the place of the old; None when it is not known what is replaced."""
    item = _meant(state, revised, said)
    return None if item is None else _put(state, item, cut(_worded(item.text, revised)))


def _meant(state: StateBlock, revised: Revised, said: Sequence[Turn]) -> _Item | None:
    items = [
        _Item(column, text, _place(text, said))
        for column in ("decisions", "pending")
        for text in getattr(state, column)
    ]
    words = terms_of(revised.rest)
    sorts = _sorts(revised.rest)

    def fit(item: _Item) -> tuple[int, int, int]:
        return len(words & terms_of(item.text)), len(sorts & _sorts(item.text)), item.said

    # Of equals the one said last, and in an order of the state's own the later one.
    best = max(reversed(items), key=fit, default=None)
    if best is None or words & terms_of(best.text):
        return best
    recent = [item for item in items if item.said >= 0 or not said]
    return max(reversed(recent), key=fit, default=None) if revised.bare else None


def _place(text: str, said: Sequence[Turn]) -> int:
    """Which of the turns said an item; -1 for none of them."""
    opening = text.partition(" → ")[0].rstrip("…")
    for place in range(len(said) - 1, -1, -1):
        if any(" ".join(sentence.split()).startswith(opening) for sentence in sentences(said[place].text)):
            return place
    return -1


def _sorts(text: str) -> frozenset[int]:
    folded = to_simplified(text)
    return frozenset(number for number, pattern in enumerate(VALUE_RES) if pattern.search(folded))


def _worded(old: str, revised: Revised) -> str:
    """The old words with the new values where only values are said, else what was said."""
    text, rest = old, to_simplified(revised.rest)
    said = rest
    for pattern in VALUE_RES:
        new, held = list(pattern.finditer(said)), list(pattern.finditer(to_simplified(text)))
        if len(new) == 1 and len(held) == 1 and " → " not in old:
            text = f"{text[: held[0].start()]}{revised.rest[slice(*new[0].span())]}{text[held[0].end() :]}"
            rest = pattern.sub(" ", rest)
    rest = FILLING_RE.sub(" ", rest)
    said_too = terms_of(rest) <= terms_of(old) if rest.strip() else True
    return text if text != old and said_too else revised.text


def _put(state: StateBlock, item: _Item, text: str | None) -> StateBlock:
    """The state with `text` instead of an item, or nothing; names that only the old words had go with them."""
    kept = tuple(other for other in getattr(state, item.column) if other != item.text)
    entries = kept if text is None else (*kept, text)
    other = state.pending if item.column == "decisions" else state.decisions
    rest = "\n".join((*entries, *other, state.topic, state.intent))
    gone = {name for name in state.entities if _has(item.text, name) and not _has(rest, name)}
    entities = tuple(name for name in state.entities if name not in gone)
    if item.column == "decisions":
        return replace(state, decisions=entries, entities=entities, withdrawn=(*state.withdrawn, item.text))
    return replace(state, pending=entries, entities=entities)


def _has(text: str, name: str) -> bool:
    return re.search(rf"(?<![^\W_]){re.escape(name)}(?![^\W_])", text) is not None or (
        not name.isascii() and name in text
    )
