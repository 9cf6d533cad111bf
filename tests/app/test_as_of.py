"""Get and List at other times, what memories are there, and changes that were announced (P10, B9)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from memory_service.app.commands import Effect, Nature, Statement
from memory_service.app.reading import AsOf
from memory_service.domain.errors import InvalidInput, NotFound
from memory_service.domain.memory import Assertion, Kind, Status
from memory_service.domain.records import MemoryFilter
from memory_service.domain.retrieval.filters import is_current
from memory_service.domain.standing import Standing, standing_at
from tests.app.harness import ALICE, START, World


def day(offset: int) -> datetime:
    """Midnight so many days after the start."""
    return START.replace(hour=0) + timedelta(days=offset)


async def told(world: World, as_of: AsOf, **where: object) -> dict[str, Standing]:
    """Everything a list at these times says, page by page."""
    found: dict[str, Standing] = {}
    token = ""
    while True:
        page = await world.reading.list(
            ALICE,
            MemoryFilter(**where),  # type: ignore[arg-type]
            page_size=1,
            page_token=token,
            as_of=as_of,
        )
        found |= {shown.head.current.text.split()[-1]: shown.standing for shown in page.memories}
        token = page.next_token
        if not token:
            return found


async def present(world: World) -> list[str]:
    """What a recall about now may return as holding now; events whenever they take place."""
    rows = await world.store.search_rows(ALICE, world.embedder.model.id)
    now = world.clock.now()
    recalled = (r.head.current for r in rows.rows if is_current(r.head, now))
    return sorted(
        v.text.split()[-1] for v in recalled if v.kind is Kind.EVENT or standing_at(v, now) is not Standing.UPCOMING
    )


async def test_told_later_the_old_value_ends_when_the_new_one_began() -> None:
    """ "Since the 2nd of February I've been sous chef", told on the 28th."""
    world = World()
    cook = await world.state("job", "cook")
    world.clock.advance(timedelta(days=27))
    chef = await world.write.one(ALICE, _said("job", "chef", "I've been sous chef since the 3rd of March."), _meta())
    assert cook.memory
    assert chef.memory
    began = datetime(2026, 3, 3, tzinfo=UTC)
    assert chef.memory.current.valid_from == began
    assert await told(world, AsOf(valid=began - timedelta(seconds=1))) == {"cook": Standing.CURRENT}
    assert list(await told(world, AsOf(valid=began))) == [["3rd", "of", "March."][-1]]
    # On the 10th nobody knew, and the cook was believed to be one.
    assert await told(world, AsOf(valid=began, recorded=START + timedelta(days=9))) == {"cook": Standing.CURRENT}
    shown = (await world.reading.get(ALICE, cook.memory.id)).shown
    assert (shown.standing, shown.successor, shown.head.current.valid_to) == (
        Standing.SUPERSEDED,
        chef.memory.id,
        began,
    )
    then = (await world.reading.get(ALICE, cook.memory.id, as_of=AsOf(valid=day(1)))).shown
    assert (then.standing, then.successor) == (Standing.CURRENT, chef.memory.id)


async def test_what_is_announced_replaces_from_then_on_and_no_job_is_needed() -> None:
    world = World()
    await world.state("employer", "Initech")
    world.clock.advance(timedelta(days=1))
    planned = await world.state("employer", "Umbra", valid_from=day(10))
    assert planned.memory
    assert await present(world) == ["Initech"]
    assert (await world.reading.get(ALICE, planned.memory.id)).shown.standing is Standing.UPCOMING
    assert await told(world, AsOf(valid=day(20))) == {"Umbra": Standing.CURRENT}
    world.clock.advance(day(10) - world.clock.now() - timedelta(seconds=1))
    assert await present(world) == ["Initech"]
    world.clock.advance(timedelta(seconds=1))
    assert await present(world) == ["Umbra"]
    assert await told(world, AsOf(), statuses=frozenset(Status)) == {
        "Initech": Standing.SUPERSEDED,
        "Umbra": Standing.CURRENT,
    }


async def test_to_say_again_what_holds_does_not_cancel_what_was_announced() -> None:
    world = World()
    await world.state("employer", "Initech")
    await world.state("employer", "Umbra", valid_from=day(10))
    again = await world.state("employer", "Initech")
    assert again.effect is Effect.SUPPORTED
    world.clock.advance(timedelta(days=11))
    assert await present(world) == ["Umbra"]
    back = await world.state("employer", "Initech")
    assert back.effect is Effect.CREATED
    assert await present(world) == ["Initech"]


async def test_a_stretch_of_the_past_splits_what_was_believed_of_it_and_leaves_today_alone() -> None:
    world = World()
    home = await world.state("location", "Lyon")
    world.clock.advance(timedelta(days=60))
    trip = await world.state("location", "Oslo", valid_from=day(10), valid_to=day(20))
    assert home.memory
    assert trip.memory
    assert await present(world) == ["Lyon"]
    today = (await world.reading.get(ALICE, home.memory.id)).shown
    assert today.standing is Standing.CURRENT
    for offset, city in ((9, "Lyon"), (10, "Oslo"), (19, "Oslo"), (20, "Lyon")):
        assert list(await told(world, AsOf(valid=day(offset)))) == [city]
    # What was cut off goes with the memory it came from.
    await world.erase(home.memory.id)
    assert await told(world, AsOf(valid=day(9))) == {}


async def test_what_ends_by_itself_gives_its_place_back() -> None:
    world = World()
    await world.state("location", "Lyon")
    world.clock.advance(timedelta(days=1))
    await world.state("location", "Oslo", valid_to=day(5))
    assert await present(world) == ["Oslo"]
    world.clock.advance(timedelta(days=5))
    assert await present(world) == ["Lyon"]


async def test_wrong_and_superseded_are_told_apart() -> None:
    world = World()
    first = await world.state("employer", "Initech")
    world.clock.advance(timedelta(days=1))
    before = world.clock.now()
    world.clock.advance(timedelta(days=1))
    second = await world.state("employer", "Umbra")
    assert first.memory
    assert second.memory
    other = await world.state("location", "Lyon", meta=_meta())
    await world.fix(
        second.memory.id,
        statement=Statement(assertion=Assertion("user", "employer", "Initech")),
        nature=Nature.WRONG,
    )
    assert other.memory
    shown = (await world.reading.get(ALICE, first.memory.id)).shown
    assert shown.standing is Standing.SUPERSEDED
    assert (await world.reading.get(ALICE, first.memory.id, as_of=AsOf(valid=before))).shown.standing is (
        Standing.CURRENT
    )


async def test_get_and_list_know_nothing_of_what_was_not_there() -> None:
    world = World()
    early = world.clock.now() - timedelta(seconds=1)
    made = await world.say("I play the cello")
    assert made.memory
    with pytest.raises(NotFound):
        await world.reading.get(ALICE, made.memory.id, as_of=AsOf(recorded=early))
    assert await told(world, AsOf(recorded=early)) == {}
    late = await world.state("employer", "Umbra", valid_from=day(3))
    assert late.memory
    with pytest.raises(NotFound):
        await world.reading.get(ALICE, late.memory.id, as_of=AsOf(valid=day(2)))
    with pytest.raises(InvalidInput):
        await world.reading.get(ALICE, late.memory.id, as_of=AsOf(valid=datetime(1, 1, 1, tzinfo=UTC)))


async def test_get_gives_the_version_believed_then() -> None:
    world = World()
    made = await world.say("I play the cello")
    assert made.memory
    first = world.clock.now()
    world.clock.advance(timedelta(days=1))
    await world.fix(made.memory.id, statement=Statement(text="I play the viola"))
    was = await world.reading.get(ALICE, made.memory.id, as_of=AsOf(recorded=first))
    now = await world.reading.get(ALICE, made.memory.id)
    assert (was.shown.head.current.text, now.shown.head.current.text) == ("I play the cello", "I play the viola")
    await world.erase(made.memory.id)
    with pytest.raises(NotFound):
        await world.reading.get(ALICE, made.memory.id, as_of=AsOf(recorded=first))
    assert await told(world, AsOf(recorded=first)) == {}
    assert await told(world, AsOf(valid=first)) == {}


async def test_an_appointment_that_is_over_is_told_as_past_and_an_exception_is_told_no_more() -> None:
    world = World()
    visit = await world.say("The gas engineer is coming tomorrow at two")
    once = await world.say("Just this once, put it on my own card")
    assert visit.memory
    assert once.memory
    assert (await world.reading.get(ALICE, visit.memory.id)).shown.standing is Standing.UPCOMING
    world.clock.advance(timedelta(days=3))
    assert (await world.reading.get(ALICE, visit.memory.id)).shown.standing is Standing.PAST
    assert (await world.reading.get(ALICE, once.memory.id)).shown.standing is Standing.PAST
    assert await present(world) == ["two"]


async def test_a_page_token_of_one_time_is_none_of_another() -> None:
    world = World()
    for text in ("I play the cello", "The router is in the cellar", "My sister lives in Riga"):
        await world.say(text)
    page = await world.reading.list(ALICE, MemoryFilter(), page_size=1, as_of=AsOf(recorded=world.clock.now()))
    assert page.next_token
    with pytest.raises(InvalidInput):
        await world.reading.list(ALICE, MemoryFilter(), page_size=1, page_token=page.next_token)


def _meta():
    from memory_service.app.commands import ChangeMeta

    return ChangeMeta(actor="key")


def _said(predicate: str, value: str, text: str) -> Statement:
    return Statement(text=text, assertion=Assertion("user", predicate, value))
