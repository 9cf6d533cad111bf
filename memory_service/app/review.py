"""The review queue (P13): what is sensitive and nobody said outright waits until a person accepts or rejects it.

There is no second store of what waits: a memory waits while it stands as a candidate whose predicate (or topic) the
tenant's vocabulary calls sensitive and whose source is inferred or derived. Contested memories are shown in the same
queue; they are decided by ResolveConflict.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from memory_service.app.commands import Affected, ChangeMeta, ChangeResult, Effect
from memory_service.app.one_memory import change_one
from memory_service.app.policies import OwnerPolicies
from memory_service.app.service import Changes
from memory_service.app.tokens import Tokens
from memory_service.app.validation import check_count, check_name
from memory_service.app.workspace import Authorship, Workspace, affected
from memory_service.domain import limits
from memory_service.domain.errors import AlreadyExists, FailedPrecondition, Reason
from memory_service.domain.evidence import Evidence
from memory_service.domain.ids import MemoryId, OwnerKey
from memory_service.domain.memory import STANDING_STATUSES, MemoryHead, Source, Status, Tier
from memory_service.domain.records import JournalEvent, MemoryFilter
from memory_service.domain.vocabulary import Vocabulary
from memory_service.ports.memory_store import MemoryStore

_OPERATION: Final = "review"
_UNSAID: Final = frozenset({Source.INFERRED, Source.DERIVED})
_LOOKED_AT_MAX: Final = 2_000
"""Candidates looked at for one page: a page may be short with more to come."""


class Cause(StrEnum):
    """Why a memory waits."""

    SENSITIVE = "sensitive"
    CONTESTED = "contested"


class Decision(StrEnum):
    """What a person decided; REOPEN takes an earlier decision back."""

    ACCEPT = "accept"
    REJECT = "reject"
    REOPEN = "reopen"


_REASONS: Final = {
    Decision.ACCEPT: "accepted in review",
    Decision.REJECT: "rejected in review",
    Decision.REOPEN: "decision of the review taken back",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewCommand:
    """A decision about one memory."""

    memory_id: MemoryId
    decision: Decision
    etag: str = ""
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Waiting:
    """A page of what waits."""

    items: list[tuple[MemoryHead, Cause]]
    next_token: str


def needs_review(head: MemoryHead, words: Vocabulary) -> bool:
    """Whether a memory is sensitive and nobody said it outright: no rule but a person makes it long-term."""
    version = head.current
    about = version.assertion.predicate if version.assertion else version.topic
    return version.source in _UNSAID and words.sensitive(about)


def waits(head: MemoryHead, words: Vocabulary) -> bool:
    """Whether it waits for that person now."""
    version = head.current
    return version.tier is Tier.CANDIDATE and version.status in STANDING_STATUSES and needs_review(head, words)


def was_rejected(head: MemoryHead) -> bool:
    """Whether a candidate was found never to have been true: it is not inferred a second time."""
    return head.current.status is Status.RETRACTED and head.current.tier is Tier.CANDIDATE


@dataclass(frozen=True, slots=True)
class Reviews:
    """Lists what waits, straight from the store."""

    store: MemoryStore
    tokens: Tokens
    policies: OwnerPolicies

    async def __call__(self, owner: OwnerKey, page_size: int, page_token: str, agent: str = "") -> Waiting:
        """A page of what waits: contested memories first, then sensitive ones, each in order of creation.

        Raises:
            InvalidInput: PAGE_TOKEN_INVALID, or FIELD_OUT_OF_RANGE for the page size.
        """
        check_name(agent, "agent")
        check_count(page_size, "page_size", minimum=0, maximum=limits.PAGE_SIZE_MAX)
        size = page_size or limits.PAGE_SIZE_DEFAULT
        letter, _, token = page_token.partition(".")
        cause = Cause.SENSITIVE if letter == "s" else Cause.CONTESTED
        found: list[tuple[MemoryHead, Cause]] = []
        if cause is Cause.CONTESTED:
            heads, following = await self._page(owner, cause, token or page_token, size, agent)
            found = [(head, cause) for head in heads]
            if following:
                return Waiting(found, f"c.{following}")
            cause, token = Cause.SENSITIVE, ""
        words = self.policies.of(owner).vocabulary
        looked_at = 0
        while len(found) < size and looked_at < _LOOKED_AT_MAX:
            heads, token = await self._page(owner, cause, token, size, agent)
            looked_at += len(heads)
            found += [(head, cause) for head in heads if waits(head, words)]
            if not token:
                return Waiting(found, "")
        return Waiting(found, f"s.{token}")

    async def _page(
        self, owner: OwnerKey, cause: Cause, token: str, size: int, agent: str
    ) -> tuple[list[MemoryHead], str]:
        query = f"reviews:{cause}:{agent}"
        after = self.tokens.after(owner, query, token, "page_token") if token else None
        if cause is Cause.CONTESTED:
            where = MemoryFilter(statuses=frozenset({Status.CONTESTED}), visible_to_agent=agent or None)
        else:
            standing = STANDING_STATUSES - {Status.CONTESTED}
            where = MemoryFilter(
                tiers=frozenset({Tier.CANDIDATE}), sources=_UNSAID, statuses=standing, visible_to_agent=agent or None
            )
        page = await self.store.list(owner, where, limit=size, after=after)
        following = self.tokens.page(owner, query, page.next_after) if page.next_after else ""
        return list(page.heads), following


@dataclass(frozen=True, slots=True)
class Review:
    """Decides about one memory that waits."""

    changes: Changes

    async def __call__(self, owner: OwnerKey, command: ReviewCommand, meta: ChangeMeta) -> ChangeResult:
        """Accept (long-term from now on), reject (retracted, and not inferred again) or take either back.

        Raises:
            NotFound: MEMORY_NOT_FOUND.
            FailedPrecondition: REVIEW_NOT_WAITING for a memory that this decision is not about.
            Conflict: ETAG_MISMATCH when it changed since the etag or the context was read.
            AlreadyExists: on taking a rejection back, when another memory says the same by now.
        """

        async def stage(workspace: Workspace, head: MemoryHead, by: Authorship) -> ChangeResult:
            await workspace.load([head.current.slot], [head.current.claim])
            workspace.adopt([head])
            return self._decide(workspace, head, command, by)

        more = [command.decision.value]
        return await change_one(self.changes, owner, command, meta, operation=_OPERATION, more=more, stage=stage)

    def _decide(self, workspace: Workspace, head: MemoryHead, command: ReviewCommand, by: Authorship) -> ChangeResult:
        words = self.changes.vocabulary_of(workspace.owner)
        rejected = was_rejected(head) and needs_review(head, words)
        if command.decision is Decision.REOPEN:
            accepted = head.current.tier is Tier.LONG_TERM and head.current.status in STANDING_STATUSES
            possible = rejected or (accepted and needs_review(head, words))
        else:
            possible = waits(head, words)
        if not possible:
            raise FailedPrecondition(
                Reason.REVIEW_NOT_WAITING,
                f"the memory does not wait for a person to {command.decision} it",
                field="memory_id",
                metadata={"status": head.current.status.value, "tier": head.current.tier.value},
            )
        if rejected:
            self._check_free(workspace, head)
        workspace.advance(by, _OPERATION)
        settling = self.changes.settling(workspace)
        reason = command.reason or _REASONS[command.decision]
        if command.decision is Decision.REJECT:
            after = settling.retract(head, by, reason)
        else:
            after = self._move(workspace, head, command, by, reason, rejected)
        touched = [item for item in settling.slots_of([head.current], by) if item.memory_id != head.id]
        state = workspace.state
        return ChangeResult(
            workspace.heads[head.id], after.effect, tuple(touched), state.revision, state.clock, by.dot
        )

    def _move(
        self,
        workspace: Workspace,
        head: MemoryHead,
        command: ReviewCommand,
        by: Authorship,
        reason: str,
        was: bool,
    ) -> Affected:
        old = head.current
        fields: dict[str, object] = {"dot": old.dot, "context": old.context, "tier": Tier.CANDIDATE}
        event = JournalEvent.ROLLED_BACK
        if command.decision is Decision.ACCEPT:
            fields["tier"], event = Tier.LONG_TERM, JournalEvent.PROMOTED
        if was:
            evidence = Evidence().attested(by.dot, old.confidence)
            fields |= {"status": Status.ACTIVE, "evidence": evidence, "dot": by.dot, "context": by.context}
        after = workspace.revise(head, by, reason, **fields)
        details = {"review": command.decision.value, "tier": after.current.tier.value}
        self.changes.settling(workspace).note(event, head, after, by, reason, details)
        return affected(after, Effect.UPDATED, reason)

    @staticmethod
    def _check_free(workspace: Workspace, head: MemoryHead) -> None:
        same = [other for other in workspace.with_claim(head.current.claim) if other.id != head.id]
        if same:
            raise AlreadyExists(
                Reason.ALREADY_EXISTS,
                "another memory already says what it says",
                field="memory_id",
                metadata={"memory_id": str(same[0].id)},
            )
