"""The values that everything else of the client is made of; `memory_service.client.types` has them all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum
from typing import Final, TypeAlias

from memory_service.client.words import Kind, Source, Standing, Status, Tier, Visibility

JsonScalar = str | int | float | bool | None
JsonValue: TypeAlias = "JsonScalar | Sequence[JsonValue] | Mapping[str, JsonValue]"


class Kept(Enum):
    """The type of `KEPT`."""

    KEPT = "kept"

    def __repr__(self) -> str:
        return "KEPT"


KEPT: Final = Kept.KEPT
"""As a `context`: what this client has seen of the user so far (and everything, if nothing yet)."""


@dataclass(frozen=True, slots=True)
class Context:
    """A causal context: for each device, how many of its changes have been seen."""

    counters: Mapping[str, int] = field(default_factory=dict)

    def covers(self, other: Context) -> bool:
        """Whether everything `other` has seen has been seen here too."""
        return all(self.counters.get(device, 0) >= count for device, count in other.counters.items())

    def merged(self, other: Context) -> Context:
        """What has been seen by either."""
        counters = dict(self.counters)
        for device, count in other.counters.items():
            counters[device] = max(count, counters.get(device, 0))
        return Context(counters)


ContextArgument: TypeAlias = Context | Kept | None
"""`KEPT`, an own `Context`, or None for "everything the server has when it accepts the change"."""


@dataclass(frozen=True, slots=True)
class Dot:
    """The name of one change: the `counter`-th that `device` made; 0 lets the server number it."""

    device: str
    counter: int = 0


@dataclass(frozen=True, slots=True)
class Slot:
    """What a memory is about: (subject, predicate), or a topic for statements without structure."""

    subject: str = ""
    predicate: str = ""
    topic: str = ""


@dataclass(frozen=True, slots=True)
class Assertion:
    """A structured statement; `object` is any JSON value."""

    subject: str
    predicate: str
    object: JsonValue


@dataclass(frozen=True, slots=True)
class Provenance:
    """Where a version came from. `actor` is the id of the key that wrote it."""

    actor: str = ""
    device: str = ""
    agent: str = ""
    session: str = ""
    process: str = ""
    reference: str = ""


@dataclass(frozen=True, slots=True)
class Memory:
    """A memory as it stands, or one version of it. Fields as in `types.proto`; absent times are None."""

    id: str
    version: int
    etag: str
    kind: Kind
    text: str
    assertion: Assertion | None
    topic: str
    tags: tuple[str, ...]
    source: Source
    confidence: float
    importance: float
    support: int
    tier: Tier
    status: Status
    valid_from: datetime | None
    valid_to: datetime | None
    recorded_at: datetime | None
    expires_at: datetime | None
    said_at: datetime | None
    created_at: datetime | None
    provenance: Provenance
    dot: Dot | None
    context: Context
    visibility: Visibility
    pinned: bool
    access_count: int
    adopted_count: int
    last_access_at: datetime | None
    language: str
    reason: str
    redacted: bool
    rejected_count: int = 0
    standing: Standing = Standing.UNKNOWN
    superseded_by: str = ""
    cold: bool = False
