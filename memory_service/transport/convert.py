"""Between the API's messages and the use cases' values."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import numpy as np

from memory_service.app.commands import Affected, ChangeMeta, Effect, SlotRef, Statement
from memory_service.app.reading import Shown, parse_memory_id
from memory_service.app.recall import RecalledMemory, Stage
from memory_service.app.targets import slot_key
from memory_service.app.validation import check_list, check_slot
from memory_service.domain import limits
from memory_service.domain.memory import Assertion, MemoryHead, MemoryVersion, Provenance
from memory_service.domain.records import JournalEntry, Link, MemoryFilter
from memory_service.domain.slots import canonical_subject
from memory_service.domain.vocabulary import Vocabulary, normalise_name
from memory_service.transport.values import (
    KINDS,
    RELATIONS,
    SOURCES,
    STANDINGS,
    STATUSES,
    TIERS,
    VISIBILITIES,
    clock_in,
    clock_out,
    counter_in,
    dot_out,
    enum_in,
    enums_in,
    inverse,
    json_in,
    json_out,
    time_in,
    time_out,
)
from memory_service.v1 import memory_service_pb2 as api
from memory_service.v1 import types_pb2 as pb

_KINDS_OUT = inverse(KINDS)
_SOURCES_OUT = inverse(SOURCES)
_TIERS_OUT = inverse(TIERS)
_STATUSES_OUT = inverse(STATUSES)
_VISIBILITIES_OUT = inverse(VISIBILITIES)
_RELATIONS_OUT = inverse(RELATIONS)
_STANDINGS_OUT = inverse(STANDINGS)
_EFFECTS_OUT = {effect: api.Effect.Value(f"EFFECT_{effect.name}") for effect in Effect}


def statement_in(message: pb.MemoryInput, field: str = "memory") -> Statement:
    """What a writer wants remembered."""
    assertion = None
    if message.HasField("assertion"):
        value = message.assertion
        assertion = Assertion(value.subject, value.predicate, json_in(value.object))

    def time(name: str) -> Any:
        return time_in(getattr(message, name), f"{field}.{name}") if message.HasField(name) else None

    check_list(message.derived_from, f"{field}.derived_from", limits.DERIVED_FROM_MAX)
    return Statement(
        text=message.text,
        assertion=assertion,
        kind=enum_in(KINDS, message.kind, f"{field}.kind"),
        topic=message.topic,
        tags=tuple(dict.fromkeys(message.tags)),
        source=enum_in(SOURCES, message.source, f"{field}.source"),
        confidence=message.confidence if message.HasField("confidence") else None,
        importance=message.importance if message.HasField("importance") else None,
        valid_from=time("valid_from"),
        valid_to=time("valid_to"),
        expires_at=time("expires_at"),
        said_at=time("said_at"),
        time_zone=message.time_zone,
        visibility=enum_in(VISIBILITIES, message.visibility, f"{field}.visibility"),
        pinned=message.pinned,
        vector=np.fromiter(message.embedding, np.float32, len(message.embedding)) if message.embedding else None,
        agent=message.agent,
        session=message.session,
        process=message.process,
        reference=message.reference,
        derived_from=tuple(parse_memory_id(i, f"{field}.derived_from") for i in message.derived_from),
    )


def meta_in(request: Any, actor: str, agent: str = "") -> ChangeMeta:
    """Who makes a change, from any request with `request_id`, `dot` and `context`."""
    return ChangeMeta(
        actor=actor,
        agent=agent,
        request_id=request.request_id,
        device=request.dot.device,
        counter=counter_in(request.dot.counter, "dot.counter"),
        context=clock_in(request.context) if request.HasField("context") else None,
    )


def slot_in(message: pb.Slot) -> SlotRef:
    """A slot by name."""
    return SlotRef(message.subject, message.predicate, message.topic)


def filter_in(message: pb.MemoryFilter, vocabulary: Vocabulary, field: str = "filter") -> MemoryFilter:
    """Which memories. Predicates are taken by any of their names."""
    for name in ("ids", "slots", "kinds", "statuses", "tiers", "sources"):
        check_list(getattr(message, name), f"{field}.{name}", limits.FORGET_IDS_MAX)
    slots = set()
    for index, slot in enumerate(message.slots):
        reference = slot_in(slot)
        check_slot(reference, f"{field}.slots[{index}]")
        slots.add(slot_key(reference, vocabulary, f"{field}.slots[{index}]"))
    predicates = {known.name if (known := vocabulary.find(p)) else normalise_name(p) for p in message.predicates}
    has = message.HasField
    return MemoryFilter(
        ids=frozenset(parse_memory_id(i, f"{field}.ids") for i in message.ids),
        kinds=enums_in(KINDS, message.kinds, f"{field}.kinds"),
        statuses=enums_in(STATUSES, message.statuses, f"{field}.statuses"),
        tiers=enums_in(TIERS, message.tiers, f"{field}.tiers"),
        sources=enums_in(SOURCES, message.sources, f"{field}.sources"),
        tags_all=frozenset(message.tags_all),
        tags_any=frozenset(message.tags_any),
        topics=frozenset(message.topics),
        slots=frozenset(slots),
        subjects=frozenset(canonical_subject(s) for s in message.subjects),
        predicates=frozenset(predicates),
        agents=frozenset(message.agents),
        devices=frozenset(message.devices),
        sessions=frozenset(message.sessions),
        said_from=time_in(message.said_from, f"{field}.said_from") if has("said_from") else None,
        said_until=time_in(message.said_until, f"{field}.said_until") if has("said_until") else None,
        importance_min=message.importance_min,
        confidence_min=message.confidence_min,
    )


def provenance_out(value: Provenance) -> pb.Provenance:
    """Protobuf of where a version came from."""
    return pb.Provenance(
        actor=value.actor,
        device=value.device,
        agent=value.agent,
        session=value.session,
        process=value.process,
        reference=value.reference,
    )


def version_out(version: MemoryVersion, *, etag: str = "") -> pb.Memory:
    """Protobuf of one version, without counters of use."""
    assertion = version.assertion
    return pb.Memory(
        id=str(version.id),
        version=version.version,
        etag=etag,
        kind=_KINDS_OUT[version.kind],  # type: ignore[arg-type]
        text=version.text,
        assertion=pb.Assertion(
            subject=assertion.subject, predicate=assertion.predicate, object=json_out(assertion.object)
        )
        if assertion
        else None,
        topic=version.topic,
        tags=version.tags,
        source=_SOURCES_OUT[version.source],  # type: ignore[arg-type]
        confidence=version.confidence,
        importance=version.importance,
        support=version.support,
        tier=_TIERS_OUT[version.tier],  # type: ignore[arg-type]
        status=_STATUSES_OUT[version.status],  # type: ignore[arg-type]
        valid_from=time_out(version.valid_from),
        valid_to=time_out(version.valid_to),
        recorded_at=time_out(version.recorded_at),
        expires_at=time_out(version.expires_at),
        said_at=time_out(version.said_at),
        provenance=provenance_out(version.provenance),
        dot=dot_out(version.dot),
        context=clock_out(version.context),
        visibility=_VISIBILITIES_OUT[version.visibility],  # type: ignore[arg-type]
        pinned=version.pinned,
        language=version.language,
        reason=version.reason,
        redacted=version.redacted,
    )


def head_out(head: MemoryHead) -> pb.Memory:
    """Protobuf of a memory as it stands."""
    message = version_out(head.current, etag=head.etag)
    message.access_count = head.usage.access_count
    message.adopted_count = head.usage.adopted_count
    message.rejected_count = head.usage.rejected_count
    if head.created_at is not None:
        message.created_at.FromDatetime(head.created_at)
    if head.usage.last_access_at is not None:
        message.last_access_at.FromDatetime(head.usage.last_access_at)
    message.cold = head.cold
    return message


def shown_out(shown: Shown) -> pb.Memory:
    """Protobuf of a memory with what it is at the time that was asked about."""
    message = head_out(shown.head)
    message.standing = _STANDINGS_OUT[shown.standing]  # type: ignore[assignment]
    message.superseded_by = "" if shown.successor is None else str(shown.successor)
    return message


def affected_out(value: Affected) -> api.Affected:
    """Protobuf of what became of one memory."""
    return api.Affected(
        memory_id=str(value.memory_id),
        effect=effect_out(value.effect),
        memory=head_out(value.head) if value.head else None,
        reason=value.reason,
    )


def effect_out(effect: Effect) -> Any:
    """Protobuf of an effect."""
    return _EFFECTS_OUT[effect]


def link_out(link: Link) -> api.Link:
    """Protobuf of a link."""
    return api.Link(
        from_id=str(link.from_id),
        relation=_RELATIONS_OUT[link.relation],  # type: ignore[arg-type]
        to_id=str(link.to_id),
    )


def event_out(entry: JournalEntry) -> api.HistoryEvent:
    """Protobuf of a state change."""
    return api.HistoryEvent(
        event=entry.event.value,
        version=entry.version,
        at=time_out(entry.at),
        actor=entry.actor,
        device=entry.device,
        reason=entry.reason,
        before=entry.before,
        after=entry.after,
        details={key: str(value) for key, value in entry.details.items()},
    )


def recalled_out(memory: RecalledMemory) -> api.RecalledMemory:
    """Protobuf of a memory found, with its score."""
    score = memory.score
    return api.RecalledMemory(
        memory=shown_out(Shown(memory.head, memory.standing, memory.successor)),
        score=score.final,
        breakdown=api.ScoreBreakdown(
            total=score.final,
            semantic=score.semantic,
            freshness=score.freshness,
            importance=score.importance,
            confidence=score.confidence,
            cosine=score.cosine or 0.0,
            bm25=score.bm25 or 0.0,
            rrf=score.rrf,
            vector_rank=score.cosine_rank or 0,
            lexical_rank=score.bm25_rank or 0,
            slot_rank=score.names_rank or 0,
            tier_bonus=score.tier_bonus,
            support=score.support,
        ),
        contested=memory.contested,
        why="; ".join(memory.why),
    )


def stage_out(stage: Stage) -> api.RecallStage:
    """Protobuf of one stage of a recall."""
    message = api.RecallStage(name=stage.name, ran=stage.ran, note=stage.note)
    message.duration.FromTimedelta(timedelta(seconds=stage.seconds))
    return message
