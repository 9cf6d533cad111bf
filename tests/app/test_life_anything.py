"""Whatever is done to memories, in whatever order, cut off wherever: only what the table of a life allows happens."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pytest

from memory_service.app.commands import ChangeMeta, ResolveCommand, RevokeCommand, RollbackCommand, Statement
from memory_service.app.feedback import Outcome
from memory_service.app.resolve import Resolve
from memory_service.app.revoke import Revoke
from memory_service.domain.errors import InternalError, MemoryServiceError
from memory_service.domain.lifecycle import TRANSITIONS, State, Transition
from memory_service.domain.memory import Assertion, Kind, MemoryHead, Source, Status, Tier
from memory_service.domain.parameters import Parameters
from memory_service.domain.records import JournalEvent, MemoryFilter
from memory_service.ports.memory_store import MemoryStore
from tests.app.harness import ALICE, START, World, device

_SOURCES = (Source.EXPLICIT, Source.INFERRED, Source.INFERRED, Source.DERIVED, Source.EXPLICIT_CORRECTION)
_PREDICATES = ("location", "favorite", "availability", "preference", "allergy")
_VALUES = ("a", "b", ["a", "b"], ["c"])
_TEXTS = ("I like tea", "我在开会", "Meet me tonight")
_OPERATIONS = (
    *["write"] * 9,
    *["say", "use", "wait", "upkeep"] * 3,
    *["correct", "judge", "resolve", "rollback", "forget"],
)


def _step(chance: random.Random) -> tuple[Any, ...]:
    pick, which = chance.choice, chance.randrange(30)
    operation = "revoke" if chance.random() < 0.01 else pick(_OPERATIONS)
    writer = (pick(["", "", "phone", "tablet"]), chance.random() < 0.3)
    given: dict[str, tuple[Any, ...]] = {
        "write": (pick(_PREDICATES), pick(_VALUES), pick(_SOURCES), writer, chance.randrange(4)),
        "say": (pick(_TEXTS), pick(_SOURCES)),
        "correct": (which, pick(_VALUES), writer),
        "forget": (which,),
        "rollback": (which, chance.randint(1, 3)),
        "resolve": (which, chance.randrange(30)),
        "revoke": (pick(["phone", "tablet"]),),
        "use": (which, chance.randint(1, 4)),
        "judge": (which, pick(list(Outcome))),
        "wait": (pick([1, 15, 61, 95, 200]),),
        "upkeep": (),
    }
    return (operation, *given[operation])


_PARAMETERS = Parameters(cards_max=3)


class _Life:
    """Does steps in a world; what is refused is passed over."""

    def __init__(self, world: World) -> None:
        self.world = world

    async def run(self, steps: list[tuple[Any, ...]]) -> None:
        for step in [*steps, ("upkeep",)]:
            try:
                await getattr(self, f"_{step[0]}")(*step[1:])
            except InternalError:
                raise
            except MemoryServiceError:
                pass

    async def _heads(self) -> list[MemoryHead]:
        return list((await self.world.store.list(ALICE, MemoryFilter(), limit=500)).heads)

    async def _pick(self, which: int) -> MemoryHead | None:
        heads = await self._heads()
        return heads[which % len(heads)] if heads else None

    def _meta(self, writer: tuple[str, bool]) -> ChangeMeta:
        name, blind = writer
        return device(name, 0, {}) if name and blind else device(name) if name else ChangeMeta(actor="key")

    async def _write(
        self, predicate: str, value: Any, source: Source, writer: tuple[str, bool], session: int
    ) -> None:
        meta = self._meta(writer)
        await self.world.state(predicate, value, meta=meta, source=source, session=f"s{session}" if session else "")

    async def _say(self, text: str, source: Source) -> None:
        await self.world.say(text, source=source)

    async def _correct(self, which: int, value: Any, writer: tuple[str, bool]) -> None:
        head = await self._pick(which)
        if head is not None and head.current.assertion is not None:
            told = Assertion(head.current.assertion.subject, head.current.assertion.predicate, value)
            await self.world.fix(head.id, self._meta(writer), statement=Statement(assertion=told))

    async def _forget(self, which: int) -> None:
        head = await self._pick(which)
        if head is not None:
            await self.world.erase(head.id)

    async def _rollback(self, which: int, version: int) -> None:
        head = await self._pick(which)
        if head is not None:
            await self.world.rollback(ALICE, RollbackCommand(head.id, version), ChangeMeta(actor="key"))

    async def _resolve(self, one: int, other: int) -> None:
        keep, drop = await self._pick(one), await self._pick(other)
        if keep is not None and drop is not None:
            command = ResolveCommand(ids=(keep.id, drop.id), keep=keep.id)
            await Resolve(self.world.changes)(ALICE, command, ChangeMeta(actor="key"))

    async def _revoke(self, name: str) -> None:
        await Revoke(self.world.changes)(ALICE, RevokeCommand(device=name, since=START), ChangeMeta(actor="key"))

    async def _use(self, which: int, times: int) -> None:
        head = await self._pick(which)
        if head is not None:
            await self.world.used(head.id, times=times)

    async def _judge(self, which: int, outcome: Outcome) -> None:
        head = await self._pick(which)
        if head is not None:
            await self.world.judge(outcome, head.id)

    async def _wait(self, days: int) -> None:
        self.world.clock.advance(timedelta(days=days))

    async def _upkeep(self) -> None:
        await self.world.upkeep.run(ALICE)
        again = await self.world.upkeep.run(ALICE)
        assert not sum(again.values()), again


async def _told(world: World) -> set[JournalEvent]:
    """Check every memory's journal against its versions; which events there were."""
    seen: set[JournalEvent] = set()
    entries = await world.store.journal_since(ALICE, 0, (await world.store.state(ALICE)).revision)  # type: ignore[arg-type]
    by_version: dict[Any, list[JournalEvent]] = {}
    ids = {entry.memory_id for entry in entries}
    states = {
        memory_id: {0: None, **{v.version: State.of(v) for v in await world.store.history(ALICE, memory_id)}}
        for memory_id in ids
    }
    for entry in entries:
        seen.add(entry.event)
        of = states[entry.memory_id]
        by_version.setdefault((entry.memory_id, entry.version), []).append(entry.event)
        if entry.event is JournalEvent.FORGOTTEN:
            move: Transition = (entry.event, of[entry.version], None)
        elif entry.event is JournalEvent.SUPPRESSED:
            move = (entry.event, None, None)
        else:
            move = (entry.event, of[entry.version - 1], of[entry.version])
            assert int(entry.details["support"]) >= 0
        assert move in TRANSITIONS
        assert entry.reason or entry.memory_id in states
    for memory_id, of in states.items():
        for version in range(1, max(of) + 1):
            if of[version] != of[version - 1]:
                assert (memory_id, version) in by_version
    return seen


async def test_every_change_of_state_is_in_the_table_and_in_the_journal() -> None:
    seen: set[JournalEvent] = set()
    for seed in range(50):
        chance = random.Random(seed)
        world = World(parameters=_PARAMETERS)
        await _Life(world).run([_step(chance) for _ in range(60)])
        seen |= await _told(world)
    assert seen == set(JournalEvent)


# Cut off anywhere -----------------------------------------------------------------------------------------------


class Killed(BaseException):
    """The process ends here."""


@dataclass
class _Mortal:
    """A store that dies at its n-th operation, before or after it; what was not committed is gone."""

    store: MemoryStore
    left: int

    def _step(self) -> None:
        self.left -= 1
        if self.left < 0:
            raise Killed

    def __getattr__(self, name: str) -> Any:
        wanted = getattr(self.store, name)

        async def call(*args: Any, **kwargs: Any) -> Any:
            self._step()
            return await wanted(*args, **kwargs)

        return call

    @asynccontextmanager
    async def change(self, owner: Any) -> AsyncIterator[Any]:
        self._step()
        async with self.store.change(owner) as inner:
            yield _MortalChange(inner, self._step)
            self._step()


class _MortalChange:
    def __init__(self, inner: Any, step: Any) -> None:
        self._inner, self._step = inner, step

    @property
    def state(self) -> Any:
        return self._inner.state

    def __getattr__(self, name: str) -> Any:
        wanted = getattr(self._inner, name)

        async def call(*args: Any, **kwargs: Any) -> Any:
            self._step()
            result = await wanted(*args, **kwargs)
            self._step()
            return result

        return call


async def _before_upkeep() -> World:
    """An owner for whom every step has something to do."""
    world = World(parameters=Parameters(cards_max=4))
    for n in range(3):
        await world.say("Seems to like jazz", source=Source.INFERRED, session=f"s{n}")
        await world.say(f"Ticket {n} is open", kind=Kind.TASK)
        await world.say(f"Context {n}", kind=Kind.CONTEXT)
    for n in range(7):
        await world.state("preference", f"tea number {n}")
    berlin = await world.state("location", "Berlin", confidence=0.9)
    assert berlin.memory
    await world.used(berlin.memory.id, times=3)
    await world.state("location", "Munich", confidence=0.9)
    world.clock.advance(timedelta(days=40))
    return world


def _outline(heads: list[MemoryHead]) -> list[tuple[str, str, str]]:
    return sorted((h.current.text, h.current.tier.value, h.current.status.value) for h in heads)


async def test_killed_between_any_two_statements_the_work_is_done_in_the_end_as_if_it_had_not_been() -> None:
    whole = await _before_upkeep()
    done = await whole.upkeep.run(ALICE)
    assert {name for name, count in done.items() if count} == {"decay_short_term", "promotion", "contested", "cap"}
    wanted = _outline(await _Life(whole)._heads())
    deaths = 0
    for left in range(500):
        world = await _before_upkeep()
        mortal = _Mortal(world.store, left)
        dying = World(store=mortal, parameters=world.parameters, seed=11)
        dying.clock.advance(world.clock.now() - dying.clock.now())
        try:
            await dying.upkeep.run(ALICE)
        except Killed:
            deaths += 1
        else:
            break
        await _told(world)
        await world.upkeep.run(ALICE)
        assert _outline(await _Life(world)._heads()) == wanted
        await _told(world)
    assert deaths > 30


async def test_many_contested_memories_are_judged_in_batches_by_two_workers_and_do_not_pile_up() -> None:
    world = World()
    slots = 200
    for n in range(slots):
        first = await world.write.one(ALICE, _about(n, "Berlin"), ChangeMeta(actor="key"))
        assert first.memory
        await world.used(first.memory.id, times=3)
    world.clock.advance(timedelta(minutes=1))
    for n in range(slots):
        await world.write.one(ALICE, _about(n, "Munich"), ChangeMeta(actor="key"))
    contested = MemoryFilter(statuses=frozenset({Status.CONTESTED}))
    assert len((await world.store.list(ALICE, contested, limit=500)).heads) == 2 * slots
    world.clock.advance(timedelta(days=15))
    await asyncio.gather(world.upkeep.run(ALICE), world.upkeep.run(ALICE))
    assert (await world.store.list(ALICE, contested, limit=500)).heads == []
    active = MemoryFilter(statuses=frozenset({Status.ACTIVE}), tiers=frozenset({Tier.LONG_TERM}))
    assert len((await world.store.list(ALICE, active, limit=500)).heads) == slots


def _about(number: int, city: str) -> Statement:
    return Statement(assertion=Assertion(f"person {number}", "location", city), confidence=0.9)


async def test_a_transition_outside_the_table_commits_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """A transition outside the table is refused before the commit."""
    from memory_service.domain import lifecycle

    world = World()
    said = await world.say("I like green tea")
    assert said.memory
    before = await world.store.state(ALICE)
    allowed = lifecycle.TRANSITIONS - {t for t in lifecycle.TRANSITIONS if t[0] is JournalEvent.SUPPORTED}
    monkeypatch.setattr(lifecycle, "TRANSITIONS", allowed)
    with pytest.raises(InternalError):
        await world.say("I like green tea")
    assert await world.store.state(ALICE) == before
    monkeypatch.undo()
    assert (await world.say("I like green tea")).memory is not None
