"""Which changes assert a claim, and so what a later change has to have seen to take its place (F7, B1).

A claim of a slot lives as long as one attestation of it stands. A change that asserts another value of a
single-valued slot takes away the attestations it has seen, and no others: an observed-remove set (Shapiro, Preguiça,
Baquero, Zawirski, "Conflict-Free Replicated Data Types", SSS 2011). What stands is thus a function of the set of
changes, whatever the order they arrived in.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from memory_service.domain.ids import DeviceId
from memory_service.domain.vector_clock import Dot, VectorClock

RETIRED = DeviceId("~retired")
"""The actor whose changes are folds: each stands for all changes of one device that was retired."""
ENTRIES_MAX = 64
"""Assertions kept one by one; beyond, neighbours of one device are counted together."""


@dataclass(frozen=True, slots=True)
class Retirement:
    """A device whose changes are counted by the retired actor: its last counter, and the number of the fold.

    A context that holds the fold has seen all of them even though it no longer names the device.
    """

    counter: int
    fold: int


@dataclass(frozen=True, slots=True)
class Knowledge:
    """What a writer had seen: its context, read with what is known of retired devices."""

    context: VectorClock
    retired: Mapping[DeviceId, Retirement] = field(default_factory=dict)

    def saw(self, dot: Dot) -> bool:
        """Whether the writer had seen the change `dot`."""
        if self.context.saw(dot):
            return True
        known = self.retired.get(dot.device)
        return known is not None and dot.counter <= known.counter and self.context.counter(RETIRED) >= known.fold


@dataclass(frozen=True, slots=True, order=True)
class Attestation:
    """`count` statements by one device, the last of them its `counter`-th change.

    `confidence` is the greatest of theirs, 0..1.
    """

    device: DeviceId
    counter: int
    confidence: float
    count: int = 1

    @property
    def dot(self) -> Dot:
        """The change of the last statement."""
        return Dot(self.device, self.counter)


@dataclass(frozen=True, slots=True)
class Evidence:
    """The standing attestations of one claim, in order of (device, counter). Immutable."""

    attestations: tuple[Attestation, ...] = ()

    @classmethod
    def of(cls, attestations: Iterable[Attestation]) -> Evidence:
        """Evidence of these attestations, each once."""
        return cls(_folded(tuple(sorted(set(attestations)))))

    def __iter__(self) -> Iterator[Attestation]:
        return iter(self.attestations)

    def __bool__(self) -> bool:
        return bool(self.attestations)

    @property
    def support(self) -> int:
        """How many statements stand behind the claim (E9)."""
        return sum(a.count for a in self.attestations)

    @property
    def confidence(self) -> float:
        """The greatest confidence among them; 0 for none."""
        return max((a.confidence for a in self.attestations), default=0.0)

    @property
    def rank(self) -> tuple[float, Dot]:
        """A total order over claims that depends on nothing but their attestations."""
        newest = max((a.dot for a in self.attestations), default=Dot(DeviceId(""), 0))
        return self.confidence, newest

    def attested(self, dot: Dot, confidence: float) -> Evidence:
        """With one more statement."""
        return Evidence.of((*self.attestations, Attestation(dot.device, dot.counter, confidence)))

    def unseen_by(self, knowledge: Knowledge) -> Evidence:
        """What is left when a writer with this knowledge replaces the claim."""
        return Evidence(tuple(a for a in self.attestations if not knowledge.saw(a.dot)))

    def wholly_seen_by(self, knowledge: Knowledge) -> bool:
        """Whether the writer had seen every statement of it."""
        return all(knowledge.saw(a.dot) for a in self.attestations)

    def compacted(self, retired: Mapping[DeviceId, Retirement]) -> Evidence:
        """With the statements of retired devices counted as one, under the newest of their folds.

        Keeps evidence as small as the number of active devices. A writer that saw a device's statement but not
        its fold then counts as not having seen it: it makes a sibling where it might have replaced.
        """
        gone = [a for a in self.attestations if a.device in retired or a.device == RETIRED]
        if len(gone) < 2:
            return self
        folds = [a.counter if a.device == RETIRED else retired[a.device].fold for a in gone]
        one = Attestation(RETIRED, max(folds), max(a.confidence for a in gone), sum(a.count for a in gone))
        return Evidence.of([a for a in self.attestations if a not in gone] + [one])

    def without(self, dots: Iterable[Dot]) -> Evidence:
        """Without the statements made by these changes."""
        gone = set(dots)
        return Evidence(tuple(a for a in self.attestations if a.dot not in gone))


def _folded(attestations: tuple[Attestation, ...]) -> tuple[Attestation, ...]:
    """At most `ENTRIES_MAX` entries where devices allow it: a device's oldest entries are counted together.

    A folded entry has the later counter, so a writer must have seen both to take either away: the claim may
    outlive a replacement it should not have, as a sibling, but is never lost.
    """
    kept = list(attestations)
    while len(kept) > ENTRIES_MAX:
        place = next((i for i in range(len(kept) - 1) if kept[i].device == kept[i + 1].device), None)
        if place is None:
            break
        older, newer = kept[place], kept[place + 1]
        count, confidence = older.count + newer.count, max(older.confidence, newer.confidence)
        kept[place : place + 2] = [replace(newer, count=count, confidence=confidence)]
    return tuple(kept)
