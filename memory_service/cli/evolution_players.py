"""Who answers the scenarios: the service itself, and the two controls it is held against."""

from __future__ import annotations

import uuid
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING, Final, Protocol

import numpy as np
from numpy.typing import NDArray

from memory_service.app.commands import ChangeMeta, Statement
from memory_service.app.workspace import Workspace
from memory_service.cli.evolution import (
    ANSWERS_MAX,
    Ask,
    Forgetting,
    Held,
    RefsOfMemory,
    Shown,
    State,
    Write,
)
from memory_service.client import (
    Dot,
    Effect,
    Kind,
    Memory,
    MemoryFilter,
    NotFound,
    RecalledMemory,
    Relation,
    Status,
    Tier,
)
from memory_service.domain import memory as stored
from memory_service.domain.ids import MemoryId
from memory_service.domain.records import JournalEvent

if TYPE_CHECKING:
    from memory_service.client import AsyncMemoryClient
    from memory_service.client.types import MemoryFields
    from memory_service.timemachine import TimeMachine

_CALL_SECONDS_MAX: Final = 30.0
_PAGE: Final = 500

LAST_WRITE_WINS_COSINE: Final = 0.4
"""From this cosine on the second control takes a new statement for another value of an old one; the default model's
cosine at which the control did best on the open set, so that it is as good a control as it can be."""


class Player(Protocol):
    """Takes one scenario's steps as they come, `user` being whose they are."""

    async def write(self, user: str, step: Write) -> str:
        """Remember what is said; a word for what became of it."""
        ...

    async def forget(self, user: str, step: Forgetting) -> None:
        """Forget what a ref said."""
        ...

    async def ask(self, user: str, step: Ask) -> list[Shown]:
        """Answer, best first."""
        ...

    async def held(self, user: str) -> list[Held] | None:
        """Everything that is kept of this user, of whatever state; None for who keeps nothing at all."""
        ...


@dataclass(slots=True)
class ServicePlayer:
    """The service, through its API.

    A writer sends its device and no context: it counts as having seen everything, as one that is online has. The
    text goes with every write; `use_slots` adds the assertion where the set gives one.
    """

    client: AsyncMemoryClient
    use_slots: bool
    now: Callable[[], datetime]
    _refs: defaultdict[str, RefsOfMemory] = field(default_factory=lambda: defaultdict(RefsOfMemory))
    _memory_of: dict[tuple[str, str], str] = field(default_factory=dict)

    async def write(self, user: str, step: Write) -> str:
        """Write, and note what the ref became."""
        fields: MemoryFields = {
            "source": step.source,
            "session": step.session,
            "time_zone": step.time_zone,
            "said_at": step.at,
        }
        if self.use_slots and step.slot is not None:
            fields["subject"], fields["predicate"], fields["object"] = step.slot
        result = await self.client.write(
            step.text, user=user, dot=Dot(step.device), timeout_seconds=_CALL_SECONDS_MAX, **fields
        )
        if result.memory is None:
            return result.effect.value
        replaces = result.effect is Effect.UPDATED
        self._refs[result.memory.id].note(step.ref, result.memory.version, replaces=replaces)
        self._memory_of[user, step.ref] = result.memory.id
        return result.effect.value

    async def forget(self, user: str, step: Forgetting) -> None:
        """Forget the memory that the ref became, and what that was merged into."""
        memory_id = self._memory_of.get((user, step.of))
        if memory_id is None:
            return
        ids, reached = [memory_id], {memory_id}
        for one in ids:
            for link in await self._links(user, one):
                if link[0] == one and link[1] not in reached:
                    reached.add(link[1])
                    ids.append(link[1])
        await self.client.forget(
            ids, user=user, context=None, reason="the user asked", timeout_seconds=_CALL_SECONDS_MAX
        )

    async def ask(self, user: str, step: Ask) -> list[Shown]:
        """Recall five, as of the time that the question is about."""
        result = await self.client.recall(
            step.query,
            user=user,
            limit=ANSWERS_MAX,
            as_of_valid=step.as_of,
            # What held long ago has been idle since, and may be in the archive.
            deep=step.as_of is not None,
            timeout_seconds=_CALL_SECONDS_MAX,
        )
        return [
            Shown(
                refs=await self._stands_for(user, found.memory),
                past=is_past(found.memory, step.as_of, step.at),
                contested=found.contested,
                text=found.memory.text,
                score=found.score,
                note=_note(found),
            )
            for found in result
        ]

    async def held(self, user: str) -> list[Held]:
        """Every memory of the user, oldest first."""
        everything = MemoryFilter(statuses=[status for status in Status if status is not Status.UNKNOWN])
        now, memories, token = self.now(), list[Memory](), ""
        while True:
            page = await self.client.list_page(
                where=everything, page_size=_PAGE, page_token=token, user=user, timeout_seconds=_CALL_SECONDS_MAX
            )
            memories += page.memories
            token = page.next_page_token
            if not token:
                break
        # What the service made of others is known by its links alone; asking for every memory's would take long.
        refs = [self._refs[m.id].at(m.version) or await self._stands_for(user, m) for m in memories]
        return [Held(m.id, what, state_of(m, now), m.text) for m, what in zip(memories, refs, strict=True)]

    async def _stands_for(self, user: str, memory: Memory) -> frozenset[str]:
        """Every ref it absorbed: restatements of it, and what was merged into it."""
        refs = set(self._refs[memory.id].at(memory.version))
        absorbed, reached = [memory.id], {memory.id}
        for one in absorbed:
            for from_id, to_id in await self._links(user, one):
                if to_id == one and from_id not in reached:
                    reached.add(from_id)
                    absorbed.append(from_id)
                    if await self._was_true(user, from_id):
                        refs |= self._refs[from_id].everything
        return frozenset(refs)

    async def _links(self, user: str, memory_id: str) -> Sequence[tuple[str, str]]:
        try:
            detail = await self.client.get(memory_id, user=user, timeout_seconds=_CALL_SECONDS_MAX)
        except NotFound:
            return ()
        return [(link.from_id, link.to_id) for link in detail.links if link.relation is Relation.MERGED_INTO]

    async def _was_true(self, user: str, memory_id: str) -> bool:
        try:
            detail = await self.client.get(memory_id, user=user, timeout_seconds=_CALL_SECONDS_MAX)
        except NotFound:
            return False
        return detail.memory.status is not Status.RETRACTED


def is_past(memory: Memory, as_of: datetime | None, now: datetime) -> bool:
    """Whether a memory says of itself that it does not hold at the time a question is about, any more or yet.

    About a past time its interval tells, since what is superseded today may have held then.
    """
    if memory.status is Status.RETRACTED:
        return True
    at = as_of or now
    if memory.valid_to is not None and memory.valid_to <= at:
        return True
    # A date ahead is what an event or a task claims of itself now; a state that has not begun does not hold.
    dated = memory.kind in (Kind.EVENT, Kind.TASK)
    if memory.valid_from is not None and memory.valid_from > at and (as_of is not None or not dated):
        return True
    if as_of is not None:
        return False
    return memory.status is Status.SUPERSEDED or (memory.expires_at is not None and memory.expires_at <= now)


def state_of(memory: Memory, now: datetime) -> State:
    """One word for where a memory stands in its life."""
    if memory.status is not Status.ACTIVE:
        return State(memory.status.value)
    if memory.tier is Tier.ARCHIVE:
        return State.ARCHIVED
    if any(end is not None and end <= now for end in (memory.valid_to, memory.expires_at)):
        return State.EXPIRED
    return State.CANDIDATE if memory.tier is Tier.CANDIDATE else State.REMEMBERED


def _note(found: RecalledMemory) -> str:
    memory, score = found.memory, found.breakdown
    validity = "".join(
        f" {name} {value:%Y-%m-%d %H:%M}"
        for name, value in (("from", memory.valid_from), ("to", memory.valid_to), ("expires", memory.expires_at))
        if value is not None
    )
    return (
        f"{memory.status.value}, {memory.tier.value}, {memory.kind.value},{validity} support {memory.support}; "
        f"semantic {score.semantic:.2f} (cosine {score.cosine:.2f}, BM25 {score.bm25:.1f}), "
        f"freshness {score.freshness:.2f}, importance {score.importance:.2f}; {found.why}"
    )


@dataclass(slots=True)
class ControlPlayer:
    """A store that knows nothing of change, behind the same retrieval: same model, same ranking.

    Append-only (`replaces` False): every write stays current for ever, as plain text. Last write wins: a new write
    takes the place of the most similar earlier one from `LAST_WRITE_WINS_COSINE` on; with `use_slots` that of
    whatever was said of its slot (subject and predicate), and of nothing when it has none. In both, forgetting a ref
    deletes it, nothing expires, nothing is contested, and a question about the past gets the same answer as one
    about the present.
    """

    machine: TimeMachine
    client: AsyncMemoryClient
    replaces: bool
    use_slots: bool
    cosine_min: float = LAST_WRITE_WINS_COSINE
    _kept: defaultdict[str, list[_Kept]] = field(default_factory=lambda: defaultdict(list))

    async def write(self, user: str, step: Write) -> str:
        """Put it beside the others, or in the place of one."""
        changes = self.machine.application.changes
        owner = self.machine.owner(user)
        draft = await changes.drafting.draft(Statement(text=step.text), changes.clock.now())
        kept = _Kept(step.ref, changes.ids.new(), step.text, draft.vectors, step.slot[:2] if step.slot else None)
        draft = replace(
            draft, kind=stored.Kind.FACT, slot="", claim=str(kept.id), valid_from=None, valid_to=None, expires_at=None
        )
        made_way = self.replaces and await self._make_way(user, kept)
        async with changes.store.change(owner) as change:
            workspace = Workspace.of(change, changes.ids, owner)
            by = await changes.author(workspace, ChangeMeta(actor="control"))
            workspace.advance(by, "write", created=1)
            head = workspace.create(MemoryId(kept.id), draft, by, "control", tier=stored.Tier.LONG_TERM)
            changes.settling(workspace).note(JournalEvent.CREATED, None, head, by, "control")
            await changes.apply(workspace, by)
        changes.committed(owner, workspace.state.revision)
        self._kept[user].append(kept)
        return "replaced" if made_way else "created"

    async def _make_way(self, user: str, new: _Kept) -> bool:
        old = self._kept[user]
        if self.use_slots:
            gone = [one for one in old if new.slot is not None and one.slot == new.slot]
        else:
            likest = max(old, key=new.likeness, default=None)
            gone = [likest] if likest is not None and new.likeness(likest) >= self.cosine_min else []
        await self._delete(user, gone)
        return bool(gone)

    async def _delete(self, user: str, gone: Sequence[_Kept]) -> None:
        if gone:
            await self.client.forget([str(one.id) for one in gone], user=user, context=None)
            self._kept[user] = [one for one in self._kept[user] if one not in gone]

    async def forget(self, user: str, step: Forgetting) -> None:
        """Delete what the ref said."""
        await self._delete(user, [one for one in self._kept[user] if one.ref == step.of])

    async def ask(self, user: str, step: Ask) -> list[Shown]:
        """Recall five; they are all presented as current."""
        result = await self.client.recall(step.query, user=user, limit=ANSWERS_MAX)
        refs = {str(one.id): one.ref for one in self._kept[user]}
        return [
            Shown(frozenset({refs[found.memory.id]}), text=found.memory.text, score=found.score) for found in result
        ]

    async def held(self, user: str) -> list[Held]:
        """What was not deleted."""
        return [Held(str(one.id), frozenset({one.ref}), State.REMEMBERED, one.text) for one in self._kept[user]]


class NoMemoryPlayer:
    """An agent without memory: it keeps nothing and has no answer."""

    async def write(self, user: str, step: Write) -> str:  # noqa: ARG002 - a player's arguments
        """Listen, and forget at once."""
        return "ignored"

    async def forget(self, user: str, step: Forgetting) -> None:
        """There is nothing to forget."""

    async def ask(self, user: str, step: Ask) -> list[Shown]:  # noqa: ARG002 - a player's arguments
        """Know nothing."""
        return []

    async def held(self, user: str) -> None:
        """It keeps nothing."""


@dataclass(frozen=True, slots=True, eq=False)
class _Kept:
    """What a control holds; `vectors` are unit vectors of shape (fragments, dimension)."""

    ref: str
    id: uuid.UUID
    text: str
    vectors: NDArray[np.float32] | None
    slot: tuple[str, str] | None

    def likeness(self, other: _Kept) -> float:
        """Cosine of the two pieces that are most alike; -1 while one is not embedded."""
        if self.vectors is None or other.vectors is None:
            return -1.0
        return float(np.max(self.vectors @ other.vectors.T))
