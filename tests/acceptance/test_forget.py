"""Forget is real: afterwards the content is in no table, no cache, no answer and no log (B3, F8)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from memory_service.v1 import memory_service_pb2 as api
from memory_service.v1 import types_pb2 as pb
from tests.acceptance.leftovers import cached_with, kept_everywhere, tables_with
from tests.acceptance.raw import Raw
from tests.acceptance.service import ServiceProcess
from tests.acceptance.world import EVERY_STATUS, new_user


def text_memory(user: str, word: str) -> api.WriteRequest:
    return api.WriteRequest(
        user=user,
        memory=pb.MemoryInput(
            text=f"The alarm phrase is {word}.",
            topic=f"alarm {word}",
            tags=[word, "alarm"],
            reference=f"message {word}",
        ),
        request_id="original",
        dot=pb.Dot(device="phone", counter=1),
    )


def slot_memory(user: str, word: str) -> api.WriteRequest:
    request = api.WriteRequest(user=user, request_id="original", dot=pb.Dot(device="phone", counter=1))
    request.memory.CopyFrom(
        pb.MemoryInput(assertion=pb.Assertion(subject="user", predicate="employer"), tags=["alarm"])
    )
    request.memory.assertion.object.struct_value.update({"name": f"{word} Inc", "floor": 3})
    return request


def by_id(user: str, memory_id: str) -> api.ForgetRequest:
    return api.ForgetRequest(user=user, memories=api.MemoryIds(ids=[memory_id]))


def by_slot(user: str, _: str) -> api.ForgetRequest:
    return api.ForgetRequest(user=user, slot=pb.Slot(subject="user", predicate="employer"))


def by_filter(user: str, _: str) -> api.ForgetRequest:
    return api.ForgetRequest(user=user, filter=pb.MemoryFilter(tags_all=["alarm"]))


@pytest.mark.parametrize(
    ("write", "forget", "word"),
    [
        pytest.param(text_memory, by_id, "zyzzogeton", id="text, by id"),
        pytest.param(slot_memory, by_slot, "quixotria", id="structured, by slot"),
        pytest.param(text_memory, by_filter, "brobdingnox", id="text, by filter"),
    ],
)
async def test_nothing_of_it_is_left_anywhere(
    write: Callable[[str, str], api.WriteRequest],
    forget: Callable[[str, str], api.ForgetRequest],
    word: str,
    service: ServiceProcess,
    raw: Raw,
):
    user = new_user()
    original = write(user, word)
    # Who names a context is not compared by wording, so no snapshot is loaded before there is content in it.
    original.context.SetInParent()
    first = await raw.call("Write", original)
    memory_id = first.memory.id
    correction = api.CorrectRequest(
        user=user,
        memory_id=memory_id,
        memory=pb.MemoryInput(tags=["alarm", f"{word}-2"]),
        reason=f"said {word} again",
    )
    corrected = await raw.call("Correct", correction)
    derived = await raw.call(
        "Write",
        api.WriteRequest(
            user=user,
            memory=pb.MemoryInput(text=f"A summary: {word}", derived_from=[memory_id]),
            context=corrected.context,
        ),
    )
    kayak = pb.MemoryInput(text="I own a kayak")
    await raw.call("Write", api.WriteRequest(user=user, memory=kayak, context=derived.context))
    await kept_everywhere(service, raw, user, word)

    gone = await raw.call("Forget", forget(user, memory_id))
    assert set(gone.memory_ids) == {memory_id, derived.memory.id}

    assert await tables_with(service, word) == []
    assert await cached_with(service, word) == []
    answers = await every_answer(raw, user, word, memory_id, corrected.memory.recorded_at, original)
    assert answers[0] == ["I own a kayak"]
    assert word not in "\n".join(answers[1])
    assert word not in service.log
    for log in (service.data_dir / "logs").iterdir():
        assert word not in await asyncio.to_thread(log.read_text, errors="replace")


async def every_answer(
    raw: Raw, user: str, word: str, memory_id: str, when: Any, original: api.WriteRequest
) -> tuple[list[str], list[str]]:
    """What is still recalled, and every answer that could hold the word."""
    full = pb.Consistency(fully_consistent=True)
    now = await raw.call("Recall", api.RecallRequest(user=user, query=word, limit=200, consistency=full))
    lagging = await raw.call("Recall", api.RecallRequest(user=user, query=word, limit=200))
    believed = await raw.call("Recall", api.RecallRequest(user=user, query=word, as_of_recorded=when))
    held = await raw.call("Recall", api.RecallRequest(user=user, query=word, as_of_valid=when))
    listed = await raw.call(
        "ListMemories", api.ListMemoriesRequest(user=user, filter=pb.MemoryFilter(statuses=EVERY_STATUS))
    )
    history = await raw.call("GetHistory", api.GetHistoryRequest(user=user, memory_id=memory_id))
    assert [version.redacted for version in history.versions] == [True] * len(history.versions)
    replayed = await raw.call("Write", original)
    assert replayed.replayed
    missing = await raw.refused("GetMemory", api.GetMemoryRequest(user=user, memory_id=memory_id))
    assert (missing.code, missing.reason) == ("NOT_FOUND", "MEMORY_NOT_FOUND")
    lost = await raw.refused("Rollback", api.RollbackRequest(user=user, memory_id=memory_id, version=1))
    assert lost.code == "NOT_FOUND"
    said = [now, lagging, believed, held, listed, history, replayed, missing.everything, lost.everything]
    return [found.memory.text for found in now.memories], [str(answer).lower() for answer in said]


async def test_what_is_forgotten_does_not_come_back_late(raw: Raw):
    """From a device that had not heard of it, from a re-extraction, or as something made from it."""
    user = new_user()
    call = raw.call
    secret = pb.MemoryInput(text="my cabin is in the north wood")
    made = await call("Write", api.WriteRequest(user=user, memory=secret, dot=pb.Dot(device="tablet")))
    seen = made.context
    await call("Forget", api.ForgetRequest(user=user, memories=api.MemoryIds(ids=[made.memory.id])))
    late = [
        api.WriteRequest(user=user, memory=secret, dot=pb.Dot(device="phone"), context=seen),
        api.WriteRequest(user=user, memory=pb.MemoryInput(text=secret.text, source=pb.SOURCE_INFERRED)),
        api.WriteRequest(user=user, memory=pb.MemoryInput(text="cabin summary", derived_from=[made.memory.id])),
        api.WriteRequest(
            user=user,
            memory=pb.MemoryInput(text="another summary", derived_from=[made.memory.id]),
            dot=pb.Dot(device="phone"),
            context=seen,
        ),
    ]
    for request in late:
        answer = await call("Write", request)
        assert answer.effect == api.EFFECT_SUPPRESSED
        assert not answer.HasField("memory")
    assert not (await call("ListMemories", api.ListMemoriesRequest(user=user))).memories
    # The user says it again, knowing that it was forgotten: that is a new memory.
    anew = await call("Write", api.WriteRequest(user=user, memory=secret))
    assert anew.effect == api.EFFECT_CREATED


@pytest.mark.parametrize(
    ("memory", "slot"),
    [
        pytest.param(
            pb.MemoryInput(assertion=pb.Assertion(subject="me", predicate="city")),
            pb.Slot(subject="user", predicate="location"),
            id="structured",
        ),
        pytest.param(
            pb.MemoryInput(text="we meet at the old mill", topic="Meeting"), pb.Slot(topic="meeting"), id="topic"
        ),
    ],
)
async def test_forgetting_a_slot_reaches_what_agents_keep_for_themselves(
    memory: pb.MemoryInput, slot: pb.Slot, raw: Raw
):
    user = new_user()
    if memory.HasField("assertion"):
        memory.assertion.object.string_value = "Rome"
    private = pb.MemoryInput(visibility=pb.VISIBILITY_PRIVATE, agent="planner")
    private.MergeFrom(memory)
    for statement in (memory, private, pb.MemoryInput(text="the mill is in Rome", topic="mill")):
        await raw.call("Write", api.WriteRequest(user=user, memory=statement))
    gone = await raw.call("Forget", api.ForgetRequest(user=user, slot=slot))
    assert gone.forgotten_count == 2
    left = await raw.call("ListMemories", api.ListMemoriesRequest(user=user))
    assert [found.text for found in left.memories] == ["the mill is in Rome"]
    for statement in (memory, private):
        statement.source = pb.SOURCE_INFERRED
        late = await raw.call("Write", api.WriteRequest(user=user, memory=statement))
        assert late.effect == api.EFFECT_SUPPRESSED


async def test_a_preview_says_what_would_go_and_forgets_nothing(raw: Raw):
    user = new_user()
    for n in range(3):
        memory = pb.MemoryInput(text=f"parking ticket {n}", tags=["ticket"])
        await raw.call("Write", api.WriteRequest(user=user, memory=memory))
    wish = api.ForgetRequest(user=user, filter=pb.MemoryFilter(tags_any=["ticket"]), validate_only=True)
    preview = await raw.call("Forget", wish)
    assert preview.forgotten_count == len(preview.memory_ids) == len(preview.preview) == 3
    assert len((await raw.call("ListMemories", api.ListMemoriesRequest(user=user))).memories) == 3
    wish.validate_only = False
    assert set((await raw.call("Forget", wish)).memory_ids) == set(preview.memory_ids)
    assert not (await raw.call("ListMemories", api.ListMemoriesRequest(user=user))).memories
