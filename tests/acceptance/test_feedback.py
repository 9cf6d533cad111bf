"""Feedback through the API, the client and the command line: recalls follow, and nothing is done twice."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from memory_service.client import AsyncMemoryClient, Consistency, InvalidArgument, MemoryClient
from tests.acceptance.service import ServiceProcess
from tests.acceptance.world import new_user


async def _told(client: AsyncMemoryClient, *texts: str) -> list[str]:
    ids = []
    for text in texts:
        memory = (await client.write(text)).memory
        assert memory is not None
        ids.append(memory.id)
    return ids


async def test_what_was_of_use_and_what_was_not_shows_in_the_next_recall(service: ServiceProcess) -> None:
    async with service.client(new_user()) as client:
        good, bad = await _told(client, "I like oolong tea in the morning", "早上我喜欢喝乌龙茶")
        await client.recall("oolong tea", consistency=Consistency.fully_consistent())
        first = await client.record_feedback(adopted=[good], rejected=[bad], request_id="f1")
        again = await client.record_feedback(adopted=[good], rejected=[bad], request_id="f1")
        assert (first.recorded, first.missing_ids, first.replayed, again.replayed) == (2, (), False, True)
        seen = await client.recall(
            "oolong tea", read_only=True, consistency=Consistency.at_least_as_fresh(first.token), profile="adopted"
        )
        counts = {one.memory.id: (one.memory.adopted_count, one.memory.rejected_count) for one in seen}
        assert counts == {good: (1, 0), bad: (0, 1)}
        strength = {one.memory.id: one.breakdown.freshness for one in seen}
        assert strength[bad] == pytest.approx(0.7, abs=1e-3)
        assert strength[good] == pytest.approx(1.0, abs=1e-3)
        await client.forget(bad)
        gone = await client.record_feedback(rejected=[bad])
        assert (gone.recorded, gone.missing_ids) == (0, (bad,))
        with pytest.raises(InvalidArgument) as refused:
            await client.record_feedback()
        assert (refused.value.reason, refused.value.field) == ("FIELD_REQUIRED", "items")


def test_the_command_line_records_and_shows_it(service: ServiceProcess) -> None:
    user = new_user()
    with MemoryClient(service.target, service.key, user=user) as client:
        memory = client.write("I like oolong tea").memory
    assert memory is not None
    where = ["--target", service.target, "--key", service.key, "--user", user, "--json"]
    run = [sys.executable, "-m", "memory_service"]
    said = subprocess.run(
        [*run, "feedback", "--adopted", memory.id, *where], check=True, capture_output=True, text=True
    )
    assert json.loads(said.stdout)["recorded"] == 1
    shown = subprocess.run([*run, "show", memory.id, *where], check=True, capture_output=True, text=True)
    assert json.loads(shown.stdout)["memory"]["adopted_count"] == 1
