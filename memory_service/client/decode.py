"""From protobuf messages to the client's values.

A word that a newer server knows and this client does not comes back as `UNKNOWN`, never as an error.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import TypeVar

from google.protobuf.duration_pb2 import Duration
from google.protobuf.internal.enum_type_wrapper import EnumTypeWrapper
from google.protobuf.struct_pb2 import Value
from google.protobuf.timestamp_pb2 import Timestamp

from memory_service.client import types as t
from memory_service.client.encode import EXACT_INTEGER_MAX
from memory_service.v1 import admin_service_pb2 as admin
from memory_service.v1 import memory_service_pb2 as api
from memory_service.v1 import sync_service_pb2 as sync
from memory_service.v1 import types_pb2 as pb

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_Word = TypeVar("_Word", bound=StrEnum)


def timestamp(value: Timestamp) -> datetime:
    """An aware datetime in UTC, to the microsecond (what is finer is cut off)."""
    return _EPOCH + timedelta(seconds=value.seconds, microseconds=value.nanos // 1000)


def duration(value: Duration) -> timedelta:
    """A time span to the microsecond."""
    return timedelta(seconds=value.seconds, microseconds=value.nanos // 1000)


def words(wrapper: EnumTypeWrapper, prefix: str, kind: type[_Word]) -> Callable[[int], _Word]:
    """What reads an enum of the wire: the word of its number, `UNKNOWN` for one this client does not know."""
    names = {value: name.removeprefix(f"{prefix}_") for name, value in wrapper.items()}
    known = {value: kind[name] for value, name in names.items() if name in kind.__members__}
    unknown = kind["UNKNOWN"]
    return lambda number: known.get(number, unknown)


kind_word = words(pb.Kind, "KIND", t.Kind)
_source = words(pb.Source, "SOURCE", t.Source)
_tier = words(pb.Tier, "TIER", t.Tier)
_status = words(pb.Status, "STATUS", t.Status)
_standing = words(pb.Standing, "STANDING", t.Standing)
_visibility = words(pb.Visibility, "VISIBILITY", t.Visibility)
_relation = words(pb.Relation, "RELATION", t.Relation)
_effect = words(api.Effect, "EFFECT", t.Effect)
_role = words(admin.Role, "ROLE", t.Role)


def json_value(value: Value) -> t.JsonValue:
    """A JSON value. A number without a fraction comes back as an int: JSON knows but one sort of number."""
    which = value.WhichOneof("kind")
    if which == "struct_value":
        return {name: json_value(item) for name, item in value.struct_value.fields.items()}
    if which == "list_value":
        return [json_value(item) for item in value.list_value.values]
    if which == "number_value":
        number = value.number_value
        return int(number) if number.is_integer() and abs(number) <= EXACT_INTEGER_MAX else number
    if which == "string_value":
        return value.string_value
    if which == "bool_value":
        return value.bool_value
    return None


def context(value: pb.VectorClock) -> t.Context:
    """A causal context; empty when absent."""
    return t.Context(dict(value.counters))


def dot(value: pb.Dot) -> t.Dot | None:
    """The name of a change, None when absent."""
    return t.Dot(value.device, value.counter) if value.device else None


def memory(value: pb.Memory) -> t.Memory:
    """A memory or one version of it."""

    def time(field: str) -> datetime | None:
        return timestamp(getattr(value, field)) if value.HasField(field) else None

    said = value.assertion
    return t.Memory(
        id=value.id,
        version=value.version,
        etag=value.etag,
        kind=kind_word(value.kind),
        text=value.text,
        assertion=t.Assertion(said.subject, said.predicate, json_value(said.object))
        if value.HasField("assertion")
        else None,
        topic=value.topic,
        tags=tuple(value.tags),
        source=_source(value.source),
        confidence=value.confidence,
        importance=value.importance,
        support=value.support,
        tier=_tier(value.tier),
        status=_status(value.status),
        valid_from=time("valid_from"),
        valid_to=time("valid_to"),
        recorded_at=time("recorded_at"),
        expires_at=time("expires_at"),
        said_at=time("said_at"),
        created_at=time("created_at"),
        provenance=_provenance(value.provenance),
        dot=dot(value.dot),
        context=context(value.context),
        visibility=_visibility(value.visibility),
        pinned=value.pinned,
        access_count=value.access_count,
        adopted_count=value.adopted_count,
        rejected_count=value.rejected_count,
        last_access_at=time("last_access_at"),
        language=value.language,
        reason=value.reason,
        redacted=value.redacted,
        standing=_standing(value.standing),
        superseded_by=value.superseded_by,
        cold=value.cold,
    )


def _provenance(value: pb.Provenance) -> t.Provenance:
    return t.Provenance(value.actor, value.device, value.agent, value.session, value.process, value.reference)


def _affected(value: api.Affected) -> t.Affected:
    return t.Affected(
        memory_id=value.memory_id,
        effect=_effect(value.effect),
        memory=memory(value.memory) if value.HasField("memory") else None,
        reason=value.reason,
    )


def write_result(
    value: api.WriteResponse
    | api.CorrectResponse
    | api.ResolveConflictResponse
    | api.DecideReviewResponse
    | api.UnmergeResponse,
) -> t.WriteResult:
    """What remembering, correcting, deciding or taking apart did."""
    return _changed(value, _effect(value.effect))


def rollback_result(value: api.RollbackResponse) -> t.WriteResult:
    """What a roll-back did; its effect is always `UPDATED`."""
    return _changed(value, t.Effect.UPDATED)


def _changed(
    value: api.WriteResponse
    | api.CorrectResponse
    | api.RollbackResponse
    | api.ResolveConflictResponse
    | api.DecideReviewResponse
    | api.UnmergeResponse,
    effect: t.Effect,
) -> t.WriteResult:
    return t.WriteResult(
        memory=memory(value.memory) if value.HasField("memory") else None,
        effect=effect,
        affected=tuple(_affected(one) for one in value.affected),
        token=value.token,
        context=context(value.context),
        dot=dot(value.dot),
        replayed=value.replayed,
    )


def forget_result(value: api.ForgetResponse) -> t.ForgetResult:
    """What was, or would be, forgotten."""
    return t.ForgetResult(
        forgotten_count=value.forgotten_count,
        memory_ids=tuple(value.memory_ids),
        preview=tuple(memory(one) for one in value.preview),
        token=value.token,
        context=context(value.context),
        dot=dot(value.dot),
        replayed=value.replayed,
    )


def revoke_result(value: api.RevokeWriterResponse) -> t.RevokeResult:
    """What was, or would be, undone."""
    return t.RevokeResult(
        changes=value.changes,
        affected=tuple(_affected(one) for one in value.affected),
        revision=value.revision,
        token=value.token,
        context=context(value.context),
        dot=dot(value.dot),
        replayed=value.replayed,
    )


def feedback_result(value: api.RecordFeedbackResponse) -> t.FeedbackResult:
    """What was recorded of recalls."""
    return t.FeedbackResult(value.recorded, tuple(value.missing_ids), value.token, value.replayed)


def watched(value: sync.WatchResponse) -> t.WatchEvent | t.WatchCheckpoint | None:
    """One message to a watcher; None for one of a sort that this client does not know."""
    if value.HasField("event"):
        told = value.event
        now = memory(told.memory) if told.HasField("memory") else None
        return t.WatchEvent(told.cursor, told.memory_id, _event(told.event), now)
    return t.WatchCheckpoint(value.checkpoint.cursor) if value.HasField("checkpoint") else None


def recall_result(value: api.RecallResponse) -> t.RecallResult:
    """What memory has to say."""
    return t.RecallResult(
        memories=tuple(recalled(one) for one in value.memories),
        context_block=value.context_block,
        context=context(value.context),
        token=value.token,
        stages=tuple(stage(one) for one in value.stages),
        degraded=value.degraded,
        candidates=value.candidates,
        as_of_valid=timestamp(value.as_of_valid) if value.HasField("as_of_valid") else None,
        as_of_words=value.as_of_words,
    )


def stage(value: api.RecallStage) -> t.RecallStage:
    """One stage of a recall."""
    return t.RecallStage(value.name, value.ran, duration(value.duration), value.note)


def recalled(value: api.RecalledMemory) -> t.RecalledMemory:
    """A memory found, with its score."""
    part = value.breakdown
    return t.RecalledMemory(
        memory=memory(value.memory),
        score=value.score,
        breakdown=t.ScoreBreakdown(
            total=part.total,
            semantic=part.semantic,
            freshness=part.freshness,
            importance=part.importance,
            confidence=part.confidence,
            cosine=part.cosine,
            bm25=part.bm25,
            rrf=part.rrf,
            vector_rank=part.vector_rank,
            lexical_rank=part.lexical_rank,
            slot_rank=part.slot_rank,
            tier_bonus=part.tier_bonus,
            support=part.support,
        ),
        contested=value.contested,
        why=value.why,
    )


def _link(value: api.Link) -> t.Link:
    return t.Link(value.from_id, _relation(value.relation), value.to_id)


def memory_detail(value: api.GetMemoryResponse) -> t.MemoryDetail:
    """One memory with what it is joined to."""
    return t.MemoryDetail(memory(value.memory), tuple(_link(one) for one in value.links), context(value.context))


def memory_page(value: api.ListMemoriesResponse) -> t.MemoryPage:
    """A page of memories."""
    return t.MemoryPage(tuple(memory(one) for one in value.memories), value.next_page_token)


def history(value: api.GetHistoryResponse) -> t.History:
    """Every version and state change of a memory."""
    return t.History(
        versions=tuple(memory(one) for one in value.versions),
        events=tuple(_event(one) for one in value.events),
        links=tuple(_link(one) for one in value.links),
    )


def _event(value: api.HistoryEvent) -> t.HistoryEvent:
    return t.HistoryEvent(
        event=value.event,
        version=value.version,
        at=timestamp(value.at) if value.HasField("at") else None,
        actor=value.actor,
        device=value.device,
        reason=value.reason,
        before=value.before,
        after=value.after,
        details=dict(value.details),
    )


def api_key(value: admin.ApiKey) -> t.ApiKey:
    """A key without its secret."""

    def time(field: str) -> datetime | None:
        return timestamp(getattr(value, field)) if value.HasField(field) else None

    return t.ApiKey(
        id=value.id,
        tenant=value.tenant,
        name=value.name,
        prefix=value.prefix,
        roles=tuple(_role(role) for role in value.roles),
        users=tuple(value.users),
        created_at=time("created_at"),
        expires_at=time("expires_at"),
        revoked_at=time("revoked_at"),
    )


def server_info(value: admin.GetServerInfoResponse) -> t.ServerInfo:
    """Facts about the server."""
    return t.ServerInfo(
        version=value.version,
        embedding_model=value.embedding_model,
        embedding_dimension=value.embedding_dimension,
        limits=dict(value.limits),
        now=timestamp(value.now) if value.HasField("now") else None,
    )


def jobs_view(value: admin.ListJobsResponse) -> t.JobsView:
    """The background work of a deployment."""
    return t.JobsView(
        jobs=tuple(map(_job_kind, value.jobs)),
        workers=value.workers,
        now=timestamp(value.now) if value.HasField("now") else None,
    )


def _job_kind(value: admin.JobKind) -> t.JobKind:
    return t.JobKind(
        name=value.name,
        every=value.every.ToTimedelta() if value.HasField("every") else None,
        due=value.due,
        next_due_at=timestamp(value.next_due_at) if value.HasField("next_due_at") else None,
        waiting=value.waiting,
        running=value.running,
        failed=value.failed,
        oldest_waiting=value.oldest_waiting.ToTimedelta(),
        last_run_at=timestamp(value.last_run_at) if value.HasField("last_run_at") else None,
        runs_done=value.runs_done,
        changed=value.changed,
        retried=value.retried,
        given_up=value.given_up,
    )


def step_run(value: admin.StepRun) -> t.StepRun:
    """What one step of upkeep did."""
    return t.StepRun(value.step, value.changed, value.error_reason, value.error_message)


def failed_job(value: admin.FailedJob) -> t.FailedJob:
    """A job that failed for good."""
    return t.FailedJob(
        id=value.id,
        name=value.name,
        user=value.user,
        attempts=value.attempts,
        reason=value.reason,
        failed_at=timestamp(value.failed_at) if value.HasField("failed_at") else None,
    )
