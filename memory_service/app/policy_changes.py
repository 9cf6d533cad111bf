"""How a tenant's documents are changed: on the newest version, as the next one, in force here when it is answered."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from memory_service.app.one_at_a_time import OneAtATime
from memory_service.app.policies import Policies
from memory_service.app.validation import check_count, check_name
from memory_service.domain import limits
from memory_service.domain.errors import Conflict, FailedPrecondition, NotFound, Reason, Unavailable
from memory_service.domain.ids import TenantId
from memory_service.domain.policy import PolicyDocument
from memory_service.ports.clock import Clock

VERSION_MAX = 2**31 - 1
_ATTEMPTS_MAX = 32
"""Each is lost to a change that another replica made; those of this process wait for each other."""


@dataclass(frozen=True, slots=True)
class By:
    """Who changes something, and why.

    Attributes:
        expected: the version the change is based on; 0 for whichever is the newest.
    """

    actor: str
    reason: str = ""
    expected: int = 0


@dataclass(frozen=True, slots=True)
class PolicyChanges:
    """The collaborators of all changes of documents."""

    policies: Policies
    clock: Clock
    _writers: OneAtATime[tuple[TenantId, str]] = field(default_factory=OneAtATime)

    async def change(
        self,
        tenant: TenantId,
        document: str,
        by: By,
        make: Callable[[], Awaitable[str]],
        current: Callable[[], tuple[int, str]],
    ) -> int:
        """Store what `make` makes of the newest versions; the version in force. Nothing changed is no new version.

        `make` may be called again, when another replica was quicker; `current` gives the present version and text.

        Raises:
            Conflict: ETAG_MISMATCH when the newest version is not the expected one; metadata `version`.
            Unavailable: OVERLOADED when other replicas were quicker again and again.
        """
        check_name(by.reason, "reason", limit=limits.REASON_CHARS_MAX)
        check_count(by.expected, "expected_version", minimum=0, maximum=VERSION_MAX)
        async with self._writers.held((tenant, document)):
            return await self._change(tenant, document, by, make, current)

    async def _change(
        self,
        tenant: TenantId,
        document: str,
        by: By,
        make: Callable[[], Awaitable[str]],
        current: Callable[[], tuple[int, str]],
    ) -> int:
        for _ in range(_ATTEMPTS_MAX):
            await self.policies.refresh()
            version, text = current()
            made = await make()
            if made == text:
                return version  # as it is, or a retry of what was done
            if by.expected and by.expected != version:
                raise self._changed(version)
            next_version = PolicyDocument(tenant, document, version + 1, made, by.actor, by.reason, self.clock.now())
            if await self.policies.store.add(next_version):
                await self.policies.refresh()
                return version + 1
        raise Unavailable(Reason.OVERLOADED, "too many changes of this are made at once")

    @staticmethod
    def _changed(version: int) -> Conflict:
        return Conflict(
            Reason.ETAG_MISMATCH,
            "it has been changed since it was read",
            field="expected_version",
            metadata={"version": str(version)},
        )

    async def past(self, tenant: TenantId, document: str, version: int) -> str:
        """The content of a version.

        Raises:
            NotFound: VERSION_NOT_FOUND.
        """
        check_count(version, "version", minimum=1, maximum=VERSION_MAX)
        found = await self.policies.store.version(tenant, document, version)
        if found is None:
            raise NotFound(Reason.VERSION_NOT_FOUND, "there is no such version, or no longer", field="version")
        return found.content

    async def history(self, tenant: TenantId, document: str, limit: int, before: int) -> list[PolicyDocument]:
        """Versions, newest first."""
        check_count(limit, "limit", minimum=0, maximum=limits.PAGE_SIZE_MAX)
        check_count(before, "before_version", minimum=0, maximum=VERSION_MAX)
        found = await self.policies.store.history(
            tenant, document, limit=limit or limits.PAGE_SIZE_DEFAULT, before=before
        )
        return list(found)


def running(name: str, field: str) -> FailedPrecondition:
    """The refusal of what a running experiment stands against."""
    return FailedPrecondition(
        Reason.EXPERIMENT_RUNNING,
        "an experiment is running: stop it first",
        field=field,
        metadata={"experiment": name},
    )
