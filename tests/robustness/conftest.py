"""The cluster of these tests."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.robustness.cluster import Cluster, cluster


@pytest.fixture(scope="module")
async def two_servers() -> AsyncIterator[Cluster]:
    """Two servers on one database, with lines that can be cut; for one module."""
    async with cluster() as running:
        yield running
