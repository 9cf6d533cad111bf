"""How long memories lie unused before they are recalled again, and the tau that suggests (E1b).

Intervals are counted in buckets, two to a doubling, from half an hour (recalls closer together are one use, C4) to
sixteen hundred years: a histogram of at most 48 numbers for each kind and predicate, whatever the traffic.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import floor, log2
from typing import Final

from memory_service.domain.memory import Kind

SHORTEST_SECONDS: Final = 1800.0
BUCKETS: Final = 48
TAU_PER_INTERVAL: Final = 1.4
"""E1b: suggested tau = 1.4 x the dominant re-use interval."""
ENOUGH: Final = 30
"""Intervals below which a suggestion says little; it is made all the same, and marked."""


def bucket_of(seconds: float) -> int | None:
    """The bucket of an interval; None for one that is no re-use."""
    if seconds < SHORTEST_SECONDS:
        return None
    return min(floor(2 * log2(seconds / SHORTEST_SECONDS)), BUCKETS - 1)


def bucket_seconds(bucket: float) -> float:
    """The lower end of a bucket in seconds."""
    return float(SHORTEST_SECONDS * 2 ** (bucket / 2))


@dataclass(frozen=True, slots=True)
class Interval:
    """How many intervals of a bucket were seen; `predicate` is "" for what has none of the vocabulary."""

    kind: Kind
    predicate: str
    bucket: int
    count: int


@dataclass(frozen=True, slots=True)
class Histogram:
    """The intervals of one kind, or of one predicate of a kind (`predicate` not empty).

    Attributes:
        counts: by bucket, shape (BUCKETS,).
    """

    kind: Kind
    predicate: str
    counts: tuple[int, ...]

    @property
    def total(self) -> int:
        """Intervals seen."""
        return sum(self.counts)

    @property
    def dominant_seconds(self) -> float | None:
        """The interval most often seen, None without any.

        The peak of the counts after smoothing over neighbours (1, 2, 1), placed between buckets by the weights of
        the peak and its neighbours, so that the answer does not jump by a whole bucket.
        """
        if not self.total:
            return None
        padded = (0, *self.counts, 0)
        smooth = [padded[i] + 2 * padded[i + 1] + padded[i + 2] for i in range(BUCKETS)]
        peak = max(range(BUCKETS), key=lambda bucket: (smooth[bucket], -bucket))
        near = [bucket for bucket in (peak - 1, peak, peak + 1) if 0 <= bucket < BUCKETS]
        weight = sum(self.counts[bucket] for bucket in near)
        if not weight:
            return bucket_seconds(peak + 0.5)
        return bucket_seconds(sum((bucket + 0.5) * self.counts[bucket] for bucket in near) / weight)

    @property
    def suggested_tau_seconds(self) -> float | None:
        """tau by E1b, None without intervals."""
        dominant = self.dominant_seconds
        return None if dominant is None else TAU_PER_INTERVAL * dominant


def histograms(intervals: Iterable[Interval]) -> list[Histogram]:
    """Of every kind that was re-used, with all its predicates together, and of each predicate; in a fixed order."""
    counts: dict[tuple[Kind, str], list[int]] = {}
    for interval in intervals:
        for predicate in {"", interval.predicate}:
            place = counts.setdefault((interval.kind, predicate), [0] * BUCKETS)
            place[interval.bucket] += interval.count
    order: Mapping[Kind, int] = {kind: number for number, kind in enumerate(Kind)}
    keys = sorted(counts, key=lambda key: (order[key[0]], key[1]))
    return [Histogram(kind, predicate, tuple(counts[kind, predicate])) for kind, predicate in keys]
