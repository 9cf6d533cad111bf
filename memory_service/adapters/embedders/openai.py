"""Any HTTP service that speaks OpenAI's embeddings API: ``POST {base_url}/embeddings``."""

from __future__ import annotations

import asyncio
import json
import math
import random
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import Any
from urllib.parse import urlsplit

import aiohttp
import numpy as np

from memory_service.adapters.embedders.text import clean_text
from memory_service.adapters.embedders.weights import unavailable
from memory_service.domain.errors import Reason, Unavailable
from memory_service.http_api import PASSING, HttpApi, backoff_seconds, check_address
from memory_service.ports.embedder import EmbeddingModel, FloatMatrix

_NUMBER_BYTES_MAX = 40
_ENVELOPE_BYTES_MAX = 1 << 20


@dataclass(frozen=True, slots=True)
class OpenAISettings:
    """How to reach the service and what it answers.

    Attributes:
        base_url: for example ``https://host/v1``; without user and password.
        model: the model's name there.
        dimension: numbers in a vector; anything else it answers is refused.
        api_key: sent as a bearer token when given; never shown, logged or put into an error.
        send_dimensions: also send ``dimensions`` in the request (models with shortenable vectors).
        prefix: put before every text (models that want one).
        version: part of the model id; raise it when the same name starts to mean other vectors.
        same_cosine: see `EmbeddingModel`.
        batch_size_max: texts a request, at most 64.
        requests_max: requests under way at the same time.
        timeout_seconds: for one try.
        tries_max: tries a request in all.
        backoff_seconds / backoff_seconds_max: first and longest pause between tries (doubled, jittered).
    """

    base_url: str
    model: str
    dimension: int
    api_key: str = field(default="", repr=False)
    send_dimensions: bool = False
    prefix: str = ""
    version: str = "v1"
    same_cosine: float = 0.92
    batch_size_max: int = 64
    requests_max: int = 4
    timeout_seconds: float = 20.0
    tries_max: int = 4
    backoff_seconds: float = 0.25
    backoff_seconds_max: float = 8.0

    def __post_init__(self) -> None:
        check_address(self.base_url, self.model)
        if not 1 <= self.dimension <= 16_000:
            raise ValueError("dimension must be between 1 and 16000")
        if not 1 <= self.batch_size_max <= 64:
            raise ValueError("batch_size_max must be between 1 and 64")
        if min(self.requests_max, self.tries_max) < 1 or self.timeout_seconds <= 0:
            raise ValueError("requests_max, tries_max and timeout_seconds must be positive")


class _TryAgain(Exception):
    """This try failed in a way that may pass."""

    def __init__(self, what: str, wait_seconds: float | None = None) -> None:
        super().__init__(what)
        self.what = what
        self.wait_seconds = wait_seconds


class OpenAIEmbedder:
    """Embeds over HTTP, in batches, with time-outs and retries."""

    def __init__(
        self,
        settings: OpenAISettings,
        *,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        """`sleep` and `jitter` (a number in 0..1) are given by tests."""
        self._settings = settings
        self._sleep = sleep
        self._jitter = jitter
        self._api = HttpApi(settings.base_url, settings.api_key, seconds_max=settings.timeout_seconds)
        self._requests = asyncio.Semaphore(settings.requests_max)
        host = urlsplit(settings.base_url).hostname
        prefix = f":{settings.prefix.strip()}" if settings.prefix else ""
        self._model = EmbeddingModel(
            id=f"openai:{host}:{settings.model}:{settings.dimension}{prefix}:{settings.version}",
            dimension=settings.dimension,
            same_cosine=settings.same_cosine,
            batch_size_max=settings.batch_size_max,
        )

    @property
    def model(self) -> EmbeddingModel:
        """Named after host, model, dimension, prefix and version."""
        return self._model

    async def embed(self, texts: Sequence[str]) -> FloatMatrix:
        """Embed `texts`; see the port.

        Raises:
            Unavailable: EMBEDDER_UNAVAILABLE when the service refused, answered nonsense, or failed in every
                try; SHUTTING_DOWN after `close`.
        """
        self._check_open()
        if not texts:
            return np.empty((0, self._model.dimension), np.float32)
        size = self._settings.batch_size_max
        batches = [texts[i : i + size] for i in range(0, len(texts), size)]
        tasks = [asyncio.ensure_future(self._batch(batch)) for batch in batches]
        try:
            return np.concatenate(await asyncio.gather(*tasks))
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def close(self) -> None:
        """Close the connections. Idempotent."""
        await self._api.close()

    def _check_open(self) -> None:
        if self._api.closed:
            raise Unavailable(Reason.SHUTTING_DOWN, "the embedder is closed")

    async def _batch(self, texts: Sequence[str]) -> FloatMatrix:
        settings = self._settings
        # An empty input is refused by many services; a lone full stop stands for "nothing said".
        inputs = await asyncio.to_thread(
            lambda: [settings.prefix + (clean_text(text).strip() or ".") for text in texts]
        )
        body: dict[str, Any] = {"model": settings.model, "input": inputs, "encoding_format": "float"}
        if settings.send_dimensions:
            body["dimensions"] = settings.dimension
        async with self._requests:
            for attempt in range(settings.tries_max):
                try:
                    answer = await self._post(body)
                    return await asyncio.to_thread(self._vectors, answer, len(texts))
                except _TryAgain as failure:
                    if attempt + 1 == settings.tries_max:
                        message = f"the embedding service failed {settings.tries_max} times: {failure.what}"
                        raise unavailable(message) from failure
                    await self._sleep(self._pause(attempt, failure.wait_seconds))
        raise AssertionError("tries_max is at least 1")

    def _pause(self, attempt: int, asked_seconds: float | None) -> float:
        """Half fixed, half random, doubled each time; no less than the service asked for, up to a limit."""
        longest = self._settings.backoff_seconds_max
        jitter = self._jitter()
        pause = min(
            backoff_seconds(self._settings.backoff_seconds, attempt, jitter), backoff_seconds(longest, 0, jitter)
        )
        return min(longest, max(pause, asked_seconds or 0.0))

    async def _post(self, body: dict[str, Any]) -> bytes:
        """One try; the body of a good answer.

        Raises:
            _TryAgain: connection trouble, time-out, or a status that may pass.
            Unavailable: any other status, or more data than vectors can need.
        """
        limit = _ENVELOPE_BYTES_MAX + len(body["input"]) * self._settings.dimension * _NUMBER_BYTES_MAX
        self._check_open()
        try:
            async with self._api.post("embeddings", body) as response:
                if response.status in PASSING:
                    raise _TryAgain(f"status {response.status}", _retry_after_seconds(response.headers))
                if response.status != HTTPStatus.OK:
                    raise unavailable(f"the embedding service refused with status {response.status}")
                return await _read(response, limit)
        except TimeoutError as error:
            raise _TryAgain("no answer in time") from error
        except aiohttp.InvalidURL as error:
            raise unavailable("the embedding service's address is not valid") from error
        except (aiohttp.ClientError, OSError) as error:
            raise _TryAgain(type(error).__name__) from error

    def _vectors(self, data: bytes, count: int) -> FloatMatrix:
        """Rows in the order of the request, checked and scaled to norm 1.

        Raises:
            Unavailable: not JSON, or a row is missing, doubled, of another dimension, zero or not finite.
        """
        try:
            answer = json.loads(data)
        except (ValueError, RecursionError) as error:
            raise unavailable("the embedding service answered something that is not JSON") from error
        items = answer.get("data") if isinstance(answer, dict) else None
        if not isinstance(items, list) or len(items) != count:
            raise unavailable("the embedding service answered another number of vectors than asked")
        out = np.full((count, self._model.dimension), np.nan)
        for place, item in enumerate(items):
            index = item.get("index", place) if isinstance(item, dict) else None
            if type(index) is not int or not 0 <= index < count:
                raise unavailable("the embedding service answered without a usable index")
            out[index] = self._row(item.get("embedding"))
        with np.errstate(over="ignore"):
            norms = np.linalg.norm(out, axis=1, keepdims=True)
        if not np.isfinite(norms).all() or (norms < 1e-12).any():
            raise unavailable("the embedding service answered a vector that is zero, missing or not finite")
        result: FloatMatrix = (out / norms).astype(np.float32)
        return result

    def _row(self, values: Any) -> Any:
        if not isinstance(values, list) or len(values) != self._model.dimension:
            length = len(values) if isinstance(values, list) else 0
            raise unavailable(
                f"the embedding service answered {length} numbers, not the {self._model.dimension} configured"
            )
        try:
            return np.asarray(values, np.float64)
        except (TypeError, ValueError, OverflowError) as error:
            raise unavailable("the embedding service answered a vector that is not numbers") from error


async def _read(response: aiohttp.ClientResponse, limit: int) -> bytes:
    pieces: list[bytes] = []
    size = 0
    async for piece in response.content.iter_chunked(1 << 16):
        size += len(piece)
        if size > limit:
            raise unavailable("the embedding service answered more than the vectors can need")
        pieces.append(piece)
    return b"".join(pieces)


def _retry_after_seconds(headers: Any) -> float | None:
    """The Retry-After header: seconds, or a date measured against the answer's own Date header."""
    value = headers.get("Retry-After", "").strip()
    try:
        seconds = float(value)
    except ValueError:
        try:
            wait = parsedate_to_datetime(value) - parsedate_to_datetime(headers.get("Date", ""))
        except (TypeError, ValueError):
            return None
        seconds = wait.total_seconds()
    return max(0.0, seconds) if math.isfinite(seconds) else None
