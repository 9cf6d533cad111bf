"""State blocks: read by rule, and the oldest handed over to long-term memory as one summary (S2, S10)."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import structlog

from memory_service.app.commands import ChangeMeta, Effect, SessionOrigin, Statement
from memory_service.app.session_stones import SessionStones
from memory_service.app.workspace import Workspace
from memory_service.app.write import Write
from memory_service.domain import limits
from memory_service.domain.errors import MemoryServiceError
from memory_service.domain.ids import OwnerKey
from memory_service.domain.memory import Kind, Source
from memory_service.domain.session.block import advance, summary_of
from memory_service.domain.session.model import SessionFacts, StateBlock, Turn
from memory_service.ports.sessions import SessionStore
from memory_service.ports.state_blocks import StateReader
from memory_service.ports.telemetry import Telemetry

_log = structlog.get_logger("memory_service.sessions")
SUMMARISED = 10
_THREAD_CHARS_MIN = 4_000
PROCESS = "session_summary"


class RuleStateReader:
    """`StateReader` by the rules of `domain/session`."""

    async def advance(
        self, block: StateBlock | None, turns: Sequence[Turn], before: Sequence[Turn], now: datetime
    ) -> StateBlock | None:
        """The block after `turns`; long ones are read beside the event loop."""
        if sum(len(turn.text) for turn in turns) > _THREAD_CHARS_MIN:
            return await asyncio.to_thread(advance, block, turns, before, now)
        return advance(block, turns, before, now)

    async def summarise(self, blocks: Sequence[StateBlock]) -> str:
        """What the blocks say, each fact once."""
        return summary_of(blocks)


@dataclass(frozen=True, slots=True)
class Summaries:
    """Turns the oldest blocks of a session into one memory."""

    store: SessionStore
    reader: StateReader
    write: Write
    telemetry: Telemetry

    async def hand_over(self, owner: OwnerKey, facts: SessionFacts, actor: str) -> bool:
        """Write the oldest ten blocks down as one summary when there are more than twenty; whether it was done.

        The blocks go only after the summary is durable. The request id names session and blocks, so that whoever is
        killed in between, or does it at the same time, makes one memory. A failure is counted, and tried again when
        the state changes next; the turns that made the block are kept all the same.

        What was forgotten since the blocks were made, or is in them although it was forgotten before (working memory
        was away then, or the turn came late), is told by the session's tombstone when the summary is to be
        committed: then there is no summary, and the state begins anew (B3).
        """
        try:
            outcome = await self._handed_over(owner, facts, actor)
        except MemoryServiceError as error:
            outcome = "summary_failed"
            _log.warning("blocks not summarised", reason=error.reason.value)
        if outcome:
            self.telemetry.count("session_blocks_total", outcome=outcome)
        return outcome == "summarised"

    async def _handed_over(self, owner: OwnerKey, facts: SessionFacts, actor: str) -> str:
        """What became of the oldest blocks; "" when there are not enough of them."""
        blocks = await self.store.blocks(owner, facts.id)
        if len(blocks) <= limits.SESSION_BLOCKS_MAX:
            return ""
        old = blocks[:SUMMARISED]
        result = await self.write.one(owner, await self._statement(facts, old), _meta(facts, old, actor))
        if result.effect is Effect.SUPPRESSED and await self._began_anew(owner, facts, old):
            return "forgotten"
        await self.store.drop_blocks(owner, facts.id, old[-1].sequence)
        return "summarised"

    async def _began_anew(self, owner: OwnerKey, facts: SessionFacts, old: Sequence[StateBlock]) -> bool:
        """Take what was forgotten out of the session, if it may be in these blocks."""
        changes, origin = self.write.changes, _origin(facts, old)
        now = changes.clock.now()
        view = await self.store.read(owner, facts.id, turns=limits.SESSION_TURNS_MAX, touch=False, now=now)
        async with changes.store.change(owner) as change:
            stones = await SessionStones.of(Workspace.of(change, changes.ids, owner), facts.id)
        if not stones.stop(origin):
            return False
        turn_ids = dict.fromkeys((*origin.turn_ids, *(kept.turn.id for kept in view.turns)))
        await self.store.forget_turns(owner, facts.id, stones.turns_among(turn_ids), now, stones.revision)
        return True

    async def _statement(self, facts: SessionFacts, old: Sequence[StateBlock]) -> Statement:
        turns = dict.fromkeys(turn for block in old for turn in block.turn_ids)
        first, last = next(iter(turns), ""), next(reversed(turns), "")
        name = f"{old[0].sequence}-{old[-1].sequence}"
        reference = f"blocks {name}, turns {first} to {last}"
        text = await self.reader.summarise(old)
        return Statement(
            text=text[: limits.TEXT_CHARS_MAX] or f"blocks {name}",
            kind=Kind.SUMMARY,
            topic=f"session {facts.id} blocks {name}",
            source=Source.DERIVED,
            said_at=old[-1].updated_at,
            agent=facts.agent,
            session=facts.id,
            process=PROCESS,
            reference=reference[: limits.NAME_CHARS_MAX],
            made_of=_origin(facts, old),
        )


def _origin(facts: SessionFacts, old: Sequence[StateBlock]) -> SessionOrigin:
    """What a summary of these blocks is made of."""
    turn_ids = dict.fromkeys(turn_id for block in old for turn_id in block.turn_ids)
    return SessionOrigin(facts.id, tuple(turn_ids), min(block.forgot_at for block in old))


def _meta(facts: SessionFacts, old: Sequence[StateBlock], actor: str) -> ChangeMeta:
    return ChangeMeta(
        actor=actor, agent=facts.agent, request_id=f"summary:{facts.id}:{old[0].sequence}-{old[-1].sequence}"
    )
