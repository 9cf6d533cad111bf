"""RecordFeedback: which recalled memories were of use, and which were not (E1, C10, P7)."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import cast

from memory_service.app.access_recorder import AccessRecorder
from memory_service.app.commands import ChangeMeta, ChangeResult, Effect
from memory_service.app.replay import stored_outcome
from memory_service.app.service import Changes
from memory_service.app.validation import check_list, check_meta
from memory_service.app.workspace import Workspace
from memory_service.domain import limits
from memory_service.domain.errors import InvalidInput, Reason
from memory_service.domain.ids import MemoryId, OwnerKey, Revision
from memory_service.domain.records import StoredOutcome
from memory_service.domain.slots import payload_digest

OPERATION = "feedback"


class Outcome(StrEnum):
    """What became of a recalled memory."""

    ADOPTED = "adopted"
    REJECTED = "rejected"


@dataclass(frozen=True, slots=True)
class FeedbackResult:
    """What was recorded.

    Attributes:
        recorded: memories whose counters changed.
        missing: those named that are not there (any more).
    """

    recorded: int
    missing: Sequence[MemoryId]
    revision: Revision
    replayed: bool = False


@dataclass(frozen=True, slots=True)
class RecordFeedback:
    """Records outcomes of recalls in the counters of use; see `Usage.adopted` and `Usage.rejected`."""

    changes: Changes
    accesses: AccessRecorder

    async def __call__(
        self, owner: OwnerKey, items: Sequence[tuple[MemoryId, Outcome]], meta: ChangeMeta
    ) -> FeedbackResult:
        """Record the outcomes, all in one commit; durable when it returns, and done once for a request id.

        A memory that was forgotten meanwhile is named in the answer; the others are recorded.

        Raises:
            InvalidInput: FIELD_REQUIRED for no items, FIELD_TOO_LONG for more than 200, FIELD_INVALID for a memory
                that is named twice.
            Conflict: REQUEST_ID_REUSED. Unavailable: when the database is away.
        """
        check_meta(meta)
        outcomes = _checked(items)
        # The accesses of the recalls being judged come first, so that a rejection takes its own back.
        await self.accesses.settle(owner)
        async with self.changes.store.change(owner) as change:
            workspace = Workspace.of(change, self.changes.ids, owner)
            payload = sorted((str(memory_id), outcome.value) for memory_id, outcome in outcomes.items())
            digest = payload_digest(workspace.state.salt, OPERATION, payload)
            known = await stored_outcome(workspace, OPERATION, meta, digest)
            if known is not None:
                return _replayed(known)
            by = await self.changes.author(workspace, meta)
            heads = {head.id: head for head in await change.heads(list(outcomes))}
            workspace.advance(by, OPERATION)
            for memory_id, head in heads.items():
                adopted = outcomes[memory_id] is Outcome.ADOPTED
                workspace.use(head, head.usage.adopted(by.now) if adopted else head.usage.rejected())
            missing = [memory_id for memory_id in outcomes if memory_id not in heads]
            state = workspace.state
            answer = ChangeResult(None, Effect.UPDATED, (), state.revision, state.clock, by.dot)
            told = {"recorded": len(heads), "missing": [str(i) for i in missing]}
            workspace.answer(OPERATION, by, digest, answer, extra=told)
            await self.changes.apply(workspace, by)
        self.changes.committed(owner, state.revision)
        for outcome in Outcome:
            count = sum(1 for memory_id in heads if outcomes[memory_id] is outcome)
            self.changes.telemetry.count("feedback_total", count, outcome=outcome.value)
        return FeedbackResult(len(heads), missing, state.revision)


def _checked(items: Sequence[tuple[MemoryId, Outcome]]) -> Mapping[MemoryId, Outcome]:
    check_list(items, "items", limits.FEEDBACK_ITEMS_MAX)
    if not items:
        raise InvalidInput(Reason.FIELD_REQUIRED, "items must name a memory", field="items")
    outcomes: dict[MemoryId, Outcome] = {}
    for index, (memory_id, outcome) in enumerate(items):
        if memory_id in outcomes:
            field = f"items[{index}].memory_id"
            raise InvalidInput(Reason.FIELD_INVALID, f"{field} is named twice", field=field)
        outcomes[memory_id] = outcome
    return outcomes


def _replayed(known: StoredOutcome) -> FeedbackResult:
    missing = [MemoryId(uuid.UUID(i)) for i in cast("Sequence[str]", known.outcome["missing"])]
    return FeedbackResult(int(str(known.outcome["recorded"])), missing, known.revision, replayed=True)
