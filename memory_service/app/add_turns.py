"""AppendTurns: what was said, kept in the session, read for its state, and logged when it is to be (S2, C2, E22)."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from memory_service.app.context_block import quoted
from memory_service.app.session_blocks import Summaries
from memory_service.app.session_fields import check_turns
from memory_service.app.session_memos import Memo, Memos, turns_of
from memory_service.app.sessions import known_id
from memory_service.domain import limits
from memory_service.domain.errors import NotFound, Reason, Unavailable
from memory_service.domain.ids import OwnerKey
from memory_service.domain.records import JobRequest
from memory_service.domain.session.answers import is_answer
from memory_service.domain.session.arrival import tags_of
from memory_service.domain.session.model import KeptTurn, SessionFacts, SessionId, StateBlock, Turn, TurnRole, TurnTag
from memory_service.ports.clock import Clock
from memory_service.ports.episodes import Episode, EpisodeLog
from memory_service.ports.sessions import Appended, Basis, SessionStore
from memory_service.ports.state_blocks import StateReader
from memory_service.ports.telemetry import Telemetry
from memory_service.ports.tokenizer import Tokenizer

_ATTEMPTS_MAX = 16
_THREAD_CHARS_MIN = 4_000
"""Longer turns are read beside the event loop."""
_NOWHERE = Basis(-1, -1)
"""Fits no session, so the store tells where it is."""
LEARN_AFTER = timedelta(minutes=30)
LEARN_COUNT = 50
"""When to learn from a session (C4): so long after its last turn, or once so many wait."""
LEARN = "learn"
"""Name of the job that does."""


@dataclass(frozen=True, slots=True)
class AddedTurns:
    """What adding turns did; `block` only when they changed the state, `tags` for each turn in order."""

    duplicates: tuple[str, ...]
    turn_count: int
    block: StateBlock | None
    tags: tuple[tuple[TurnTag, ...], ...]
    recorded: bool


@dataclass(frozen=True, slots=True)
class AddTurns:
    """The use case."""

    store: SessionStore
    memos: Memos
    reader: StateReader
    summaries: Summaries
    episodes: EpisodeLog
    tokenizer: Tokenizer
    clock: Clock
    telemetry: Telemetry

    async def __call__(self, owner: OwnerKey, session: str, turns: Sequence[Turn], *, actor: str) -> AddedTurns:
        """Add turns; those whose ids the session has are passed over. When it returns they are in the session, and
        in the log if the session records episodes.

        Raises:
            InvalidInput: naming the field and limit.
            NotFound: SESSION_NOT_FOUND. FailedPrecondition: SESSION_ENDED.
            Unavailable: working memory, or the log of a session that records, is away; sending the turns again
                under their ids is harmless.
        """
        check_turns(turns)
        known = known_id(session)
        async with self.memos.writers.held((owner, known)):
            memo, kept, duplicates, block, blocks = await self._append(owner, known, turns)
        tags = tuple(item.tags for item in kept)
        if memo.facts.record_episodes:
            await self._log(owner, memo.facts, kept, actor)
        if block is not None:
            self.telemetry.count("session_blocks_total", outcome="new")
            if blocks > limits.SESSION_BLOCKS_MAX:
                await self.summaries.hand_over(owner, memo.facts, actor)
        self.telemetry.count("session_turns_total", len(turns) - len(duplicates), result="new")
        if duplicates:
            self.telemetry.count("session_turns_total", len(duplicates), result="duplicate")
        return AddedTurns(duplicates, memo.turn_count, block, tags, memo.facts.record_episodes)

    async def _append(
        self, owner: OwnerKey, session: SessionId, turns: Sequence[Turn]
    ) -> tuple[Memo, list[KeptTurn], tuple[str, ...], StateBlock | None, int]:
        """Read the turns against the session as remembered, and again against what it is when that was wrong."""
        memo = self.memos.get(owner, session)
        duplicates: frozenset[str] = frozenset()
        for _ in range(_ATTEMPTS_MAX):
            now = self.clock.now()
            fresh = [turn for turn in turns if turn.id not in duplicates]
            before = () if memo is None else memo.recent
            block = None if memo is None else await self.reader.advance(memo.block, fresh, before, now)
            kept = await self._kept(turns, before, now)
            offered = [item for item in kept if item.turn.id not in duplicates]
            try:
                answer = await self.store.append(
                    owner, session, offered, _NOWHERE if memo is None else memo.basis, block, now
                )
            except NotFound:
                self.memos.drop(owner, session)
                raise
            if isinstance(answer, Appended):
                assert memo is not None
                memo = memo.after(block, answer.turn_count, fresh)
                self.memos.put(owner, session, memo)
                told = tuple(turn.id for turn in turns if turn.id in duplicates)
                return memo, kept, told, block, answer.block_count
            memo = Memo(answer.facts, answer.block, answer.turn_count, turns_of(answer.recent))
            duplicates |= answer.known
            self.telemetry.count("session_rereads_total")
        raise Unavailable(Reason.OVERLOADED, "too many writers add turns to this session at once")

    async def _kept(self, turns: Sequence[Turn], before: Sequence[Turn], now: datetime) -> list[KeptTurn]:
        if sum(len(turn.text) for turn in turns) > _THREAD_CHARS_MIN:
            return await asyncio.to_thread(self._read, turns, before, now)
        return self._read(turns, before, now)

    def _read(self, turns: Sequence[Turn], before: Sequence[Turn], now: datetime) -> list[KeptTurn]:
        said = [old for old in before if old.id not in {turn.id for turn in turns}]
        kept = []
        for turn in turns:
            tokens = self.tokenizer.count(turn_line(turn))
            kept.append(KeptTurn(turn, now, tags_of(turn, said), tokens, is_answer(turn)))
            said.append(turn)
        return kept

    async def _log(self, owner: OwnerKey, facts: SessionFacts, kept: Sequence[KeptTurn], actor: str) -> None:
        """Also those that the session had already: it may be there and not here, if something died in between."""
        now = self.clock.now()
        episodes = [_episode(facts, item, actor) for item in kept]
        urgent = any(TurnTag.CORRECTION in item.tags for item in kept)
        new = await self.episodes.append(
            owner,
            episodes,
            due_at=now + LEARN_AFTER,
            due_count=LEARN_COUNT,
            now=now,
            job=learn_job(facts.id, timedelta() if urgent else LEARN_AFTER, urgent=urgent),
        )
        self.telemetry.count("episodes_recorded_total", new)
        for item in kept:
            for tag in item.tags:
                self.telemetry.count("episode_tags_total", tag=tag.value)


def learn_job(session: SessionId, delay: timedelta, *, urgent: bool, key: str = "") -> JobRequest:
    """The job that learns from a session's episodes; one waits for a session, and one more when it is urgent."""
    return JobRequest(
        LEARN,
        {"session": session},
        key=key or (f"{session}/now" if urgent else session),
        priority=1 if urgent else 0,
        delay=delay,
    )


def _episode(facts: SessionFacts, item: KeptTurn, actor: str) -> Episode:
    turn = item.turn
    return Episode(
        session=facts.id,
        turn_id=turn.id,
        recorded_at=item.accepted_at,
        actor=turn.role,
        content=turn.text,
        said_at=turn.said_at,
        agent=facts.agent,
        credential=actor,
        action=turn.action,
        tool=turn.tool,
        tool_status=turn.tool_status,
        feedback=turn.feedback,
        tags=item.tags,
    )


def turn_line(turn: Turn) -> str:
    """A turn as one line of a prompt, its text quoted so that it cannot be taken for anything else."""
    who: str = turn.role.value
    if turn.role is TurnRole.TOOL and turn.tool:
        failed = " failed" if turn.tool_status == "failed" else ""
        who = f"tool {quoted(turn.tool)}{failed}"
    return f"{who}: {quoted(turn.text)}\n"
