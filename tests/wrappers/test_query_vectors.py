"""The cache of query vectors."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory_service.adapters.inmemory import InMemorySharedCache, ManualClock
from memory_service.adapters.wrappers.query_vectors import CachedQueryEmbedder, digest, normalised
from memory_service.domain.errors import Reason, Unavailable
from memory_service.ports.embedder import EmbeddingModel
from tests.wrappers.replicas import CountingTelemetry

MODEL = EmbeddingModel("test:query:8:v1", 8, same_cosine=0.9)


class CountingEmbedder:
    """Deterministic vectors; remembers what it was asked."""

    def __init__(self, model: EmbeddingModel = MODEL) -> None:
        self.model = model
        self.asked: list[str] = []
        self.away = False
        self.closed = False

    async def embed(self, texts):
        if self.away:
            raise Unavailable(Reason.EMBEDDER_UNAVAILABLE, "away")
        self.asked += texts
        return self.vectors(texts)

    def vectors(self, texts):
        """What it answers."""
        rows = np.zeros((len(texts), self.model.dimension), np.float32)
        for row, text in enumerate(texts):
            seed = hashlib.sha256((self.model.id + text).encode(errors="surrogatepass")).digest()
            row_values = np.random.default_rng(list(seed)).normal(size=self.model.dimension)
            rows[row] = row_values / np.linalg.norm(row_values)
        return rows

    async def close(self):
        self.closed = True


def made(cache: InMemorySharedCache | None = None, **settings_):
    """A cached embedder, the model behind it and its counts."""
    embedder, telemetry = CountingEmbedder(), CountingTelemetry()
    return CachedQueryEmbedder(embedder, cache, telemetry, **settings_), embedder, telemetry


@settings(max_examples=50)
@given(st.lists(st.lists(st.sampled_from(["a", " a", "b\n b", "b b", "é", "e\u0301", ""]), max_size=5), max_size=5))
async def test_answers_are_those_of_the_model_for_the_normalised_text(batches):
    cached, embedder, _ = made(InMemorySharedCache(ManualClock()), entries_max=2)
    for texts in batches:
        vectors = await cached.embed(texts)
        assert vectors.shape == (len(texts), MODEL.dimension)
        assert vectors.dtype == np.float32
        np.testing.assert_array_equal(vectors, embedder.vectors([normalised(text) for text in texts]))
        assert len(cached._entries) <= 2
    await cached.close()


async def test_a_text_is_embedded_once():
    cached, embedder, telemetry = made()
    await cached.embed(["hello  world", "x", "hello world"])
    vectors = await cached.embed(["hello world"])
    vectors[:] = 0
    assert (await cached.embed([" hello\tworld "])).any()
    assert embedder.asked == ["hello world", "x"]
    assert telemetry.counts["query_vector_requests_total", "l1", "hit"] == 2
    assert telemetry.counts["query_vector_requests_total", "model", "made"] == 2


async def test_processes_share_vectors():
    cache = InMemorySharedCache(ManualClock())
    one, _, _ = made(cache)
    two, embedder, telemetry = made(cache)
    wanted = await one.embed(["hello"])
    await one.settle()
    np.testing.assert_array_equal(await two.embed(["hello"]), wanted)
    assert embedder.asked == []
    assert telemetry.counts["query_vector_requests_total", "l2", "hit"] == 1


async def test_models_do_not_share_vectors():
    cache = InMemorySharedCache(ManualClock())
    one, _, _ = made(cache)
    await one.embed(["hello"])
    await one.settle()
    other = CountingEmbedder(EmbeddingModel("test:other:8:v1", 8, same_cosine=0.9))
    np.testing.assert_array_equal(
        await CachedQueryEmbedder(other, cache, CountingTelemetry()).embed(["hello"]), other.vectors(["hello"])
    )


async def test_failures_are_passed_on_and_never_kept():
    cached, embedder, telemetry = made()
    await cached.embed(["known"])
    embedder.away = True
    for _ in range(2):
        with pytest.raises(Unavailable):
            await cached.embed(["known", "new"])
    assert (await cached.embed(["known"])).any()
    embedder.away = False
    assert (await cached.embed(["new"])).any()
    assert telemetry.counts["query_vector_requests_total", "model", "error"] == 2


async def test_the_cache_being_away_only_costs_speed():
    cache = InMemorySharedCache(ManualClock())
    cache.set_away(True)
    cached, embedder, telemetry = made(cache)
    assert (await cached.embed(["hello"])).any()
    await cached.settle()
    assert embedder.asked == ["hello"]
    assert telemetry.counts["query_vector_requests_total", "l2", "error"] == 2


@pytest.mark.parametrize("bad", [np.zeros(8), np.full(8, np.nan), np.ones(8), np.eye(1, 9)[0]])
async def test_what_cannot_be_a_vector_of_the_model_is_passed_over(bad):
    cache = InMemorySharedCache(ManualClock())
    await cache.put_vector(MODEL.id, digest("hello"), bad.astype(np.float32))
    cached, embedder, _ = made(cache)
    np.testing.assert_array_equal(await cached.embed(["hello"]), embedder.vectors(["hello"]))


async def test_nothing_asked_calls_nothing():
    cached, embedder, _ = made()
    assert (await cached.embed([])).shape == (0, MODEL.dimension)
    assert embedder.asked == []
    await cached.close()
    assert embedder.closed


async def test_lone_surrogates_have_a_digest_too():
    assert digest("\ud800") != digest("\ud801")
