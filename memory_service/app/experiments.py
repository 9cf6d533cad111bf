"""Two parameter sets side by side on a share of a tenant's users, and what came of it (C15, E20)."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace

from memory_service.app.policies import OwnerPolicies
from memory_service.app.policy_changes import By, PolicyChanges, running
from memory_service.app.validation import check_name
from memory_service.domain import limits
from memory_service.domain.errors import (
    AlreadyExists,
    InvalidInput,
    MemoryServiceError,
    NotFound,
    Reason,
)
from memory_service.domain.ids import OwnerKey, TenantId
from memory_service.domain.policy import (
    DEFAULT_SET,
    EXPERIMENT,
    Experiment,
    Measure,
    Variant,
    experiment_of,
    experiment_text,
)
from memory_service.ports.policy_store import Counts, PolicyStore
from memory_service.ports.telemetry import Telemetry

NAME_CHARS_MAX = 64


@dataclass(frozen=True, slots=True)
class Experiments:
    """Starts, stops and lists one tenant's experiments. One runs at a time; no name is used twice."""

    changes: PolicyChanges

    async def start(
        self, tenant: TenantId, name: str, control: str, treatment: str, share: float, by: By
    ) -> Experiment:
        """Give a share of the users the treatment and the others the control.

        Raises:
            InvalidInput: for a missing name, a share outside 0..1, a set that does not exist, or one set twice.
            AlreadyExists: ALREADY_EXISTS for a name used before.
            FailedPrecondition: EXPERIMENT_RUNNING while another runs.
        """
        check_name(name, "name", required=True, limit=NAME_CHARS_MAX)
        if not (math.isfinite(share) and 0 < share <= 1):
            raise InvalidInput(
                Reason.FIELD_OUT_OF_RANGE,
                "share must be more than 0 and at most 1",
                field="share",
                metadata={"minimum": "0", "maximum": "1"},
            )
        control = control or DEFAULT_SET
        made: list[Experiment] = []

        async def make() -> str:
            sets = self.changes.policies.sets(tenant)
            for value, place in ((treatment, "treatment"), (control, "control")):
                if value not in sets:
                    raise InvalidInput(
                        Reason.FIELD_INVALID,
                        f"{place} is not a parameter set that has values",
                        field=place,
                        metadata={"known": ", ".join(sorted(sets))},
                    )
            if treatment == control:
                raise InvalidInput(
                    Reason.FIELD_INVALID, "treatment and control must be two different sets", field="treatment"
                )
            known = await self._newest(tenant)
            if known and known[0].running:
                raise running(known[0].name, "name")
            if any(experiment.name == name for experiment in known):
                raise AlreadyExists(Reason.ALREADY_EXISTS, "an experiment had this name before", field="name")
            made[:] = [Experiment(name, control, treatment, share, self.changes.clock.now())]
            return experiment_text(made[0])

        await self._change(tenant, by, make)
        return made[0]

    async def stop(self, tenant: TenantId, name: str, by: By) -> Experiment:
        """End it: everybody has the default set again. Stopping twice keeps the first time.

        Raises:
            NotFound: EXPERIMENT_NOT_FOUND.
        """
        check_name(name, "name", required=True, limit=NAME_CHARS_MAX)
        await self.changes.policies.refresh()
        known = next((e for e in await self._newest(tenant) if e.name == name), None)
        if known is None:
            raise NotFound(Reason.EXPERIMENT_NOT_FOUND, "the tenant has no such experiment", field="name")
        if not known.running:
            return known
        stopped = replace(known, stopped_at=self.changes.clock.now())

        async def make() -> str:
            return experiment_text(stopped)

        await self._change(tenant, by, make)
        return stopped

    async def all(self, tenant: TenantId) -> list[tuple[Experiment, Counts]]:
        """Experiments, newest first, with what was counted."""
        store = self.changes.policies.store
        return [(known, await store.tallies(tenant, known.name)) for known in await self._newest(tenant)]

    async def counts(self, tenant: TenantId, name: str) -> Counts:
        """What was counted of an experiment."""
        return await self.changes.policies.store.tallies(tenant, name)

    async def _newest(self, tenant: TenantId) -> list[Experiment]:
        """Each experiment as it is now, newest first, as far as versions are kept."""
        store = self.changes.policies.store
        found: dict[str, Experiment] = {}
        for document in await store.history(tenant, EXPERIMENT, limit=limits.POLICY_VERSIONS_MAX):
            experiment = experiment_of(document.content)
            found.setdefault(experiment.name, experiment)
        return list(found.values())

    async def _change(self, tenant: TenantId, by: By, make: Callable[[], Awaitable[str]]) -> None:
        def current() -> tuple[int, str]:
            version, experiment = self.changes.policies.experiment(tenant)
            return version, experiment_text(experiment) if experiment else ""

        await self.changes.change(tenant, EXPERIMENT, by, make, current)


@dataclass(slots=True)
class Outcomes:
    """Counts what happens, by side of the experiment: in metrics at once, in the tenant's own figures later.

    What a crash loses is what was counted since the last `flush`.
    """

    policies: OwnerPolicies
    store: PolicyStore
    telemetry: Telemetry
    _waiting: dict[tuple[TenantId, str], Counter[tuple[Variant, Measure]]] = field(default_factory=dict)

    def note(self, owner: OwnerKey, measure: Measure, times: int = 1) -> None:
        """Count something of an owner. Never blocks."""
        policy = self.policies.of(owner)
        self.telemetry.count("variant_events_total", times, variant=policy.variant.value, event=measure.value)
        if policy.variant is not Variant.NONE and times:
            waiting = self._waiting.setdefault((owner.tenant, policy.experiment), Counter())
            waiting[policy.variant, measure] += times

    async def flush(self) -> None:
        """Write down what waits; what could not be written waits on."""
        while self._waiting:
            (tenant, experiment), counts = self._waiting.popitem()
            try:
                await self.store.tally(tenant, experiment, counts)
            except MemoryServiceError:
                self._waiting.setdefault((tenant, experiment), Counter()).update(counts)
                raise


def side_counts(counts: Counts, variant: Variant) -> dict[str, int]:
    """The counts of one side by the name of the measure, in a fixed order."""
    return {measure.value: counts.get((variant, measure), 0) for measure in Measure}


SIDES: Sequence[Variant] = (Variant.CONTROL, Variant.TREATMENT)
