"""A tenant's parameter sets, and what the intervals between uses suggest for one of their numbers (C15, E1b)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from memory_service.app.policy_changes import By, PolicyChanges, running
from memory_service.app.validation import check_list, check_name
from memory_service.domain import limits
from memory_service.domain.decay import NEVER
from memory_service.domain.errors import InvalidInput, LimitExceeded, Reason
from memory_service.domain.ids import OwnerKey, TenantId, UserId
from memory_service.domain.parameters import Parameters
from memory_service.domain.policy import DEFAULT_SET, PolicyDocument, set_document, values_of, values_text
from memory_service.domain.reuse import ENOUGH, Histogram, histograms
from memory_service.domain.tuning import SPECS, Values, checked_values
from memory_service.ports.memory_store import MemoryStore

SET_CHARS_MAX = 64


@dataclass(frozen=True, slots=True)
class Calibrated:
    """What was seen of a kind or predicate, beside the tau in force (seconds; None never fades)."""

    histogram: Histogram
    tau_seconds: float | None

    @property
    def enough(self) -> bool:
        """Whether there are enough intervals to go by."""
        return self.histogram.total >= ENOUGH


@dataclass(frozen=True, slots=True)
class EditParameters:
    """Lists, changes and rolls back one tenant's sets; every change is one version of its set."""

    changes: PolicyChanges
    memories: MemoryStore

    def current(self, tenant: TenantId, name: str) -> tuple[int, Values]:
        """The version and the values of a set; a set without values is no set, so any name may be asked."""
        return self.changes.policies.values(tenant, _checked_set(name))

    @property
    def base(self) -> Parameters:
        """What holds without a set."""
        return self.changes.policies.start.parameters

    def sets(self, tenant: TenantId) -> Mapping[str, int]:
        """The tenant's sets and their versions."""
        return self.changes.policies.sets(tenant)

    async def set(self, tenant: TenantId, name: str, values: Values, reset: Sequence[str], by: By) -> int:
        """Change some values of a set and give others their defaults back; the version in force.

        Raises:
            InvalidInput: UNKNOWN_PARAMETER, FIELD_OUT_OF_RANGE or FIELD_INVALID, naming the parameter.
            LimitExceeded: QUOTA_EXCEEDED for one set too many.
            FailedPrecondition: EXPERIMENT_RUNNING for a set that a running experiment compares.
            Conflict: ETAG_MISMATCH.
        """
        check_list(reset, "reset", len(SPECS))
        both = sorted(set(reset) & set(values))
        if both:
            raise InvalidInput(Reason.FIELD_INVALID, "a parameter is both set and reset", field="reset")
        checked_values({name: SPECS[name].default if name in SPECS else 0.0 for name in reset}, "reset")

        def make(known: Values) -> Values:
            return {n: v for n, v in {**known, **values}.items() if n not in reset}

        return await self._change(tenant, name, make, by)

    async def roll_back(self, tenant: TenantId, name: str, version: int, by: By) -> int:
        """Bring a version of a set back, as the next one; 0 is the defaults.

        Raises:
            NotFound: VERSION_NOT_FOUND. Others as `set`.
        """
        document = set_document(_checked_set(name))
        values = values_of(await self.changes.past(tenant, document, version)) if version else {}
        return await self._change(tenant, name, lambda _: values, by)

    async def history(self, tenant: TenantId, name: str, limit: int, before: int) -> list[PolicyDocument]:
        """Versions of a set, newest first."""
        return await self.changes.history(tenant, set_document(_checked_set(name)), limit, before)

    async def _change(self, tenant: TenantId, name: str, make: Callable[[Values], Values], by: By) -> int:
        name = _checked_set(name)

        async def made() -> str:
            policies = self.changes.policies
            experiment = policies.experiment(tenant)[1]
            if experiment is not None and experiment.running and name in (experiment.control, experiment.treatment):
                raise running(experiment.name, "set")
            sets = policies.sets(tenant)
            if name not in sets and len(sets) >= limits.PARAMETER_SETS_MAX:
                raise LimitExceeded(
                    Reason.QUOTA_EXCEEDED,
                    f"a tenant may have {limits.PARAMETER_SETS_MAX} parameter sets; empty one to make room",
                    field="set",
                    metadata={"limit": str(limits.PARAMETER_SETS_MAX)},
                )
            return values_text(checked_values(make(self.current(tenant, name)[1])))

        def current() -> tuple[int, str]:
            version, values = self.current(tenant, name)
            return version, values_text(values)

        return await self.changes.change(tenant, set_document(name), by, made, current)

    async def calibration(self, tenant: TenantId, user: str) -> list[Calibrated]:
        """What the intervals between uses suggest, of one user or (user empty) of all of the tenant's."""
        owner = OwnerKey(tenant, UserId(user))
        if user:
            seen = await self.memories.intervals(owner)
        else:
            seen = await self.changes.policies.store.intervals(tenant)
        decay = self.changes.policies.of(owner).decay
        made = []
        for histogram in histograms(seen):
            tau = decay.tau_seconds(histogram.kind, histogram.predicate)
            made.append(Calibrated(histogram, None if tau == NEVER else tau))
        return made


def _checked_set(name: str) -> str:
    check_name(name, "set", limit=SET_CHARS_MAX)
    return name or DEFAULT_SET
