"""What the `Embedder` port promises, asked of every embedder."""

from __future__ import annotations

import asyncio
import time

import numpy as np
import pytest

from memory_service.adapters.embedders import EMBEDDER_NAMES, build_embedder
from memory_service.domain.errors import Reason, Unavailable
from memory_service.ports.embedder import Embedder
from tests.embedders.fake_openai import FakeOpenAI

TEXTS = [
    "User is allergic to peanuts.",
    "用户的女儿今年上小学一年级",
    "The staging database runs on port 5433.",
    "Caroline: I went to a support group yesterday and it was so powerful.",
    "我上司老家在河北石家庄，今年45岁。",
    "ok",
]

NASTY = {
    "empty": "",
    "spaces": " \t\n ",
    "nul": "a\x00b",
    "lone high surrogate": "price \ud83d up",
    "lone low surrogate": "\udc00",
    "U+FDFA run": "\ufdfa" * 3000,
    "combining run": "e" + "\u0301" * 4000,
    "zero width": "\u200b\u200d\ufeff",
    "emoji": "👩‍👩‍👧‍👦🧘🏽‍♀️" * 50,
    "right to left": "\u202eمرحبا שלום",
    "private use and unassigned": "\ue000\U000f0000\u0378\U0010ffff",
    "control characters": "".join(map(chr, range(32))),
    "full width": "ＦＵＬＬ　ｗｉｄｔｈ①㍿",
    "one long word": "x" * 20_000,
    "long Chinese": "今天天气很好我们去公园散步" * 2000,
    "long English": "the quarterly budget meeting was moved upstairs. " * 2000,
    "many lines": "\n" * 5000 + "end",
    "sentencepiece space": "\u2581\u2581a\u2581",
    "special pieces": "<s> </s> <pad> <mask> [CLS] [SEP] <unk>",
}


async def test_the_shape_type_and_norm_are_as_promised(embedder: Embedder) -> None:
    vectors = await embedder.embed(TEXTS)
    assert vectors.dtype == np.float32
    assert vectors.shape == (len(TEXTS), embedder.model.dimension)
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(np.ones(len(TEXTS)), abs=1e-5)


async def test_nothing_to_embed_is_not_an_error(embedder: Embedder) -> None:
    vectors = await embedder.embed([])
    assert vectors.shape == (0, embedder.model.dimension)
    assert vectors.dtype == np.float32


async def test_the_same_text_gives_the_same_vector(embedder: Embedder) -> None:
    first, second = await embedder.embed(TEXTS), await embedder.embed(TEXTS)
    assert np.array_equal(first, second)


async def test_a_vector_does_not_depend_on_what_else_is_in_the_batch(embedder: Embedder) -> None:
    alone = np.concatenate([await embedder.embed([text]) for text in TEXTS])
    crowd = [*TEXTS, "word " * 300, *TEXTS[::-1], "字" * 500]
    together = await embedder.embed(crowd)
    assert together[: len(TEXTS)] == pytest.approx(alone, abs=2e-6)
    assert together[len(TEXTS) + 1 : -1] == pytest.approx(alone[::-1], abs=2e-6)


async def test_rows_keep_the_order_of_the_texts_over_many_batches(embedder: Embedder) -> None:
    count = embedder.model.batch_size_max * 2 + 3
    texts = [TEXTS[i % len(TEXTS)] for i in range(count)]
    expected = await embedder.embed(TEXTS)
    assert await embedder.embed(texts) == pytest.approx(expected[[i % len(TEXTS) for i in range(count)]], abs=2e-6)


async def test_different_texts_give_different_vectors(embedder: Embedder) -> None:
    vectors = await embedder.embed(TEXTS)
    cosines = vectors @ vectors.T
    assert (cosines[~np.eye(len(TEXTS), dtype=bool)] < 0.99).all()


@pytest.mark.parametrize("name", NASTY)
async def test_any_text_gives_a_unit_vector(embedder: Embedder, name: str) -> None:
    vector = await embedder.embed([NASTY[name]])
    assert np.isfinite(vector).all()
    assert np.linalg.norm(vector) == pytest.approx(1.0, abs=1e-5)


async def test_a_nasty_neighbour_changes_nothing(embedder: Embedder) -> None:
    alone = await embedder.embed(TEXTS[:1])
    crowd = await embedder.embed([*NASTY.values(), TEXTS[0]])
    assert np.isfinite(crowd).all()
    assert crowd[-1:] == pytest.approx(alone, abs=2e-6)


async def test_concurrent_calls_get_their_own_rows(embedder: Embedder) -> None:
    expected = await embedder.embed(TEXTS)
    answers = await asyncio.gather(*(embedder.embed([TEXTS[i % len(TEXTS)]]) for i in range(24)))
    for i, answer in enumerate(answers):
        assert answer == pytest.approx(expected[i % len(TEXTS)][None], abs=2e-6)


async def test_the_event_loop_is_free_while_vectors_are_made(embedder: Embedder) -> None:
    await embedder.embed(["warm"])
    longest = 0.0

    async def watch() -> None:
        nonlocal longest
        while True:
            before = time.perf_counter()
            await asyncio.sleep(0)
            longest = max(longest, time.perf_counter() - before)

    watcher = asyncio.create_task(watch())
    began = time.perf_counter()
    await embedder.embed([f"{text} number {i}" for i in range(20) for text in TEXTS])
    took = time.perf_counter() - began
    watcher.cancel()
    assert longest < max(0.25, took / 2)


@pytest.mark.parametrize("name", EMBEDDER_NAMES)
async def test_closing_twice_is_fine_and_a_closed_embedder_says_so(
    name: str, cache_dir: object, openai_server: FakeOpenAI
) -> None:
    try:
        made = build_embedder(name, cache_dir=cache_dir, openai=openai_server.settings(), threads=1)  # type: ignore[arg-type]
    except Unavailable as error:
        pytest.skip(error.message)
    await made.close()
    await made.close()
    with pytest.raises(Unavailable) as caught:
        await made.embed(["late"])
    assert caught.value.reason is Reason.SHUTTING_DOWN
