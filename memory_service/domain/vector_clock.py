"""Dots and vector clocks: the only order of changes this service knows (F7, B1).

A dot (device, counter) names one accepted change; a clock maps each device to the highest counter up to
which all of its changes are included (so a clock is a set of dots without holes). After Almeida, Baquero, Gonçalves,
Preguiça, Fonte, "Scalable and Accurate Causality Tracking for Eventually Consistent Stores" (DAIS 2014).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

from memory_service.domain.ids import DeviceId

COUNTER_MAX = 2**63 - 1
"""Largest counter that PostgreSQL's bigint holds."""


@dataclass(frozen=True, slots=True, order=True)
class Dot:
    """One accepted change: the `counter`-th (from 1) that `device` made to this owner's memories."""

    device: DeviceId
    counter: int


class Order(StrEnum):
    """How two clocks stand to each other."""

    EQUAL = "equal"
    BEFORE = "before"
    AFTER = "after"
    CONCURRENT = "concurrent"


class VectorClock(Mapping[DeviceId, int]):
    """An immutable set of dots without holes: device -> highest counter seen. Absent devices count 0.

    `merge` is the least upper bound: commutative, associative, idempotent.
    """

    __slots__ = ("_counters", "_hash")

    def __init__(self, counters: Mapping[DeviceId, int] | Iterable[tuple[DeviceId, int]] = ()) -> None:
        items = dict(counters)
        for device, counter in items.items():
            if not 0 <= counter <= COUNTER_MAX:
                raise ValueError(f"counter of {device!r} must lie in 0..{COUNTER_MAX}")
        self._counters: dict[DeviceId, int] = {d: c for d, c in sorted(items.items()) if c > 0}
        self._hash: int | None = None

    def __getitem__(self, device: DeviceId) -> int:
        return self._counters[device]

    def __iter__(self) -> Iterator[DeviceId]:
        return iter(self._counters)

    def __len__(self) -> int:
        return len(self._counters)

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash(tuple(self._counters.items()))
        return self._hash

    def __eq__(self, other: object) -> bool:
        if isinstance(other, VectorClock):
            return self._counters == other._counters
        return NotImplemented

    def __repr__(self) -> str:
        return f"VectorClock({self._counters!r})"

    def counter(self, device: DeviceId) -> int:
        """Highest counter of `device` included; 0 when it has none."""
        return self._counters.get(device, 0)

    def saw(self, dot: Dot) -> bool:
        """Whether the change `dot` is included."""
        return self.counter(dot.device) >= dot.counter

    def descends(self, other: VectorClock) -> bool:
        """Whether every change in `other` is included here (true for equal clocks)."""
        return all(self.counter(device) >= counter for device, counter in other._counters.items())

    def compare(self, other: VectorClock) -> Order:
        """The causal order of the two clocks."""
        ahead, behind = self.descends(other), other.descends(self)
        if ahead and behind:
            return Order.EQUAL
        if ahead:
            return Order.AFTER
        return Order.BEFORE if behind else Order.CONCURRENT

    def merge(self, other: VectorClock) -> VectorClock:
        """The smallest clock that includes both."""
        merged = dict(self._counters)
        for device, counter in other._counters.items():
            merged[device] = max(counter, merged.get(device, 0))
        return VectorClock(merged)

    def including(self, dot: Dot) -> VectorClock:
        """This clock with `dot` added. The caller has checked that it leaves no hole."""
        return self.merge(VectorClock({dot.device: dot.counter}))
