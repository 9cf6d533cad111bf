"""Read your writes, and what travels with a change."""

from __future__ import annotations

import asyncio

from hypothesis import given
from hypothesis import strategies as st

from memory_service.client import AsyncMemoryClient, Consistency, Context
from memory_service.client.causality import Causality
from memory_service.v1 import memory_service_pb2 as api
from tests.client.fake_server import FakeServer


async def test_a_recall_sees_this_clients_own_write(server: FakeServer, client: AsyncMemoryClient) -> None:
    await client.recall("nothing seen yet")
    written = await client.write("tea")
    await client.recall("tea")
    await client.recall("tea", consistency=Consistency.minimize_latency())
    await client.recall("tea", user="bob")
    first, second, third, other = server.of("Recall")
    assert first.consistency.WhichOneof("requirement") is None
    assert second.consistency.at_least_as_fresh == written.token == "ann@1"
    assert third.consistency.minimize_latency
    assert other.consistency.WhichOneof("requirement") is None, "one user's token is not shown to another's"


async def test_every_sort_of_change_moves_the_token(client: AsyncMemoryClient) -> None:
    written = await client.write("a")
    assert written.memory is not None
    tokens = [client.token()]
    await client.correct(written.memory.id, "b")
    tokens.append(client.token())
    await client.rollback(written.memory.id, 1)
    tokens.append(client.token())
    await client.write_many(["x", "y"])
    tokens.append(client.token())
    await client.forget(written.memory.id, validate_only=True)
    tokens.append(client.token())
    await client.forget(written.memory.id)
    tokens.append(client.token())
    assert tokens == ["ann@1", "ann@2", "ann@3", "ann@5", "ann@5", "ann@6"]


async def test_what_was_seen_travels_with_corrections(server: FakeServer, client: AsyncMemoryClient) -> None:
    written = await client.write("tea")
    assert written.memory is not None
    server.store.clock["ann"] = 5  # somebody else changes things
    await client.correct(written.memory.id, "coffee")
    server.store.clock["ann"] = 9
    await client.recall("coffee")
    await client.rollback(written.memory.id, 1)
    await client.correct(written.memory.id, "milk", context=None)
    await client.correct(written.memory.id, "milk", context=Context({"tv": 1}))
    await client.forget(written.memory.id)
    kept, latest, own = server.of("Correct")
    assert dict(kept.context.counters) == {"server": 1}, "the writer had not seen the other's changes"
    assert dict(server.of("Rollback")[0].context.counters) == {"server": 9}, "the recall showed them"
    assert not latest.HasField("context")
    assert dict(own.context.counters) == {"tv": 1}
    assert dict(server.of("Forget")[0].context.counters) == {"server": 12}


async def test_a_fresh_client_has_seen_what_the_server_has(server: FakeServer, client: AsyncMemoryClient) -> None:
    await client.forget(slot=("user", "diet"))
    assert not server.of("Forget")[0].HasField("context")


async def test_a_look_at_the_past_teaches_nothing(server: FakeServer, client: AsyncMemoryClient) -> None:
    await client.write("tea")
    before = client.causal_context()
    server.store.clock["ann"] = 9
    from datetime import UTC, datetime

    await client.recall("tea", as_of_recorded=datetime(2026, 1, 1, tzinfo=UTC))
    assert client.causal_context() == before


async def test_what_was_seen_can_be_handed_on(server: FakeServer, client: AsyncMemoryClient) -> None:
    client.adopt(token="ann@7", context=Context({"phone": 3}))
    await client.recall("q")
    await client.forget("m1")
    assert server.of("Recall")[0].consistency.at_least_as_fresh == "ann@7"
    assert dict(server.of("Forget")[0].context.counters) == {"phone": 3}


async def test_a_replayed_answer_does_not_take_the_token_back(client: AsyncMemoryClient) -> None:
    await client.write("first", request_id="r1")
    newest = await client.write("second")
    again = await client.write("first", request_id="r1")
    assert again.replayed
    assert client.token() == newest.token != again.token


async def test_concurrent_writes_leave_the_newest_token(client: AsyncMemoryClient) -> None:
    await asyncio.gather(*(client.write(f"memory {number}") for number in range(20)))
    assert client.token() == "ann@20"
    assert client.causal_context() == Context({"server": 20})


def test_the_kept_token_is_never_older_than_an_answered_change() -> None:
    """Answers that arrive out of order, from a server whose contexts are whole clocks."""
    causality = Causality()
    first, second = causality.begin(), causality.begin()
    causality.learn_change("u", began=second, token="2", context=Context({"s": 2}))
    causality.learn_change("u", began=first, token="1", context=Context({"s": 1}))
    assert causality.token("u") == "2"


def test_changes_that_cannot_be_compared_ask_for_full_consistency() -> None:
    causality = Causality()
    first, second = causality.begin(), causality.begin()
    causality.learn_change("u", began=first, token="a", context=Context({"a": 1}))
    causality.learn_change("u", began=second, token="b", context=Context({"b": 1}))
    assert causality.consistency("u") == Consistency.fully_consistent()
    assert causality.context("u") == Context({"a": 1, "b": 1})
    stale = causality.begin()
    causality.learn_read("u", began=stale, token="r", context=Context({"a": 1, "b": 1}), full=False)
    assert causality.consistency("u") == Consistency.fully_consistent()
    full = causality.begin()
    causality.learn_read("u", began=full, token="r", context=Context({"a": 1, "b": 1}), full=True)
    assert causality.consistency("u") == Consistency.at_least_as_fresh("r")


def test_an_older_read_does_not_take_the_token_back() -> None:
    causality = Causality()
    causality.learn_change("u", began=causality.begin(), token="2", context=Context({"s": 2}))
    causality.learn_read("u", began=causality.begin(), token="1", context=Context({"s": 1}), full=False)
    assert causality.token("u") == "2"
    causality.learn_read("u", began=causality.begin(), token="3", context=Context({"s": 3}), full=False)
    assert causality.token("u") == "3"


def test_an_own_change_does_not_claim_what_was_not_read() -> None:
    causality = Causality()
    causality.learn_read("u", began=causality.begin(), token="1", context=Context({"tv": 1}), full=False)
    everything = Context({"tv": 9, "phone": 1})
    own = Context({"phone": 1})
    causality.learn_change("u", began=causality.begin(), token="2", context=everything, own=own)
    assert causality.context("u") == Context({"tv": 1, "phone": 1})
    assert causality.token("u") == "2"
    causality.learn_change("v", began=causality.begin(), token="2", context=everything, own=own)
    assert causality.context("v") == everything, "who has read nothing has said it knows all"


def test_users_kept_are_bounded() -> None:
    causality = Causality(users_max=2)
    for user in ("a", "b", "a", "c"):
        causality.learn_change(user, began=causality.begin(), token=user, context=Context({user: 1}))
    assert [causality.token(user) for user in ("a", "b", "c")] == ["a", "", "c"]


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 3), st.booleans()), max_size=12))
def test_read_your_writes_whatever_the_order_of_answers(steps: list[tuple[bool, int, bool]]) -> None:
    """A model: a server whose changes have numbers, some changes carrying a context that hides the others.

    After every answer, the required consistency must include each change answered so far: either it is full, or
    its token's number is not below any answered change's.
    """
    causality = Causality()
    number = 0
    open_calls: list[tuple[int, int, Context]] = []
    answered = 0
    for begins, which, hides in steps:
        if begins or not open_calls:
            began, number = causality.begin(), number + 1
            seen = Context({f"d{number}": 1}) if hides else Context({f"d{n}": 1 for n in range(1, number + 1)})
            open_calls.append((began, number, seen))
            continue
        began, accepted, seen = open_calls.pop(which % len(open_calls))
        causality.learn_change("u", began=began, token=str(accepted), context=seen)
        answered = max(answered, accepted)
        wanted = causality.consistency("u")
        assert wanted is not None
        assert wanted.requirement == "fully_consistent" or int(wanted.token) >= answered


contexts = st.dictionaries(st.sampled_from("abc"), st.integers(1, 5)).map(Context)


@given(contexts, contexts, contexts)
def test_merging_is_the_least_context_that_covers_both(one: Context, two: Context, bound: Context) -> None:
    merged = one.merged(two)
    assert merged.covers(one)
    assert merged.covers(two)
    assert merged == two.merged(one)
    if bound.covers(one) and bound.covers(two):
        assert bound.covers(merged)


def test_the_api_tells_an_absent_context_from_an_empty_one() -> None:
    assert not api.CorrectRequest().HasField("context")
