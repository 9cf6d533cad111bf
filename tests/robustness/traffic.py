"""Clients that follow their scripts over servers that come and go, and repeat everything they heard no answer to."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from memory_service.client import (
    Aborted,
    AlreadyExists,
    Assertion,
    AsyncMemoryClient,
    Consistency,
    Context,
    Dot,
    FailedPrecondition,
    Internal,
    InvalidArgument,
    Memory,
    MemoryClientError,
    MemoryFilter,
    NewMemory,
    NotFound,
    RetryPolicy,
    Status,
    WriteResult,
)
from memory_service.domain.ids import DeviceId
from memory_service.domain.vector_clock import Dot as Name
from tests.robustness.history import History, effective
from tests.robustness.model import CORRECTED, MANY_VALUES, ONE_VALUE, TEXT, Act, Claim
from tests.robustness.plan import Op, Script

REFUSED = (Aborted, AlreadyExists, FailedPrecondition, InvalidArgument, NotFound)
"""Decided against; everything else says that the outcome is not known."""

EPOCH = 20
"""Statements of so many steps are about the same values, so that they meet."""

LEDGER = "ledger"
CONFIDENCES = (0.4, 0.6, 0.9)
SERVER = "~server"
PATIENCE_SECONDS = 90.0
RETRY = RetryPolicy(attempts_max=3, backoff_seconds_max=0.3, attempt_timeout_seconds=4.0)
RETRY_BATCH = RetryPolicy(attempts_max=3, backoff_seconds_max=0.3, attempt_timeout_seconds=15.0)

T = TypeVar("T")


class Refused(Exception):
    """The service decided against a change."""

    def __init__(self, error: MemoryClientError) -> None:
        super().__init__(str(error))
        self.error = error


@dataclass(slots=True)
class World:
    """What all clients of a run share."""

    targets: Sequence[str]
    key: str
    history: History
    prefix: str
    deadline: float
    pause: float
    batch: int
    tasks: set[asyncio.Task[Any]] = field(default_factory=set)

    def user(self, owner: int) -> str:
        return f"{self.prefix}-{owner}"

    def client(self, number: int, user: str, **options: Any) -> AsyncMemoryClient:
        return AsyncMemoryClient(
            self.targets[number % len(self.targets)],
            self.key,
            user=user,
            timeout_seconds=10.0,
            batch_timeout_seconds=30.0,
            **{"retry": RETRY, **options},
        )

    @property
    def over(self) -> bool:
        return asyncio.get_running_loop().time() >= self.deadline


@dataclass(slots=True)
class Values:
    """The words of one client: few at a time, shared with the other clients of its owner, each with a marker."""

    owner: int
    prefix: str

    def mark(self, kind: str, number: int) -> str:
        return f"mk{self.prefix}o{self.owner}{kind}{number}x"

    def value(self, step: int, pick: int, slot: tuple[str, str]) -> str:
        return self.mark(f"v{slot[0][-1]}{slot[1]}", step // EPOCH * 4 + pick % 4)

    def text(self, step: int, pick: int) -> str:
        return f"The kitchen shelf holds {self.mark('t', step // EPOCH * 6 + pick % 6)}"

    def slot(self, pick: int) -> tuple[str, str]:
        names = (*ONE_VALUE, *ONE_VALUE, *MANY_VALUES)
        return f"friend {pick // 64 % 2}", names[pick // 4 % len(names)]

    def sayable(self, step: int, pick: int) -> tuple[Claim, str | Assertion]:
        """A statement that may have been made: as a claim, and as it is given to a Forget."""
        if pick % 2:
            text = self.text(step, pick // 2)
            return ("", TEXT, text), text
        subject, predicate = self.slot(pick)
        predicate = "editor" if predicate in CORRECTED else predicate
        claim = subject, predicate, self.value(step, pick, (subject, predicate))
        return claim, Assertion(*claim)


def claim_of(memory: Memory) -> Claim:
    """What a memory says, in the model's terms."""
    if memory.assertion is not None:
        return memory.assertion.subject, memory.assertion.predicate, str(memory.assertion.object)
    return "", TEXT, memory.text


class Online:
    """A client that is connected: a device that numbers its changes, or a nameless caller."""

    def __init__(self, world: World, script: Script, place: int) -> None:
        self.world, self.script = world, script
        self.user = world.user(script.owner)
        self.name = f"{self.user}/{script.name}"
        self.history = world.history
        self.values = Values(script.owner, world.prefix)
        retry = RETRY_BATCH if script.role == "batch" else RETRY
        self.clients = [world.client(place + n, self.user, retry=retry) for n in range(len(world.targets))]
        self.device = "" if script.role == "server" else script.name
        self.counter = 0
        self.seen: dict[str, int] = {}
        self.known: dict[str, Memory] = {}
        self.token = ""
        self.step = 0
        self.requests = 0
        self.last: Callable[[], Awaitable[None]] | None = None

    async def run(self) -> None:
        """Follow the script until it ends or time is up."""
        try:
            for step, op in enumerate(self.script.ops):
                if self.world.over:
                    break
                self.step = step
                await getattr(self, f"_{op.kind}")(op)
                if self.world.pause and op.kind != "many":
                    await asyncio.sleep(self.world.pause)
        finally:
            for client in self.clients:
                await client.close()

    # Asking -------------------------------------------------------------------------------------------------

    async def ask(self, call: Callable[[AsyncMemoryClient], Awaitable[T]], first: int = 0) -> T:
        """Repeat a call, over all servers in turn, until it is answered or refused."""
        loop = asyncio.get_running_loop()
        gives_up = max(self.world.deadline, loop.time()) + PATIENCE_SECONDS
        attempt = first
        while True:
            try:
                return await call(self.clients[attempt % len(self.clients)])
            except REFUSED as error:
                self.history.failed(self.name, error)
                raise Refused(error) from error
            except MemoryClientError as error:
                self.history.failed(self.name, error)
                if isinstance(error, Internal) and error.reason:
                    # Nothing excuses it; the server's log, with the cause, is among the findings too.
                    self.history.problem(f"{self.name}: {error!r}")
                if loop.time() > gives_up:
                    self.history.problem(f"{self.name}: no answer in {PATIENCE_SECONDS:.0f} s of peace: {error!r}")
                    raise
            attempt += 1
            await asyncio.sleep(0.05)

    def names(self, op: Op, *, informed: bool | None = None) -> dict[str, Any]:
        """How a change is named, and what its writer says it had seen."""
        self.requests += 1
        names: dict[str, Any] = {"request_id": f"{self.name}/{self.requests}"}
        if self.device:
            # Every other device leaves the numbers to the server.
            names["dot"] = Dot(self.device, self.counter + 1 if self.device.endswith("0") else 0)
        told = op.pick % 5 != 0 if informed is None else informed
        names["context"] = Context(dict(self.seen)) if told else None
        return names

    async def change(
        self,
        op: Op,
        kind: str,
        claim: Claim,
        call: Callable[[AsyncMemoryClient, dict[str, Any]], Awaitable[Any]],
        *,
        confidence: float = 0.0,
        drops: frozenset[Claim] = frozenset(),
        informed: bool | None = None,
    ) -> Any:
        """Make a change until it is decided, and write down what became of it; None when it was refused."""
        names = self.names(op, informed=informed)
        self.history.note(self.name, "ask", kind=kind, claim=list(claim), request=names["request_id"])
        try:
            result = await self.ask(lambda client: call(client, names), op.pick // 7)
        except Refused:
            return None
        self._take(kind, claim, names["context"], result, confidence, drops)

        async def again() -> None:
            repeated = await self.ask(lambda client: call(client, names), op.pick // 7 + 1)
            if not repeated.replayed or repeated.dot != result.dot or repeated.token != result.token:
                self.history.problem(f"{self.name}: {names['request_id']} was answered anew when it was repeated")

        self.last = again
        return result

    def _take(
        self,
        kind: str,
        claim: Claim,
        context: Context | None,
        result: Any,
        confidence: float,
        drops: frozenset[Claim] = frozenset(),
    ) -> None:
        dot = result.dot
        answered = result.context.counters
        seen = effective(context.counters if context else None, answered, dot.device, dot.counter)
        self.history.accepted(
            self.user, self.name, Act(Name(DeviceId(dot.device), dot.counter), seen, kind, claim, confidence, drops)
        )
        if dot.device == self.device:
            if dot.counter != self.counter + 1:
                self.history.problem(f"{self.name}: change {self.counter + 1} was named {dot.counter}")
            self.counter = dot.counter
        self._see(answered)
        self.token = result.token
        memory = getattr(result, "memory", None)
        if memory is not None and kind == "assert":
            self.known[memory.id] = memory

    def _see(self, counters: Mapping[str, int]) -> None:
        for device, counter in counters.items():
            self.seen[device] = max(counter, self.seen.get(device, 0))

    async def read(self, consistency: Consistency, first: int, **options: Any) -> Any:
        return await self.ask(
            lambda client: client.recall("", consistency=consistency, read_only=True, limit=200, **options), first
        )

    # Statements ---------------------------------------------------------------------------------------------

    async def _put(self, op: Op) -> None:
        subject, predicate = self.values.slot(op.pick)
        value, confidence = (
            self.values.value(self.step, op.pick, (subject, predicate)),
            CONFIDENCES[op.pick // 11 % 3],
        )
        await self.change(
            op,
            "assert",
            (subject, predicate, value),
            lambda client, names: client.write(
                subject=subject, predicate=predicate, object=value, confidence=confidence, source="explicit", **names
            ),
            confidence=confidence,
        )

    async def _say(self, op: Op) -> None:
        text, confidence = self.values.text(self.step, op.pick), CONFIDENCES[op.pick // 11 % 3]
        result: WriteResult | None = await self.change(
            op,
            "assert",
            ("", TEXT, text),
            lambda client, names: client.write(text, kind="fact", confidence=confidence, source="explicit", **names),
            confidence=confidence,
        )
        if result is not None and result.memory is not None and op.pick % 2:
            await self._honours(result.token, result.memory.id, text, op.pick // 7 + 1)

    async def _honours(self, token: str, memory_id: str, text: str, first: int) -> None:
        """The other server must show what the token stands for, unless it was forgotten meanwhile."""
        found = await self.read(Consistency.at_least_as_fresh(token), first, where=MemoryFilter(ids=[memory_id]))
        if not found.memories:
            self.history.note(self.name, "missed", memory=memory_id, text=text)
            forgotten = any(a.kind == "forget_claim" and a.claim[2] == text for a in self.history.acts[self.user])
            if not forgotten:
                # Its Forget may be committed and not yet answered: the checker looks again at the end.
                self.history.maybe[f"missed {self.user}"].add(text)

    async def _lost(self, op: Op) -> None:
        """Sent once, and never asked about again."""
        self.requests += 1
        text = f"Lost is {self.values.mark(f'l{self.script.name}n', self.requests)}"
        self.history.maybe[self.user].add(text)
        client = self.clients[op.pick % len(self.clients)]
        try:
            await client.write(
                text,
                kind="fact",
                request_id=f"{self.name}/{self.requests}",
                timeout_seconds=0.004 + op.pick % 8 / 500,
            )
        except MemoryClientError as error:
            self.history.failed(self.name, error)

    async def _again(self, op: Op) -> None:
        if self.last is not None:
            await self.last()

    async def _many(self, op: Op) -> None:
        """A batch of an importer: texts, values of slots of its own, and texts that others import as well."""
        items, claims = [], []
        for n in range(self.world.batch):
            number = self.step * self.world.batch + n
            confidence = CONFIDENCES[n % 3]
            fields: Any = {"confidence": confidence, "source": "explicit"}
            if n % 4 == 3:
                claim = (
                    self.script.name,
                    ("editor", "location")[n // 4 % 2],
                    self.values.mark(f"i{self.script.name}n", number),
                )
                fields |= {"subject": claim[0], "predicate": claim[1], "object": claim[2]}
                text = ""
            else:
                both = n % 4 == 2
                name = self.values.mark("b" if both else f"u{self.script.name}n", number)
                text = f"The ledger lists {name}"
                claim = ("", TEXT, text)
                fields["kind"] = "fact"
            dot = Dot(self.device, self.counter + 1 + n) if self.device.endswith("0") else Dot(self.device)
            items.append(NewMemory(text, fields, request_id=f"{self.name}/{number}", dot=dot))
            claims.append((claim, confidence))
        outcomes = await self.ask(lambda client: client.write_many(items, batch_size=len(items)), op.pick)
        for (claim, confidence), outcome in zip(claims, outcomes, strict=True):
            if outcome.result is None:
                self.history.problem(f"{self.name}: an item was refused: {outcome.error!r}")
                return
            self._take("assert", claim, None, outcome.result, confidence)
        self.known.clear()

    # Changes of what is there -------------------------------------------------------------------------------

    async def _look(self, op: Op) -> None:
        choices = [Consistency.fully_consistent(), Consistency.minimize_latency()]
        if self.token:
            choices.append(Consistency.at_least_as_fresh(self.token))
        result = await self.read(choices[op.pick % len(choices)], op.pick)
        self._see(result.context.counters)
        self.known |= {item.memory.id: item.memory for item in result.memories}

    async def _correct(self, op: Op) -> None:
        slot = f"friend {op.pick // 64 % 2}", CORRECTED[op.pick % 2]
        value = self.values.mark(f"c{self.script.name}n", self.step)
        await self.change(
            op,
            "assert",
            (*slot, value),
            lambda client, names: client.correct(slot=slot, object=value, **names),
            confidence=0.95,
        )

    async def _forget_slot(self, op: Op) -> None:
        if op.pick % 3:
            return
        slot = self.values.slot(op.pick)
        await self.change(op, "forget_slot", (*slot, ""), lambda client, names: client.forget(slot=slot, **names))

    async def _forget_id(self, op: Op) -> None:
        known = [m for m in self.known.values() if claim_of(m)[1] not in CORRECTED and LEDGER not in m.tags]
        if not known:
            return
        memory = known[op.pick % len(known)]
        result = await self.change(
            op, "forget_claim", claim_of(memory), lambda client, names: client.forget(memory.id, **names)
        )
        self.known.pop(memory.id)
        if result is not None:
            consistency = Consistency.at_least_as_fresh(result.token)
            found = await self.read(consistency, op.pick // 7 + 1, where=MemoryFilter(ids=[memory.id]))
            if found.memories:
                self.history.problem(f"{self.name}: {memory.id} was forgotten and is recalled with the token")

    async def _forget_said(self, op: Op) -> None:
        claim, statement = self.values.sayable(self.step, op.pick)
        await self.change(
            op, "forget_claim", claim, lambda client, names: client.forget(statement=statement, **names)
        )

    async def _resolve(self, op: Op) -> None:
        await self._look(Op("look", op.pick * 2))
        found = disputed(self.known.values())
        if not found:
            return
        group = found[op.pick % len(found)]
        kept = group[op.pick // 3 % len(group)]
        ids = [memory.id for memory in group]
        await self.change(
            op,
            "resolve",
            claim_of(kept),
            lambda client, names: client.resolve_conflict(ids, keep=kept.id, **names),
            confidence=0.95,
            drops=frozenset(claim_of(m) for m in group if m is not kept),
        )

    # Ledgers: one memory, many versions ---------------------------------------------------------------------

    async def _amend(self, op: Op) -> None:
        text = f"The account says {self.values.mark(f'a{self.script.name}n', self.step)}"
        memory = await self._a_ledger(op)
        if memory is None:
            made = await self.change(
                op,
                "nothing",
                ("", TEXT, text),
                lambda client, names: client.write(text, kind="fact", tags=[LEDGER], source="explicit", **names),
                informed=False,
            )
        else:
            made = await self.change(
                op,
                "nothing",
                ("", TEXT, text),
                lambda client, names: client.correct(memory.id, text, etag=memory.etag, **names),
                informed=False,
            )
        if made is not None:
            self.history.version(self.user, self.name, made.memory.id, made.memory.version, made.memory.text)

    async def _roll(self, op: Op) -> None:
        memory = await self._a_ledger(op)
        if memory is None or memory.version < 2:
            return
        version = 1 + op.pick // 5 % (memory.version - 1)
        made = await self.change(
            op,
            "nothing",
            ("", TEXT, memory.text),
            lambda client, names: client.rollback(memory.id, version, etag=memory.etag, **names),
            informed=False,
        )
        if made is not None:
            self.history.version(self.user, self.name, made.memory.id, made.memory.version, made.memory.text)

    async def _a_ledger(self, op: Op) -> Memory | None:
        result = await self.read(Consistency.fully_consistent(), op.pick, where=MemoryFilter(tags_any=[LEDGER]))
        found: list[Memory] = sorted((item.memory for item in result.memories), key=lambda m: m.id)
        return found[op.pick % len(found)] if len(found) >= 2 else None


def disputed(memories: Any) -> list[list[Memory]]:
    """Contested memories by slot, two or more each."""
    slots: dict[tuple[str, str], list[Memory]] = {}
    for memory in memories:
        if memory.status is Status.CONTESTED and memory.assertion is not None:
            slots.setdefault(claim_of(memory)[:2], []).append(memory)
    return [sorted(group, key=lambda m: m.id) for _, group in sorted(slots.items()) if len(group) > 1]
