"""What every `SessionStore` promises; see `ports/sessions.py`."""

from __future__ import annotations

import asyncio
import contextlib
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_service.adapters.inmemory.clock import ManualClock, SystemClock
from memory_service.adapters.inmemory.sessions import InMemorySessionStore
from memory_service.domain.errors import Conflict, FailedPrecondition, InvalidInput, LimitExceeded, NotFound, Reason
from memory_service.domain.session.model import (
    FieldChange,
    KeptTurn,
    SessionFacts,
    SessionId,
    SessionStatus,
    SessionView,
    StateBlock,
    ToolStatus,
    Turn,
    TurnRole,
    TurnTag,
    session_id,
)
from memory_service.ports.sessions import Appended, Basis, Behind, SessionLimits, SessionLine, SessionStore
from tests.contracts import builders as make

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
PATIENCE_SECONDS = 20
Opened = Callable[..., contextlib.AbstractAsyncContextManager[SessionStore]]


@pytest.fixture(params=["inmemory", "redis"])
def opened(request: pytest.FixtureRequest) -> Opened:
    """Makes a store of each backend, with given limits."""
    if request.param == "inmemory":

        @contextlib.asynccontextmanager
        async def in_memory(**limits: Any) -> AsyncIterator[SessionStore]:
            clock = SystemClock() if "idle_seconds" in limits or "block_seconds" in limits else ManualClock(NOW)
            yield InMemorySessionStore(clock, SessionLimits(**limits))

        return in_memory
    stack = request.getfixturevalue("stack")

    @contextlib.asynccontextmanager
    async def on_redis(**limits: Any) -> AsyncIterator[SessionStore]:
        from memory_service.adapters.redis import RedisSettings
        from memory_service.adapters.redis.sessions import RedisSessionStore

        patient = RedisSettings(stack.redis_url, timeout_seconds=10, transfer_timeout_seconds=10)
        store = RedisSessionStore(patient, SystemClock(), SessionLimits(**limits))
        try:
            yield store
        finally:
            await store.close()

    return on_redis


@pytest.fixture
async def store(opened: Opened) -> AsyncIterator[SessionStore]:
    """A store with the default limits."""
    async with opened() as made:
        yield made


def facts(at: datetime = NOW, **given: Any) -> SessionFacts:
    return SessionFacts(id=session_id(at, uuid.uuid4()), started_at=at, **given)


def turn(name: str, text: str = "hello", role: TurnRole = TurnRole.USER, **given: Any) -> KeptTurn:
    return KeptTurn(Turn(id=name, role=role, text=text), NOW, **given)


async def begun(store: SessionStore, at: datetime = NOW, **given: Any) -> tuple[Any, SessionId]:
    owner = make.new_owner()
    return owner, await store.create(owner, facts(at, **given), at)


async def view(store: SessionStore, owner: Any, session: SessionId, turns: int = 200) -> SessionView:
    return await store.read(owner, session, turns=turns, touch=False, now=NOW)


async def test_a_new_session_is_empty_and_active(store: SessionStore):
    owner = make.new_owner()
    about = facts(agent="planner", record_episodes=True)
    assert await store.create(owner, about, NOW) == about.id
    found = await view(store, owner, about.id)
    assert found == SessionView(facts=about, status=SessionStatus.ACTIVE, version=1, last_active_at=NOW)


async def test_the_same_request_begins_one_session(store: SessionStore):
    owner = make.new_owner()
    ids = {await store.create(owner, facts(request_id="r"), NOW) for _ in range(3)}
    assert len(ids) == 1
    assert await store.create(make.new_owner(), facts(request_id="r"), NOW) not in ids


async def test_another_request_under_the_same_id_is_told(store: SessionStore):
    owner = make.new_owner()
    session = await store.create(owner, facts(request_id="r"), NOW, "one")
    assert await store.create(owner, facts(request_id="r"), NOW, "one") == session
    with pytest.raises(Conflict) as caught:
        await store.create(owner, facts(request_id="r"), NOW, "other")
    assert caught.value.reason is Reason.REQUEST_ID_REUSED
    assert len((await store.list(owner, after=None, limit=9)).lines) == 1


async def test_turns_come_back_as_they_were_in_order(store: SessionStore):
    owner, session = await begun(store)
    full = KeptTurn(
        Turn(
            id="call",
            role=TurnRole.TOOL,
            text='带 \U0001f642 \u2028 and "quotes"',
            said_at=NOW - timedelta(microseconds=1),
            action="search",
            tool="flights",
            tool_status=ToolStatus.FAILED,
            feedback="slow",
        ),
        NOW + timedelta(microseconds=3),
        (TurnTag.TOOL_FAILURE,),
        17,
        False,
    )
    assert await store.append(owner, session, [turn("a"), full], None, None, NOW) == Appended(2, 0)
    assert await store.append(owner, session, [turn("b", answers=True)], None, None, NOW) == Appended(3, 0)
    found = await view(store, owner, session)
    assert [t.sequence for t in found.turns] == [1, 2, 3]
    assert found.turns[1] == full._replace(sequence=2)
    assert [t.turn.id for t in (await view(store, owner, session, 2)).turns] == ["call", "b"]
    assert (await view(store, owner, session, 0)).turns == ()


async def test_a_turn_sent_again_changes_nothing_and_is_told(store: SessionStore):
    owner, session = await begun(store)
    block = StateBlock(sequence=1, topic="x")
    await store.append(owner, session, [turn("a"), turn("b")], Basis(0, 0), block, NOW)
    again = await store.append(owner, session, [turn("b", "other"), turn("c")], Basis(1, 2), None, NOW)
    assert isinstance(again, Behind)
    assert again.known == {"b"}
    assert again.basis == Basis(1, 2)
    assert [t.turn.id for t in again.recent] == ["a", "b"]
    assert (await view(store, owner, session)).turn_count == 2


async def test_turns_read_against_another_state_are_not_taken(store: SessionStore):
    owner, session = await begun(store)
    await store.append(owner, session, [turn("a")], Basis(0, 0), None, NOW)
    block = StateBlock(sequence=1, topic="new")
    behind = await store.append(owner, session, [turn("b")], Basis(0, 0), block, NOW)
    assert isinstance(behind, Behind)
    assert behind.block is None
    assert await store.append(owner, session, [turn("b")], behind.basis, block, NOW) == Appended(2, 1)
    assert (await view(store, owner, session)).block == block


async def test_the_oldest_turns_leave(opened: Opened):
    async with opened(turns_max=5, turn_bytes_max=3_000, turn_ids_max=4) as store:
        owner, session = await begun(store)
        for n in range(30):
            await store.append(owner, session, [turn(f"t{n}")], None, None, NOW)
        found = await view(store, owner, session)
        assert [t.sequence for t in found.turns] == [26, 27, 28, 29, 30]
        await store.append(owner, session, [turn("big", "x" * 2_999)], None, None, NOW)
        assert [t.turn.id for t in (await view(store, owner, session)).turns] == ["big"]
        remembered = await store.append(owner, session, [turn("t29")], None, None, NOW)
        assert isinstance(remembered, Behind)
        assert isinstance(await store.append(owner, session, [turn("t3")], None, None, NOW), Appended)


async def test_fields_are_set_changed_and_removed(store: SessionStore):
    owner, session = await begun(store)

    async def update(*changes: FieldChange) -> int:
        found = await store.update(owner, session, changes, device="d", etag_version=None, seen_version=None, now=NOW)
        return found.version

    deep: Any = {"a": [1, 2.5, None, True, "文"], "empty": {}, "none": []}
    assert await update(FieldChange("constraints.c", deep), FieldChange("intents", [{"name": "book"}])) == 2
    assert await update(FieldChange("tasks.t", {"text": "x"}), FieldChange("intents", None, removed=True)) == 3
    found = (await view(store, owner, session)).fields
    assert list(found) == ["constraints.c", "tasks.t"]
    assert found["constraints.c"].value == deep
    assert (found["constraints.c"].version, found["tasks.t"].version, found["tasks.t"].device) == (2, 3, "d")


@pytest.mark.parametrize("value", [None, {}, [], "", 0, False, {"x": None}])
async def test_a_value_that_says_nothing_is_a_value(store: SessionStore, value: Any):
    owner, session = await begun(store)
    await store.append(owner, session, [turn("a", answers=True)], None, None, NOW)
    change = FieldChange("slots.x", value, "a")
    await store.update(owner, session, [change], device="", etag_version=None, seen_version=None, now=NOW)
    kept = (await view(store, owner, session)).fields["slots.x"].value
    assert (kept, type(kept)) == (value, type(value))


async def test_an_etag_refuses_and_a_seen_version_tells_what_was_overwritten(store: SessionStore):
    owner, session = await begun(store)

    async def update(value: str, path: str = "slots.x", **given: Any) -> Any:
        asked = {"device": "d", "etag_version": None, "seen_version": None, **given}
        return await store.update(owner, session, [FieldChange(path, value)], now=NOW, **asked)

    await update("one", etag_version=1)
    with pytest.raises(Conflict) as caught:
        await update("two", etag_version=1)
    assert (caught.value.reason, caught.value.metadata["etag"]) == (Reason.ETAG_MISMATCH, "s2")
    merged = await update("other field", "slots.y", seen_version=1)
    assert not merged.overwritten
    with pytest.raises(InvalidInput) as unseen:
        await update("future", seen_version=99)
    assert unseen.value.field == "seen_version"
    told = await update("two", seen_version=1, device="e")
    assert [(f.path, f.value, f.device) for f in told.overwritten] == [("slots.x", "one", "d")]
    assert {p: f.value for p, f in (await view(store, owner, session)).fields.items()} == {
        "slots.x": "two",
        "slots.y": "other field",
    }


async def test_a_slot_is_filled_from_an_answer_only(store: SessionStore):
    owner, session = await begun(store)
    await store.append(owner, session, [turn("asks"), turn("says", answers=True)], None, None, NOW)

    async def fill(by: str) -> None:
        changes = [FieldChange("tasks.t", "x"), FieldChange("slots.city", "Rome", by)]
        await store.update(owner, session, changes, device="", etag_version=None, seen_version=None, now=NOW)

    for by in ("asks", "nobody"):
        with pytest.raises(FailedPrecondition) as caught:
            await fill(by)
        assert caught.value.reason is Reason.SLOT_NOT_ANSWERED
        assert not (await view(store, owner, session)).fields
    await fill("says")
    assert (await view(store, owner, session)).fields["slots.city"].answered_by == "says"


async def test_fields_are_bounded(opened: Opened):
    async with opened(fields_max=3) as store:
        owner, session = await begun(store)

        async def update(*changes: FieldChange) -> None:
            await store.update(owner, session, changes, device="", etag_version=None, seen_version=None, now=NOW)

        await update(*(FieldChange(f"slots.{n}", n) for n in range(3)))
        with pytest.raises(LimitExceeded) as caught:
            await update(FieldChange("slots.3", 3))
        assert caught.value.metadata["limit"] == "3"
        await update(FieldChange("slots.1", 9))
        await update(FieldChange("slots.0", None, removed=True), FieldChange("slots.3", 3))


async def test_blocks_are_kept_in_order_dropped_and_bounded(opened: Opened):
    async with opened(blocks_max=4) as store:
        owner, session = await begun(store)
        block = StateBlock()
        for n in range(1, 7):
            block = StateBlock(
                sequence=n, topic=f"题 {n}", decisions=("d",), pending=("p",), updated_at=NOW, turn_ids=("a", "b")
            )
            await store.append(owner, session, [turn(f"t{n}")], Basis(n - 1, n - 1), block, NOW)
        kept = await store.blocks(owner, session)
        assert [b.sequence for b in kept] == [3, 4, 5, 6]
        assert kept[-1] == block
        await store.drop_blocks(owner, session, 4)
        assert [b.sequence for b in await store.blocks(owner, session)] == [5, 6]
        await store.drop_blocks(owner, session, 99)
        assert [b.sequence for b in await store.blocks(owner, session)] == [6]
        assert await store.blocks(make.new_owner(), session) == ()


@pytest.mark.parametrize("ended", [False, True])
async def test_turns_that_are_forgotten_leave_no_words(store: SessionStore, ended: bool):
    owner, session = await begun(store)
    said = [turn(name, f"secret {name}", answers=True) for name in "abc"]
    block = StateBlock(sequence=1, topic="secret", turn_ids=("b",))
    await store.append(owner, session, said, Basis(0, 0), block, NOW)
    changes = [FieldChange("slots.b", "secret", "b"), FieldChange("slots.c", "known", "c")]
    await store.update(owner, session, changes, device="", etag_version=None, seen_version=None, now=NOW)
    if ended:
        await store.end(owner, session, NOW)
    await store.forget_turns(owner, session, {"b", "unknown"}, NOW, 7)
    await store.forget_turns(owner, facts().id, {"b"}, NOW, 7)
    found = await view(store, owner, session)
    assert found.block == StateBlock(sequence=2, updated_at=NOW, forgot_at=7)
    assert [b.sequence for b in await store.blocks(owner, session)] == [2]
    assert found.version == 3
    if not ended:
        assert [t.turn.text for t in found.turns] == ["secret a", "", "secret c"]
        assert list(found.fields) == ["slots.c"]
        behind = await store.append(owner, session, [turn("b", "secret b")], Basis(2, 3), None, NOW)
        assert isinstance(behind, Behind)
        assert behind.known == {"b"}
        with pytest.raises(FailedPrecondition):  # nor is a slot filled from it any more
            await store.update(
                owner,
                session,
                [FieldChange("slots.b", "secret", "b")],
                device="",
                etag_version=None,
                seen_version=None,
                now=NOW,
            )


async def test_sessions_are_listed_newest_first_in_pages(store: SessionStore):
    owner = make.new_owner()
    ids = [await store.create(owner, facts(NOW + timedelta(seconds=n)), NOW) for n in range(7)]
    await store.end(owner, ids[3], NOW)
    found: list[SessionLine] = []
    after = None
    while True:
        page = await store.list(owner, after=after, limit=3)
        found += page.lines
        after = page.next_after
        if after is None:
            break
    assert [line.facts.id for line in found] == ids[::-1]
    assert [line.status for line in found].count(SessionStatus.ENDED) == 1
    assert (await store.list(make.new_owner(), after=None, limit=3)).lines == []


async def test_an_owner_has_so_many_sessions_and_no_more(opened: Opened):
    async with opened(sessions_max=3) as store:
        owner = make.new_owner()
        for _ in range(3):
            await store.create(owner, facts(), NOW)
        with pytest.raises(LimitExceeded) as caught:
            await store.create(owner, facts(), NOW)
        assert (caught.value.reason, caught.value.metadata["limit"]) == (Reason.QUOTA_EXCEEDED, "3")
        await store.create(make.new_owner(), facts(), NOW)


async def test_an_ended_session_changes_no_more_but_its_block_can_be_read(store: SessionStore):
    owner, session = await begun(store)
    await store.append(owner, session, [turn("a")], Basis(0, 0), StateBlock(sequence=1, topic="x"), NOW)
    for _ in range(2):
        await store.end(owner, session, NOW)
    found = await view(store, owner, session)
    assert (found.status, found.turns, dict(found.fields)) == (SessionStatus.ENDED, (), {})
    assert found.block == StateBlock(sequence=1, topic="x")
    for refused in _changes(store, owner, session):
        with pytest.raises(FailedPrecondition) as caught:
            await refused()
        assert caught.value.reason is Reason.SESSION_ENDED


def _changes(store: SessionStore, owner: Any, session: SessionId) -> list[Callable[[], Awaitable[Any]]]:
    return [
        lambda: store.append(owner, session, [turn("z")], None, None, NOW),
        lambda: store.append(owner, session, [], None, None, NOW),
        lambda: store.update(
            owner,
            session,
            [FieldChange("tasks.t", "x")],
            device="",
            etag_version=None,
            seen_version=None,
            now=NOW,
        ),
    ]


async def test_a_session_is_found_under_its_owner_only(store: SessionStore):
    owner, session = await begun(store)
    await store.append(owner, session, [turn("a")], Basis(0, 0), StateBlock(sequence=1, topic="x"), NOW)
    stranger = make.new_owner()
    refusals = [
        *_changes(store, stranger, session),
        lambda: store.read(stranger, session, turns=9, touch=True, now=NOW),
        lambda: store.end(stranger, session, NOW),
    ]
    for refused in refusals:
        with pytest.raises(NotFound) as caught:
            await refused()
        assert caught.value.reason is Reason.SESSION_NOT_FOUND
    assert (await store.list(stranger, after=None, limit=9)).lines == []
    await store.drop_blocks(stranger, session, 9)
    assert (await view(store, owner, session)).turn_count == 1


async def until(condition: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not await condition():  # noqa: ASYNC110 - the store's own clock is waited for
            await asyncio.sleep(0)


async def test_what_is_idle_is_released_and_may_be_gone_on_with(opened: Opened):
    async with opened(idle_seconds=0.05) as store:
        now = datetime.now(UTC)
        owner, session = await begun(store, now)
        await store.append(owner, session, [turn("a")], Basis(0, 0), StateBlock(sequence=1, topic="x"), now)

        async def released() -> bool:
            return (await view(store, owner, session)).status is SessionStatus.RELEASED

        await until(released)
        found = await view(store, owner, session)
        assert (found.turns, dict(found.fields), found.turn_count) == ((), {}, 1)
        assert found.version == (await store.list(owner, after=None, limit=1)).lines[0].version == 2
        assert found.block is not None
        assert await store.append(owner, session, [turn("a")], Basis(1, 1), None, datetime.now(UTC)) == Appended(2, 1)
        assert (await view(store, owner, session)).version in (2, 3)  # it may be released again by now


async def test_everything_is_gone_after_its_time(opened: Opened):
    async with opened(idle_seconds=0.05, block_seconds=0.05) as store:
        now = datetime.now(UTC)
        owner, session = await begun(store, now)
        await store.append(owner, session, [turn("a")], Basis(0, 0), StateBlock(sequence=1, topic="x"), now)

        async def gone() -> bool:
            try:
                await view(store, owner, session)
            except NotFound:
                return True
            return False

        await until(gone)
        assert (await store.list(owner, after=None, limit=9)).lines == []
        assert await store.blocks(owner, session) == ()


async def test_writers_at_once_lose_no_turn_and_no_field(store: SessionStore):
    owner, session = await begun(store)

    async def writer(name: str) -> None:
        for n in range(12):
            await store.append(owner, session, [turn(f"{name}{n}")], None, None, NOW)
            changes = [FieldChange(f"slots.{name}{n}", n), FieldChange("slots.shared", f"{name}{n}")]
            await store.update(owner, session, changes, device=name, etag_version=None, seen_version=None, now=NOW)

    await asyncio.gather(*map(writer, "abc"))
    found = await view(store, owner, session)
    assert sorted(t.turn.id for t in found.turns) == sorted(f"{w}{n}" for w in "abc" for n in range(12))
    for name in "abc":
        mine = [t.turn.id for t in found.turns if t.turn.id.startswith(name)]
        assert mine == [f"{name}{n}" for n in range(12)]
    assert len(found.fields) == 37
    assert found.fields["slots.shared"].value in {f"{w}11" for w in "abc"}
    assert found.fields["slots.shared"].version == found.version == 37


@given(st.datetimes(datetime(2000, 1, 1), datetime(2100, 1, 1)), st.uuids())  # noqa: DTZ001
def test_an_id_names_its_start_and_sorts_by_it(at: datetime, chance: uuid.UUID):
    from memory_service.domain.session.model import started_at

    start = at.replace(tzinfo=UTC)
    made = session_id(start, chance)
    assert abs(started_at(made) - start) < timedelta(milliseconds=1, microseconds=1)
    assert session_id(start + timedelta(milliseconds=2), chance) > made
