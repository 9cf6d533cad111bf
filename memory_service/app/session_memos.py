"""What this process remembers of sessions it wrote to, so that adding turns is one round trip.

Only a guess: the store compares it with the session before it takes anything, and says what is true when it is not.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field

from memory_service.app.one_at_a_time import OneAtATime
from memory_service.domain.ids import OwnerKey
from memory_service.domain.session.model import KeptTurn, SessionFacts, SessionId, StateBlock, Turn
from memory_service.domain.session.signals import CHARS_READ
from memory_service.ports.sessions import Basis

RECENT_MAX = 6
_Key = tuple[OwnerKey, SessionId]


@dataclass(frozen=True, slots=True)
class Memo:
    """A session as this process last saw it."""

    facts: SessionFacts
    block: StateBlock | None
    turn_count: int
    recent: tuple[Turn, ...]

    @property
    def basis(self) -> Basis:
        """What turns read against this follow on."""
        return Basis(self.block.sequence if self.block else 0, self.turn_count)

    def after(self, block: StateBlock | None, turn_count: int, added: Sequence[Turn]) -> Memo:
        """The session after these turns."""
        return Memo(self.facts, block or self.block, turn_count, (*self.recent, *map(_head, added))[-RECENT_MAX:])


@dataclass(slots=True)
class Memos:
    """The sessions used last, at most `entries_max`.

    Attributes:
        writers: one writer of a session at a time in this process: it then finds what it expects.
    """

    entries_max: int = 2_048
    writers: OneAtATime[_Key] = field(default_factory=OneAtATime)
    _memos: OrderedDict[_Key, Memo] = field(default_factory=OrderedDict)

    def get(self, owner: OwnerKey, session: SessionId) -> Memo | None:
        """What is remembered."""
        found = self._memos.get((owner, session))
        if found is not None:
            self._memos.move_to_end((owner, session))
        return found

    def put(self, owner: OwnerKey, session: SessionId, memo: Memo) -> None:
        """Remember it; the one used longest ago is forgotten."""
        self._memos[owner, session] = memo
        self._memos.move_to_end((owner, session))
        while len(self._memos) > self.entries_max:
            self._memos.popitem(last=False)

    def drop(self, owner: OwnerKey, session: SessionId) -> None:
        """Forget it."""
        self._memos.pop((owner, session), None)

    def drop_owner(self, owner_id: str) -> None:
        """Forget all sessions of an owner, who forgot something (B3)."""
        for key in [key for key in self._memos if str(key[0].id) == owner_id]:
            del self._memos[key]


def turns_of(kept: Sequence[KeptTurn]) -> tuple[Turn, ...]:
    """The newest of what was said, as far as it is read."""
    return tuple(_head(item.turn) for item in kept[-RECENT_MAX:])


def _head(turn: Turn) -> Turn:
    """A turn as far as the rules read it: a memo must stay small."""
    return turn if len(turn.text) <= CHARS_READ else turn._replace(text=turn.text[:CHARS_READ])
