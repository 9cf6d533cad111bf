"""Clients that work offline: everything is queued in a file, and joined with the service at each sync."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from memory_service.client import AsyncMemoryClient, DeviceOutOfStep, Memory, MemoryClientError, Status
from memory_service.client.offline import OfflineDevice
from memory_service.domain.ids import DeviceId
from memory_service.domain.vector_clock import Dot as Name
from tests.robustness.history import effective
from tests.robustness.model import CORRECTED, TEXT, Act, Claim
from tests.robustness.plan import Op, Script
from tests.robustness.traffic import (
    CONFIDENCES,
    LEDGER,
    PATIENCE_SECONDS,
    Values,
    World,
    claim_of,
    disputed,
)


class Offline:
    """One device, with its file."""

    def __init__(self, world: World, script: Script, place: int, folder: Path) -> None:
        self.world, self.script = world, script
        self.user = world.user(script.owner)
        self.name = f"{self.user}/{script.name}"
        self.history = world.history
        self.values = Values(script.owner, world.prefix)
        self.step = 0
        self.client: AsyncMemoryClient = world.client(place, self.user)
        path = folder / f"{self.user}-{script.name}.device"
        self.device = OfflineDevice(path, self.client, user=self.user, device=script.name)
        self.queued: dict[int, Act] = {}
        self.refused: set[int] = set()

    async def run(self) -> None:
        """Follow the script until it ends or time is up, then sync."""
        for step, op in enumerate(self.script.ops):
            if self.world.over:
                break
            self.step = step
            await getattr(self, f"_{op.kind}")(op)
            if self.world.pause:
                await asyncio.sleep(self.world.pause)
        await self.sync()

    async def close(self) -> None:
        await self.device.close()
        await self.client.close()

    async def sync(self) -> None:
        """Sync until it worked; then every change that was queued has been decided."""
        loop = asyncio.get_running_loop()
        gives_up = max(self.world.deadline, loop.time()) + PATIENCE_SECONDS
        while True:
            try:
                await self.device.sync(idle_seconds=5.0)
                break
            except DeviceOutOfStep as error:
                self.history.problem(f"{self.name}: {error}")
                raise
            except MemoryClientError as error:
                self.history.failed(self.name, error)
                if loop.time() > gives_up:
                    self.history.problem(f"{self.name}: no sync in {PATIENCE_SECONDS:.0f} s of peace: {error!r}")
                    raise
            await asyncio.sleep(0.05)
        for rejected in await self.device.rejected():
            dot = rejected.change.dot
            self.refused.add(dot.counter)
            self.history.note(self.name, "refused", counter=dot.counter, reason=rejected.error.reason)
            self.queued.pop(dot.counter, None)
        await self.device.clear_rejected()
        if await self.device.pending():
            self.history.problem(f"{self.name}: a sync ended well and left changes behind")
        for act in self.queued.values():
            self.history.accepted(self.user, self.name, act)
        self.queued.clear()

    async def _sync(self, op: Op) -> None:
        if op.pick % 2:
            await self.sync()

    async def _queue(
        self, kind: str, claim: Claim, confidence: float = 0.0, drops: frozenset[Claim] = frozenset()
    ) -> None:
        change = (await self.device.pending())[-1]
        dot = change.dot
        seen = effective(change.context.counters, {}, dot.device, dot.counter)
        self.queued[dot.counter] = Act(Name(DeviceId(dot.device), dot.counter), seen, kind, claim, confidence, drops)
        self.history.note(self.name, "queue", kind=kind, claim=list(claim), counter=dot.counter)

    async def _known(self, *statuses: Status) -> list[Memory]:
        found = await self.device.memories(statuses=statuses or (Status.ACTIVE, Status.CONTESTED))
        return sorted((one.memory for one in found if one.memory is not None), key=lambda memory: memory.id)

    async def _put(self, op: Op) -> None:
        subject, predicate = self.values.slot(op.pick)
        value, confidence = (
            self.values.value(self.step, op.pick, (subject, predicate)),
            CONFIDENCES[op.pick // 11 % 3],
        )
        fields: Any = {"confidence": confidence, "source": "explicit"}
        await self.device.write(subject=subject, predicate=predicate, object=value, **fields)
        await self._queue("assert", (subject, predicate, value), confidence)

    async def _say(self, op: Op) -> None:
        text, confidence = self.values.text(self.step, op.pick), CONFIDENCES[op.pick // 11 % 3]
        await self.device.write(text, kind="fact", confidence=confidence, source="explicit")
        await self._queue("assert", ("", TEXT, text), confidence)

    async def _correct(self, op: Op) -> None:
        slot = f"friend {op.pick // 64 % 2}", CORRECTED[op.pick % 2]
        value = self.values.mark(f"c{self.script.name}n", self.step)
        await self.device.correct(slot=slot, object=value)
        await self._queue("assert", (*slot, value), 0.95)

    async def _forget_slot(self, op: Op) -> None:
        if op.pick % 3 == 0:
            slot = self.values.slot(op.pick)
            await self.device.forget(slot=slot)
            await self._queue("forget_slot", (*slot, ""))

    async def _forget_id(self, op: Op) -> None:
        known = [m for m in await self._known() if claim_of(m)[1] not in CORRECTED and LEDGER not in m.tags]
        if known:
            memory = known[op.pick % len(known)]
            await self.device.forget(memory.id)
            await self._queue("forget_claim", claim_of(memory))

    async def _forget_said(self, op: Op) -> None:
        claim, statement = self.values.sayable(self.step, op.pick)
        await self.device.forget(statement=statement)
        await self._queue("forget_claim", claim)

    async def _resolve(self, op: Op) -> None:
        found = disputed(await self._known(Status.CONTESTED))
        if found:
            group = found[op.pick % len(found)]
            kept = group[op.pick // 3 % len(group)]
            await self.device.resolve([memory.id for memory in group], keep=kept.id)
            drops = frozenset(claim_of(memory) for memory in group if memory is not kept)
            await self._queue("resolve", claim_of(kept), 0.95, drops)
