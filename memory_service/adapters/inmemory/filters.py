"""Whether a memory matches a filter."""

from __future__ import annotations

from datetime import datetime

from memory_service.domain.memory import MemoryHead, MemoryVersion, Visibility
from memory_service.ports.memory_store import MemoryFilter


def held_at(version: MemoryVersion, moment: datetime) -> bool:
    """Whether the claim held in the world at `moment`: valid_from <= moment < valid_to, None being open."""
    if version.valid_from is not None and moment < version.valid_from:
        return False
    return version.valid_to is None or moment < version.valid_to


def matches(head: MemoryHead, where: MemoryFilter) -> bool:
    """Whether `head` meets every given condition of `where` (E13, S6, P6)."""
    version = head.current
    return (
        _matches_state(version, where)
        and _matches_subject(version, where)
        and _matches_origin(version, where)
        and _matches_time(version, where)
    )


def _matches_state(version: MemoryVersion, where: MemoryFilter) -> bool:
    return (
        (not where.ids or version.id in where.ids)
        and (not where.kinds or version.kind in where.kinds)
        and (not where.statuses or version.status in where.statuses)
        and (not where.tiers or version.tier in where.tiers)
        and (not where.sources or version.source in where.sources)
        and version.importance >= where.importance_min
        and version.confidence >= where.confidence_min
    )


def _matches_subject(version: MemoryVersion, where: MemoryFilter) -> bool:
    subject = version.assertion.subject if version.assertion else None
    predicate = version.assertion.predicate if version.assertion else None
    return (
        where.tags_all.issubset(version.tags)
        and (not where.tags_any or not where.tags_any.isdisjoint(version.tags))
        and (not where.topics or version.topic in where.topics)
        and (not where.slots or version.slot in where.slots)
        and (not where.subjects or subject in where.subjects)
        and (not where.predicates or predicate in where.predicates)
    )


def _matches_origin(version: MemoryVersion, where: MemoryFilter) -> bool:
    origin = version.provenance
    hidden = (
        where.visible_to_agent is not None
        and version.visibility is Visibility.PRIVATE
        and origin.agent != where.visible_to_agent
    )
    return (
        not hidden
        and (not where.agents or origin.agent in where.agents)
        and (not where.devices or origin.device in where.devices)
        and (not where.sessions or origin.session in where.sessions)
    )


def _matches_time(version: MemoryVersion, where: MemoryFilter) -> bool:
    said = version.recorded_at if version.said_at is None else version.said_at
    return (
        (where.said_from is None or said >= where.said_from)
        and (where.said_until is None or said < where.said_until)
        and (where.valid_at is None or held_at(version, where.valid_at))
    )
