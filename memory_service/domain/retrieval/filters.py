"""Which memories a recall may look at: one rule twice, for a head and for all rows of a snapshot at once.

`matches` and `matching_rows` must agree (a property test holds them to it), so stores may use the first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from memory_service.domain.memory import CURRENT_STATUSES, Kind, MemoryHead, MemoryVersion, Tier, Visibility
from memory_service.domain.records import MemoryFilter
from memory_service.domain.retrieval.columns import ABSENT, Column, Mask
from memory_service.domain.retrieval.rows import KIND_CODE, SOURCE_CODE, STATUS_CODE, TIER_CODE
from memory_service.domain.retrieval.times import microseconds

if TYPE_CHECKING:
    from memory_service.domain.retrieval.snapshot import OwnerSnapshot

_T = TypeVar("_T")
_CODES = 32
"""More than any coded enumeration has members."""


def matches(head: MemoryHead, where: MemoryFilter) -> bool:
    """Whether `head` meets every condition given in `where`; an empty filter holds for all (E13, S6)."""
    version = head.current
    return (
        _in(version.id, where.ids)
        and _in(version.kind, where.kinds)
        and _in(version.status, where.statuses)
        and _in(version.tier, where.tiers)
        and _in(version.source, where.sources)
        and _in(version.topic, where.topics)
        and _in(version.slot, where.slots)
        and version.importance >= where.importance_min
        and version.confidence >= where.confidence_min
        and _matches_tags(version, where)
        and _matches_assertion(version, where)
        and _matches_provenance(version, where)
        and _matches_time(version, where)
    )


def _in(value: _T, allowed: frozenset[_T]) -> bool:
    return not allowed or value in allowed


def _matches_tags(version: MemoryVersion, where: MemoryFilter) -> bool:
    tags = set(version.tags)
    return where.tags_all <= tags and (not where.tags_any or bool(where.tags_any & tags))


def _matches_assertion(version: MemoryVersion, where: MemoryFilter) -> bool:
    assertion = version.assertion
    subject, predicate = (assertion.subject, assertion.predicate) if assertion else ("", "")
    return _in(subject, where.subjects) and _in(predicate, where.predicates)


def _matches_provenance(version: MemoryVersion, where: MemoryFilter) -> bool:
    origin = version.provenance
    hidden = (
        where.visible_to_agent is not None
        and version.visibility is Visibility.PRIVATE
        and origin.agent != where.visible_to_agent
    )
    return (
        not hidden
        and _in(origin.agent, where.agents)
        and _in(origin.device, where.devices)
        and _in(origin.session, where.sessions)
    )


def _matches_time(version: MemoryVersion, where: MemoryFilter) -> bool:
    said = version.said_at or version.recorded_at
    return (
        (where.said_from is None or said >= where.said_from)
        and (where.said_until is None or said < where.said_until)
        and (where.valid_at is None or held_at(version, where.valid_at))
    )


def held_at(version: MemoryVersion, at: datetime) -> bool:
    """Whether the claim held in the world at `at`: valid_from <= at < valid_to, None being open."""
    return (version.valid_from is None or version.valid_from <= at) and (
        version.valid_to is None or at < version.valid_to
    )


def is_timely(version: MemoryVersion, now: datetime) -> bool:
    """Whether a claim is worth telling at `now`: it holds then or will, or is an event.

    What lies ahead is asked about before it begins, and says of itself that it has not (`Standing.UPCOMING`). An
    event's interval says when it takes place, and people ask after it as well; what takes an event out of recalls is
    its expiry (E17).
    """
    if version.kind is Kind.EVENT or version.valid_to is None:
        return True
    never = version.valid_from is not None and version.valid_from >= version.valid_to
    return now < version.valid_to and not never


def is_current(head: MemoryHead, now: datetime) -> bool:
    """Whether a recall about `now` may return it: current status, not archived, timely, not expired."""
    version = head.current
    return (
        version.status in CURRENT_STATUSES
        and version.tier is not Tier.ARCHIVE
        and is_timely(version, now)
        and (version.expires_at is None or now < version.expires_at)
    )


def current_rows(
    snapshot: OwnerSnapshot, now: datetime, *, valid_at: datetime | None = None, archived: bool = False
) -> Mask:
    """`is_current` of every live row; False for dead ones. Shape (rows,).

    With `valid_at` a memory needs to hold at that time, events too, instead of being timely `now`; with `archived`
    it may be in the archive.
    """
    mask = _coded(snapshot.rows["status"], [STATUS_CODE[status] for status in CURRENT_STATUSES])
    if not archived:
        mask &= snapshot.rows["tier"] != TIER_CODE[Tier.ARCHIVE]
    mask &= timely_rows(snapshot, now) if valid_at is None else held_rows(snapshot, valid_at)
    mask &= unexpired_rows(snapshot, now)
    mask &= snapshot.live
    return mask


def held_rows(snapshot: OwnerSnapshot, at: datetime) -> Mask:
    """`held_at` of every row, shape (rows,)."""
    moment = microseconds(at)
    mask: Mask = (snapshot.rows["valid_from"] <= moment) & (moment < snapshot.rows["valid_to"])
    return mask


def timely_rows(snapshot: OwnerSnapshot, now: datetime) -> Mask:
    """`is_timely` of every row, shape (rows,)."""
    start, end = snapshot.rows["valid_from"], snapshot.rows["valid_to"]
    mask: Mask = (microseconds(now) < end) & (start < end) | (snapshot.rows["kind"] == KIND_CODE[Kind.EVENT])
    return mask


def ahead_rows(snapshot: OwnerSnapshot, now: datetime) -> Mask:
    """Which rows are told of a state that has not begun at `now` (an event takes place, and is no state); (rows,)."""
    begins, event = snapshot.rows["valid_from"], KIND_CODE[Kind.EVENT]
    mask: Mask = (begins > microseconds(now)) & (snapshot.rows["kind"] != event)
    return mask


def unexpired_rows(snapshot: OwnerSnapshot, at: datetime) -> Mask:
    """Rows that have not expired at `at`, shape (rows,)."""
    mask: Mask = snapshot.rows["expires_at"] > microseconds(at)
    return mask


def matching_rows(snapshot: OwnerSnapshot, where: MemoryFilter) -> Mask:
    """`matches` of every live row; False for dead ones. Shape (rows,)."""
    mask = np.array(snapshot.live)
    _keep_codes(snapshot, where, mask)
    _keep_strings(snapshot, where, mask)
    _keep_tags(snapshot, where, mask)
    _keep_times(snapshot, where, mask)
    if where.ids:
        found = [row for row in map(snapshot.row_of.get, where.ids) if row is not None]
        chosen = np.zeros(len(mask), np.bool_)
        chosen[found] = True
        mask &= chosen
    if where.importance_min > 0:
        mask &= snapshot.rows["importance"] >= where.importance_min
    if where.confidence_min > 0:
        mask &= snapshot.rows["confidence"] >= where.confidence_min
    if where.visible_to_agent is not None:
        # A memory without an agent has number ABSENT, and so has an agent nobody has heard of.
        reader = snapshot.strings.find(where.visible_to_agent)
        own = snapshot.rows["agent"] == reader
        if where.visible_to_agent and reader == ABSENT:
            own = np.zeros(len(mask), np.bool_)
        mask &= ~snapshot.rows["private"] | own
    return mask


def _keep_codes(snapshot: OwnerSnapshot, where: MemoryFilter, mask: Mask) -> None:
    _keep_coded(snapshot, "kind", where.kinds, KIND_CODE, mask)
    _keep_coded(snapshot, "status", where.statuses, STATUS_CODE, mask)
    _keep_coded(snapshot, "tier", where.tiers, TIER_CODE, mask)
    _keep_coded(snapshot, "source", where.sources, SOURCE_CODE, mask)


def _keep_coded(
    snapshot: OwnerSnapshot, column: str, allowed: frozenset[_T], codes: Mapping[_T, int], mask: Mask
) -> None:
    if allowed:
        mask &= _coded(snapshot.rows[column], [codes[value] for value in allowed])


def _coded(column: Column, codes: Sequence[int]) -> Mask:
    wanted = np.zeros(_CODES, np.bool_)
    wanted[codes] = True
    mask: Mask = wanted[column]
    return mask


def _keep_strings(snapshot: OwnerSnapshot, where: MemoryFilter, mask: Mask) -> None:
    wanted = {
        "topic": where.topics,
        "slot": where.slots,
        "subject": where.subjects,
        "predicate": where.predicates,
        "agent": where.agents,
        "device": where.devices,
        "session": where.sessions,
    }
    for column, allowed in wanted.items():
        if not allowed:
            continue
        mask &= np.isin(snapshot.rows[column], _numbers(snapshot, allowed))


def _numbers(snapshot: OwnerSnapshot, strings: frozenset[str]) -> list[int]:
    """Their numbers; the empty string is ABSENT, unknown ones are left out."""
    numbers = [snapshot.strings.find(string) for string in strings if string]
    known = [number for number in numbers if number != ABSENT]
    return [*known, ABSENT] if "" in strings else known


def _keep_tags(snapshot: OwnerSnapshot, where: MemoryFilter, mask: Mask) -> None:
    for tag in where.tags_all:
        mask &= _tagged(snapshot, frozenset({tag}))
    if where.tags_any:
        mask &= _tagged(snapshot, where.tags_any)


def _tagged(snapshot: OwnerSnapshot, tags: frozenset[str]) -> Mask:
    rows = np.zeros(len(snapshot.live), np.bool_)
    numbers = [number for number in map(snapshot.strings.find, tags) if number != ABSENT]
    rows[snapshot.tags["row"][np.isin(snapshot.tags["tag"], numbers)]] = True
    return rows


def _keep_times(snapshot: OwnerSnapshot, where: MemoryFilter, mask: Mask) -> None:
    if where.said_from is not None:
        mask &= snapshot.rows["said_at"] >= microseconds(where.said_from)
    if where.said_until is not None:
        mask &= snapshot.rows["said_at"] < microseconds(where.said_until)
    if where.valid_at is not None:
        mask &= held_rows(snapshot, where.valid_at)
