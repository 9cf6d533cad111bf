"""Callers of one owner share a commit; a failure reaches only those it concerns."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from memory_service.app.group_commit import GroupCommit
from memory_service.domain.errors import InvalidInput, MemoryServiceError, Reason, Unavailable
from memory_service.domain.ids import OwnerKey
from tests.app.harness import ALICE, BOB


class Commits:
    """Commits that wait for `gate`, and remember who came together."""

    def __init__(self) -> None:
        self.gate = asyncio.Event()
        self.groups: list[tuple[OwnerKey, list[int]]] = []
        self.poison: int | None = None
        self.away = False

    async def __call__(self, owner: OwnerKey, items: Sequence[int]) -> Sequence[int | MemoryServiceError]:
        self.groups.append((owner, list(items)))
        await self.gate.wait()
        if self.away:
            raise Unavailable(Reason.DATABASE_UNAVAILABLE, "away")
        if self.poison in items:
            raise InvalidInput(Reason.TEXT_NOT_STORABLE, "bad")
        return [InvalidInput(Reason.FIELD_INVALID, "odd") if item % 2 else item * 10 for item in items]


async def settle() -> None:
    """Let everything that can run do so."""
    for _ in range(10):
        await asyncio.sleep(0)


async def test_who_comes_during_a_commit_shares_the_next() -> None:
    commits = Commits()
    group = GroupCommit(commits, group_max=3)
    calls = [asyncio.create_task(group.join(ALICE, n)) for n in (0,)]
    await settle()
    calls += [asyncio.create_task(group.join(ALICE, n)) for n in (2, 4, 6, 8)]
    calls.append(asyncio.create_task(group.join(BOB, 10)))
    await settle()
    commits.gate.set()
    assert await asyncio.gather(*calls) == [0, 20, 40, 60, 80, 100]
    assert [items for owner, items in commits.groups if owner == ALICE] == [[0], [2, 4, 6], [8]]
    assert [items for owner, items in commits.groups if owner == BOB] == [[10]]


async def test_each_gets_its_own_answer_and_a_cancelled_caller_takes_nobody_along() -> None:
    commits = Commits()
    group = GroupCommit(commits)
    calls = [asyncio.create_task(group.join(ALICE, n)) for n in range(4)]
    await settle()
    calls[2].cancel()
    commits.gate.set()
    answers = await asyncio.gather(*calls, return_exceptions=True)
    assert answers[0] == 0
    assert isinstance(answers[1], InvalidInput)
    assert isinstance(answers[2], asyncio.CancelledError)
    assert isinstance(answers[3], InvalidInput)
    assert await group.join(ALICE, 4) == 40


async def test_one_at_fault_fails_alone_and_an_absence_fails_all() -> None:
    commits = Commits()
    group = GroupCommit(commits)
    first = asyncio.create_task(group.join(ALICE, 0))
    await settle()
    commits.poison = 4
    calls = [asyncio.create_task(group.join(ALICE, n)) for n in (2, 4, 6)]
    await settle()
    commits.gate.set()
    await first
    answers = await asyncio.gather(*calls, return_exceptions=True)
    assert answers[0] == 20
    assert isinstance(answers[1], InvalidInput)
    assert answers[2] == 60
    commits.away = True
    with pytest.raises(Unavailable):
        await group.join(ALICE, 2)


async def test_a_bug_that_one_meets_is_its_own_and_the_queue_goes_on() -> None:
    commits = Commits()

    async def commit(owner: OwnerKey, items: Sequence[int]) -> Sequence[int | MemoryServiceError]:
        answers = await commits(owner, items)
        if 4 in items:
            raise ValueError("a bug")
        return answers

    group = GroupCommit(commit)
    calls = [asyncio.create_task(group.join(ALICE, n)) for n in (0, 2, 4, 6)]
    await settle()
    commits.gate.set()
    answers = await asyncio.gather(*calls, return_exceptions=True)
    assert [answer for answer in answers if not isinstance(answer, Exception)] == [0, 20, 60]
    assert isinstance(answers[2], ValueError)
    assert await group.join(ALICE, 8) == 80


async def test_a_queue_has_its_limit() -> None:
    commits = Commits()
    group = GroupCommit(commits, waiting_max=2)
    calls = [asyncio.create_task(group.join(ALICE, 0))]
    await settle()
    calls += [asyncio.create_task(group.join(ALICE, n)) for n in (2, 4)]
    await settle()
    with pytest.raises(Unavailable) as raised:
        await group.join(ALICE, 6)
    assert raised.value.reason is Reason.OVERLOADED
    commits.gate.set()
    assert await asyncio.gather(*calls) == [0, 20, 40]
