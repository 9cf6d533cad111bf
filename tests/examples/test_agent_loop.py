"""The agent of `examples/` in two conversations: with memory the second is better, without it is not."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from examples.agent_loop import Agent, Chat
from memory_service.client import AsyncMemoryClient
from memory_service.temporary import temporary
from tests.examples.scripted_chat import ScriptedChat

ANSWERS = {
    "seat": "I prefer a window seat.",
    "meal": "I am vegetarian.",
    "airport": "I usually fly from Porto airport.",
}


@pytest.fixture(scope="module")
async def service() -> AsyncIterator[tuple[str, str]]:
    async with temporary({"MEMORY_SERVICE_EMBEDDER": "hash"}) as found:
        yield found


@pytest.fixture
async def chat() -> AsyncIterator[ScriptedChat]:
    scripted = ScriptedChat()
    await scripted.start()
    yield scripted
    await scripted.stop()


async def booking(agent: Agent, goal: str) -> list[str]:
    """A user who wants a flight and answers what they are asked; what the agent said."""
    heard: list[str] = []

    async def lines() -> AsyncIterator[str]:
        yield f"Please book me a flight to {goal}."
        while not heard[-1].startswith("Booked"):
            assert len(heard) < 10
            yield next(answer for name, answer in ANSWERS.items() if name in heard[-1])

    async for said in agent.converse(lines()):
        heard.append(said)  # noqa: PERF401 - the lines look at what was heard
    return heard


async def test_the_second_conversation_is_better_with_memory_and_not_without(
    service: tuple[str, str], chat: ScriptedChat
) -> None:
    model = Chat(chat.base_url, "scripted")
    async with AsyncMemoryClient(*service, user="ann", timeout_seconds=20) as memory:
        first, second = [await booking(Agent(model, memory), goal) for goal in ("Lisbon", "Oslo")]
        control = [await booking(Agent(model), goal) for goal in ("Lisbon", "Oslo")]
        kept = sorted([m.text async for m in memory.list()])
    assert first[-1] == "Booked to Lisbon: window, vegetarian, porto."
    assert second == ["Booked to Oslo: window, vegetarian, porto."]
    assert len(first) == 4
    assert [len(said) for said in control] == [4, 4]
    assert kept == sorted(ANSWERS.values())
    # What it knew in the second conversation came from long-term memory, as data in a block.
    block = chat.prompts[4]
    assert "<recalled_memories>" in block
    assert "I am vegetarian." in block.partition("<recalled_memories>")[2]


async def test_a_conversation_is_still_known_after_many_turns(service: tuple[str, str], chat: ScriptedChat) -> None:
    """The first turn's goal is in the session's state when the last answer is given."""
    async with AsyncMemoryClient(*service, user="bob", timeout_seconds=20) as memory:
        said = await booking(Agent(Chat(chat.base_url, "scripted"), memory), "Vienna")
    assert said[-1].startswith("Booked to Vienna")
    assert "Please book me a flight to Vienna." in chat.prompts[-1]
