"""Who made which change of one owner, and what is known of its devices."""

from __future__ import annotations

import bisect
from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime

from memory_service.domain.errors import OutOfRange, Reason
from memory_service.domain.evidence import RETIRED, Knowledge
from memory_service.domain.ids import DeviceId, Revision
from memory_service.domain.vector_clock import VectorClock
from memory_service.ports.memory_store import ChangeRecord, Changeset, DeviceRecord, OwnerState, Writer


class ChangeLog:
    """The log of one owner. Nothing here awaits."""

    def __init__(self) -> None:
        self.pruned = Revision(0)
        self._changes: list[ChangeRecord] = []
        self._devices: dict[DeviceId, DeviceRecord] = {}
        self._retired: set[DeviceId] = set()

    def write(self, before: OwnerState, changeset: Changeset) -> None:
        """Follow a change: its records, and the devices that wrote, moved in the clock or were retired."""
        self._changes += sorted(changeset.changes, key=lambda change: change.revision)
        seen = changeset.devices_seen()
        for device, counter in changeset.device_counters(before).items():
            known = self._devices.get(device, DeviceRecord(device, 0))
            times = [at for at in (known.last_seen, seen.get(device)) if at is not None]
            retirement = changeset.retired.get(device, known.retirement)
            self._devices[device] = replace(
                known, counter=counter, last_seen=max(times, default=None), retirement=retirement
            )
            if device in changeset.retired:
                self._retired.add(device)
            else:
                self._retired.discard(device)

    def prune(self, upto: Revision, newest: Revision) -> None:
        """Drop changes up to a revision."""
        self._changes = [change for change in self._changes if change.revision > upto]
        self.pruned = max(self.pruned, min(upto, newest))

    def require(self, cursor: Revision) -> None:
        """Raise `OutOfRange` when changes after `cursor` were dropped."""
        if cursor < self.pruned:
            raise OutOfRange(
                Reason.CURSOR_TOO_OLD,
                "the changes that follow this cursor are no longer kept",
                metadata={"oldest": str(self.pruned)},
            )

    def since(self, revision: Revision, limit: int) -> list[ChangeRecord]:
        """The first `limit` changes after `revision`; `OutOfRange` when some were dropped."""
        self.require(revision)
        start = bisect.bisect_right(self._changes, revision, key=lambda change: change.revision)
        return self._changes[start : start + limit]

    def at(self, revisions: Iterable[Revision]) -> list[ChangeRecord]:
        """The changes of these revisions, in order of revision."""
        wanted = set(revisions)
        return [change for change in self._changes if change.revision in wanted]

    def by(self, writer: Writer, since: datetime) -> list[ChangeRecord]:
        """Changes of a writer at or after `since`, in order of revision."""
        return [
            change
            for change in self._changes
            if change.at >= since
            and writer.device in ("", change.dot.device)
            and writer.agent in ("", change.agent)
            and writer.actor in ("", change.actor)
        ]

    def devices(self, names: Iterable[DeviceId]) -> dict[DeviceId, DeviceRecord]:
        """What is known of these devices."""
        return {name: self._devices[name] for name in names if name in self._devices}

    def idle(self, limit: int) -> list[DeviceRecord]:
        """Devices that are not retired, least recently seen first, then by name."""
        active = (d for d in self._devices.values() if d.device not in self._retired and d.device != RETIRED)
        return sorted(active, key=_idleness)[:limit]

    def first_unseen(self, clock: VectorClock, state: OwnerState) -> Revision:
        """See `MemoryStore.first_unseen`."""
        next_revision = Revision(state.revision + 1)
        if clock.descends(state.clock):
            return next_revision
        if self.pruned:
            return Revision(1)
        retired = {d.device: d.retirement for d in self._devices.values() if d.retirement is not None}
        knowledge = Knowledge(clock, retired)
        return next((c.revision for c in self._changes if not knowledge.saw(c.dot)), next_revision)


def _idleness(record: DeviceRecord) -> tuple[bool, datetime, str]:
    """Orders the least recently seen first, never seen before all."""
    seen = record.last_seen
    return seen is not None, seen or datetime.min.replace(tzinfo=UTC), record.device
