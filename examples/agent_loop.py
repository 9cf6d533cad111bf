"""An agent with memory: `context` tells it what it should know before each turn, `write` keeps what it learned.

    python examples/agent_loop.py --base-url http://127.0.0.1:11434/v1 --model llama3.2 --user ann

Any OpenAI-compatible chat API will do. Needs a memory service (`make run`); `--without-memory` is the control.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field

import aiohttp

from memory_service.client import AsyncConversation, AsyncMemoryClient

INSTRUCTIONS = "You are a travel agent. Ask for one missing thing at a time. Never ask for what you are told below."
EXTRACTION = (
    "List what the last message says of its writer that will still matter in their next conversation, as a JSON list"
    " of short sentences; [] for nothing."
)
WINDOW_TOKENS = 8_000


@dataclass
class Chat:
    """An OpenAI-compatible chat API."""

    base_url: str
    model: str
    key: str = ""

    async def __call__(self, *messages: tuple[str, str]) -> str:
        """The model's answer to messages of (role, text)."""
        body = {"model": self.model, "messages": [{"role": role, "content": text} for role, text in messages]}
        headers = {"authorization": f"Bearer {self.key}"} if self.key else {}
        async with (
            aiohttp.ClientSession(raise_for_status=True) as http,
            http.post(f"{self.base_url}/chat/completions", json=body, headers=headers) as answer,
        ):
            found = await answer.json()
        return str(found["choices"][0]["message"]["content"])


@dataclass
class Agent:
    """Talks to one user. Without `memory` it knows nothing but the conversation itself."""

    chat: Chat
    memory: AsyncMemoryClient | None = None
    said: list[tuple[str, str]] = field(default_factory=list)

    async def converse(self, lines: AsyncIterator[str] | Sequence[str]) -> AsyncIterator[str]:
        """One conversation: an answer to each line."""
        if self.memory is None:
            self.said.clear()
            async for line in _each(lines):
                yield await self._plain_turn(line)
            return
        async with self.memory.conversation(agent="travel-agent") as talk:
            async for line in _each(lines):
                yield await self._turn(talk, line)

    async def _turn(self, talk: AsyncConversation, line: str) -> str:
        await talk.user(line)
        context = await talk.context(line, window_tokens=WINDOW_TOKENS)
        answer = await self.chat(("system", f"{INSTRUCTIONS}\n{context.block}"), ("user", line))
        await talk.assistant(answer)
        await self._learn(talk, line)
        return answer

    async def _learn(self, talk: AsyncConversation, line: str) -> None:
        """Remember what outlives the conversation; the session itself is gone half an hour after its last turn."""
        assert self.memory is not None
        for fact in _sentences(await self.chat(("system", EXTRACTION), ("user", line))):
            await self.memory.write(fact, session=talk.id, agent="travel-agent")

    async def _plain_turn(self, line: str) -> str:
        self.said.append(("user", line))
        answer = await self.chat(("system", INSTRUCTIONS), *self.said)
        self.said.append(("assistant", answer))
        return answer


def _sentences(answer: str) -> list[str]:
    """What a model answered to EXTRACTION; nothing when it is not what it was asked for."""
    try:
        found = json.loads(answer)
    except ValueError:
        return []
    return [fact for fact in found if isinstance(fact, str) and fact.strip()] if isinstance(found, list) else []


async def _each(lines: AsyncIterator[str] | Sequence[str]) -> AsyncIterator[str]:
    if isinstance(lines, Sequence):
        for line in lines:
            yield line
    else:
        async for line in lines:
            yield line


async def _typed() -> AsyncIterator[str]:
    """Lines from the terminal until it ends."""
    while True:
        sys.stdout.write("> ")
        sys.stdout.flush()
        line = await asyncio.to_thread(sys.stdin.readline)
        if not line:
            return
        if line.strip():
            yield line.strip()


async def _main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--base-url", required=True)
    parser.add_argument("--model", required=True)
    parser.add_argument("--user", default="default")
    parser.add_argument("--without-memory", action="store_true")
    given = parser.parse_args()
    chat = Chat(given.base_url, given.model, os.environ.get("OPENAI_API_KEY", ""))
    async with AsyncMemoryClient(user=given.user) as memory:
        agent = Agent(chat, None if given.without_memory else memory)
        async for answer in agent.converse(_typed()):
            print(answer)


if __name__ == "__main__":
    asyncio.run(_main())
