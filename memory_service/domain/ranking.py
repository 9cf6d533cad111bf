"""From relevance to the order of an answer: named profiles, explained scores, places by kind (E12, E16, P7).

The default profile is E12's sum: 0.5 semantic + 0.3 freshness + 0.2 importance, importance being
min(1, log1p(accesses) / 5), and freshness moving between a floor and 1 (`RankingProfile.freshness_floor`). Only the
most relevant 2 x limit memories are scored at all (C7): age and use order what is relevant, they never bring in what
is not. The long-term bonus (E16) is multiplied by the semantic part: a long-term memory counts 30% more relevant than
a candidate of the same wording, and an irrelevant one gains nothing, however settled it is. (As a flat +0.15 it would
outweigh a semantic lead of 0.30.)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from math import floor
from types import MappingProxyType
from typing import Final

import numpy as np

from memory_service.domain.decay import DEFAULT_DECAY, NEVER, DecayPolicy
from memory_service.domain.memory import Kind, Tier
from memory_service.domain.retrieval.columns import Floats, Ints, Mask
from memory_service.domain.retrieval.dense import NO_VECTOR
from memory_service.domain.retrieval.fusion import (
    CandidateLists,
    Fusion,
    FusionMethod,
    ranks,
    relevance,
)
from memory_service.domain.retrieval.rows import KIND_CODE, TIER_CODE
from memory_service.domain.retrieval.snapshot import OwnerSnapshot
from memory_service.domain.retrieval.times import microseconds

_DECIMALS: Final = 6
_IMPORTANCE_SCALE: Final = 5.0
_SUPPORT_SHARE: Final = 0.1
_HOUR: Final = 3_600_000_000
_MOMENT_AHEAD: Final = 12 * _HOUR
_MOMENT_LONGEST: Final = 15 * 24 * _HOUR
"""In microseconds, as columns have it: how soon and how long what holds for the moment does."""
_LASTING_KINDS: Final = frozenset({Kind.PREFERENCE, Kind.PROFILE, Kind.CONSTRAINT})


class Combination(StrEnum):
    """How the parts make the final score."""

    SUM = "sum"
    PRODUCT = "product"


@dataclass(frozen=True, slots=True)
class Quota:
    """Places kept for long-term memories of some kinds (E16).

    Attributes:
        share: of the limit, rounded down: below 1 / share places relevance alone decides.
        relevance_min: a kept place is only for a memory at least this relevant, as a share of the best one.
    """

    kinds: frozenset[Kind] = _LASTING_KINDS
    share: float = 0.1
    relevance_min: float = 0.5


@dataclass(frozen=True, slots=True)
class RankingProfile:
    """A named way to order an answer (C15).

    Attributes:
        combination: SUM: E12 plus the tier bonus. PRODUCT: P7, fused x decay x confidence x support.
        freshness_floor: the freshness of what has faded entirely, in answers to a query (SUM only): freshness =
            floor + (1 - floor) * strength. Strength differs by kind and by use far more than relevance does:
            without a floor a recent memory that is hardly about the question stands before an old one that
            answers it, and R@10 on locomo falls by 3 to 15 points. With it, freshness decides between memories of
            nearly equal relevance (0.03 apart at most).
        tier_bonus: what a long-term memory gets on top, times its semantic part (SUM only).
        moment_bonus: what holds for the moment gets on top while it does, times its semantic part (SUM only):
            tonight's exception is what a question tonight is about, not the rule it is an exception to (E17).
        past_share: what counts of the relevance of what was ahead when it was told and is over: what was booked for
            last week is not what a question today means, unless nothing else answers it.
        over_fetch: how many times the limit is scored.
        caller_importance: the writer's own importance counts where it is more than what use has given.
            Off by default, which leaves E12's formula exactly as it is.
    """

    name: str
    combination: Combination = Combination.SUM
    semantic_weight: float = 0.5
    freshness_weight: float = 0.3
    importance_weight: float = 0.2
    freshness_floor: float = 0.95
    tier_bonus: float = 0.15
    moment_bonus: float = 0.15
    past_share: float = 0.85
    over_fetch: int = 2
    caller_importance: bool = False
    fusion: Fusion = field(default_factory=Fusion)
    decay: DecayPolicy = DEFAULT_DECAY
    quotas: tuple[Quota, ...] = (Quota(),)


DEFAULT_PROFILE: Final = RankingProfile("default")
ADOPTED_PROFILE: Final = RankingProfile("adopted", combination=Combination.PRODUCT)
RRF_PROFILE: Final = RankingProfile("rrf", fusion=Fusion(FusionMethod.RRF))
RELEVANCE_PROFILE: Final = RankingProfile(
    "relevance",
    semantic_weight=1.0,
    freshness_weight=0.0,
    importance_weight=0.0,
    tier_bonus=0.0,
    moment_bonus=0.0,
    past_share=1.0,
    quotas=(),
)
PROFILES: Final[Mapping[str, RankingProfile]] = MappingProxyType(
    {profile.name: profile for profile in (DEFAULT_PROFILE, ADOPTED_PROFILE, RRF_PROFILE, RELEVANCE_PROFILE)}
)
"""`default` (E12), `adopted` (P7), `rrf` (E12 over reciprocal rank fusion, P6), and `relevance`: relevance alone, for
measuring the others against."""


@dataclass(frozen=True, slots=True)
class ScoreBreakdown:
    """Why a memory stands where it stands. None: that list did not run, or did not find it.

    With SUM, final = semantic_weight * semantic + freshness_weight * freshness + importance_weight * importance
    + tier_bonus; with PRODUCT, final = semantic * freshness * confidence * support.

    Attributes:
        cosine, bm25, names: what each list gave.
        cosine_rank, bm25_rank, names_rank: its place in each list among all that the filter lets through.
        rrf: the reciprocal ranks summed, whatever the fusion in force.
        semantic: relevance 0..1 as fused; 1 for all when there was no query.
        strength: `DecayPolicy.strength`; freshness: what counts of it, see `RankingProfile.freshness_floor`.
        tier_bonus: of the tier and of the moment, as added, i.e. after multiplication with `semantic`.
    """

    cosine: float | None
    bm25: float | None
    names: float | None
    cosine_rank: int | None
    bm25_rank: int | None
    names_rank: int | None
    rrf: float
    semantic: float
    strength: float
    freshness: float
    importance: float
    confidence: float
    support: float
    tier_bonus: float
    final: float


@dataclass(frozen=True, slots=True)
class Ranked:
    """A row of the snapshot in its place; `reserved` when a quota put it among the answer."""

    row: int
    score: ScoreBreakdown
    reserved: bool = False


@dataclass(frozen=True, slots=True)
class _Parts:
    """The parts of the scores of some rows, each of shape (rows,)."""

    semantic: Floats
    strength: Floats
    freshness: Floats
    importance: Floats
    confidence: Floats
    support: Floats
    bonus: Floats
    final: Floats


def rank(
    snapshot: OwnerSnapshot,
    rows: Ints,
    lists: CandidateLists,
    *,
    now: datetime,
    limit: int,
    profile: RankingProfile = DEFAULT_PROFILE,
    timing: Floats | None = None,
) -> list[Ranked]:
    """The best `limit` of `rows`, best first; fewer only when there are fewer.

    Deterministic: equal scores are ordered by newer creation, then by id. Rows' order in the snapshot, and so
    its history, plays no part.

    Args:
        rows: live rows that may be answered, shape (memories,).
        lists: of the same memories in the same order.
        now: the time that freshness is about.
        timing: a factor on each one's score (see `retrieval.timing`), shape (memories,); 1 without it.
    """
    semantic = relevance(lists, len(rows), profile.fusion)
    pool = _most_relevant(semantic, limit * profile.over_fetch)
    # Without a query nothing but freshness and importance tells memories apart, so both count in full.
    floor = profile.freshness_floor if lists.asked else 0.0
    parts = _score(snapshot, rows[pool], semantic[pool], now, profile, floor)
    if timing is not None:
        parts = replace(parts, final=np.round(parts.final * timing[pool], _DECIMALS))
    order = _ordered(snapshot, rows[pool], parts.final)
    chosen, reserved = _with_quotas(snapshot, rows[pool], parts, order, limit, profile.quotas)
    places = pool[chosen]
    explained = _explained(lists, places, chosen, parts, profile.fusion)
    return [
        Ranked(int(rows[place]), score, int(position) in reserved)
        for place, position, score in zip(places, chosen, explained, strict=True)
    ]


def _most_relevant(semantic: Floats, count: int) -> Ints:
    """Places of the `count` most relevant, with all that are as relevant as the last of them."""
    if len(semantic) <= count:
        return np.arange(len(semantic))
    least = np.partition(semantic, len(semantic) - count)[len(semantic) - count]
    return np.flatnonzero(semantic >= least)


def _score(
    snapshot: OwnerSnapshot, rows: Ints, semantic: Floats, now: datetime, profile: RankingProfile, floor: float
) -> _Parts:
    strength = strength_of(snapshot, rows, now, profile.decay)
    semantic = np.where(_over(snapshot, rows, now), profile.past_share * semantic, semantic)
    importance = np.minimum(1.0, np.log1p(snapshot.rows["access_count"][rows]) / _IMPORTANCE_SCALE)
    if profile.caller_importance:
        importance = np.maximum(importance, snapshot.rows["importance"][rows])
    confidence = snapshot.rows["confidence"][rows]
    support = 1.0 + _SUPPORT_SHARE * np.log1p(snapshot.rows["adopted_count"][rows])
    if profile.combination is Combination.PRODUCT:
        bonus = np.zeros(len(rows))
        freshness = strength
        final = semantic * freshness * confidence * support
    else:
        freshness = floor + (1 - floor) * strength
        bonus = profile.tier_bonus * semantic * (snapshot.rows["tier"][rows] == TIER_CODE[Tier.LONG_TERM])
        bonus += profile.moment_bonus * semantic * _of_the_moment(snapshot, rows, now)
        final = (
            profile.semantic_weight * semantic
            + profile.freshness_weight * freshness
            + profile.importance_weight * importance
            + bonus
        )
    return _Parts(semantic, strength, freshness, importance, confidence, support, bonus, np.round(final, _DECIMALS))


def _over(snapshot: OwnerSnapshot, rows: Ints, now: datetime) -> Mask:
    """Which of `rows` were told of a time ahead that has ended since; shape (rows,)."""
    end = snapshot.rows["valid_to"][rows]
    ended: Mask = (end <= microseconds(now)) & (end > snapshot.rows["said_at"][rows])
    return ended


def _of_the_moment(snapshot: OwnerSnapshot, rows: Ints, now: datetime) -> Mask:
    """Which of `rows` hold for a short while that `now` is in, or about to begin; shape (rows,)."""
    columns = snapshot.rows
    start = np.maximum(columns["valid_from"][rows], columns["said_at"][rows])
    end = np.minimum(columns["valid_to"][rows], columns["expires_at"][rows])
    moment = microseconds(now)
    under_way: Mask = (start - _MOMENT_AHEAD <= moment) & (moment < end) & (end - start <= _MOMENT_LONGEST)
    return under_way


def strength_of(snapshot: OwnerSnapshot, rows: Ints, now: datetime, decay: DecayPolicy) -> Floats:
    """`DecayPolicy.strength` of many rows at once; shape (rows,)."""
    columns = snapshot.rows
    touched = np.maximum(columns["accessed_at"][rows], columns["confirmed_at"][rows])
    touched = np.maximum(touched, columns["recorded_at"][rows])
    seconds = np.maximum(microseconds(now) - touched, 0) / 1e6
    by_kind = np.empty(len(KIND_CODE))
    for kind, code in KIND_CODE.items():
        by_kind[code] = decay.by_kind[kind]
    tau = by_kind[columns["kind"][rows]]
    predicates = columns["predicate"][rows]
    for predicate, seconds_of_it in decay.by_predicate.items():
        number = snapshot.strings.find(predicate)
        if number >= 0:
            tau[predicates == number] = seconds_of_it
    given, adopted = decay.parameters, columns["adopted_count"][rows]
    gained = given.access_gain * np.log1p(columns["access_count"][rows]) + given.adopted_gain * np.log1p(adopted)
    stretch = np.minimum(1.0 + gained, given.stretch_max)
    initial = np.power(given.rejected_factor, np.maximum(columns["rejected_count"][rows] - adopted, 0))
    unfading = columns["pinned"][rows] | (tau == NEVER)
    result: Floats = np.where(unfading, 1.0, initial * np.exp(-seconds / (tau * stretch)))
    return result


def _ordered(snapshot: OwnerSnapshot, rows: Ints, final: Floats) -> Ints:
    columns = snapshot.rows
    newest_first = -columns["created_at"][rows]
    return np.lexsort((columns["id_low"][rows], columns["id_high"][rows], newest_first, -final))


def _with_quotas(
    snapshot: OwnerSnapshot, rows: Ints, parts: _Parts, order: Ints, limit: int, quotas: Sequence[Quota]
) -> tuple[Ints, frozenset[int]]:
    """The chosen positions in order, and those among them that a quota brought in."""
    wanting = [quota for quota in quotas if floor(quota.share * limit)]
    if len(order) <= limit or not wanting:
        return order[:limit], frozenset()
    chosen, rest = order[:limit].tolist(), order[limit:]
    kinds, long_term = snapshot.rows["kind"][rows], snapshot.rows["tier"][rows] == TIER_CODE[Tier.LONG_TERM]
    kept: set[int] = set()
    reserved: set[int] = set()
    best = float(parts.semantic.max())
    for quota in wanting:
        counted = np.zeros(len(KIND_CODE), np.bool_)
        counted[[KIND_CODE[kind] for kind in quota.kinds]] = True
        member = counted[kinds] & long_term
        inside = [position for position in chosen if member[position]][: floor(quota.share * limit)]
        kept.update(inside)
        worthy = rest[member[rest] & (parts.semantic[rest] >= quota.relevance_min * best)]
        for position in worthy[: floor(quota.share * limit) - len(inside)].tolist():
            leaving = next((other for other in reversed(chosen) if other not in kept), None)
            if leaving is None or position in kept:
                break
            chosen[chosen.index(leaving)] = position
            kept.add(position)
            reserved.add(position)
    if not reserved:
        return order[:limit], frozenset()
    places = {int(position): place for place, position in enumerate(order)}
    return np.asarray(sorted(chosen, key=places.__getitem__), np.int64), frozenset(reserved)


def _explained(
    lists: CandidateLists, places: Ints, chosen: Ints, parts: _Parts, fusion: Fusion
) -> list[ScoreBreakdown]:
    """Breakdowns of the memories at `places` of the lists, `chosen` of the parts."""
    cosine, cosine_rank = _said(lists.cosine, places, NO_VECTOR)
    bm25, bm25_rank = _said(lists.bm25, places, 0.0)
    names, names_rank = _said(lists.names, places, 0.0)
    weights = (fusion.dense_weight, fusion.lexical_weight, fusion.name_weight)
    rrf = [
        sum(weight / (fusion.rrf_k + place) for weight, place in zip(weights, found, strict=True) if place)
        for found in zip(cosine_rank, bm25_rank, names_rank, strict=True)
    ]
    columns = [
        column[chosen].tolist()
        for column in (
            parts.semantic,
            parts.strength,
            parts.freshness,
            parts.importance,
            parts.confidence,
            parts.support,
            parts.bonus,
            parts.final,
        )
    ]
    rows = zip(cosine, bm25, names, cosine_rank, bm25_rank, names_rank, rrf, *columns, strict=True)
    return [ScoreBreakdown(*row) for row in rows]


def _said(scores: Floats | None, places: Ints, nothing: float) -> tuple[Sequence[float | None], Sequence[int | None]]:
    """What a list gave the memories at `places`, and their ranks in it; None where it has nothing."""
    if scores is None:
        return [None] * len(places), [None] * len(places)
    values = scores[places]
    given = values.tolist()
    found = [score > nothing for score in given]
    if not any(found):
        return [None] * len(places), [None] * len(places)
    ranked = ranks(scores, values).tolist()
    return (
        [score if has else None for score, has in zip(given, found, strict=True)],
        [place if has else None for place, has in zip(ranked, found, strict=True)],
    )
