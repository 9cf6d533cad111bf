"""The use cases on the in-memory store with a clock, ids and embedder that tests control."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from memory_service.adapters.embedders.factory import build_embedder
from memory_service.adapters.inmemory.clock import ManualClock, SeededIds
from memory_service.adapters.inmemory.memory_store import InMemoryMemoryStore
from memory_service.app.access_recorder import AccessRecorder
from memory_service.app.archiving import Cap, Decay
from memory_service.app.cache_drops import CacheDrops
from memory_service.app.commands import (
    ChangeMeta,
    ChangeResult,
    CorrectCommand,
    ForgetCommand,
    ForgetResult,
    Statement,
)
from memory_service.app.correct import Correct
from memory_service.app.drafts import Drafting
from memory_service.app.feedback import Outcome, RecordFeedback
from memory_service.app.forget import Forget
from memory_service.app.policies import FixedPolicies, OwnerPolicies
from memory_service.app.promotion import Promotion
from memory_service.app.reading import Reading
from memory_service.app.rejudge import Rejudge
from memory_service.app.rollback import Rollback
from memory_service.app.service import Changes
from memory_service.app.tokens import Tokens
from memory_service.app.upkeep import Upkeep
from memory_service.app.write import Write
from memory_service.domain.ids import DeviceId, MemoryId, OwnerKey, Revision, TenantId, UserId
from memory_service.domain.memory import Assertion, JsonValue, MemoryHead
from memory_service.domain.parameters import Parameters
from memory_service.domain.records import JournalEvent
from memory_service.domain.retrieval.snapshot import OwnerSnapshot
from memory_service.domain.vector_clock import VectorClock
from memory_service.domain.vocabulary import Vocabulary
from memory_service.ports.embedder import Embedder
from memory_service.ports.memory_store import MemoryStore
from memory_service.ports.snapshots import Requirement

START = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
ALICE = OwnerKey(TenantId("acme"), UserId("alice"))
BOB = OwnerKey(TenantId("acme"), UserId("bob"))


class Silent:
    """Telemetry that keeps nothing."""

    def count(self, name: str, amount: int = 1, **labels: str) -> None: ...
    def observe(self, name: str, seconds: float, **labels: str) -> None: ...
    def gauge(self, name: str, value: float, **labels: str) -> None: ...


@dataclass
class PlainSnapshots:
    """Snapshots straight from the store, and what the use cases told the cache."""

    store: MemoryStore
    embedder: Embedder
    told: list[Revision] = field(default_factory=list)
    drops: list[OwnerKey] = field(default_factory=list)

    async def snapshot(self, owner: OwnerKey, requirement: Requirement) -> OwnerSnapshot:
        model = self.embedder.model
        return OwnerSnapshot.build(await self.store.search_rows(owner, model.id), model.id, model.dimension)

    def committed(self, owner: OwnerKey, revision: Revision) -> None:
        self.told.append(revision)

    async def dropped(self, owner: OwnerKey) -> None:
        self.drops.append(owner)


class World:
    """One deployment in memory."""

    def __init__(
        self,
        *,
        store: MemoryStore | None = None,
        embedder: Embedder | None = None,
        parameters: Parameters | None = None,
        vocabulary: Vocabulary | None = None,
        tenants: Mapping[str, Vocabulary] | None = None,
        policies: OwnerPolicies | None = None,
        seed: int = 7,
    ) -> None:
        self.clock = ManualClock(START)
        self.ids = SeededIds(seed)
        self.store = store or InMemoryMemoryStore()
        self.embedder = embedder or build_embedder("hash", cache_dir=None, openai=None, threads=1)  # type: ignore[arg-type]
        self.snapshots = PlainSnapshots(self.store, self.embedder)
        self.vocabulary = vocabulary or Vocabulary.of()
        self.parameters = parameters or Parameters()
        self.policies = policies or FixedPolicies.with_words(self.vocabulary, self.parameters, tenants)
        drafting = Drafting(self.embedder, Silent())
        self.changes = Changes(
            store=self.store,
            snapshots=self.snapshots,
            drafting=drafting,
            clock=self.clock,
            ids=self.ids,
            telemetry=Silent(),
            policies=self.policies,
        )
        self.tokens = Tokens(b"k" * 32)
        self.write = Write(self.changes)
        self.correct = Correct(self.changes)
        self.forget = Forget(self.changes, CacheDrops(self.snapshots))
        self.rollback = Rollback(self.changes)
        self.feedback = RecordFeedback(self.changes, AccessRecorder(self.store, Silent()))
        steps = (*Decay.both(self.changes), Promotion(self.changes), Rejudge(self.changes), Cap(self.changes))
        self.upkeep = Upkeep(steps, Silent())
        self.reading = Reading(self.store, self.snapshots, self.tokens, self.clock)

    async def say(
        self, text: str = "", owner: OwnerKey = ALICE, meta: ChangeMeta | None = None, **given: object
    ) -> ChangeResult:
        """Write a statement."""
        return await self.write.one(owner, Statement(text=text, **given), meta or ChangeMeta(actor="key"))  # type: ignore[arg-type]

    async def state(
        self,
        predicate: str,
        value: JsonValue,
        owner: OwnerKey = ALICE,
        meta: ChangeMeta | None = None,
        **given: object,
    ) -> ChangeResult:
        """Write a structured statement about the user."""
        statement = Statement(assertion=Assertion("user", predicate, value), **given)  # type: ignore[arg-type]
        return await self.write.one(owner, statement, meta or ChangeMeta(actor="key"))

    async def fix(self, memory_id: MemoryId, meta: ChangeMeta | None = None, **command: Any) -> ChangeResult:
        """Correct a memory."""
        return await self.correct(
            ALICE, CorrectCommand(memory_id=memory_id, **command), meta or ChangeMeta(actor="key")
        )

    async def erase(
        self, *ids: MemoryId, owner: OwnerKey = ALICE, meta: ChangeMeta | None = None, **command: Any
    ) -> ForgetResult:
        """Forget memories."""
        return await self.forget(owner, ForgetCommand(ids=ids, **command), meta or ChangeMeta(actor="key"))

    async def used(self, *ids: MemoryId, times: int = 1, owner: OwnerKey = ALICE) -> None:
        """Count recalls that returned these memories now."""
        await self.store.record_access(owner, {i: (times, self.clock.now()) for i in ids})

    async def judge(self, outcome: Outcome, *ids: MemoryId, owner: OwnerKey = ALICE, request_id: str = "") -> Any:
        """Say of what use recalled memories were."""
        meta = ChangeMeta(actor="key", request_id=request_id)
        return await self.feedback(owner, [(i, outcome) for i in ids], meta)

    async def get(self, memory_id: MemoryId, owner: OwnerKey = ALICE) -> MemoryHead:
        """A memory that must be there."""
        head = await self.store.get(owner, memory_id)
        assert head is not None
        return head

    async def events(self, memory_id: MemoryId, owner: OwnerKey = ALICE) -> list[JournalEvent]:
        """What happened to a memory, oldest first."""
        return [entry.event for entry in await self.store.journal(owner, memory_id)]

    async def current(self, owner: OwnerKey = ALICE) -> list[str]:
        """Texts of current memories, sorted."""
        rows = await self.store.search_rows(owner, self.embedder.model.id)
        return sorted(row.head.current.text for row in rows.rows)


def device(
    name: str, counter: int = 0, seen: Mapping[DeviceId, int] | Mapping[str, int] | None = None, request_id: str = ""
) -> ChangeMeta:
    """A change by a device, with what it had seen when `seen` is given."""
    context = None if seen is None else VectorClock({DeviceId(d): c for d, c in seen.items()})
    return ChangeMeta(actor="key", device=name, counter=counter, context=context, request_id=request_id)
