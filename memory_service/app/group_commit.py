"""Commits together what several callers ask of one owner at the same time (B2, throughput under contention).

A durable commit costs the same for one change as for many, and an owner's changes are serial anyway. So while
one commit is under way, what arrives for the same owner waits and goes into the next one: a lone writer waits for
nothing, and many writers share.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from memory_service.domain.errors import DeadlineExceeded, LimitExceeded, MemoryServiceError, Reason, Unavailable
from memory_service.domain.ids import OwnerKey

ItemT = TypeVar("ItemT")
ResultT = TypeVar("ResultT")


@dataclass(slots=True)
class _Waiting(Generic[ItemT, ResultT]):
    item: ItemT
    answer: asyncio.Future[ResultT | Exception]


@dataclass(slots=True)
class GroupCommit(Generic[ItemT, ResultT]):
    """Joins callers by owner.

    Attributes:
        commit: commits items of one owner in order; one result or error for each. What it raises is the answer to
            all of them.
        group_max: most items of one commit.
        waiting_max: most callers that may wait for one owner.
    """

    commit: Callable[[OwnerKey, Sequence[ItemT]], Awaitable[Sequence[ResultT | MemoryServiceError]]]
    group_max: int = 64
    waiting_max: int = 1024
    _queues: dict[OwnerKey, list[_Waiting[ItemT, ResultT]]] = field(default_factory=dict)
    _runs: set[asyncio.Task[None]] = field(default_factory=set)

    async def join(self, owner: OwnerKey, item: ItemT) -> ResultT:
        """Have `item` committed; its own result.

        A caller that is cancelled may still have its item committed: it cannot know, and asks again by name.

        Raises:
            MemoryServiceError: of its own item, or of the whole commit. Unavailable: OVERLOADED when too many
                wait for this owner.
        """
        answer: asyncio.Future[ResultT | Exception] = asyncio.get_running_loop().create_future()
        queue = self._queues.get(owner)
        if queue is None:
            self._queues[owner] = [_Waiting(item, answer)]
            run = asyncio.create_task(self._run(owner), name="group-commit")
            self._runs.add(run)
            run.add_done_callback(self._runs.discard)
        elif len(queue) >= self.waiting_max:
            raise Unavailable(Reason.OVERLOADED, "too many changes of this user wait already")
        else:
            queue.append(_Waiting(item, answer))
        result = await answer
        if isinstance(result, Exception):
            raise result
        return result

    async def _run(self, owner: OwnerKey) -> None:
        queue = self._queues[owner]
        try:
            while queue:
                group, queue[:] = queue[: self.group_max], queue[self.group_max :]
                await self._commit(owner, group)
        finally:
            del self._queues[owner]
            _refuse(queue)

    async def _commit(self, owner: OwnerKey, group: Sequence[_Waiting[ItemT, ResultT]]) -> None:
        results: Sequence[ResultT | Exception]
        try:
            results = await self.commit(owner, [waiting.item for waiting in group])
        except Exception as error:  # noqa: BLE001 - it is the answer of whom it concerns, a bug included
            if len(group) > 1 and not isinstance(error, Unavailable | DeadlineExceeded | LimitExceeded):
                # One of them is at fault, and must not take the others with it.
                for waiting in group:
                    await self._commit(owner, [waiting])
                return
            results = [error] * len(group)
        except BaseException as error:
            for waiting in group:
                if not waiting.answer.done():
                    waiting.answer.set_exception(error)
            raise
        for waiting, result in zip(group, results, strict=True):
            if not waiting.answer.done():
                waiting.answer.set_result(result)


def _refuse(queue: Sequence[_Waiting[ItemT, ResultT]]) -> None:
    for waiting in queue:
        if not waiting.answer.done():
            waiting.answer.set_result(Unavailable(Reason.OVERLOADED, "the change before this one failed"))
