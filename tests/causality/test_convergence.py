"""Every causally valid order of the same changes ends in the same heads: those of the naive model (F7, B1, B3)."""

from __future__ import annotations

import asyncio
import json
import os
import random
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from memory_service.app.commands import ChangeMeta, ForgetCommand, SlotRef, Statement
from memory_service.domain.ids import OwnerKey, TenantId, UserId
from memory_service.domain.memory import STANDING_STATUSES, Assertion
from memory_service.domain.records import MemoryFilter
from memory_service.domain.vector_clock import Dot
from memory_service.ports.memory_store import MemoryStore
from tests.app.harness import ALICE, World
from tests.causality.histories import (
    CONFIDENCES,
    DEVICES,
    POLICIES,
    Act,
    Heads,
    causal_order,
    history,
    naive_heads,
    steps,
    vocabulary,
)
from tests.postgres.fixtures import postgres_backend

EXAMPLES = int(os.environ.get("CAUSALITY_EXAMPLES", "300"))


class Replica:
    """One deployment that receives changes."""

    def __init__(self, store: MemoryStore | None = None, owner: OwnerKey = ALICE, seed: int = 7) -> None:
        self.world = World(vocabulary=vocabulary(), store=store, seed=seed)
        self.owner = owner
        self.made: dict[Dot, Any] = {}
        self.commands: dict[Dot, ForgetCommand] = {}

    async def deliver(self, act: Act) -> bool:
        """Hand over a change; whether it was a replay."""
        meta = ChangeMeta(actor="key", device=act.dot.device, counter=act.dot.counter, context=act.context)
        if act.asserts:
            statement = Statement(assertion=Assertion("user", act.predicate, act.value), confidence=act.confidence)
            result = await self.world.write.one(self.owner, statement, meta)
            if result.memory is not None:
                self.made[act.dot] = result.memory.id
            return result.replayed
        command = self.commands.setdefault(act.dot, self._forget(act))
        return (await self.world.forget(self.owner, command, meta)).replayed

    def _forget(self, act: Act) -> ForgetCommand:
        if act.kind == "forget_slot":
            return ForgetCommand(slot=SlotRef("user", act.predicate))
        # A device that never heard the memory's id, or whose write was suppressed here, names what it said.
        if act.of in self.made and act.dot.counter % 2:
            return ForgetCommand(ids=(self.made[act.of],))
        return ForgetCommand(says=Statement(assertion=Assertion("user", act.predicate, act.value)))

    async def heads(self) -> Heads:
        """What stands, in the model's terms."""
        page = await self.world.store.list(self.owner, MemoryFilter(statuses=STANDING_STATUSES), limit=500)
        found: Heads = set()
        for head in page.heads:
            version = head.current
            assert version.assertion is not None
            key = json.dumps(version.assertion.object)
            if version.merged:
                found.add((version.assertion.predicate, key, "merged", 0, 0.0))
            else:
                found.add(
                    (version.assertion.predicate, key, version.status.value, version.support, version.confidence)
                )
        return found


async def _play(acts: list[Act], chance: random.Random, replica: Replica | None = None) -> Heads:
    replica = replica or Replica()
    delivered: list[Act] = []
    for act in causal_order(acts, chance):
        assert not await replica.deliver(act)
        delivered.append(act)
        if chance.random() < 0.3:
            # A retry after a lost answer: the same change again, however late.
            assert await replica.deliver(chance.choice(delivered))
    return await replica.heads()


@settings(max_examples=EXAMPLES)
@given(steps, st.integers(0, 2**32))
def test_every_order_ends_in_the_heads_of_the_model(script: list[Any], seed: int) -> None:
    acts = history(script)
    chance = random.Random(seed)
    expected = naive_heads(acts)
    for _ in range(2):
        assert asyncio.run(_play(acts, chance)) == expected


async def test_the_database_ends_there_as_well(database_url: str) -> None:
    """The same on PostgreSQL, with two processes' worth of stores taking the changes in turn."""
    chance = random.Random(20261130)
    async with postgres_backend(database_url) as one, postgres_backend(database_url) as other:
        for number in range(25):
            acts = history(_random_script(chance))
            owner = OwnerKey(TenantId("t"), UserId(f"u{number}"))
            replicas = [Replica(backend.memories, owner, seed) for seed, backend in enumerate((one, other))]
            for replica in replicas[1:]:
                replica.made, replica.commands = replicas[0].made, replicas[0].commands
            for act in causal_order(acts, chance):
                await chance.choice(replicas).deliver(act)
            assert await replicas[0].heads() == naive_heads(acts), acts


def _random_script(chance: random.Random) -> list[Any]:
    predicate = chance.choice(sorted(POLICIES))
    steps: list[Any] = []
    for _ in range(chance.randint(4, 14)):
        step: tuple[Any, ...] = ("write", predicate, chance.randint(0, 2), chance.choice(CONFIDENCES))
        if chance.random() < 0.4:
            step = chance.choice(
                [("see", chance.choice(DEVICES)), ("see_all",), ("forget_slot", predicate), ("forget_write", 3)]
            )
        steps.append((chance.choice(DEVICES), step))
    return steps
