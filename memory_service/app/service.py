"""What every use case that changes memories needs, and the steps they share."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from memory_service.app.admission import Admission
from memory_service.app.causality import context_after, next_dot, seen_by
from memory_service.app.commands import ChangeMeta, ChangeResult, Statement
from memory_service.app.drafts import Drafting
from memory_service.app.kinship import NO_KIN, Kin, Kinship
from memory_service.app.policies import STARTING_POLICIES, OwnerPolicies
from memory_service.app.settling import Settling
from memory_service.app.workspace import Authorship, Workspace
from memory_service.domain.ids import DeviceId, MemoryId, OwnerKey, Revision
from memory_service.domain.parameters import Parameters
from memory_service.domain.retention import Retention
from memory_service.domain.vocabulary import Vocabulary
from memory_service.ports.clock import Clock, Ids
from memory_service.ports.memory_store import MemoryStore
from memory_service.ports.snapshots import SnapshotSource
from memory_service.ports.telemetry import Telemetry


@dataclass(frozen=True, slots=True)
class Changes:
    """The collaborators of Write, Correct, Forget and Rollback."""

    store: MemoryStore
    snapshots: SnapshotSource
    drafting: Drafting
    clock: Clock
    ids: Ids
    telemetry: Telemetry
    policies: OwnerPolicies = STARTING_POLICIES

    def vocabulary_of(self, owner: OwnerKey) -> Vocabulary:
        """The words as the owner's tenant has them."""
        return self.policies.of(owner).vocabulary

    def parameters_of(self, owner: OwnerKey) -> Parameters:
        """The numbers of the rules as they are for the owner."""
        return self.policies.of(owner).parameters

    def drafting_of(self, owner: OwnerKey) -> Drafting:
        """What makes drafts of the owner's statements."""
        return replace(self.drafting, policy=self.policies.of(owner))

    async def author(self, workspace: Workspace, meta: ChangeMeta) -> Authorship:
        """Number the change and find what its writer had seen; see `causality` for the errors."""
        clock = workspace.state.clock
        await workspace.load_retirements([DeviceId(meta.device), *(meta.context or ())])
        dot = next_dot(clock, meta, workspace.retired)
        return Authorship(
            meta=meta,
            dot=dot,
            context=seen_by(clock, meta, dot, workspace.retired),
            now=self.clock.now(),
            explicit_context=meta.context is not None,
            retired=workspace.retired,
        )

    def retention_of(self, owner: OwnerKey) -> Retention:
        """How the owner's memories fade, and when time alone archives them."""
        return Retention(self.policies.of(owner).decay)

    def settling(self, workspace: Workspace) -> Settling:
        """What settles slots in a workspace."""
        return Settling(workspace, self.ids, self.vocabulary_of(workspace.owner))

    def admission(
        self, workspace: Workspace, similar: frozenset[MemoryId] = frozenset(), kin: Kin = NO_KIN
    ) -> Admission:
        """What admits statements into a workspace."""
        policy = self.policies.of(workspace.owner)
        settling = self.settling(workspace)
        return Admission(workspace, self.ids, policy.parameters, settling, policy.decay, similar, kin)

    def kinship(self) -> Kinship:
        """What finds the memories that a plain statement speaks of."""
        return Kinship(self.snapshots, self.drafting.embedder.model, self.clock)

    async def apply(self, workspace: Workspace, *authors: Authorship) -> None:
        """Hand everything staged to the store, with devices folded away when there are too many (F7)."""
        await workspace.retire_idle(
            self.parameters_of(workspace.owner).active_devices_max, [by.dot.device for by in authors]
        )
        await workspace.thaw()
        await workspace.change.apply(workspace.changeset())

    def count_restated(self, workspace: Workspace) -> None:
        """Count guesses suppressed for their wording, once that is durable: each may be a false alarm."""
        if workspace.restated:
            self.telemetry.count("restatements_suppressed_total", workspace.restated)

    def committed(self, owner: OwnerKey, revision: Revision) -> None:
        """Tell this process's caches what was committed."""
        self.snapshots.committed(owner, revision)


def for_writer(result: ChangeResult, meta: ChangeMeta) -> ChangeResult:
    """The result with the clock the writer may take as seen."""
    return replace(result, clock=context_after(result.clock, meta, result.dot))


def statement_payload(statement: Statement) -> dict[str, Any]:
    """A statement as JSON-compatible data, for the digest that tells retries from other requests."""
    payload: dict[str, Any] = {
        name: getattr(statement, name)
        for name in Statement.__dataclass_fields__
        if name not in ("vector", "assertion", "made_of")
    }
    assertion = statement.assertion
    payload["assertion"] = [assertion.subject, assertion.predicate, assertion.object] if assertion else None
    payload["vector"] = statement.vector.tobytes().hex() if statement.vector is not None else None
    return payload
