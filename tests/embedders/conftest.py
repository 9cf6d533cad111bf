"""Every embedder, made once: models are loaded at the first test that wants them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from memory_service.adapters.embedders import EMBEDDER_NAMES, build_embedder
from memory_service.domain.errors import Unavailable
from memory_service.ports.embedder import Embedder
from tests.embedders.fake_openai import FakeOpenAI


@pytest.fixture(scope="session")
def cache_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where this session's converted models are kept."""
    return tmp_path_factory.mktemp("embedder-cache")


@pytest.fixture(scope="session")
async def openai_server() -> AsyncIterator[FakeOpenAI]:
    """A healthy local server of the embeddings API."""
    server = FakeOpenAI(dimension=24)
    await server.start()
    yield server
    await server.stop()


@pytest.fixture(scope="session", params=EMBEDDER_NAMES)
async def embedder(
    request: pytest.FixtureRequest, cache_dir: Path, openai_server: FakeOpenAI
) -> AsyncIterator[Embedder]:
    """Each embedder in turn; one whose weights are not installed is skipped."""
    try:
        made = build_embedder(request.param, cache_dir=cache_dir, openai=openai_server.settings(), threads=2)
    except Unavailable as error:
        pytest.skip(error.message)
    yield made
    await made.close()
