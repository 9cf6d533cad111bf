"""The HTTP embedder against a server that fails in every way we know."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator
from typing import Any

import numpy as np
import pytest
from aiohttp import web

from memory_service.adapters.embedders import OpenAIEmbedder, OpenAISettings
from memory_service.domain.errors import Reason, Unavailable
from tests.embedders.fake_openai import API_KEY, FakeOpenAI, changed, status


@pytest.fixture
async def server() -> AsyncIterator[FakeOpenAI]:
    fake = FakeOpenAI(dimension=8)
    await fake.start()
    yield fake
    await fake.stop()


class Patient:
    """An embedder whose pauses take no time and are written down."""

    def __init__(self, server: FakeOpenAI, **changes: Any) -> None:
        self.pauses: list[float] = []
        self.embedder = OpenAIEmbedder(server.settings(**changes), sleep=self._sleep, jitter=lambda: 1.0)

    async def _sleep(self, seconds: float) -> None:
        self.pauses.append(seconds)

    async def __aenter__(self) -> Patient:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.embedder.close()


async def failure(patient: Patient, texts: list[str] | None = None) -> Unavailable:
    with pytest.raises(Unavailable) as caught:
        await patient.embedder.embed(texts or ["a", "b"])
    assert caught.value.reason is Reason.EMBEDDER_UNAVAILABLE
    return caught.value


async def test_the_request_is_the_api_s(server: FakeOpenAI) -> None:
    async with Patient(server, send_dimensions=True, prefix="query: ") as patient:
        await patient.embedder.embed(["hello", ""])
    assert server.requests == [
        {
            "model": "fake-small",
            "input": ["query: hello", "query: ."],
            "encoding_format": "float",
            "dimensions": 8,
        }
    ]
    assert server.headers[0]["Authorization"] == f"Bearer {API_KEY}"


async def test_without_a_key_no_authorization_is_sent(server: FakeOpenAI) -> None:
    async with Patient(server, api_key="") as patient:
        await patient.embedder.embed(["hello"])
    assert "Authorization" not in server.headers[0]


async def test_batches_hold_at_most_sixty_four_and_few_run_at_once(server: FakeOpenAI) -> None:
    async with Patient(server, requests_max=2) as patient:
        vectors = await patient.embedder.embed([f"text {i}" for i in range(400)])
        alone = await patient.embedder.embed(["text 399"])
    assert [len(request["input"]) for request in server.requests[:-1]].count(64) == 6
    assert sum(len(request["input"]) for request in server.requests) == 401
    assert server.under_way_most <= 2
    assert np.array_equal(vectors[-1:], alone)


async def test_the_model_id_names_all_that_changes_a_vector(server: FakeOpenAI) -> None:
    def id_of(**changes: Any) -> str:
        return OpenAIEmbedder(server.settings(**changes)).model.id

    variants: list[dict[str, Any]] = [
        {},
        {"model": "other"},
        {"dimension": 9},
        {"prefix": "query: "},
        {"version": "v2"},
    ]
    assert len({id_of(**changes) for changes in variants}) == len(variants)
    assert API_KEY not in id_of()


@pytest.mark.parametrize("code", [408, 429, 500, 502, 503, 504])
async def test_a_passing_failure_is_tried_again(server: FakeOpenAI, code: int) -> None:
    server.script.extend([status(code), status(code)])
    async with Patient(server) as patient:
        vectors = await patient.embedder.embed(["a"])
    assert vectors.shape == (1, 8)
    assert patient.pauses == [0.25, 0.5]


async def test_after_the_last_try_it_is_unavailable(server: FakeOpenAI) -> None:
    server.script.extend([status(500)] * 10)
    async with Patient(server, tries_max=3) as patient:
        error = await failure(patient)
    assert "500" in error.message
    assert len(server.requests) == 3


@pytest.mark.parametrize(
    ("headers", "pause"),
    [
        ({"Retry_After": "3"}, 3.0),
        ({"Retry_After": "9999"}, 8.0),
        ({"Retry_After": "-5"}, 0.25),
        ({"Retry_After": "nan"}, 0.25),
        ({"Retry_After": "soon"}, 0.25),
        ({"Retry_After": "Wed, 01 Jan 2025 00:00:05 GMT", "Date": "Wed, 01 Jan 2025 00:00:00 GMT"}, 5.0),
    ],
)
async def test_retry_after_is_honoured_within_the_limit(
    server: FakeOpenAI, headers: dict[str, str], pause: float
) -> None:
    server.script.append(status(429, **headers))
    async with Patient(server) as patient:
        await patient.embedder.embed(["a"])
    assert patient.pauses == [pause]


@pytest.mark.parametrize("code", [301, 400, 401, 403, 404, 413, 422])
async def test_a_refusal_is_not_tried_again(server: FakeOpenAI, code: int) -> None:
    server.script.append(status(code, Location="http://127.0.0.1:9/"))
    async with Patient(server) as patient:
        error = await failure(patient)
    assert str(code) in error.message
    assert len(server.requests) == 1


async def test_no_answer_in_time_is_tried_again_then_unavailable(server: FakeOpenAI) -> None:
    server.hold = asyncio.Event()
    async with Patient(server, timeout_seconds=0.05, tries_max=2) as patient:
        error = await failure(patient)
        server.hold.set()
    assert "in time" in error.message
    assert len(patient.pauses) == 1


async def test_nobody_listening_is_unavailable(server: FakeOpenAI) -> None:
    await server.stop()
    async with Patient(server, tries_max=2) as patient:
        await failure(patient)
    assert len(patient.pauses) == 1


def _first(value: Any) -> Any:
    return changed(lambda good: good["data"][0].update(embedding=value))


def _index(value: Any) -> Any:
    return changed(lambda good: good["data"][0].update(index=value))


def _raw(text: str) -> Any:
    return lambda _: web.Response(text=text, content_type="application/json")


@pytest.mark.parametrize(
    "answer",
    [
        _first([1.0] * 7),
        _first([1.0] * 9),
        _first([]),
        _first(None),
        _first("AAAA"),
        _first([0.0] * 8),
        _first([1.0] * 7 + [None]),
        _first([1.0] * 7 + ["x"]),
        _first([1.0] * 7 + [[1.0]]),
        _first([1.0] * 7 + [float("nan")]),
        _first([1.0] * 7 + [float("inf")]),
        _first([1e308] * 8),
        _first([1.0] * 7 + [10**400]),
        _index(0),
        _index(2),
        _index(-1),
        _index("1"),
        _index(True),
        changed(lambda good: good["data"].pop()),
        changed(lambda good: good["data"].append(good["data"][0])),
        changed(lambda good: {"data": {}}),
        changed(lambda good: {"data": [1, 2]}),
        changed(lambda good: []),
        _raw("not json"),
        _raw(""),
        _raw("[" * 100_000),
        _raw(" " * (3 << 20)),
    ],
)
async def test_a_wrong_answer_is_refused_not_used(server: FakeOpenAI, answer: Any) -> None:
    server.script.append(answer)
    async with Patient(server) as patient:
        await failure(patient)
    assert len(server.requests) == 1


async def test_one_failed_batch_fails_the_call(server: FakeOpenAI) -> None:
    server.script.append(status(401))
    async with Patient(server) as patient:
        await failure(patient, [f"text {i}" for i in range(200)])


async def test_the_key_and_the_texts_appear_in_no_error_and_no_log(
    server: FakeOpenAI, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    secret_text = "the user's diary"
    async with Patient(server, tries_max=2) as patient:
        for misbehaviour in (status(401), status(500), status(500), _first([1.0]), _raw("x")):
            server.script.append(misbehaviour)
        for _ in range(4):
            error = await failure(patient, [secret_text])
            chain = [error, error.__cause__, error.__context__]
            said = " ".join(f"{e!s} {e!r} {getattr(e, 'metadata', '')}" for e in chain)
            assert API_KEY not in said
            assert secret_text not in said
        assert API_KEY not in repr(patient.embedder) + repr(server.settings())
    assert API_KEY not in caplog.text
    assert secret_text not in caplog.text


async def test_cancelling_a_call_stops_its_requests(server: FakeOpenAI) -> None:
    server.hold = asyncio.Event()
    async with Patient(server) as patient:
        call = asyncio.create_task(patient.embedder.embed(["a"]))
        await server.arrived.wait()
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        server.hold.set()
        assert (await patient.embedder.embed(["b"])).shape == (1, 8)


@pytest.mark.parametrize(
    "changes",
    [
        {"base_url": "ftp://host"},
        {"base_url": "host/v1"},
        {"base_url": "http://user:secret@host/v1"},
        {"model": ""},
        {"dimension": 0},
        {"dimension": 16_001},
        {"batch_size_max": 65},
        {"tries_max": 0},
        {"timeout_seconds": 0.0},
    ],
)
def test_settings_that_cannot_work_are_refused(changes: dict[str, Any]) -> None:
    good: dict[str, Any] = {"base_url": "https://host/v1", "model": "m", "dimension": 3}
    OpenAISettings(**good)
    with pytest.raises(ValueError, match="must") as caught:
        OpenAISettings(**(good | changes))
    assert "secret" not in str(caught.value)


async def test_surrogates_reach_the_service_as_valid_json(server: FakeOpenAI) -> None:
    async with Patient(server) as patient:
        await patient.embedder.embed(["a\ud800\x00b"])
    json.dumps(server.requests[0], ensure_ascii=False).encode()
    assert server.requests[0]["input"] == ["a\ufffd b"]
