"""The servers of these tests: one for each worker that is never hurt, and one for each module that may be."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.acceptance.raw import Raw
from tests.acceptance.service import ServiceProcess, put_away, serving


@pytest.fixture(scope="session")
async def service(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[ServiceProcess]:
    """A server with embedded databases, shared by all tests of this worker: do not stop it."""
    async with serving(tmp_path_factory.mktemp("service") / "data") as running:
        yield running


@pytest.fixture(scope="module")
async def breakable(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[ServiceProcess]:
    """A server of one module, to be killed and started again; ready when the module begins."""
    running = ServiceProcess(tmp_path_factory.mktemp("breakable") / "data")
    try:
        await running.start()
        yield running
    finally:
        await put_away(running)


@pytest.fixture
async def mended(breakable: ServiceProcess) -> ServiceProcess:
    """`breakable`, started again if the test before left it down."""
    if not breakable.running:
        await breakable.start()
    return breakable


@pytest.fixture
async def raw(service: ServiceProcess) -> AsyncIterator[Raw]:
    """Bare stubs with the first key, which may act for every user of the tenant."""
    async with service.raw() as stubs:
        yield stubs


@pytest.fixture
def data_dir(tmp_path: Path) -> Path:
    """A folder for a server that one test starts itself."""
    return tmp_path / "data"
