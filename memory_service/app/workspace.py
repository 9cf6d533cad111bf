"""One owner's memories as a change reads and rewrites them, before it is committed.

Later statements of a batch see what earlier ones did. Everything staged becomes one `Changeset`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from memory_service.app.commands import Affected, ChangeMeta, ChangeResult, Effect, pack_result
from memory_service.app.drafts import Draft
from memory_service.app.fragmenting import waiting_fragments
from memory_service.domain import lifecycle
from memory_service.domain.errors import InternalError, Reason
from memory_service.domain.evidence import RETIRED, Knowledge, Retirement
from memory_service.domain.fingerprint import fingerprint, pack
from memory_service.domain.ids import DeviceId, MemoryId, OwnerKey, Revision
from memory_service.domain.memory import (
    STANDING_STATUSES,
    MemoryHead,
    MemoryVersion,
    Provenance,
    Relation,
    Status,
    Tier,
    Usage,
)
from memory_service.domain.merging import MERGED
from memory_service.domain.records import (
    ChangeRecord,
    Changeset,
    Fragment,
    JobRequest,
    JournalEntry,
    JournalEvent,
    Link,
    MemoryFilter,
    OwnerState,
    StoredOutcome,
    Tombstone,
    TombstoneScope,
)
from memory_service.domain.slots import tombstone_digest
from memory_service.domain.vector_clock import Dot, VectorClock
from memory_service.ports.clock import Ids
from memory_service.ports.memory_store import OwnerChange

"""Newest forgotten wordings that an inferred statement is compared with."""
PAST_VALUES_MAX = 1_000
"""Replaced values of a slot that a statement about the past may limit."""


@dataclass(frozen=True, slots=True)
class Authorship:
    """Who makes the change being staged: its dot, what its writer had seen, when and as whom."""

    meta: ChangeMeta
    dot: Dot
    context: VectorClock
    now: datetime
    explicit_context: bool
    retired: Mapping[DeviceId, Retirement] = field(default_factory=dict)

    @property
    def knowledge(self) -> Knowledge:
        """The context, read with what is known of retired devices."""
        return Knowledge(self.context, self.retired)


_Move = tuple[lifecycle.State | None, lifecycle.State]
"""A memory's state before a version staged here, and after it."""


@dataclass(slots=True)
class Workspace:
    """See the module. `state` moves forward with every accepted change.

    Attributes:
        wordings: fingerprints of what was forgotten with their tombstones, once loaded.
        told: what the user told since something was forgotten that a guess resembles (see `restating`).
        restated: guesses suppressed here because they say in other words what was forgotten.
    """

    change: OwnerChange
    state: OwnerState
    owner: OwnerKey
    heads: dict[MemoryId, MemoryHead] = field(default_factory=dict)
    tombstones: dict[bytes, list[Tombstone]] = field(default_factory=dict)
    _by_slot: dict[str, list[MemoryId]] = field(default_factory=dict)
    _by_claim: dict[str, list[MemoryId]] = field(default_factory=dict)
    _versions: list[MemoryVersion] = field(default_factory=list)
    _usage: dict[MemoryId, Usage] = field(default_factory=dict)
    _fragments: list[Fragment] = field(default_factory=list)
    _links: dict[Link, None] = field(default_factory=dict)
    _journal: list[JournalEntry] = field(default_factory=list)
    _new_tombstones: list[Tombstone] = field(default_factory=list)
    _forgotten: dict[MemoryId, None] = field(default_factory=dict)
    _outcomes: list[StoredOutcome] = field(default_factory=list)
    _changes: list[ChangeRecord] = field(default_factory=list)
    _thawed: dict[MemoryId, None] = field(default_factory=dict)
    _moves: dict[tuple[MemoryId, int], _Move] = field(default_factory=dict)
    _jobs: list[JobRequest] = field(default_factory=list)
    _retired_now: dict[DeviceId, Retirement] = field(default_factory=dict)
    retired: dict[DeviceId, Retirement] = field(default_factory=dict)
    _unsaid: dict[tuple[MemoryId, str], None] = field(default_factory=dict)
    wordings: list[tuple[Tombstone, dict[int, int]]] | None = None
    told: list[MemoryHead] = field(default_factory=list)
    restated: int = 0

    @classmethod
    def of(cls, change: OwnerChange, ids: Ids, owner: OwnerKey) -> Workspace:
        """A workspace at the owner's present state; an owner without history gets its salt here."""
        state = change.state
        if not state.salt:
            chance = b"".join(ids.new().bytes for _ in range(4))
            state = replace(state, salt=hashlib.blake2b(chance, digest_size=32).digest())
        return cls(change=change, state=state, owner=owner)

    # Reading -----------------------------------------------------------------------------------------------

    async def load(self, slots: Iterable[str], claims: Iterable[str]) -> None:
        """Fetch the current heads of these slots and claims that are not here yet, and their tombstones."""
        new_slots = [s for s in dict.fromkeys(slots) if s and s not in self._by_slot]
        new_claims = [c for c in dict.fromkeys(claims) if c and c not in self._by_claim]
        for slot in new_slots:
            self._by_slot[slot] = []
        for claim in new_claims:
            self._by_claim[claim] = []
        if self.state.revision == 0:
            return
        if new_slots:
            self.adopt(await self.change.heads_in_slots(new_slots))
        if new_claims:
            self.adopt(await self.change.heads_of_claims(new_claims))
        digests = [self.digest(TombstoneScope.SLOT, s) for s in new_slots]
        digests += [self.digest(TombstoneScope.CLAIM, c) for c in new_claims]
        if digests:
            for stone in await self.change.tombstones(digests):
                self.tombstones.setdefault(stone.digest, []).append(stone)
        await self._load_retirements()

    async def _load_retirements(self) -> None:
        """Fetch what is known of devices whose changes are here but which the clock no longer names."""
        if not self.state.clock.counter(RETIRED):
            return
        dots = [a.dot for head in self.heads.values() for a in head.current.evidence]
        dots += [head.current.dot for head in self.heads.values()]
        dots += [stone.dot for stones in self.tombstones.values() for stone in stones]
        await self.load_retirements(dot.device for dot in dots)

    async def load_retirements(self, devices: Iterable[DeviceId]) -> None:
        """Fetch what is known of those of these devices that the clock does not name."""
        if not self.state.clock.counter(RETIRED):
            return
        unknown = [d for d in dict.fromkeys(devices) if d not in self.state.clock and d not in self.retired]
        if unknown:
            for device, record in (await self.change.devices(unknown)).items():
                if record.retirement is not None:
                    self.retired[device] = record.retirement

    async def retire_idle(self, active_max: int, excused: Iterable[DeviceId]) -> None:
        """Fold the least recently seen devices once the clock names more than `active_max`.

        A quarter goes at once, so that it is rarely done. Each fold is one change of the retired actor: a
        context that holds it has seen all that the device did.
        """
        clock = self.state.clock
        if len(clock) <= active_max:
            return
        spared = {RETIRED, *excused}
        wanted = len(clock) - active_max + active_max // 4
        records = await self.change.idle_devices(limit=wanted + len(spared))
        counters = dict(clock)
        folds = clock.counter(RETIRED)
        for record in [r for r in records if r.device not in spared and r.device in counters][:wanted]:
            folds += 1
            self._retired_now[record.device] = Retirement(counters.pop(record.device), folds)
        counters[RETIRED] = folds
        self.state = replace(self.state, clock=VectorClock(counters))

    async def state_seen(self, head: MemoryHead, by: Authorship) -> bool:
        """Whether the writer had seen the change that brought a memory into its present state."""
        if not by.explicit_context:
            return True
        records = await self.change.changes_at([head.current.revision])
        dots = [record.dot for record in records] or [head.current.dot]
        await self.load_retirements(dot.device for dot in dots)
        return all(by.knowledge.saw(dot) for dot in dots)

    async def load_origins(self, ids: Sequence[MemoryId]) -> list[MemoryId]:
        """Fetch the tombstones of those memories that are not there (any more); the ids of those never there."""
        missing = [i for i in dict.fromkeys(ids) if i not in self.heads and not self.origin_stones([i])]
        if missing and self.state.revision:
            there = {head.id for head in await self.change.heads(missing)}
            missing = [i for i in missing if i not in there]
        if missing and self.state.revision:
            digests = {self.digest(TombstoneScope.MEMORY, str(i)): i for i in missing}
            for stone in await self.change.tombstones(list(digests)):
                self.tombstones.setdefault(stone.digest, []).append(stone)
        return [i for i in missing if not self.origin_stones([i])]

    def is_forgotten(self, memory_id: MemoryId) -> bool:
        """Whether a memory is forgotten in this change."""
        return memory_id in self._forgotten

    def adopt(self, heads: Iterable[MemoryHead]) -> None:
        """Take heads that were read, unless a newer version of them is staged here."""
        for head in heads:
            if head.id not in self._forgotten:
                # One that is here already may have been read for its slot, and now be looked for by its claim.
                self._place(self.heads.get(head.id, head))

    async def load_past(self, slots: Iterable[str]) -> None:
        """Fetch the values of these (loaded) slots that were replaced, at most `PAST_VALUES_MAX` of them."""
        wanted = frozenset(slot for slot in slots if slot)
        if wanted and self.state.revision:
            where = MemoryFilter(slots=wanted, statuses=frozenset({Status.SUPERSEDED}))
            self.adopt(await self.change.select(where, limit=PAST_VALUES_MAX))

    def past_of(self, slot: str) -> list[MemoryHead]:
        """Superseded heads of a slot, as far as they were loaded or replaced in this change.

        What was merged is none: no other value took its place.
        """
        heads = [self.heads[i] for i in self._by_slot.get(slot, ()) if i in self.heads]
        past = [h for h in heads if h.current.slot == slot and h.current.status is Status.SUPERSEDED]
        return [h for h in past if h.current.reason != MERGED]

    def in_slot(self, slot: str) -> list[MemoryHead]:
        """Current heads of a loaded slot."""
        return [head for head in self._current(self._by_slot.get(slot, ())) if head.current.slot == slot]

    def with_claim(self, claim: str) -> list[MemoryHead]:
        """Current heads of a loaded claim."""
        return [head for head in self._current(self._by_claim.get(claim, ())) if head.current.claim == claim]

    def _current(self, ids: Iterable[MemoryId]) -> list[MemoryHead]:
        heads = (self.heads[i] for i in dict.fromkeys(ids) if i in self.heads)
        return [head for head in heads if head.current.status in STANDING_STATUSES]

    def digest(self, scope: TombstoneScope, key: str) -> bytes:
        """The digest under which tombstones of this owner name a memory, claim or slot."""
        return tombstone_digest(self.state.salt, scope.value, key)

    def stones(self, slot: str, claim: str) -> list[Tombstone]:
        """Tombstones of a loaded slot and claim."""
        found = list(self.tombstones.get(self.digest(TombstoneScope.SLOT, slot), ())) if slot else []
        found += self.tombstones.get(self.digest(TombstoneScope.CLAIM, claim), ()) if claim else ()
        return found

    def forgotten_since(self, version: MemoryVersion) -> bool:
        """Whether what a version says, its slot and claim loaded, was forgotten after it was made (B3)."""
        return any(stone.revision > version.revision for stone in self.stones(version.slot, version.claim))

    def origin_stones(self, ids: Iterable[MemoryId]) -> list[Tombstone]:
        """Tombstones of loaded memories."""
        digests = (self.digest(TombstoneScope.MEMORY, str(i)) for i in ids)
        return [stone for digest in digests for stone in self.tombstones.get(digest, ())]

    # Staging -----------------------------------------------------------------------------------------------

    def advance(self, by: Authorship, operation: str, created: int = 0) -> Revision:
        """Accept a change: the owner's clock and revision move on, and the change is on record."""
        revision = Revision(self.state.revision + 1)
        self.state = replace(
            self.state,
            revision=revision,
            clock=self.state.clock.including(by.dot),
            memory_count=self.state.memory_count + created,
        )
        self._changes.append(ChangeRecord(revision, by.dot, operation, by.meta.actor, by.meta.agent, by.now))
        return revision

    def create(self, memory_id: MemoryId, draft: Draft, by: Authorship, reason: str, **fixed: object) -> MemoryHead:
        """Stage the first version of a memory; `fixed` overrides the draft's fields."""
        version = self._from_draft(memory_id, draft, by, reason)
        if fixed:
            version = replace(version, **fixed)  # type: ignore[arg-type]
        head = MemoryHead(version, Usage(last_confirmed_at=by.now), created_at=by.now)
        self._stage(head)
        self._usage[memory_id] = head.usage
        self._fragments.extend(draft.fragments(memory_id, version.content_version))
        for origin in draft.statement.derived_from:
            self.link(memory_id, Relation.DERIVED_FROM, origin)
        return head

    def create_version(self, version: MemoryVersion, fragments: Sequence[Fragment], by: Authorship) -> MemoryHead:
        """Stage the first version of a memory that no draft made."""
        head = MemoryHead(version, Usage(last_confirmed_at=by.now), created_at=by.now)
        self._stage(head)
        self._usage[version.id] = head.usage
        self._fragments.extend(fragments)
        self.state = replace(self.state, memory_count=self.state.memory_count + 1)
        return head

    def revise(self, head: MemoryHead, by: Authorship, reason: str, **changes: object) -> MemoryHead:
        """Stage the next version of a memory with these fields changed."""
        old = head.current
        fields: dict[str, object] = {
            "version": old.version + 1,
            "revision": self.state.revision,
            "recorded_at": max(by.now, old.recorded_at),
            "dot": by.dot,
            "context": by.context,
            "reason": reason,
        }
        version = replace(old, **(fields | changes))  # type: ignore[arg-type]
        revised = replace(self._hot(head), current=version)
        self._stage(revised, old)
        return revised

    def rewrite(self, head: MemoryHead, draft: Draft, by: Authorship, reason: str, **fixed: object) -> MemoryHead:
        """Stage the next version of a memory with the draft's content in place of its own."""
        old = head.current
        fresh = self._from_draft(head.id, draft, by, reason)
        fields: dict[str, object] = {
            "version": old.version + 1,
            "content_version": old.version + 1,
            "recorded_at": max(by.now, old.recorded_at),
        }
        version = replace(fresh, **(fields | fixed))  # type: ignore[arg-type]
        revised = replace(self._hot(head), current=version)
        self._stage(revised, old)
        self._fragments.extend(draft.fragments(head.id, version.content_version))
        return revised

    def use(self, head: MemoryHead, usage: Usage) -> MemoryHead:
        """Stage new counters of use."""
        used = replace(self._hot(head), usage=usage)
        self.heads[head.id] = used
        self._usage[head.id] = usage
        return used

    def _hot(self, head: MemoryHead) -> MemoryHead:
        """A memory that is to change; from cold storage it comes back (E15)."""
        if not head.cold:
            return head
        self._thawed[head.id] = None
        return replace(head, cold=False)

    async def thaw(self) -> None:
        """Stage what is searched of the memories that come back: pieces of every text they had.

        Their vectors come from the file, or are made anew: no file is read while the owner is locked.
        """
        for memory_id in self._thawed:
            said = {v.content_version: v for v in await self.change.versions(memory_id) if not v.redacted}
            for content_version, version in said.items():
                own = waiting_fragments(memory_id, content_version, version.text, version.assertion)
                more = self.staged_fragments(memory_id, content_version)  # other words it is now searched by
                key = (memory_id, content_version)
                others = [f for f in self._fragments if (f.memory_id, f.content_version) != key]
                after = [replace(f, ordinal=len(own) + place) for place, f in enumerate(more) if f.ordinal >= 0]
                self._fragments = [*others, *own, *after]

    def forget(self, head: MemoryHead) -> None:
        """Stage the end of a memory."""
        self._forgotten[head.id] = None
        self.heads.pop(head.id, None)
        self._usage.pop(head.id, None)
        self.state = replace(self.state, memory_count=self.state.memory_count - 1)

    def tombstone(self, scope: TombstoneScope, key: str, by: Authorship, claims: Sequence[str] = ()) -> None:
        """Stage a tombstone; a memory's knows the claims that go with it."""
        digests = tuple(self.digest(TombstoneScope.CLAIM, claim) for claim in claims)
        self.tombstone_of_digest(scope, self.digest(scope, key), by, digests)

    def tombstone_of_digest(
        self, scope: TombstoneScope, digest: bytes, by: Authorship, claims: tuple[bytes, ...] = ()
    ) -> None:
        """Stage a tombstone of something that is known by its digest only."""
        stone = Tombstone(
            scope=scope,
            digest=digest,
            dot=by.dot,
            context=by.context,
            at=by.now,
            revision=self.state.revision,
            claims=claims,
        )
        self._new_tombstones.append(stone)
        self.tombstones.setdefault(stone.digest, []).append(stone)

    def unsay(self, memory_id: MemoryId, text: str) -> None:
        """Stage that a memory is no longer searched by a text that another one said."""
        self._unsaid[memory_id, text] = None

    def stop_wording(self, text: str, by: Authorship) -> None:
        """Stage that what restates `text`, and is merely inferred, does not come back (B3)."""
        buckets = fingerprint(text, self.state.salt)
        if buckets:
            self.tombstone_of_digest(TombstoneScope.WORDING, pack(buckets), by)
            if self.wordings is not None:
                self.wordings.append((self._new_tombstones[-1], buckets))

    def enqueue(self, request: JobRequest) -> None:
        """Stage work that follows from the change, to be done later by whichever worker is free (P2)."""
        self._jobs.append(request)

    def link(self, from_id: MemoryId, relation: Relation, to_id: MemoryId) -> None:
        """Stage a link, once."""
        self._links[Link(from_id, relation, to_id)] = None

    def staged_links(self, ids: Sequence[MemoryId], relation: Relation) -> list[Link]:
        """Links of this relation staged from or to any of `ids`."""
        wanted = set(ids)
        return [k for k in self._links if k.relation is relation and (k.from_id in wanted or k.to_id in wanted)]

    def note(
        self,
        event: JournalEvent,
        memory_id: MemoryId,
        version: int,
        by: Authorship,
        reason: str,
        *,
        before: str = "",
        after: str = "",
        details: Mapping[str, str | int | float | bool] | None = None,
    ) -> None:
        """Stage a journal entry; a change of state also tells the tiers, where the tier changes.

        Raises:
            InternalError: for a change of state that a memory's life does not have (see `lifecycle`).
        """
        told = dict(details or {})
        before_state, after_state = self._moves.get((memory_id, version), (None, None))
        if event is not JournalEvent.FORGOTTEN:  # which every memory may be
            lifecycle.check(event, before_state, after_state)
        if before_state and after_state and before_state.tier is not after_state.tier:
            told |= {"tier_before": before_state.tier.value, "tier_after": after_state.tier.value}
        self._journal.append(
            JournalEntry(
                revision=self.state.revision,
                ordinal=sum(1 for entry in self._journal if entry.revision == self.state.revision),
                event=event,
                memory_id=memory_id,
                version=version,
                at=by.now,
                actor=by.meta.actor,
                device=by.dot.device,
                reason=reason,
                before=before,
                after=after,
                details=told,
            )
        )

    def answer(
        self,
        operation: str,
        by: Authorship,
        payload_digest: bytes,
        result: ChangeResult,
        *,
        extra: Mapping[str, object] | None = None,
    ) -> ChangeResult:
        """Stage what a retry of this change will be told, when it could be retried by name."""
        if by.meta.request_id or by.meta.counter:
            self._outcomes.append(
                StoredOutcome(
                    operation=operation,
                    request_id=by.meta.request_id,
                    dot=by.dot,
                    payload_digest=payload_digest,
                    outcome=pack_result(result) | dict(extra or {}),
                    revision=self.state.revision,
                    at=by.now,
                )
            )
        return result

    def staged_outcome(self, request_id: str, dot: Dot | None) -> StoredOutcome | None:
        """An answer staged earlier in the same commit."""
        for outcome in self._outcomes:
            if (request_id and outcome.request_id == request_id) or (dot is not None and outcome.dot == dot):
                return outcome
        return None

    def staged_fragments(self, memory_id: MemoryId, content_version: int) -> list[Fragment]:
        """Fragments staged in this commit for one text of a memory."""
        return [f for f in self._fragments if f.memory_id == memory_id and f.content_version == content_version]

    def staged_ids(self) -> list[MemoryId]:
        """Memories that have a version staged in this commit, each once, in order."""
        return list(dict.fromkeys(version.id for version in self._versions if version.id in self.heads))

    def reword(self, fragments: Sequence[Fragment]) -> None:
        """Stage another wording of what a memory says, to be searched by as well (F5)."""
        self._fragments.extend(fragments)

    @property
    def dirty(self) -> bool:
        """Whether anything was accepted."""
        return self.state.revision != self.change.state.revision

    def changeset(self) -> Changeset:
        """Everything staged. Versions of memories forgotten later in the same commit are kept as redacted.

        Raises:
            InternalError: a change of state that the journal does not tell of.
        """
        told = {(entry.memory_id, entry.version) for entry in self._journal}
        for move, (before, after) in self._moves.items():
            if before != after and move not in told:
                raise InternalError(Reason.INTERNAL, f"a memory went from {before} to {after} and nobody said why")
        return Changeset(
            state=self.state,
            versions=tuple(self._versions),
            usage={i: u for i, u in self._usage.items() if i not in self._forgotten},
            fragments=tuple(f for f in self._fragments if f.memory_id not in self._forgotten),
            links=tuple(self._links),
            journal=tuple(self._journal),
            tombstones=tuple(self._new_tombstones),
            forgotten=tuple(self._forgotten),
            unsaid=tuple((i, text) for i, text in self._unsaid if i not in self._forgotten),
            outcomes=tuple(self._outcomes),
            changes=tuple(self._changes),
            retired=dict(self._retired_now),
            thawed=tuple(self._thawed),
            jobs=tuple(self._jobs),
        )

    def _stage(self, head: MemoryHead, before: MemoryVersion | None = None) -> None:
        state = None if before is None else lifecycle.State.of(before)
        self._moves[head.id, head.current.version] = (state, lifecycle.State.of(head.current))
        self._versions.append(head.current)
        self._place(head)

    def _place(self, head: MemoryHead) -> None:
        self.heads[head.id] = head
        version = head.current
        if version.slot in self._by_slot and head.id not in self._by_slot[version.slot]:
            self._by_slot[version.slot].append(head.id)
        if version.claim in self._by_claim and head.id not in self._by_claim[version.claim]:
            self._by_claim[version.claim].append(head.id)

    def _from_draft(self, memory_id: MemoryId, draft: Draft, by: Authorship, reason: str) -> MemoryVersion:
        statement = draft.statement
        return MemoryVersion(
            id=memory_id,
            version=1,
            content_version=1,
            kind=draft.kind,
            text=draft.text,
            topic=draft.topic,
            slot=draft.slot,
            claim=draft.claim,
            source=draft.source,
            confidence=draft.confidence,
            importance=draft.importance,
            support=1,
            tier=Tier.LONG_TERM,
            status=Status.ACTIVE,
            recorded_at=by.now,
            dot=by.dot,
            context=by.context,
            revision=self.state.revision,
            provenance=provenance(draft, by),
            assertion=draft.assertion,
            tags=statement.tags,
            language=draft.language,
            valid_from=draft.valid_from,
            valid_to=draft.valid_to,
            expires_at=draft.expires_at,
            said_at=statement.said_at,
            visibility=draft.visibility,
            pinned=statement.pinned,
            reason=reason,
        )


def provenance(draft: Draft, by: Authorship) -> Provenance:
    """Where a version made from this draft comes from."""
    statement = draft.statement
    return Provenance(
        actor=by.meta.actor,
        device=by.meta.device,
        agent=statement.agent,
        session=statement.session,
        process=statement.process,
        reference=statement.reference,
    )


def affected(head: MemoryHead, effect: Effect, reason: str) -> Affected:
    """An `Affected` of a head that is still there."""
    return Affected(head.id, effect, head, reason)
