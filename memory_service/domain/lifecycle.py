"""The life of a memory: the states it may be in, and the changes of state there are (E3, E5, E6, E15, P10).

A state is a tier and a status. Two more are no states of a head: *expired* is read from `expires_at` and the clock,
and *deleted* is the absence of the head. `TRANSITIONS` is the whole table: what is not in it is a bug, and `check`
says so before it can be committed. Drawn in docs/architecture.md, "Life cycle".
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import product
from typing import Final

from memory_service.domain.errors import InternalError, Reason
from memory_service.domain.memory import STANDING_STATUSES, MemoryVersion, Status, Tier
from memory_service.domain.records import JournalEvent


@dataclass(frozen=True, slots=True)
class State:
    """Where a memory stands in its life."""

    tier: Tier
    status: Status

    @classmethod
    def of(cls, version: MemoryVersion) -> State:
        """The state that a version is in."""
        return cls(version.tier, version.status)

    def __str__(self) -> str:
        return f"{self.tier}/{self.status}"


Transition = tuple[JournalEvent, State | None, State | None]
"""What happened, the state before (None: there was no memory) and after (None: there is none any more)."""

_STANDING: Final = frozenset(STANDING_STATUSES)
_CONTESTED, _YIELDED = frozenset({Status.CONTESTED}), frozenset({Status.YIELDED})
_SPEAKING: Final = frozenset({Status.ACTIVE, Status.CONTESTED})
_KEPT: Final = frozenset({Tier.CANDIDATE, Tier.LONG_TERM})
_ALL_STATES: Final = frozenset(State(tier, status) for tier, status in product(Tier, Status))


def _states(tiers: Iterable[Tier], statuses: Iterable[Status]) -> list[State]:
    return [State(tier, status) for tier, status in product(tiers, statuses)]


def _moves(
    event: JournalEvent,
    before: Iterable[Status],
    after: Iterable[Status],
    *,
    settles: bool = False,
    same_status: bool = False,
) -> set[Transition]:
    """Changes of status within a tier; with `settles` also to long-term, with `same_status` each only to itself."""
    found: set[Transition] = set()
    for tier, old, new in product(Tier, before, after):
        if same_status and old is not new:
            continue
        for target in {tier, Tier.LONG_TERM} if settles else {tier}:
            found.add((event, State(tier, old), State(target, new)))
    return found


def _tiers(event: JournalEvent, before: Iterable[Tier], after: Iterable[Tier], *, revives: bool) -> set[Transition]:
    """Changes of tier of what stands; the status stays, unless the memory comes back to be settled anew."""
    return {
        (event, State(old, status), State(new, shown))
        for old, new, status in product(before, after, _STANDING)
        for shown in (_STANDING if revives else {status})
    }


_E = JournalEvent
TRANSITIONS: Final[frozenset[Transition]] = frozenset(
    {(_E.CREATED, None, state) for state in _states(_KEPT, _STANDING)}
    # A stretch of time cut out of what another memory said (P10): it stands where that one stood.
    | {(_E.CREATED, None, state) for state in _states(Tier, _STANDING | {Status.SUPERSEDED})}
    # Said again: counts for it. Among other values of its slot it may come to speak, or to be disputed.
    | _moves(_E.SUPPORTED, _STANDING, _STANDING)
    # Said outright while it was observed, or seen in enough conversations.
    | _tiers(_E.PROMOTED, {Tier.CANDIDATE}, {Tier.LONG_TERM}, revives=True)
    # Its content was rewritten, or what surrounds it.
    | _moves(_E.CORRECTED, _STANDING, _STANDING, settles=True)
    # Its predicate is called otherwise now, whatever its state.
    | _moves(_E.CORRECTED, Status, Status, same_status=True)
    # What is told later of the past limits what was replaced since.
    | _moves(_E.CORRECTED, {Status.SUPERSEDED}, {Status.SUPERSEDED})
    | _moves(_E.SUPERSEDED, {Status.SUPERSEDED}, {Status.SUPERSEDED})
    | _moves(_E.CONTESTED, _STANDING, _CONTESTED)
    | _moves(_E.YIELDED, _STANDING, _YIELDED)
    # A dispute ended, by a person, by the time limit or since no other value stands.
    | _moves(_E.RESOLVED, _STANDING, _SPEAKING, settles=True)
    # True until now; or until a time to come, and then it stands as before until that time.
    | _moves(_E.SUPERSEDED, _STANDING, {Status.SUPERSEDED})
    | _moves(_E.SUPERSEDED, _STANDING, _STANDING, same_status=True)
    # Never true.
    | _moves(_E.RETRACTED, _STANDING | {Status.SUPERSEDED}, {Status.RETRACTED})
    | _tiers(_E.ARCHIVED, _KEPT, {Tier.ARCHIVE}, revives=False)
    # What was inferred and is inferred again goes on being observed.
    | _tiers(_E.REACTIVATED, {Tier.ARCHIVE}, _KEPT, revives=True)
    # An earlier version is current again, with the state it had or as a value that stands.
    | {(_E.ROLLED_BACK, before, after) for before, after in product(_ALL_STATES, _ALL_STATES)}
    | {(_E.FORGOTTEN, state, None) for state in _ALL_STATES}
    # Nothing was made: what it says was forgotten before.
    | {(_E.SUPPRESSED, None, None)}
)
"""Every change of state there is."""


def check(event: JournalEvent, before: State | None, after: State | None) -> None:
    """Let a change of state pass that is in the table.

    Raises:
        InternalError: for one that is not; nothing of the change it is part of may be committed.
    """
    if (event, before, after) not in TRANSITIONS:
        raise InternalError(Reason.INTERNAL, f"a memory cannot go from {before} to {after} by being {event}")
