"""Correct: change what is remembered because it is wrong or outdated (E4, E11, P10; B1)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from memory_service.app.admission import Admission
from memory_service.app.commands import (
    Affected,
    ChangeMeta,
    ChangeResult,
    CorrectCommand,
    Effect,
    Nature,
    Statement,
)
from memory_service.app.drafts import Draft
from memory_service.app.replay import replayed, stored_outcome
from memory_service.app.service import Changes, for_writer, statement_payload
from memory_service.app.targets import check_etag, not_found, slot_key
from memory_service.app.validation import check_meta, check_name, check_slot, check_time
from memory_service.app.workspace import Authorship, Workspace, affected
from memory_service.domain import limits
from memory_service.domain.errors import Conflict, FailedPrecondition, InvalidInput, Reason
from memory_service.domain.ids import OwnerKey
from memory_service.domain.memory import (
    CURRENT_STATUSES,
    Assertion,
    MemoryHead,
    MemoryVersion,
    MergePolicy,
    Relation,
    Source,
    Status,
    Tier,
)
from memory_service.domain.records import JournalEvent, MemoryFilter
from memory_service.domain.slots import payload_digest

_OPERATION = "correct"
_ATTEMPTS_MAX = 5
CONTENT_FIELDS = frozenset({"text", "assertion"})
CORRECTABLE_FIELDS = CONTENT_FIELDS | {
    "kind",
    "topic",
    "tags",
    "confidence",
    "importance",
    "valid_from",
    "valid_to",
    "expires_at",
    "said_at",
    "visibility",
    "pinned",
    "source",
}
"""Fields an update mask may name."""


@dataclass(frozen=True, slots=True)
class Correct:
    """Corrects one memory, or what is remembered of a slot."""

    changes: Changes

    async def __call__(self, owner: OwnerKey, command: CorrectCommand, meta: ChangeMeta) -> ChangeResult:
        """Make the correction; durable when it returns.

        The old content stays in the history. With WRONG the memory gets a new version that holds for all the
        time the old one did; with OUTDATED a new memory supersedes it from `changed_at` on. A writer whose
        context had not seen the newest version makes a sibling instead, and both are contested.

        Raises:
            InvalidInput: for unusable fields, or a slot that holds several values.
            NotFound: MEMORY_NOT_FOUND. Conflict: ETAG_MISMATCH or a reused name.
            FailedPrecondition: MEMORY_NOT_CURRENT for a superseded or retracted memory.
        """
        fields = self._check(command, meta)
        for _ in range(_ATTEMPTS_MAX):
            base = await self._read_target(owner, command)
            draft = None
            if base is not None:
                merged = merge(base.current, command.statement, fields)
                draft = await self.changes.drafting.draft(merged, self.changes.clock.now())
            result = await self._commit(owner, command, fields, meta, base, draft)
            if result is not None:
                return for_writer(result, meta)
        raise Conflict(Reason.ETAG_MISMATCH, "the memory keeps changing; read it and try again", field="etag")

    def _check(self, command: CorrectCommand, meta: ChangeMeta) -> frozenset[str]:
        check_meta(meta)
        if (command.memory_id is None) == (command.slot is None):
            raise InvalidInput(Reason.FIELD_REQUIRED, "give either memory_id or slot", field="memory_id")
        if command.slot is not None:
            check_slot(command.slot)
        check_name(command.reason, "reason", limit=limits.REASON_CHARS_MAX)
        check_name(command.etag, "etag")
        check_time(command.changed_at, "changed_at")
        unknown = command.fields - CORRECTABLE_FIELDS
        if unknown:
            raise InvalidInput(
                Reason.FIELD_INVALID,
                "update_mask names what is not a field that can be corrected",
                field="update_mask",
                metadata={"known": ", ".join(sorted(CORRECTABLE_FIELDS))},
            )
        fields = command.fields or given_fields(command.statement)
        if not fields:
            raise InvalidInput(Reason.FIELD_REQUIRED, "memory must say what to correct", field="memory")
        return fields

    async def _read_target(self, owner: OwnerKey, command: CorrectCommand) -> MemoryHead | None:
        store = self.changes.store
        if command.memory_id is not None:
            return await store.get(owner, command.memory_id)
        assert command.slot is not None
        key = slot_key(command.slot, self.changes.vocabulary)
        where = MemoryFilter(slots=frozenset({key}), statuses=CURRENT_STATUSES)
        page = await store.list(owner, where, limit=limits.PAGE_SIZE_MAX)
        return pick(page.heads)

    async def _commit(
        self,
        owner: OwnerKey,
        command: CorrectCommand,
        fields: frozenset[str],
        meta: ChangeMeta,
        base: MemoryHead | None,
        draft: Draft | None,
    ) -> ChangeResult | None:
        """The result, or None when the target changed since it was read."""
        async with self.changes.store.change(owner) as change:
            workspace = Workspace.of(change, self.changes.ids)
            digest = payload_digest(workspace.state.salt, _OPERATION, _payload(command))
            known = await stored_outcome(workspace, _OPERATION, meta, digest)
            if known is not None:
                return await replayed(workspace, known)
            if base is None or draft is None:
                raise not_found(command.memory_id, "memory_id" if command.memory_id else "slot")
            (head,) = await change.heads([base.id]) or (None,)
            if head is None or head.current.version != base.current.version:
                return None
            check_etag(head, command.etag)
            if head.current.status not in CURRENT_STATUSES:
                raise FailedPrecondition(
                    Reason.MEMORY_NOT_CURRENT,
                    f"the memory is {head.current.status}; correct the one that stands, or roll back",
                    field="memory_id",
                )
            await workspace.load([head.current.slot, draft.slot], [draft.claim])
            workspace.adopt([head])
            by = self.changes.author(workspace, meta)
            result = self._decide(workspace, head, draft, command, fields, by)
            workspace.answer(_OPERATION, by, digest, result)
            await change.apply(workspace.changeset())
        self.changes.committed(owner, result.revision)
        return result

    def _decide(
        self,
        workspace: Workspace,
        head: MemoryHead,
        draft: Draft,
        command: CorrectCommand,
        fields: frozenset[str],
        by: Authorship,
    ) -> ChangeResult:
        admission = Admission(workspace, self.changes.ids, self.changes.parameters)
        if not by.context.saw(head.current.dot):
            merge_policy = draft.merge if draft.merge is not MergePolicy.UNION else MergePolicy.CONFIRM
            return admission.add(replace(draft, merge=merge_policy), [head], by)
        if not fields & CONTENT_FIELDS:
            return self._adjust(workspace, head, draft, fields, command, by)
        if command.nature is Nature.OUTDATED:
            changed_at = command.changed_at or by.now
            return admission.add(replace(draft, valid_from=changed_at, valid_to=None), [head], by)
        same = [other for other in workspace.with_claim(draft.claim) if other.id != head.id]
        if same:
            return self._merge_into(workspace, head, same[0], draft, by)
        return self._rewrite(workspace, admission, head, draft, command, by)

    def _rewrite(
        self,
        workspace: Workspace,
        admission: Admission,
        head: MemoryHead,
        draft: Draft,
        command: CorrectCommand,
        by: Authorship,
    ) -> ChangeResult:
        workspace.advance(by.dot)
        reason = command.reason or "corrected: the old value was never true"
        rivals = [h for h in admission.rivals_of(draft) if h.id != head.id]
        after = workspace.rewrite(head, draft, by, reason, support=1, status=Status.ACTIVE, tier=Tier.LONG_TERM)
        workspace.note(
            JournalEvent.CORRECTED,
            head.id,
            after.current.version,
            by,
            reason,
            before=head.current.status.value,
            after=Status.ACTIVE.value,
            details={"nature": command.nature.value, "old_version": head.current.version},
        )
        touched = [retract(workspace, rival, by, "the user corrected this slot") for rival in rivals]
        return _result(workspace, after, Effect.UPDATED, touched, by)

    def _adjust(
        self,
        workspace: Workspace,
        head: MemoryHead,
        draft: Draft,
        fields: frozenset[str],
        command: CorrectCommand,
        by: Authorship,
    ) -> ChangeResult:
        """Change what surrounds the content; the content, its source and its evidence stay."""
        workspace.advance(by.dot)
        named = {name: getattr(draft.statement, name) for name in fields}
        defaults: dict[str, object] = {"kind": draft.kind, "topic": draft.topic, "source": draft.source}
        defaults |= {"visibility": draft.visibility, "confidence": draft.confidence, "importance": 0.0}
        changed = {name: defaults.get(name) if value is None else value for name, value in named.items()}
        if fields & {"topic", "visibility"}:
            changed |= {"slot": draft.slot, "claim": draft.claim}
        reason = command.reason or f"adjusted: {', '.join(sorted(fields))}"
        after = workspace.revise(head, by, reason, **changed)
        workspace.note(JournalEvent.CORRECTED, head.id, after.current.version, by, reason)
        return _result(workspace, after, Effect.UPDATED, [], by)

    def _merge_into(
        self, workspace: Workspace, head: MemoryHead, other: MemoryHead, draft: Draft, by: Authorship
    ) -> ChangeResult:
        """The corrected value is already remembered: that memory carries it, this one was wrong."""
        workspace.advance(by.dot)
        reason = "corrected to a value that was already remembered"
        after = workspace.revise(
            other,
            by,
            reason,
            support=other.current.support + 1,
            status=Status.ACTIVE,
            confidence=max(other.current.confidence, draft.confidence),
        )
        workspace.link(head.id, Relation.MERGED_INTO, other.id)
        workspace.note(JournalEvent.SUPPORTED, other.id, after.current.version, by, reason)
        touched = [retract(workspace, head, by, reason)]
        return _result(workspace, after, Effect.SUPPORTED, touched, by)


def merge(old: MemoryVersion, statement: Statement, fields: frozenset[str]) -> Statement:
    """The statement the memory will make: the old one with `fields` taken from `statement`.

    Raises:
        InvalidInput: FIELD_REQUIRED when only the text of a structured memory is given, since its value would
            then say something else than its text.
    """
    assertion = old.assertion
    text = old.text
    if "assertion" in fields:
        assertion = _completed(old.assertion, statement.assertion)
        text = ""
    if "text" in fields:
        text = statement.text
        if "assertion" not in fields and assertion is not None and text != old.text:
            raise InvalidInput(
                Reason.FIELD_REQUIRED,
                "this memory is structured: give memory.assertion with its new object too",
                field="memory.assertion",
            )
    content = bool(fields & CONTENT_FIELDS)
    kept: dict[str, Any] = {name: getattr(old, name) for name in CORRECTABLE_FIELDS - CONTENT_FIELDS}
    kept["said_at"] = statement.said_at or old.said_at
    if content:
        # New content is a correction by the user, as certain as one, and about whatever its wording says.
        kept |= {"source": Source.EXPLICIT_CORRECTION, "confidence": None}
        kept["topic"] = old.topic if assertion is not None else ""
    given = {name: getattr(statement, name) for name in fields - CONTENT_FIELDS}
    provenance = old.provenance
    return Statement(
        text=text,
        assertion=assertion,
        time_zone=statement.time_zone,
        vector=statement.vector,
        agent=statement.agent or provenance.agent,
        session=statement.session or provenance.session,
        process=statement.process or provenance.process,
        reference=statement.reference or provenance.reference,
        **(kept | given),
    )


def _completed(old: Assertion | None, new: Assertion | None) -> Assertion | None:
    if new is None or old is None:
        return new
    return Assertion(new.subject or old.subject, new.predicate or old.predicate, new.object)


def given_fields(statement: Statement) -> frozenset[str]:
    """The correctable fields a statement sets."""
    return frozenset(name for name in CORRECTABLE_FIELDS if getattr(statement, name) not in (None, "", (), False))


def pick(heads: Sequence[MemoryHead]) -> MemoryHead | None:
    """The memory a correction of a slot is about: the newest of contested ones, else the only one.

    Raises:
        InvalidInput: when the slot holds several values that all stand, so that one must be named.
    """
    if len(heads) > 1 and any(head.current.status is Status.ACTIVE for head in heads):
        raise InvalidInput(
            Reason.FIELD_INVALID,
            f"the slot holds {len(heads)} values: name the memory_id of the one to correct",
            field="slot",
            metadata={"memory_ids": ",".join(str(head.id) for head in heads[:20])},
        )
    return max(heads, key=lambda head: head.current.revision, default=None)


def retract(workspace: Workspace, head: MemoryHead, by: Authorship, reason: str) -> Affected:
    """Stage that a memory was never true."""
    after = workspace.revise(head, by, reason, status=Status.RETRACTED)
    workspace.note(
        JournalEvent.RETRACTED,
        head.id,
        after.current.version,
        by,
        reason,
        before=head.current.status.value,
        after=Status.RETRACTED.value,
    )
    return affected(after, Effect.RETRACTED, reason)


def _result(
    workspace: Workspace, head: MemoryHead, effect: Effect, touched: Sequence[Affected], by: Authorship
) -> ChangeResult:
    return ChangeResult(head, effect, tuple(touched), workspace.state.revision, workspace.state.clock, by.dot)


def _payload(command: CorrectCommand) -> dict[str, object]:
    slot = command.slot
    return {
        "statement": statement_payload(command.statement),
        "memory_id": command.memory_id,
        "slot": [slot.subject, slot.predicate, slot.topic] if slot else None,
        "fields": sorted(command.fields),
        "etag": command.etag,
        "nature": command.nature.value,
        "changed_at": command.changed_at,
        "reason": command.reason,
    }
