"""What was acknowledged is there, once, after kill -9 in the middle of many writers (B2)."""

from __future__ import annotations

import asyncio
import dataclasses
from collections import Counter
from collections.abc import Awaitable, Callable

import grpc
import pytest

from memory_service.v1 import memory_service_pb2 as api
from memory_service.v1 import types_pb2 as pb
from tests.acceptance.raw import Raw
from tests.acceptance.service import ServiceProcess
from tests.acceptance.world import EVERY_STATUS, new_user

WRITERS = 8
ROUNDS = 2
ACKNOWLEDGED_A_ROUND = 60


@dataclasses.dataclass(slots=True)
class Writer:
    """A device that numbers its changes and repeats the one it heard nothing of until it is answered."""

    user: str
    number: int
    acknowledged: dict[int, str] = dataclasses.field(default_factory=dict)

    @property
    def device(self) -> str:
        return f"device-{self.number}"

    def request(self, counter: int) -> api.WriteRequest:
        """Its n-th change: new text every other time, else the next value of its own slot."""
        if counter % 2:
            memory = pb.MemoryInput(text=f"{self.device} saw bird number {counter}", topic=f"bird {counter}")
        else:
            memory = pb.MemoryInput(assertion=pb.Assertion(subject=self.device, predicate="status"))
            memory.assertion.object.string_value = f"state {counter}"
        return api.WriteRequest(
            user=self.user,
            memory=memory,
            request_id=f"{self.device}/{counter}",
            dot=pb.Dot(device=self.device, counter=counter),
        )

    async def send_next(self, raw: Raw) -> api.WriteResponse:
        counter = len(self.acknowledged) + 1
        answer: api.WriteResponse = await raw.call("Write", self.request(counter))
        assert (answer.dot.device, answer.dot.counter) == (self.device, counter)
        self.acknowledged[counter] = answer.memory.id
        return answer


async def write_until_it_dies(raw: Raw, writers: list[Writer], service: ServiceProcess, kill: Killing) -> None:
    """All writers at once; the server is killed when enough was acknowledged, with writes under way."""
    goal = sum(len(w.acknowledged) for w in writers) + ACKNOWLEDGED_A_ROUND
    enough = asyncio.Event()
    failures: list[grpc.StatusCode] = []

    async def run(writer: Writer) -> None:
        while True:
            try:
                await writer.send_next(raw)
            except grpc.aio.AioRpcError as error:
                failures.append(error.code())
                return
            if sum(len(w.acknowledged) for w in writers) >= goal:
                enough.set()

    async with asyncio.TaskGroup() as group:
        for writer in writers:
            group.create_task(run(writer))
        await asyncio.wait_for(enough.wait(), 60)
        await kill(service)
    assert failures == [grpc.StatusCode.UNAVAILABLE] * len(writers)


Killing = Callable[[ServiceProcess], Awaitable[None]]


@pytest.mark.parametrize(
    "kill",
    [
        pytest.param(ServiceProcess.kill9, id="the server"),
        pytest.param(ServiceProcess.kill9_everything, id="server, PostgreSQL and Valkey"),
    ],
)
async def test_every_acknowledged_write_is_there_once_after_kill_9(kill: Killing, mended: ServiceProcess):
    service = mended
    key = service.key
    writers = [Writer(new_user(), number) for number in range(WRITERS)]
    for writer in writers:
        writer.user = writers[0].user
    for _ in range(ROUNDS):
        async with service.raw() as raw:
            await write_until_it_dies(raw, writers, service, kill)
        assert not service.running
        await service.start()
        assert service.key == key
        async with service.raw() as raw:
            # What was not answered may or may not have been done: the same request finds out, and does it once.
            await asyncio.gather(*(writer.send_next(raw) for writer in writers))
    async with service.raw() as raw:
        await check(raw, writers)


async def check(raw: Raw, writers: list[Writer]) -> None:
    user = writers[0].user
    memories = await everything(raw, user)
    by_id = {memory.id: memory for memory in memories}
    assert len(by_id) == len(memories)
    assert {i for w in writers for i in w.acknowledged.values()} == set(by_id)
    repeated = [text for text, times in Counter(m.text for m in memories).items() if times > 1]
    assert repeated == []
    assert {memory.support for memory in memories} == {1}
    for writer in writers:
        texts = {counter: by_id[memory_id].text for counter, memory_id in writer.acknowledged.items()}
        odd = {n: f"{writer.device} saw bird number {n}" for n in texts if n % 2}
        even = {n: f"{writer.device} status: state {n}" for n in texts if not n % 2}
        assert texts == odd | even
        newest = max(even)
        standing = [m.text for m in memories if m.assertion.subject == writer.device and m.status == pb.STATUS_ACTIVE]
        assert standing == [even[newest]]
    answer = await raw.call("Recall", api.RecallRequest(user=user, consistency=pb.Consistency(fully_consistent=True)))
    assert dict(answer.context.counters) == {w.device: len(w.acknowledged) for w in writers}
    await check_histories(raw, user, by_id)


async def check_histories(raw: Raw, user: str, by_id: dict[str, pb.Memory]) -> None:
    """Versions are numbered without a hole, and the last one is the memory as it stands."""
    superseded = [memory for memory in by_id.values() if memory.status == pb.STATUS_SUPERSEDED]
    assert superseded
    for memory in [*superseded[:20], *list(by_id.values())[:20]]:
        past = await raw.call("GetHistory", api.GetHistoryRequest(user=user, memory_id=memory.id))
        assert [version.version for version in past.versions] == list(range(1, memory.version + 1))
        assert past.versions[-1].status == memory.status
        assert len(past.events) == memory.version


async def everything(raw: Raw, user: str) -> list[pb.Memory]:
    found: list[pb.Memory] = []
    token = ""
    while True:
        request = api.ListMemoriesRequest(
            user=user, page_size=100, page_token=token, filter=pb.MemoryFilter(statuses=EVERY_STATUS)
        )
        page = await raw.call("ListMemories", request)
        found += page.memories
        token = page.next_page_token
        if not token:
            return found
