"""A small server of the embeddings API that can be told to misbehave."""

from __future__ import annotations

import asyncio
import hashlib
from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np
from aiohttp import web

from memory_service.adapters.embedders import OpenAISettings

API_KEY = "sk-very-secret-0123456789"

#: Turns a good answer into a response; `None` in the queue means the good answer itself.
Misbehaviour = Callable[[dict[str, Any]], web.Response]


class FakeOpenAI:
    """Answers a deterministic vector for each text, in shuffled order, after the queued misbehaviours."""

    def __init__(self, dimension: int) -> None:
        self.dimension = dimension
        self.requests: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.script: deque[Misbehaviour] = deque()
        self.hold: asyncio.Event | None = None
        self.arrived = asyncio.Event()
        self.under_way = self.under_way_most = 0
        self._runner: web.AppRunner | None = None
        self.base_url = ""

    async def start(self) -> None:
        app = web.Application(client_max_size=64 << 20)
        app.router.add_post("/v1/embeddings", self._answer)
        self._runner = web.AppRunner(app, shutdown_timeout=0.1)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        host, port = self._runner.addresses[0][:2]
        self.base_url = f"http://{host}:{port}/v1"

    async def stop(self) -> None:
        if self._runner is not None:
            await self._runner.cleanup()

    def settings(self, **changes: Any) -> OpenAISettings:
        """Settings that point here."""
        values: dict[str, Any] = {
            "base_url": self.base_url,
            "model": "fake-small",
            "dimension": self.dimension,
            "api_key": API_KEY,
        }
        return OpenAISettings(**(values | changes))

    async def _answer(self, request: web.Request) -> web.Response:
        body = await request.json()
        self.requests.append(body)
        self.headers.append(dict(request.headers))
        self.arrived.set()
        self.under_way += 1
        self.under_way_most = max(self.under_way, self.under_way_most)
        try:
            if self.hold is not None:
                await self.hold.wait()
            good = {"data": [{"index": i, "embedding": self._vector(t)} for i, t in enumerate(body["input"])]}
            good["data"].reverse()
            return self.script.popleft()(good) if self.script else web.json_response(good)
        finally:
            self.under_way -= 1

    def _vector(self, text: str) -> list[float]:
        seed = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "little")
        vector: list[float] = (5 * np.random.default_rng(seed).normal(size=self.dimension)).tolist()
        return vector


def status(code: int, **headers: str) -> Misbehaviour:
    """Answer with a status code and a body that quotes the key, as some gateways do."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return lambda _: web.json_response({"error": f"bad key {API_KEY}"}, status=code, headers=named)


def changed(change: Callable[[dict[str, Any]], Any]) -> Misbehaviour:
    """Answer 200 with the good answer after `change` (what it returns, or what it did in place)."""

    def answer(good: dict[str, Any]) -> web.Response:
        result = change(good)
        return web.json_response(good if result is None else result)

    return answer
