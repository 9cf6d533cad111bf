"""The model that words merged memories: time-outs, retries, and a cap that failed calls count against."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable
from datetime import timedelta
from typing import Any

import pytest
from aiohttp import web

from memory_service.adapters.inmemory.clock import ManualClock
from memory_service.adapters.llm import Budget, LlmSettings, OpenAISummarizer
from tests.app.harness import START

KEY = "sk-very-secret-0123456789"
TEXTS = ["I like green tea", "I really like green tea"]
MOST = len("\n".join(TEXTS).encode()) + 200 + 300


class FakeChat:
    """A chat API that answers from a script, then with the last answer again."""

    def __init__(self) -> None:
        self.requests: list[dict[str, Any]] = []
        self.script: deque[Callable[[], web.Response]] = deque()
        self.counted: dict[str, int] = {}
        self.slept: list[float] = []
        self.clock = ManualClock(START)
        self.base_url = ""
        self.hold: asyncio.Event | None = None

    def count(self, name: str, amount: int = 1, **labels: str) -> None:
        assert name == "summarizer_calls_total"
        self.counted[labels["outcome"]] = self.counted.get(labels["outcome"], 0) + amount

    def observe(self, name: str, seconds: float, **labels: str) -> None: ...
    def gauge(self, name: str, value: float, **labels: str) -> None: ...

    async def answer(self, request: web.Request) -> web.Response:
        self.requests.append({**await request.json(), "key": request.headers.get("Authorization")})
        if self.hold is not None:
            await self.hold.wait()
        return self.script.popleft()()

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)

    def summarizer(self, budget: Budget, **given: Any) -> OpenAISummarizer:
        settings = LlmSettings(base_url=self.base_url, model="m", api_key=KEY, **given)
        return OpenAISummarizer(settings, budget, self, sleep=self.sleep, jitter=lambda: 1.0)


def good(text: str = "I like green tea.", tokens: int | None = 50) -> Callable[[], web.Response]:
    usage = {} if tokens is None else {"usage": {"total_tokens": tokens}}
    return lambda: web.json_response({"choices": [{"message": {"content": text}}], **usage})


def status(code: int) -> Callable[[], web.Response]:
    return lambda: web.Response(status=code, text=f"no, {KEY}")


@pytest.fixture
async def chat() -> AsyncIterator[FakeChat]:
    fake = FakeChat()
    app = web.Application()
    app.router.add_post("/v1/chat/completions", fake.answer)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    host, port = runner.addresses[0][:2]
    fake.base_url = f"http://{host}:{port}/v1"
    yield fake
    await runner.cleanup()


async def asked(chat: FakeChat, budget: Budget, **given: Any) -> str | None:
    summarizer = chat.summarizer(budget, **given)
    try:
        return await summarizer.merge_text(TEXTS, "en")
    finally:
        await summarizer.close()


async def test_a_good_answer_is_taken_and_costs_what_it_says(chat: FakeChat):
    chat.script += [good()]
    budget = Budget(chat.clock, 10_000)
    assert await asked(chat, budget) == "I like green tea."
    assert budget.spent == 50
    (request,) = chat.requests
    assert request["key"] == f"Bearer {KEY}"
    assert request["messages"][-1]["content"] == "\n".join(TEXTS)
    assert chat.counted == {"made": 1}


async def test_failed_calls_count_in_full(chat: FakeChat):
    chat.script += [status(503), status(429), good(tokens=None)]
    budget = Budget(chat.clock, 10_000)
    assert await asked(chat, budget) == "I like green tea."
    assert budget.spent == 3 * MOST
    assert chat.slept == [0.5, 1.0]
    assert chat.counted == {"failed": 2, "made": 1}


async def test_what_is_spent_is_spent_until_the_next_day(chat: FakeChat):
    chat.script += [status(503), good()]
    budget = Budget(chat.clock, MOST)
    assert await asked(chat, budget) is None
    assert len(chat.requests) == 1  # the second try would have cost more than is left
    assert await asked(chat, budget) is None
    assert len(chat.requests) == 1
    assert chat.counted == {"failed": 1, "spent": 2}
    chat.clock.advance(timedelta(days=1))
    assert await asked(chat, budget) == "I like green tea."


@pytest.mark.parametrize(
    "wrong",
    [
        status(401),
        status(302),
        lambda: web.Response(text="not json"),
        lambda: web.json_response({"choices": []}),
        lambda: web.json_response([1]),
        lambda: web.json_response({"choices": [{"message": {"content": 7}}]}),
        good("  "),
        lambda: web.Response(body=b"x" * ((1 << 20) + 1)),
    ],
)
async def test_nonsense_is_no_text_and_not_asked_for_again(chat: FakeChat, wrong: Callable[[], web.Response]):
    chat.script += [wrong]
    assert await asked(chat, Budget(chat.clock, 10_000)) is None
    assert len(chat.requests) == 1


async def test_a_service_that_hangs_is_given_up(chat: FakeChat):
    chat.hold = asyncio.Event()
    budget = Budget(chat.clock, 10_000)
    assert await asked(chat, budget, seconds_max=0.05, tries_max=2) is None
    assert len(chat.requests) == 2
    assert budget.spent == 2 * MOST
    chat.hold.set()


async def test_a_closed_one_asks_nobody(chat: FakeChat):
    summarizer = chat.summarizer(Budget(chat.clock, 10_000))
    await summarizer.close()
    assert await summarizer.merge_text(TEXTS, "en") is None
    assert chat.requests == []


@pytest.mark.parametrize(
    "given",
    [{"base_url": "ftp://x"}, {"base_url": "http://u:p@x"}, {"model": ""}, {"tries_max": 0}, {"seconds_max": 0}],
)
def test_settings_that_cannot_work_are_refused(given: dict[str, Any]):
    with pytest.raises(ValueError, match="must"):
        LlmSettings(**{"base_url": "http://x/v1", "model": "m", **given})
    assert KEY not in repr(LlmSettings(base_url="http://x/v1", model="m", api_key=KEY))
