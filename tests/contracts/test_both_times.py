"""Both times against a naive bitemporal model: values with two intervals, random writes and corrections (P10)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from hypothesis import HealthCheck, Phase, given, note, settings
from hypothesis import strategies as st

from memory_service.app.commands import ChangeMeta, CorrectCommand, Nature, Statement
from memory_service.domain.ids import MemoryId
from memory_service.domain.intervals import Window
from memory_service.domain.memory import CURRENT_STATUSES, Assertion
from memory_service.ports.memory_store import MemoryStore
from tests.app.harness import START, World
from tests.contracts import builders as make

PREDICATE = "location"
DAYS = st.integers(-6, 12)


@dataclass(frozen=True)
class Fact:
    """That `value` held in `window`, as believed from `learnt` on, until `dropped`."""

    value: str
    window: Window
    learnt: datetime
    standing: bool
    dropped: datetime | None = None


@dataclass
class Naive:
    """A list of facts. Whatever is said of a stretch of time replaces what was believed of it."""

    facts: list[Fact] = field(default_factory=list)

    def believed(self, at: datetime | None) -> list[Fact]:
        """The facts believed at a time, or in the end."""
        if at is None:
            return [f for f in self.facts if f.dropped is None]
        return [f for f in self.facts if f.learnt <= at and (f.dropped is None or at < f.dropped)]

    def values(self, valid_at: datetime, recorded_at: datetime | None) -> set[str]:
        """What held at one time, as believed at another."""
        return {f.value for f in self.believed(recorded_at) if f.window.holds(valid_at)}

    def drop(self, fact: Fact, now: datetime) -> None:
        """Believe it no longer."""
        self.facts[self.facts.index(fact)] = replace(fact, dropped=now)

    def say(
        self, value: str, start: datetime | None, end: datetime | None, now: datetime, *, corrects: bool = False
    ) -> None:
        """Believe from now on that `value` held in a stretch of time."""
        said = Window(start if start or (end and end <= now) else now, end)
        old = [f for f in self.believed(None) if f.value == value and f.standing and f.window.overlaps(said)]
        if old:
            held = old[0].window
            if corrects and start is not None:
                said = Window(held.start if held.start is None or held.start < start else start, end)
            else:
                said = Window(held.start if start is None else start, held.end if end is None else end)
            self.drop(old[0], now)
        others = [f for f in self.believed(None) if f.value != value]
        known = any(f.window.end for f in self.believed(None)) or any(f.window.overlaps(said) for f in others)
        if not old and start is None and not known:
            window = Window(None, end)
        else:
            window = said
        for fact in others:
            if fact.window.overlaps(said):
                self.drop(fact, now)
                before, after = fact.window.without(said)
                left = [part for part in (before, after) if part is not None]
                self.facts += [Fact(fact.value, w, now, fact.standing and not w.over(now)) for w in left]
        self.facts.append(Fact(value, window, now, True))

    def close(self, value: str, window: Window, now: datetime) -> None:
        """What was said to be outdated, and had ended before: nobody states it any more."""
        for place, fact in enumerate(self.facts):
            if fact.value == value and fact.window == window and fact.dropped is None and window.over(now):
                self.facts[place] = replace(fact, standing=False)

    def correct(self, old: Fact, value: str, now: datetime) -> None:
        """Believe that it was never the old value."""
        self.drop(old, now)
        self.facts.append(replace(old, value=value, learnt=now))


@dataclass
class Life:
    """The service and the model, told the same."""

    world: World
    owner: object
    model: Naive = field(default_factory=Naive)

    async def step(self, kind: str, value: str, start: int | None, length: int | None, pick: int) -> None:
        """One write or correction, a day and a bit after the one before."""
        self.world.clock.advance(timedelta(days=1, seconds=1))
        now = self.world.clock.now()
        begins = None if start is None else _day(now, start)
        ends = None if length is None else _day(now, length if start is None else start + length)
        if start is None and length is not None and length <= 0:
            ends = _day(now, length - 1)
        targets = await self.targets()
        if kind == "say" or not targets:
            statement = Statement(assertion=Assertion("user", PREDICATE, value), valid_from=begins, valid_to=ends)
            note(f"{now:%d %H} say {value} {begins and begins.day} {ends and ends.day}")
            await self.world.write.one(self.owner, statement, ChangeMeta(actor="key"))  # type: ignore[arg-type]
            self.model.say(value, begins, ends, now)
            return
        memory_id, was, window = targets[pick % len(targets)]
        if was == value:
            return
        note(f"{now:%d %H} {kind} {was} -> {value} {begins}")
        outdated = kind == "outdated"
        command = CorrectCommand(
            memory_id=memory_id,
            statement=Statement(assertion=Assertion("user", PREDICATE, value)),
            nature=Nature.OUTDATED if outdated else Nature.WRONG,
            changed_at=begins if outdated else None,
        )
        await self.world.correct(self.owner, command, ChangeMeta(actor="key"))  # type: ignore[arg-type]
        if outdated:
            self.model.say(value, begins or now, None, now, corrects=True)
            self.model.close(was, window, now)
        else:
            fact = next(f for f in self.model.believed(None) if f.value == was and f.window == window)
            self.model.correct(fact, value, now)

    async def targets(self) -> list[tuple[MemoryId, str, Window]]:
        """Memories that may be corrected: those that stand, and hold at all."""
        page = await self.world.store.list(self.owner, _standing(), limit=500)  # type: ignore[arg-type]
        heads = [h for h in page.heads if not h.current.window.empty]
        return [(h.id, h.current.text.split()[-1], h.current.window) for h in heads]

    async def check(self, moments: Sequence[datetime]) -> None:
        """Every pair of times gives what the model says."""
        model_id = self.world.embedder.model.id
        for valid_at in moments:
            for recorded_at in (None, *moments):
                found = await self.world.store.search_rows_as_of(
                    self.owner,  # type: ignore[arg-type]
                    model_id,
                    valid_at=valid_at,
                    recorded_at=recorded_at,
                    limit=500,
                )
                told = {row.head.current.text.split()[-1] for row in found.rows}
                assert told == self.model.values(valid_at, recorded_at), (valid_at, recorded_at)

    async def check_now(self) -> None:
        """What stands and holds now is the model's present, however far the clock moved since the last change."""
        rows = await self.world.store.search_rows(self.owner, self.world.embedder.model.id)  # type: ignore[arg-type]
        now = self.world.clock.now()
        current = {r.head.current.text.split()[-1] for r in rows.rows if r.head.current.window.holds(now)}
        assert current == self.model.values(now, None)


def _standing():
    from memory_service.domain.records import MemoryFilter

    return MemoryFilter(statuses=CURRENT_STATUSES)


def _day(now: datetime, offset: int) -> datetime:
    return now.replace(hour=0, minute=0, second=0) + timedelta(days=offset)


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["say", "say", "say", "outdated", "wrong"]),
        st.sampled_from(["Aachen", "Brno", "Como", "Dijon"]),
        st.none() | DAYS,
        st.none() | st.integers(1, 8),
        st.integers(0, 7),
    ),
    min_size=1,
    max_size=7,
)


@settings(
    max_examples=40,
    deadline=None,
    derandomize=True,
    phases=[Phase.explicit, Phase.generate],  # a failing life says enough as it is, and shrinking one takes minutes
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(steps=STEPS, ahead=st.lists(st.integers(-20, 30), min_size=1, max_size=3))
async def test_every_pair_of_times_answers_as_a_naive_list_of_facts(store: MemoryStore, steps, ahead):
    world = World(store=store)
    life = Life(world, make.new_owner())
    moments = [START - timedelta(days=30)]
    for step in steps:
        await life.step(*step)
        await life.check_now()
        moments.append(world.clock.now())
    moments += [_day(world.clock.now(), day) for day in ahead]
    await life.check(moments)
    world.clock.advance(timedelta(days=5))
    await life.check_now()
