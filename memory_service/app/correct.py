"""Correct: change what is remembered because it is wrong or outdated (E4, E11, P10; B1)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from memory_service.app.admission import Terms
from memory_service.app.commands import (
    ChangeMeta,
    ChangeResult,
    CorrectCommand,
    Effect,
    Nature,
    Statement,
)
from memory_service.app.drafts import Draft
from memory_service.app.one_at_a_time import OneAtATime
from memory_service.app.replay import replayed, stored_outcome
from memory_service.app.restating import Restating
from memory_service.app.rivals import EXPLICIT
from memory_service.app.service import Changes, for_writer, statement_payload
from memory_service.app.targets import check_etag, not_found, slot_key
from memory_service.app.validation import check_meta, check_name, check_slot, check_time
from memory_service.app.workspace import Authorship, Workspace
from memory_service.domain import limits
from memory_service.domain.errors import FailedPrecondition, InvalidInput, Reason, Unavailable
from memory_service.domain.ids import OwnerKey
from memory_service.domain.memory import (
    CURRENT_STATUSES,
    STANDING_STATUSES,
    Assertion,
    MemoryHead,
    MemoryVersion,
    Source,
    Status,
)
from memory_service.domain.records import JournalEvent, MemoryFilter, TombstoneScope
from memory_service.domain.slots import payload_digest

_OPERATION = "correct"
_ATTEMPTS_MAX = 16
"""Each is lost to a change that another replica or job made; corrections of this process wait for each other."""
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
    _writers: OneAtATime[tuple[OwnerKey, object]] = field(default_factory=OneAtATime)

    async def __call__(self, owner: OwnerKey, command: CorrectCommand, meta: ChangeMeta) -> ChangeResult:
        """Make the correction; durable when it returns.

        The old content stays in the history. With WRONG the memory gets a new version that holds for all the
        time the old one did; with OUTDATED a new memory supersedes it from `changed_at` on. A writer whose
        context had not seen the newest version makes a sibling instead, and both are contested.

        Raises:
            InvalidInput: for unusable fields, or a slot that holds several values.
            NotFound: MEMORY_NOT_FOUND. Conflict: ETAG_MISMATCH or a reused name.
            Unavailable: OVERLOADED when other changes of it were quicker again and again.
            FailedPrecondition: MEMORY_NOT_CURRENT for a superseded or retracted memory.
        """
        fields = self._check(command, meta)
        async with self._writers.held((owner, command.memory_id or command.slot)):
            return await self._attempt(owner, command, fields, meta)

    async def _attempt(
        self, owner: OwnerKey, command: CorrectCommand, fields: frozenset[str], meta: ChangeMeta
    ) -> ChangeResult:
        for _ in range(_ATTEMPTS_MAX):
            base = await self._read_target(owner, command)
            merged = None
            if base is not None:
                merged = merge(base.current, command.statement, fields)
            elif meta.context is not None:
                merged = _statement_of_slot(command)
            draft = None
            if merged is not None:
                draft = await self.changes.drafting_of(owner).draft(merged, self.changes.clock.now())
            result = await self._commit(owner, command, fields, meta, base, draft)
            if result is not None:
                return for_writer(result, meta)
        raise Unavailable(Reason.OVERLOADED, "the memory is changed too often at once")

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
        key = slot_key(command.slot, self.changes.vocabulary_of(owner))
        where = MemoryFilter(slots=frozenset({key}), statuses=CURRENT_STATUSES)
        page = await store.list(owner, where, limit=limits.PAGE_SIZE_MAX)
        now = self.changes.clock.now()
        # What ended, or only begins later, is meant when nothing of the slot holds now.
        return pick([head for head in page.heads if head.current.window.holds(now)] or page.heads)

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
            workspace = Workspace.of(change, self.changes.ids, owner)
            digest = payload_digest(workspace.state.salt, _OPERATION, _payload(command))
            known = await stored_outcome(workspace, _OPERATION, meta, digest)
            if known is not None:
                return await replayed(workspace, known)
            head = None
            if base is not None:
                (head,) = await change.heads([base.id]) or (None,)
                if head is None or head.current.version != base.current.version:
                    return None
                check_etag(head, command.etag)
                await workspace.load([head.current.slot], [])
                workspace.adopt([head])
            if draft is not None:
                await workspace.load([draft.slot], [draft.claim])
                await workspace.load_past([draft.slot] if draft.reaches_back or command.changed_at else [])
                if draft.source not in EXPLICIT:
                    await Restating(workspace).load(draft.text, draft.assertion)
            by = await self.changes.author(workspace, meta)
            if draft is None:
                result = await self._missing(workspace, command, by)
            elif head is None:
                terms = Terms(reason=command.reason, operation=_OPERATION)
                result = self.changes.admission(workspace).admit(draft, by, terms)
            else:
                seen = await workspace.state_seen(head, by)
                result = self._decide(workspace, head, draft, command, fields, by, seen=seen)
            workspace.answer(_OPERATION, by, digest, result)
            await self.changes.apply(workspace, by)
        self.changes.committed(owner, result.revision)
        self.changes.count_restated(workspace)
        return result

    async def _missing(self, workspace: Workspace, command: CorrectCommand, by: Authorship) -> ChangeResult:
        """A correction of something that is not there: forgotten meanwhile, or never there.

        A writer that had not seen the Forget is told that its correction is suppressed (remove wins); its change
        counts, so that its later ones are not held up.
        """
        if command.memory_id is not None and by.explicit_context:
            digest = workspace.digest(TombstoneScope.MEMORY, str(command.memory_id))
            stones = await workspace.change.tombstones([digest])
            if any(not by.knowledge.saw(stone.dot) for stone in stones):
                return self.changes.admission(workspace).suppress(by, _OPERATION)
        raise not_found(command.memory_id, "memory_id" if command.memory_id else "slot")

    def _decide(
        self,
        workspace: Workspace,
        head: MemoryHead,
        draft: Draft,
        command: CorrectCommand,
        fields: frozenset[str],
        by: Authorship,
        *,
        seen: bool,
    ) -> ChangeResult:
        admission = self.changes.admission(workspace)
        if head.current.status not in STANDING_STATUSES:
            if by.explicit_context and not seen:
                # Replaced by a change the writer had not seen: its own is a sibling of whatever stands now.
                # (The end of the old one's time was that change's doing, too.)
                open_ended = draft if "valid_to" in fields else replace(draft, valid_to=None)
                return admission.admit(open_ended, by, Terms(reason=command.reason, operation=_OPERATION))
            raise FailedPrecondition(
                Reason.MEMORY_NOT_CURRENT,
                f"the memory is {head.current.status}; correct the one that stands, or roll back",
                field="memory_id",
            )
        if not fields & CONTENT_FIELDS:
            return self._adjust(workspace, head, draft, fields, command, by)
        if not head.current.evidence.wholly_seen_by(by.knowledge) or head.current.merged:
            return admission.admit(draft, by, Terms(against=[head], reason=command.reason, operation=_OPERATION))
        if command.nature is Nature.OUTDATED:
            draft = replace(draft, valid_from=command.changed_at or by.now, valid_to=None)
            return admission.admit(draft, by, Terms(against=[head], reason=command.reason, operation=_OPERATION))
        reason = command.reason or "corrected: the old value was never true"
        terms = Terms(rewrites=head, retracts=True, reason=reason, operation=_OPERATION)
        result = admission.admit(draft, by, terms)
        if head.current.slot == draft.slot:
            return result
        touched = self.changes.settling(workspace).slots_of([head.current], by)
        return replace(result, affected=(*result.affected, *touched))

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
        workspace.advance(by, _OPERATION)
        named = {name: getattr(draft.statement, name) for name in fields}
        defaults: dict[str, object] = {"kind": draft.kind, "topic": draft.topic, "source": draft.source}
        defaults |= {"visibility": draft.visibility, "confidence": draft.confidence, "importance": 0.0}
        changed = {name: defaults.get(name) if value is None else value for name, value in named.items()}
        if fields & {"topic", "visibility"}:
            changed |= {"slot": draft.slot, "claim": draft.claim}
        reason = command.reason or f"adjusted: {', '.join(sorted(fields))}"
        after = workspace.revise(head, by, reason, **changed, dot=head.current.dot)
        self.changes.settling(workspace).note(JournalEvent.CORRECTED, head, after, by, reason)
        state = workspace.state
        return ChangeResult(after, Effect.UPDATED, (), state.revision, state.clock, by.dot)


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


def _statement_of_slot(command: CorrectCommand) -> Statement | None:
    """What a correction of an empty slot says by itself; None when it does not say a value."""
    slot, assertion = command.slot, command.statement.assertion
    if slot is None or slot.topic or assertion is None:
        return None
    whole = Assertion(slot.subject, slot.predicate, assertion.object)
    return replace(command.statement, assertion=whole, source=Source.EXPLICIT_CORRECTION)


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
