"""What is decided for an owner, looked up without a read: every tenant's documents, kept up in the background.

A process reads the newest documents of all tenants when it starts, and then, every `policy_refresh_seconds`, those
that came since: one indexed query. A change made through this process is in force here when it is answered; on other
replicas within that time and one round trip, as long as PostgreSQL answers. While it does not, what is known stays
in force. Documents are kept packed (a few kilobytes for a tenant that has any, nothing for others) and made ready for
use on first need, the `READY_MAX` least recently needed being let go again.
"""

from __future__ import annotations

import asyncio
import zlib
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol

from memory_service.domain.errors import MemoryServiceError
from memory_service.domain.ids import OwnerKey, TenantId
from memory_service.domain.parameters import Parameters
from memory_service.domain.policy import (
    DEFAULT_SET,
    EXPERIMENT,
    VOCABULARY,
    Experiment,
    OwnerPolicy,
    PolicyDocument,
    Variant,
    experiment_of,
    set_document,
    set_of_document,
    values_of,
    vocabulary_of,
)
from memory_service.domain.tuning import Values
from memory_service.domain.vocabulary import Vocabulary
from memory_service.ports.policy_store import PolicyStore
from memory_service.ports.telemetry import Telemetry

READY_MAX: Final = 10_000
_PAGE: Final = 200
_LARGE_CHARS: Final = 20_000
_NO_VALUES: Final[Values] = {}
_Documents = dict[str, tuple[int, bytes]]
"""One tenant's newest documents by name: version and zlib-packed content."""


class OwnerPolicies(Protocol):
    """Looks up what is decided for an owner: a few dictionary look-ups, no I/O."""

    def of(self, owner: OwnerKey) -> OwnerPolicy:
        """What is in force for the owner now."""
        ...


@dataclass(frozen=True, slots=True)
class FixedPolicies:
    """The same for every owner, but for the tenants named."""

    policy: OwnerPolicy
    tenants: Mapping[str, OwnerPolicy] = field(default_factory=dict)

    def of(self, owner: OwnerKey) -> OwnerPolicy:
        """What is in force for the owner."""
        return self.tenants.get(owner.tenant, self.policy)

    @classmethod
    def with_words(
        cls,
        vocabulary: Vocabulary | None = None,
        parameters: Parameters | None = None,
        tenants: Mapping[str, Vocabulary] | None = None,
    ) -> FixedPolicies:
        """Of vocabularies and parameters."""
        numbers = parameters or Parameters()
        own = {tenant: OwnerPolicy.of(words, numbers, _NO_VALUES) for tenant, words in (tenants or {}).items()}
        return cls(OwnerPolicy.of(vocabulary or Vocabulary.of(), numbers, _NO_VALUES), own)


STARTING_POLICIES: Final = FixedPolicies.with_words()
"""What the service ships with."""


@dataclass(frozen=True, slots=True)
class StartValues:
    """Version 0 of everything: what settings say."""

    vocabulary: Vocabulary
    parameters: Parameters
    tenants: Mapping[str, Vocabulary] = field(default_factory=dict)

    def vocabulary_of(self, tenant: str) -> Vocabulary:
        """The vocabulary of a tenant that has not made its own."""
        return self.tenants.get(tenant, self.vocabulary)


@dataclass(frozen=True, slots=True)
class _Ready:
    plain: OwnerPolicy
    experiment: Experiment | None
    sides: Mapping[Variant, OwnerPolicy]


@dataclass(slots=True)
class Policies:
    """See the module. `refresh` is called by a background task, at the start, and after every change made here."""

    store: PolicyStore
    start: StartValues
    telemetry: Telemetry
    _sequence: int = 0
    _tenants: dict[TenantId, _Documents] = field(default_factory=dict)
    _ready: OrderedDict[TenantId, _Ready] = field(default_factory=OrderedDict)
    _plain: OwnerPolicy | None = None

    async def keep_fresh(self) -> None:
        """Take in what changed, at the usual pace also after failures, which are counted."""
        try:
            await self.refresh()
        except MemoryServiceError as error:
            self.telemetry.count("policy_refresh_failures_total", reason=error.reason.value)

    async def refresh(self) -> int:
        """Take in what changed since; how many documents.

        Raises:
            Unavailable: the store is away; what is known stays in force.
        """
        taken = 0
        while True:
            documents = await self.store.newest_after(self._sequence, limit=_PAGE)
            if documents:
                # A caller that goes away must not leave half of them taken in.
                await asyncio.shield(asyncio.ensure_future(self._take(documents)))
            taken += len(documents)
            if len(documents) < _PAGE:
                return taken

    async def _take(self, documents: Sequence[PolicyDocument]) -> None:
        """Take in documents, made ready off the event loop where that takes a while or a tenant is in use."""
        changed: dict[TenantId, _Documents] = {}
        for document in documents:
            packed = changed.setdefault(document.tenant, dict(self._documents(document.tenant)))
            _put(packed, document.name, (document.version, zlib.compress(document.content.encode())))
        large = {document.tenant for document in documents if len(document.content) > _LARGE_CHARS}
        made = {}
        for tenant, packed in changed.items():
            if self._sequence or tenant in large:
                made[tenant] = await asyncio.to_thread(self._made, tenant, packed)
        for tenant, packed in changed.items():
            current = self._tenants.setdefault(tenant, {})
            # Two refreshes may overlap; newer versions stay.
            for name, content in packed.items():
                _put(current, name, content)
            self._ready.pop(tenant, None)
            if tenant in made and current == packed:
                self._ready[tenant] = made[tenant]
        self._sequence = max(self._sequence, documents[-1].sequence)

    # Looking up --------------------------------------------------------------------------------------------

    def of(self, owner: OwnerKey) -> OwnerPolicy:
        """What is in force for the owner now."""
        if owner.tenant not in self._tenants and owner.tenant not in self.start.tenants:
            if self._plain is None:
                self._plain = OwnerPolicy.of(self.start.vocabulary, self.start.parameters, _NO_VALUES)
            return self._plain
        ready = self._ready.get(owner.tenant)
        if ready is None:
            ready = self._ready[owner.tenant] = self._made(owner.tenant, self._documents(owner.tenant))
            while len(self._ready) > READY_MAX:
                self._ready.popitem(last=False)
        else:
            self._ready.move_to_end(owner.tenant)
        if ready.experiment is None:
            return ready.plain
        return ready.sides[ready.experiment.variant_of(owner.user)]

    def _made(self, tenant: TenantId, documents: _Documents) -> _Ready:
        words = self._vocabulary(tenant, documents)[1]
        parameters = self.start.parameters
        plain = OwnerPolicy.of(words, parameters, _values(documents, DEFAULT_SET)[1])
        experiment = _experiment(documents)[1]
        if experiment is None or not experiment.running:
            return _Ready(plain, None, {})
        sides = {
            variant: OwnerPolicy.of(
                words,
                parameters,
                _values(documents, name)[1],
                variant,
                experiment.name,
                aliases=plain.aliases,
            )
            for variant, name in ((Variant.CONTROL, experiment.control), (Variant.TREATMENT, experiment.treatment))
        }
        return _Ready(plain, experiment, sides)

    def vocabulary(self, tenant: TenantId) -> tuple[int, Vocabulary]:
        """The tenant's vocabulary and its version; version 0 is the service's own."""
        return self._vocabulary(tenant, self._documents(tenant))

    def _vocabulary(self, tenant: TenantId, documents: _Documents) -> tuple[int, Vocabulary]:
        version, text = _text(documents, VOCABULARY)
        return version, vocabulary_of(text) if version else self.start.vocabulary_of(tenant)

    def values(self, tenant: TenantId, name: str) -> tuple[int, Values]:
        """A parameter set of the tenant and its version; one that was never set is version 0 and empty."""
        return _values(self._documents(tenant), name)

    def experiment(self, tenant: TenantId) -> tuple[int, Experiment | None]:
        """The tenant's newest experiment and its version."""
        return _experiment(self._documents(tenant))

    def sets(self, tenant: TenantId) -> dict[str, int]:
        """The names of the tenant's parameter sets that have values, with their versions; the default one always."""
        found = {DEFAULT_SET: self.values(tenant, DEFAULT_SET)[0]}
        for document, (version, _) in self._documents(tenant).items():
            name = set_of_document(document)
            if name is not None and self.values(tenant, name)[1]:
                found[name] = version
        return found

    def _documents(self, tenant: TenantId) -> _Documents:
        return self._tenants.get(tenant, {})


def _put(documents: _Documents, name: str, content: tuple[int, bytes]) -> None:
    """Keep a document unless a newer version is there."""
    if name not in documents or documents[name][0] < content[0]:
        documents[name] = content


def _text(documents: _Documents, name: str) -> tuple[int, str]:
    version, content = documents.get(name, (0, b""))
    return version, zlib.decompress(content).decode() if version else ""


def _values(documents: _Documents, name: str) -> tuple[int, Values]:
    version, text = _text(documents, set_document(name))
    return version, values_of(text) if version else _NO_VALUES


def _experiment(documents: _Documents) -> tuple[int, Experiment | None]:
    version, text = _text(documents, EXPERIMENT)
    return version, experiment_of(text) if version else None
