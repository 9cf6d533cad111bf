"""Forget: remove memories with everything kept of their content, and keep them from coming back (F8, B3, C12)."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import cast

from memory_service.app.cache_drops import CacheDrops
from memory_service.app.causality import context_after
from memory_service.app.commands import (
    ChangeMeta,
    ChangeResult,
    Effect,
    ForgetCommand,
    ForgetResult,
    SlotRef,
    Statement,
)
from memory_service.app.disputes import left_alone
from memory_service.app.fragmenting import WHOLE_WIDTH_MAX, fragment, width
from memory_service.app.merging import Merging
from memory_service.app.replay import clock_of, stored_outcome
from memory_service.app.restating import said_by, sayings
from memory_service.app.service import Changes, statement_payload
from memory_service.app.session_blocks import PROCESS as SUMMARY_PROCESS
from memory_service.app.session_memos import Memos
from memory_service.app.session_stones import stop_turns
from memory_service.app.targets import not_found, slot_key
from memory_service.app.validation import check_list, check_meta, check_name, check_slot, check_statement
from memory_service.app.workspace import Authorship, Workspace
from memory_service.domain import limits
from memory_service.domain.errors import InvalidInput, MemoryServiceError, Reason
from memory_service.domain.fingerprint import fingerprint, restates
from memory_service.domain.ids import MemoryId, OwnerKey, Revision
from memory_service.domain.memory import Kind, MemoryHead, MemoryVersion, Relation, Source, Status, Visibility
from memory_service.domain.records import (
    JournalEvent,
    MemoryFilter,
    StoredOutcome,
    Tombstone,
    TombstoneScope,
)
from memory_service.domain.session.model import SessionId
from memory_service.domain.slots import (
    audience,
    claim_of_assertion,
    claim_of_text,
    payload_digest,
    same_slot,
    slot_of_assertion,
)
from memory_service.domain.text import normalise
from memory_service.ports.sessions import SessionStore

_OPERATION = "forget"
_LOOKUP_MAX = 500


@dataclass(frozen=True, slots=True)
class Forget:
    """Forgets memories by id, by slot or by filter."""

    changes: Changes
    drops: CacheDrops
    sessions: SessionStore | None = None
    memos: Memos | None = None

    async def __call__(self, owner: OwnerKey, command: ForgetCommand, meta: ChangeMeta) -> ForgetResult:
        """Forget what the command names and what was derived from it, in one commit.

        When it returns, rows, vectors and this process's copies are gone (those in the shared cache too, or
        as soon as it answers again), earlier versions hold no content, and tombstones stop a late or repeated
        statement of the same from coming back. A concurrent edit of a forgotten memory does not save it: remove
        wins.

        Raises:
            InvalidInput: unless exactly one target is given and it names something.
            NotFound: MEMORY_NOT_FOUND when one of the ids never was this user's. Ids forgotten before are
                passed over.
        """
        where = self._check(command, meta)
        result, said = await self._commit(owner, command, meta, where)
        if not command.validate_only:
            # A retry too: the caches may not have heard of the first one.
            self.changes.committed(owner, result.revision)
            await self.drops.drop(owner)
        if not command.validate_only and not result.replayed:
            self.changes.telemetry.count("memories_forgotten_total", len(result.ids))
            await self._forget_turns(owner, said, result.revision)
        return result

    async def _forget_turns(self, owner: OwnerKey, said: Mapping[SessionId, Sequence[str]], at: Revision) -> None:
        """Take the turns out of sessions under way. The forgetting is committed: when working memory is away this
        is counted, and they stay there until their time ends. What is then made of such a session meets the
        session's tombstone (`Summaries`)."""
        for session, turn_ids in said.items():
            try:
                if self.sessions is not None:
                    await self.sessions.forget_turns(owner, session, turn_ids, self.changes.clock.now(), at)
            except MemoryServiceError as error:
                self.changes.telemetry.count("session_forget_failures_total", reason=error.reason.value)
        if self.memos is not None:
            self.memos.drop_owner(str(owner.id))

    async def _commit(
        self, owner: OwnerKey, command: ForgetCommand, meta: ChangeMeta, where: MemoryFilter | None
    ) -> tuple[ForgetResult, Mapping[SessionId, Sequence[str]]]:
        """The answer, and the turns that what was forgotten came from."""
        async with self.changes.store.change(owner) as change:
            workspace = Workspace.of(change, self.changes.ids, owner)
            digest = payload_digest(workspace.state.salt, _OPERATION, _payload(command))
            known = None
            if not command.validate_only:
                known = await stored_outcome(workspace, _OPERATION, meta, digest)
            if known is not None:
                return _replayed(known, meta), {}
            heads = await self._with_summaries(workspace, await self._targets(workspace, command, where))
            if command.validate_only:
                preview = tuple(heads[: limits.PREVIEW_MEMORIES_MAX])
                state = workspace.state
                return ForgetResult([h.id for h in heads], preview, state.revision, state.clock, None), {}
            by = await self.changes.author(workspace, meta)
            heads = await self._with_restated(workspace, heads, by)
            said = await _source_turns(workspace, heads)
            result = await self._forget(workspace, heads, command, by, digest)
            for session, turn_ids in said.items():
                stop_turns(workspace, session, turn_ids, by)
            await self.changes.apply(workspace, by)
        return result, said

    def _check(self, command: ForgetCommand, meta: ChangeMeta) -> MemoryFilter | None:
        check_meta(meta)
        check_name(command.reason, "reason", limit=limits.REASON_CHARS_MAX)
        given = [bool(command.ids), command.slot is not None, command.says is not None, command.where is not None]
        if sum(given) != 1:
            raise InvalidInput(
                Reason.FIELD_REQUIRED, "give exactly one of memories, slot, statement and filter", field="memories"
            )
        check_list(command.ids, "memories.ids", limits.FORGET_IDS_MAX)
        if command.slot is not None:
            check_slot(command.slot)
        if command.says is not None:
            check_statement(command.says, "statement")
        if command.where is not None and command.where == MemoryFilter():
            raise InvalidInput(Reason.FIELD_REQUIRED, "filter needs at least one condition", field="filter")
        return command.where

    async def _targets(
        self, workspace: Workspace, command: ForgetCommand, where: MemoryFilter | None
    ) -> list[MemoryHead]:
        change = workspace.change
        if command.says is not None:
            claim = self._claim(workspace.owner, command.says)
            heads = list(await change.heads_of_claims([claim], standing_only=False))
            return await self._with_derived(workspace, heads)
        if command.ids:
            heads = list(await change.heads(list(dict.fromkeys(command.ids))))
            await self._check_known(workspace, command.ids, heads)
            heads += await self._said_again(workspace, command.ids)
        else:
            if command.slot is not None:
                heads = await self._of_slot(workspace, command.slot)
            else:
                assert where is not None
                heads = list(
                    await change.select(where, limit=self.changes.parameters_of(workspace.owner).memories_max)
                )
        return await self._with_derived(workspace, await self._with_same_claims(workspace, heads))

    def _claim(self, owner: OwnerKey, says: Statement) -> str:
        """The claim a statement makes."""
        who = audience(says.visibility or Visibility.SHARED, says.agent)
        if says.assertion is None:
            return claim_of_text(says.text, who)
        words = self.changes.vocabulary_of(owner)
        predicate = words.resolve(says.assertion.predicate, "statement.assertion.predicate")
        slot = slot_of_assertion(says.assertion.subject, predicate.name, who)
        return claim_of_assertion(slot, says.assertion.object)

    async def _with_same_claims(self, workspace: Workspace, heads: Sequence[MemoryHead]) -> list[MemoryHead]:
        """`heads` and whatever else says the same, now or in the past: what is forgotten is a claim, not a row."""
        found = {head.id: head for head in heads}
        claims = list(dict.fromkeys(head.current.claim for head in heads if head.current.claim))
        for start in range(0, len(claims), _LOOKUP_MAX):
            some = claims[start : start + _LOOKUP_MAX]
            for head in await workspace.change.heads_of_claims(some, standing_only=False):
                found.setdefault(head.id, head)
        return list(found.values())

    async def _of_slot(self, workspace: Workspace, slot: SlotRef) -> list[MemoryHead]:
        """What is remembered of a slot, by everybody and by each agent for itself."""
        words = self.changes.vocabulary_of(workspace.owner)
        key = slot_key(slot, words)
        most = self.changes.parameters_of(workspace.owner).memories_max
        shared = await workspace.change.select(MemoryFilter(slots=frozenset({key})), limit=most)
        found = {head.id: head for head in shared}
        if slot.topic:
            # Topics are stored as they were spelt.
            spellings = {slot.topic, normalise(slot.topic), *(head.current.topic for head in shared)}
            kin = MemoryFilter(topics=frozenset(spellings))
        else:
            predicate = words.resolve(slot.predicate, "slot.predicate").name
            kin = MemoryFilter(predicates=frozenset({predicate}))
        for head in await workspace.change.select(kin, limit=most):
            if same_slot(head.current.slot, key):
                found[head.id] = head
        return list(found.values())

    async def _check_known(self, workspace: Workspace, ids: Sequence[MemoryId], heads: Sequence[MemoryHead]) -> None:
        there = {head.id for head in heads}
        forgotten = {stone.digest for stone in await self._forgotten_before(workspace, ids)}
        for memory_id in dict.fromkeys(ids):
            gone = workspace.digest(TombstoneScope.MEMORY, str(memory_id)) in forgotten
            if memory_id not in there and not gone:
                raise not_found(memory_id, "memories.ids")

    async def _forgotten_before(self, workspace: Workspace, ids: Sequence[MemoryId]) -> list[Tombstone]:
        """The tombstones of those of these memories that were forgotten before."""
        if not ids or not workspace.change.state.revision:
            return []
        digests = [workspace.digest(TombstoneScope.MEMORY, str(i)) for i in dict.fromkeys(ids)]
        return list(await workspace.change.tombstones(digests))

    async def _said_again(self, workspace: Workspace, ids: Sequence[MemoryId]) -> list[MemoryHead]:
        """Memories that say what a memory said that was forgotten before; only digests tell.

        A second Forget of the same memory means its claims again, whichever of the two came first: without
        this, two devices that forget it at once would end differently by the order they arrive in.
        """
        digests = {claim for stone in await self._forgotten_before(workspace, ids) for claim in stone.claims}
        if not digests:
            return []
        heads = await workspace.change.select(
            MemoryFilter(), limit=self.changes.parameters_of(workspace.owner).memories_max
        )
        return [h for h in heads if workspace.digest(TombstoneScope.CLAIM, h.current.claim) in digests]

    async def _with_derived(self, workspace: Workspace, heads: Sequence[MemoryHead]) -> list[MemoryHead]:
        """`heads`, what those that are merges absorbed, and everything derived from them, however far (F8)."""
        found = {head.id: head for head in heads}
        unseen = list(found)
        while unseen:
            merges = await Merging(workspace, self.changes.settling(workspace)).find(unseen)
            absorbed = {source.id: source for merge in merges for source in merge.superseded}
            unseen = [i for i in absorbed if i not in found]
            found |= {i: absorbed[i] for i in unseen}
        frontier = list(found)
        while frontier:
            derived: list[MemoryId] = []
            for start in range(0, len(frontier), _LOOKUP_MAX):
                derived += await workspace.change.derivatives(frontier[start : start + _LOOKUP_MAX])
            fresh = [i for i in dict.fromkeys(derived) if i not in found]
            frontier = []
            for start in range(0, len(fresh), _LOOKUP_MAX):
                for head in await workspace.change.heads(fresh[start : start + _LOOKUP_MAX]):
                    found[head.id] = head
                    frontier.append(head.id)
        return list(found.values())

    async def _with_summaries(self, workspace: Workspace, heads: Sequence[MemoryHead]) -> list[MemoryHead]:
        """`heads` and the summaries of the sessions that they name, with a turn, as where they come from.

        What a turn said stays in the state of its conversation for as long as that holds, so every summary of the
        session may repeat it; it has no words of its own to lose.
        """
        found = {head.id: head for head in heads}
        sessions = (await _source_turns(workspace, heads)).keys()
        if not sessions:
            return list(heads)
        # Not by session: sessions that came to the same have one summary, of which the newest version names the last.
        where = MemoryFilter(kinds=frozenset({Kind.SUMMARY}), sources=frozenset({Source.DERIVED}))
        most = self.changes.parameters_of(workspace.owner).memories_max
        fresh: list[MemoryHead] = []
        for head in await workspace.change.select(where, limit=most):
            if head.id in found or not _summarises(head):
                continue
            if any(v.provenance.session in sessions for v in await _versions(workspace, head)):
                fresh.append(head)
        return await self._with_derived(workspace, [*heads, *fresh]) if fresh else list(heads)

    async def _with_restated(
        self, workspace: Workspace, heads: Sequence[MemoryHead], by: Authorship
    ) -> list[MemoryHead]:
        """`heads` and the guesses that say the same in other words and that a writer with a context had not seen.

        Had they come after the Forget, they would have been suppressed: the order of delivery decides nothing (F7).
        """
        if not by.explicit_context or not heads:
            return list(heads)
        found = {head.id for head in heads}
        salt = workspace.state.salt
        forgotten = [fingerprint(text, salt) for head in heads for text in said_by([head.current])]
        where = MemoryFilter(sources=frozenset({Source.INFERRED, Source.DERIVED}))
        most = self.changes.parameters_of(workspace.owner).memories_max
        again: list[MemoryHead] = []
        for head in await workspace.change.select(where, limit=most):
            if head.id in found or by.knowledge.saw(head.current.dot) or _summarises(head):
                continue
            said = [fingerprint(text, salt) for text in sayings(head.current.text, head.current.assertion)]
            if any(restates(stated, gone) for stated in said for gone in forgotten):
                again.append(head)
        return await self._with_derived(workspace, [*heads, *again]) if again else list(heads)

    async def _load_around(self, workspace: Workspace, heads: Sequence[MemoryHead]) -> None:
        """Fetch what else stands in the slots of these memories, for settling them afterwards."""
        await workspace.load([head.current.slot for head in heads], [])
        workspace.adopt(heads)

    async def _unsay(self, workspace: Workspace, heads: Sequence[MemoryHead], kept: set[str]) -> None:
        """Stage that what took these memories' place is no longer found by their words (see `Kin.context`).

        The words in `kept` are those of others that stay, too, as are a follower's own.
        """
        forgotten = {head.id for head in heads}
        for old in heads:
            followers = [i for i in await self._followers(workspace, old.id) if i not in forgotten]
            if not followers:
                continue
            versions = [old.current, *(await workspace.change.versions(old.id))]
            texts = ({v.text for v in versions} | set(await _wordings(workspace, old))) - kept
            # What lies in cold storage is searched by no words but its own.
            for follower in (head for head in await workspace.change.heads(followers) if not head.cold):
                for text in texts.difference(fragment(follower.current.text)):
                    workspace.unsay(follower.id, text)

    async def _followers(self, workspace: Workspace, memory_id: MemoryId) -> list[MemoryId]:
        """What took a memory's place, what took that one's place, and so on: words are lent along that line.

        A merge has the words of what it was made of, and they get back what it was called since.
        """
        found: dict[MemoryId, None] = {}
        frontier = [memory_id]
        while frontier:
            wanted = set(frontier)
            links = await workspace.change.linked(frontier, Relation.SUPERSEDES)
            after = [k.from_id for k in links if k.to_id in wanted]
            for link in await workspace.change.linked(frontier, Relation.MERGED_INTO):
                after += [link.from_id, link.to_id]
            frontier = [i for i in dict.fromkeys(after) if i not in found and i != memory_id]
            found |= dict.fromkeys(frontier)
        return list(found)

    async def _forget(
        self,
        workspace: Workspace,
        heads: Sequence[MemoryHead],
        command: ForgetCommand,
        by: Authorship,
        digest: bytes,
    ) -> ForgetResult:
        workspace.advance(by, _OPERATION)
        await self._load_around(workspace, heads)
        reason = command.reason or "forgotten on request"
        if command.slot is not None:
            key = slot_key(command.slot, self.changes.vocabulary_of(workspace.owner))
            private = {head.current.slot for head in heads if same_slot(head.current.slot, key)}
            for slot in sorted({key} | private):
                workspace.tombstone(TombstoneScope.SLOT, slot, by)
        if command.says is not None:
            workspace.tombstone(TombstoneScope.CLAIM, self._claim(workspace.owner, command.says), by)
            for wording in sayings(command.says.text, command.says.assertion):
                workspace.stop_wording(wording, by)
        for stone in await self._forgotten_before(workspace, command.ids):
            workspace.tombstone_of_digest(TombstoneScope.MEMORY, stone.digest, by, stone.claims)
            for digest_of_claim in stone.claims:
                workspace.tombstone_of_digest(TombstoneScope.CLAIM, digest_of_claim, by)
        settling = self.changes.settling(workspace)
        merging = Merging(workspace, settling)
        going = frozenset(head.id for head in heads)
        kept: set[str] = set()
        kept_claims: set[str] = set()
        for merge in await merging.find(going):
            # Only what one source said goes: the merge with it, the other sources are what they were.
            if merge.untouched:
                for item in await merging.restore(merge, by, reason, without=going):
                    back = workspace.heads[item.memory_id]
                    kept |= {back.current.text, *await _wordings(workspace, back)}
                    kept_claims.add(back.current.claim)
        await self._unsay(workspace, heads, kept)
        for head in heads:
            seen, unseen = await _claims(workspace, head, by)
            seen = [claim for claim in seen if claim not in kept_claims]
            wordings = [text for text in await _wordings(workspace, head) if text not in kept]
            seen += [claim for claim in map(partial(_claim_like, head), wordings) if claim not in seen]
            workspace.tombstone(TombstoneScope.MEMORY, str(head.id), by, seen + unseen)
            for claim in seen:
                workspace.tombstone(TombstoneScope.CLAIM, claim, by)
            versions = [v for v in await _versions(workspace, head) if v is head.current or by.knowledge.saw(v.dot)]
            for wording in dict.fromkeys((*said_by(versions), *wordings)):
                if wording not in kept:
                    workspace.stop_wording(wording, by)
            workspace.note(
                JournalEvent.FORGOTTEN,
                head.id,
                head.current.version,
                by,
                reason,
                before=head.current.status.value,
            )
            workspace.forget(head)
        settling.slots_of([head.current for head in heads], by)
        contested = [head.id for head in heads if head.current.status is Status.CONTESTED]
        settling.release(await left_alone(workspace, contested), by)
        ids = [head.id for head in heads]
        state = workspace.state
        _remember_answer(workspace, by, digest, ids)
        clock = context_after(state.clock, by.meta, by.dot)
        return ForgetResult(ids, (), state.revision, clock, by.dot)


async def _source_turns(workspace: Workspace, heads: Sequence[MemoryHead]) -> dict[SessionId, list[str]]:
    """The turns, by session, that these memories, in any version, name as their source, each once."""
    found: dict[SessionId, dict[str, None]] = {}
    for head in heads:
        if _summarises(head):
            continue
        for version in await _versions(workspace, head):
            named = version.provenance
            if named.session and named.reference:
                found.setdefault(SessionId(named.session), {})[named.reference] = None
    return {session: list(turn_ids) for session, turn_ids in found.items()}


async def _versions(workspace: Workspace, head: MemoryHead) -> list[MemoryVersion]:
    """Every version of a memory."""
    return [head.current, *(await workspace.change.versions(head.id) if head.current.version > 1 else ())]


def _summarises(head: MemoryHead) -> bool:
    """Whether it is a summary that the service made of a session."""
    return head.current.provenance.process == SUMMARY_PROCESS


async def _claims(workspace: Workspace, head: MemoryHead, by: Authorship) -> tuple[list[str], list[str]]:
    """Every claim the memory ever made: those the writer had seen, and those it had not.

    What it had seen must not come back. What it had not goes with the memory, and is not stopped where others
    say it of their own accord.
    """
    versions = await _versions(workspace, head)
    seen = {v.claim for v in versions if v.claim and by.knowledge.saw(v.dot)}
    return sorted(seen), sorted({v.claim for v in versions if v.claim} - seen)


async def _wordings(workspace: Workspace, head: MemoryHead) -> list[str]:
    """Other words in which the memory was stated (see `kinship`)."""
    version = head.current
    if version.support < 2 or width(version.text) > WHOLE_WIDTH_MAX:
        return []
    pieces = await workspace.change.fragments(head.id, version.content_version)
    return list(dict.fromkeys(piece.text for piece in pieces if piece.text != version.text))


def _claim_like(head: MemoryHead, text: str) -> str:
    """The claim that a text makes before the memory's audience."""
    version = head.current
    return claim_of_text(text, audience(version.visibility, version.provenance.agent))


def _remember_answer(workspace: Workspace, by: Authorship, digest: bytes, ids: Sequence[MemoryId]) -> None:
    state = workspace.state
    result = ChangeResult(None, Effect.FORGOTTEN, (), state.revision, state.clock, by.dot)
    workspace.answer(_OPERATION, by, digest, result, extra={"forgotten": [str(i) for i in ids]})


def _replayed(known: StoredOutcome, meta: ChangeMeta) -> ForgetResult:
    outcome = known.outcome
    ids = [MemoryId(uuid.UUID(str(i))) for i in cast("Sequence[str]", outcome["forgotten"])]
    clock = context_after(clock_of(outcome), meta, known.dot)
    return ForgetResult(ids, (), Revision(int(known.revision)), clock, known.dot, replayed=True)


def _payload(command: ForgetCommand) -> dict[str, object]:
    slot, where = command.slot, command.where
    names = MemoryFilter.__dataclass_fields__
    return {
        "ids": sorted(str(i) for i in command.ids),
        "slot": [slot.subject, slot.predicate, slot.topic] if slot else None,
        "says": statement_payload(command.says) if command.says else None,
        "where": {name: getattr(where, name) for name in names} if where else None,
    }
