"""A tenant's own merge policies, as its users meet them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from memory_service.adapters.embedded import EmbeddedStack
from tests.acceptance.service import serving
from tests.acceptance.world import first_key, new_user
from tests.conftest import NewDatabase


@pytest.mark.parametrize(("whose", "now"), [("default", ["Porto"]), ("another", ["Gdansk", "Porto"])])
async def test_concurrent_values_are_merged_as_the_tenant_wants(
    whose: str, now: list[str], stack: EmbeddedStack, new_database: NewDatabase, data_dir: Path
):
    policies = json.dumps({whose: {"city": "highest_confidence"}})
    async with new_database() as dsn:
        env = {
            "MEMORY_SERVICE_DATABASE_URL": dsn,
            "MEMORY_SERVICE_REDIS_URL": stack.redis_url,
            "MEMORY_SERVICE_MERGE_POLICIES": policies,
        }
        async with serving(data_dir, env) as service, service.client(new_user(), await first_key(dsn)) as memory:
            seen = (await memory.write(predicate="location", object="Lyon")).context
            await memory.write(predicate="location", object="Porto", context=seen)
            await memory.write(predicate="location", object="Gdansk", confidence=0.5, context=seen)
            found = await memory.recall("Where do I live?")
    assert sorted(str(each.memory.assertion.object) for each in found if each.memory.assertion) == now
