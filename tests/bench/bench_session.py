"""What sessions cost, beside what they cannot do without.

Run `python -m tests.bench.bench_session [rounds]`; prints one JSON object. What is compared takes turns, call by
call, so that a busy machine slows all alike. The service is a process of its own on its embedded databases; times
are medians in milliseconds as a client in Python sees them:

    echo     a bare gRPC server in another process gives the same bytes back
    trip     one PING to the service's Valkey
    append   AppendTurns of one turn of 70 characters; `append_ratio` is to echo + trip
    recall   Recall of 10 among 1,000 memories, hot
    context  GetContext with the same query and a session of 50 turns

`context_throughput` is calls a second with 8 at once, as a share of the same for recall, in alternating spells.
`session_bytes` is what a session takes in Valkey: one of 50 turns, and one that was released.
"""

from __future__ import annotations

import asyncio
import json
import statistics
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import grpc
import redis.asyncio

from memory_service.adapters.inmemory.clock import SystemClock
from memory_service.adapters.redis.sessions import RedisSessionStore
from memory_service.adapters.redis.settings import RedisSettings
from memory_service.domain.ids import OwnerKey, TenantId, UserId
from memory_service.domain.session.model import KeptTurn, SessionFacts, StateBlock, Turn, TurnRole, session_id
from memory_service.ports.sessions import SessionLimits
from memory_service.v1 import memory_service_pb2 as api
from memory_service.v1 import session_service_pb2 as pb
from memory_service.v1 import types_pb2 as types
from tests.acceptance.raw import Raw
from tests.acceptance.service import serving

MEMORIES, TURNS, AT_ONCE = 1_000, 50, 8
SAYINGS = (
    "The hotel by the harbour had a small balcony and breakfast until noon",
    "Can you compare the two train connections to the coast for me?",
    "My sister arrives on Thursday evening and stays until the weekend",
    "That sounds expensive for three nights, what about the old town?",
    "We saw the museum last year and the weather was not so good then",
    "Friday is better, the restaurant on the hill is closed on Mondays",
    "The office pays for the receipts, so they go into the blue folder",
)


def saying(n: int) -> str:
    """What is said in the n-th turn, about 70 characters."""
    return f"{SAYINGS[n % len(SAYINGS)]} ({n})"


QUERIES = [f"what do I think of place {n} and its food?" for n in range(20)]
USER = "bench"


async def echo_server() -> None:
    """A gRPC server that gives back what it gets; prints its port."""
    server = grpc.aio.server()

    async def same(request: bytes, _: Any) -> bytes:
        return request

    handler = grpc.method_handlers_generic_handler("bench.Echo", {"Echo": grpc.unary_unary_rpc_method_handler(same)})
    server.add_generic_rpc_handlers((handler,))
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    print(port, flush=True)
    await server.wait_for_termination()


async def prepare(raw: Raw) -> str:
    """A user's memories and a session of 50 turns; its id."""
    words = ["river", "market", "garden", "museum", "harbour", "bakery", "bridge", "library", "tower", "park"]
    for start in range(0, MEMORIES, 250):
        items = [
            api.BatchWriteItem(
                memory=types.MemoryInput(
                    text=f"I think place {n} by the {words[n % 10]} has good food number {n * 7}"
                )
            )
            for n in range(start, start + 250)
        ]
        await raw.call("BatchWrite", api.BatchWriteRequest(user=USER, items=items))
    begun = await raw.call("CreateSession", pb.CreateSessionRequest(user=USER))
    turns = [pb.Turn(id=f"t{n}", role=1 + n % 2, text=saying(n)) for n in range(TURNS)]  # type: ignore[arg-type]
    await raw.call("AppendTurns", pb.AppendTurnsRequest(user=USER, session_id=begun.session.id, turns=turns))
    return str(begun.session.id)


class Calls:
    """What takes turns, one call each."""

    def __init__(self, raw: Raw, echo: Any, valkey: Any, session: str, appended: str) -> None:
        self.raw, self._echo, self._valkey = raw, echo, valkey
        self.session, self.appended = session, appended
        self.number = 0

    def _turn(self) -> pb.AppendTurnsRequest:
        self.number += 1
        said = pb.Turn(id=uuid.uuid4().hex, role=pb.TURN_ROLE_USER, text=saying(self.number))
        return pb.AppendTurnsRequest(user=USER, session_id=self.appended, turns=[said])

    async def echo(self) -> None:
        await self._echo(self._turn().SerializeToString())

    async def trip(self) -> None:
        await self._valkey.ping()

    async def append(self) -> None:
        await self.raw.call("AppendTurns", self._turn())

    async def recall(self) -> None:
        self.number += 1
        query = QUERIES[self.number % len(QUERIES)]
        await self.raw.call("Recall", api.RecallRequest(user=USER, query=query, read_only=True))

    async def context(self) -> None:
        self.number += 1
        query = QUERIES[self.number % len(QUERIES)]
        request = pb.GetContextRequest(user=USER, session_id=self.session, query=query, read_only=True)
        await self.raw.call("GetContext", request)


async def medians(calls: Calls, rounds: int) -> dict[str, float]:
    """Milliseconds of each, taking turns; the first fifth warms up."""
    names = ("echo", "trip", "append", "recall", "context")
    taken: dict[str, list[float]] = {name: [] for name in names}
    for _ in range(rounds):
        for name in names:
            began = time.perf_counter()
            await getattr(calls, name)()
            taken[name].append(time.perf_counter() - began)
    return {name: round(statistics.median(seconds[rounds // 5 :]) * 1e3, 3) for name, seconds in taken.items()}


async def throughput(call: Callable[[], Awaitable[None]], seconds: float) -> float:
    """Calls a second with several at once."""
    done = 0
    ends = time.perf_counter() + seconds

    async def work() -> None:
        nonlocal done
        while time.perf_counter() < ends:
            await call()
            done += 1

    began = time.perf_counter()
    await asyncio.gather(*(work() for _ in range(AT_ONCE)))
    return done / (time.perf_counter() - began)


async def shares(calls: Calls, spells: int, seconds: float) -> dict[str, float]:
    """Throughput of context beside recall, in alternating spells."""
    found: dict[str, list[float]] = {"recall": [], "context": []}
    for _ in range(spells):
        for name, rates in found.items():
            rates.append(await throughput(getattr(calls, name), seconds))
    each = [c / r for c, r in zip(found["context"], found["recall"], strict=True)]
    return {
        "recall_a_second": round(statistics.median(found["recall"])),
        "context_a_second": round(statistics.median(found["context"])),
        "context_throughput": round(statistics.median(each), 2),
        "context_throughput_least": round(min(each), 2),
    }


async def session_bytes(url: str, count: int = 400) -> dict[str, int]:
    """What a session takes in Valkey, one of 50 turns and one that was released."""
    bounds = SessionLimits(idle_seconds=2.0)
    store = RedisSessionStore(
        RedisSettings(url, key_prefix="bench", transfer_timeout_seconds=10), SystemClock(), bounds
    )
    now = datetime.now(UTC)
    async with redis.asyncio.from_url(url) as client:

        async def used() -> int:
            return int((await client.info("memory"))["used_memory"])

        try:
            before = await used()
            made = []
            for n in range(count):
                owner = OwnerKey(TenantId("bench"), UserId(f"u{n}"))
                facts = SessionFacts(id=session_id(now, uuid.uuid4()), started_at=now, agent="planner")
                block = StateBlock(sequence=1, topic="a trip to Lisbon", intent="book a flight", updated_at=now)
                turns = [
                    KeptTurn(Turn(id=uuid.uuid4().hex, role=TurnRole.USER, text=saying(k)), now) for k in range(TURNS)
                ]
                made.append((owner, await store.create(owner, facts, now)))
                await store.append(owner, facts.id, turns, None, block, now)
            active = await used()
            released = active
            deadline = time.monotonic() + 30
            while time.monotonic() < deadline:
                await asyncio.sleep(1)
                states = [await store.read(o, s, turns=0, touch=False, now=now) for o, s in made]
                if all(state.status == "released" for state in states):
                    released = await used()
                    break
            for owner, session in made:
                await client.delete(*store._keys(owner, session))
        finally:
            await store.close()
    return {"of_50_turns": (active - before) // count, "released": (released - before) // count}


async def measure(rounds: int) -> dict[str, Any]:
    """All figures."""
    echoing = subprocess.Popen(  # noqa: ASYNC220 - one short wait at the start
        [sys.executable, "-m", "tests.bench.bench_session", "echo"], stdout=subprocess.PIPE, text=True
    )
    try:
        assert echoing.stdout is not None
        port = echoing.stdout.readline().strip()
        with tempfile.TemporaryDirectory() as folder:
            async with (
                serving(Path(folder) / "data", {"MEMORY_SERVICE_LOG_LEVEL": "info"}) as service,
                service.raw() as raw,
                grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel,
                redis.asyncio.from_url(service.stack().redis_url) as valkey,
            ):
                session = await prepare(raw)
                appended = (await raw.call("CreateSession", pb.CreateSessionRequest(user=USER))).session.id
                calls = Calls(raw, channel.unary_unary("/bench.Echo/Echo"), valkey, session, appended)
                found = await medians(calls, rounds)
                ratio = found["append"] / (found["echo"] + found["trip"])
                rates = await shares(calls, 4, 1.5)
                sizes = await session_bytes(service.stack().redis_url)
        return {**found, "append_ratio": round(ratio, 2), **rates, "session_bytes": sizes}
    finally:
        echoing.terminate()
        echoing.wait()
        if echoing.stdout is not None:
            echoing.stdout.close()


def main() -> None:
    """Measure, or be the echo."""
    if sys.argv[1:] == ["echo"]:
        import uvloop

        uvloop.run(echo_server())
    else:
        print(json.dumps(asyncio.run(measure(int(sys.argv[1]) if len(sys.argv) > 1 else 500)), indent=1))


if __name__ == "__main__":
    main()
