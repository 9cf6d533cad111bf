"""The batching wrapper: fewer passes, the right rows, nobody hurt by a neighbour."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_service.adapters.embedders import BatchingEmbedder
from memory_service.domain.errors import Reason, Unavailable
from memory_service.ports.embedder import EmbeddingModel, FloatMatrix


class Inner:
    """Embeds a number as itself, one batch at a time when `gate` is held."""

    def __init__(self, batch_size_max: int = 8) -> None:
        self._model = EmbeddingModel("test:2:v1", 2, 0.9, batch_size_max)
        self.batches: list[list[str]] = []
        self.gate = asyncio.Event()
        self.gate.set()
        self.error: Exception | None = None
        self.closed = 0
        self.under_way = self.under_way_most = 0

    @property
    def model(self) -> EmbeddingModel:
        return self._model

    async def embed(self, texts: Sequence[str]) -> FloatMatrix:
        self.batches.append(list(texts))
        self.under_way += 1
        self.under_way_most = max(self.under_way, self.under_way_most)
        await self.gate.wait()
        self.under_way -= 1
        if self.error is not None:
            raise self.error
        return np.array([[float(text), 1.0] for text in texts], np.float32)

    async def close(self) -> None:
        self.closed += 1


async def settle() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


async def test_calls_that_arrive_during_a_batch_share_the_next() -> None:
    inner = Inner()
    batching = BatchingEmbedder(inner)
    inner.gate.clear()
    calls = [asyncio.create_task(batching.embed([str(i)])) for i in range(6)]
    await settle()
    assert inner.batches == [["0"]]
    assert batching.texts_waiting == 5
    inner.gate.set()
    answers = await asyncio.gather(*calls)
    assert inner.batches == [["0"], ["1", "2", "3", "4", "5"]]
    assert [answer[0, 0] for answer in answers] == list(range(6))
    assert batching.texts_waiting == 0


async def test_a_small_call_passes_a_large_one() -> None:
    inner = Inner(batch_size_max=8)
    batching = BatchingEmbedder(inner)
    inner.gate.clear()
    large = asyncio.create_task(batching.embed([str(i) for i in range(100)]))
    await settle()
    small = asyncio.create_task(batching.embed(["7"]))
    await settle()
    inner.gate.set()
    assert (await small)[0, 0] == 7
    assert not large.done()
    assert (await large)[:, 0].tolist() == list(range(100))
    assert max(map(len, inner.batches)) == 8
    assert "7" in inner.batches[1]


@given(
    sizes=st.lists(st.integers(0, 30), max_size=12),
    batch=st.integers(1, 9),
    lanes=st.integers(1, 3),
    cancelled=st.sets(st.integers(0, 11)),
)
def test_everyone_gets_their_own_rows(sizes: list[int], batch: int, lanes: int, cancelled: set[int]) -> None:
    async def scenario() -> None:
        inner = Inner(batch)
        batching = BatchingEmbedder(inner, lanes=lanes)
        inner.gate.clear()
        asked, first = [], 0
        for size in sizes:
            asked.append([str(first + i) for i in range(size)])
            first += size
        calls = [asyncio.create_task(batching.embed(texts)) for texts in asked]
        await settle()
        for i in cancelled & set(range(len(calls))):
            calls[i].cancel()
        inner.gate.set()
        answers = await asyncio.gather(*calls, return_exceptions=True)
        for i, (texts, answer) in enumerate(zip(asked, answers, strict=True)):
            if i in cancelled and isinstance(answer, asyncio.CancelledError):
                continue
            assert isinstance(answer, np.ndarray)
            assert answer[:, 0].tolist() == [float(text) for text in texts]
        assert batching.texts_waiting == 0
        assert all(0 < len(b) <= batch for b in inner.batches)
        assert inner.under_way_most <= lanes
        handed_out = [text for b in inner.batches for text in b]
        assert len(handed_out) == len(set(handed_out))
        await batching.close()

    asyncio.run(scenario())


async def test_every_caller_of_a_failed_batch_gets_an_error_of_its_own() -> None:
    inner = Inner()
    batching = BatchingEmbedder(inner)
    inner.error = Unavailable(Reason.EMBEDDER_UNAVAILABLE, "away", metadata={"a": "b"})
    errors = await asyncio.gather(*(batching.embed([str(i)]) for i in range(3)), return_exceptions=True)
    assert [getattr(error, "reason", None) for error in errors] == [Reason.EMBEDDER_UNAVAILABLE] * 3
    assert len({id(error) for error in errors}) == 3
    inner.error = None
    assert (await batching.embed(["5"]))[0, 0] == 5


async def test_a_failed_large_call_leaves_nothing_in_the_queue() -> None:
    inner = Inner(batch_size_max=4)
    batching = BatchingEmbedder(inner)
    inner.error = ValueError("broken")
    with pytest.raises(ValueError, match="broken"):
        await batching.embed([str(i) for i in range(40)])
    assert batching.texts_waiting == 0
    assert len(inner.batches) == 1


async def test_too_much_waiting_is_refused_at_once() -> None:
    inner = Inner()
    batching = BatchingEmbedder(inner, texts_waiting_max=10)
    inner.gate.clear()
    calls = [asyncio.create_task(batching.embed(["1"] * size)) for size in (1, 8)]
    await settle()
    with pytest.raises(Unavailable) as caught:
        await batching.embed(["1"] * 3)
    assert caught.value.reason is Reason.OVERLOADED
    inner.gate.set()
    await asyncio.gather(*calls)
    assert (await batching.embed(["1"] * 50)).shape == (50, 2)


async def test_no_text_calls_nothing() -> None:
    inner = Inner()
    assert (await BatchingEmbedder(inner).embed([])).shape == (0, 2)
    assert inner.batches == []


async def test_closing_refuses_what_waits_and_lets_what_runs_end() -> None:
    inner = Inner()
    batching = BatchingEmbedder(inner)
    inner.gate.clear()
    running = asyncio.create_task(batching.embed(["1"]))
    await settle()
    waiting = asyncio.create_task(batching.embed(["2"]))
    await settle()
    closing = asyncio.create_task(batching.close())
    await settle()
    assert inner.closed == 0
    inner.gate.set()
    await closing
    assert (await running)[0, 0] == 1
    with pytest.raises(Unavailable) as caught:
        await waiting
    assert caught.value.reason is Reason.SHUTTING_DOWN
    await batching.close()
    with pytest.raises(Unavailable):
        await batching.embed(["3"])
