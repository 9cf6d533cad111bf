"""`SessionStore` on Redis or Valkey (F4)."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Collection, Sequence
from datetime import datetime
from typing import Any

import redis.asyncio
from redis.commands.core import AsyncScript
from redis.exceptions import OutOfMemoryError

from memory_service.adapters.redis import keys
from memory_service.adapters.redis import session_codec as codec
from memory_service.adapters.redis import session_scripts as scripts
from memory_service.adapters.redis.breaker import CircuitBreaker
from memory_service.adapters.redis.connection import connection_pool, guarded
from memory_service.adapters.redis.settings import RedisSettings
from memory_service.domain.errors import InternalError, LimitExceeded, MemoryServiceError, Reason, Unavailable
from memory_service.domain.ids import OwnerKey
from memory_service.domain.session.failures import (
    etag_mismatch,
    not_answered,
    request_id_reused,
    session_ended,
    session_not_found,
    too_many_fields,
    too_many_sessions,
    unseen_version,
)
from memory_service.domain.session.model import (
    FieldChange,
    KeptTurn,
    SessionFacts,
    SessionId,
    SessionStatus,
    SessionView,
    StateBlock,
    emptied,
)
from memory_service.ports.clock import Clock
from memory_service.ports.sessions import (
    Appended,
    Basis,
    Behind,
    SessionLimits,
    SessionLine,
    SessionPage,
    Updated,
)

_REQUEST_SECONDS = 600
_RECENT = 6
_FORGET_TRIES_MAX = 16
_OK = b"ok"


class RedisSessionStore:
    """See `SessionStore`. Owns its connections; `close` ends them.

    Every change is one Lua script over keys of one hash slot, so that it is one round trip, atomic, and leaves
    nothing without a time to live. Nothing retries here: callers know what a repetition means.
    """

    def __init__(self, settings: RedisSettings, clock: Clock, given: SessionLimits | None = None) -> None:
        self._settings = settings
        self._limits = given or SessionLimits()
        self._breaker = CircuitBreaker(clock, failures_max=settings.failures_max, away_seconds=settings.away_seconds)
        pool = connection_pool(settings, socket_timeout=settings.transfer_timeout_seconds)
        self._client = redis.asyncio.Redis.from_pool(pool)
        bounds = scripts.Bounds(
            idle=_milliseconds(self._limits.idle_seconds),
            keep=_milliseconds(self._limits.block_seconds),
            request=_milliseconds(_REQUEST_SECONDS),
            turns=self._limits.turns_max,
            bytes=self._limits.turn_bytes_max,
            ids=self._limits.turn_ids_max,
            fields=self._limits.fields_max,
            blocks=self._limits.blocks_max,
            sessions=self._limits.sessions_max,
            recent=_RECENT,
        )

        def script(text: str) -> AsyncScript:
            return self._client.register_script(bounds.put_into(text))

        self._create, self._append, self._update = map(script, (scripts.CREATE, scripts.APPEND, scripts.UPDATE))
        self._forget_turns = script(scripts.FORGET_TURNS)
        self._read, self._end, self._drop_blocks = map(script, (scripts.READ, scripts.END, scripts.DROP_BLOCKS))

    async def create(self, owner: OwnerKey, facts: SessionFacts, now: datetime, digest: str = "") -> SessionId:
        """Begin a session, or find the one begun with this request id."""
        names = keys.session_keys(self._settings.key_prefix, owner, facts.id)
        if facts.request_id:
            names.append(keys.session_request_key(self._settings.key_prefix, owner, facts.request_id))
        arguments = [codec.millis(now), facts.id, codec.facts_bytes(facts), digest]
        answer = await self._run(self._create, names, arguments)
        if answer[0] == b"full":
            raise too_many_sessions(self._limits.sessions_max)
        began, _, asked = answer[1].decode().partition(" ")
        if asked != digest:
            raise request_id_reused()
        return SessionId(began)

    async def append(
        self,
        owner: OwnerKey,
        session: SessionId,
        turns: Sequence[KeptTurn],
        basis: Basis | None,
        block: StateBlock | None,
        now: datetime,
    ) -> Appended | Behind:
        """Add turns and their block."""
        arguments: list[Any] = [
            codec.millis(now),
            session,
            "" if basis is None else basis.block_sequence,
            "" if basis is None else basis.turn_count,
            "" if block is None else block.sequence,
            b"" if block is None else codec.block_bytes(block),
        ]
        for kept in turns:
            arguments += [kept.turn.id, int(kept.answers), codec.turn_bytes(kept)]
        answer = await self._run(self._append, self._keys(owner, session), arguments)
        if answer[0] == _OK:
            return Appended(int(answer[1]), int(answer[2]))
        _, facts, count, newest, recent, known = answer
        return Behind(
            codec.facts_of(facts),
            codec.block_of(newest),
            int(count),
            codec.turns_of(recent, int(count)),
            frozenset(turns[place].turn.id for place in known),
        )

    async def update(
        self,
        owner: OwnerKey,
        session: SessionId,
        changes: Sequence[FieldChange],
        *,
        device: str,
        etag_version: int | None,
        seen_version: int | None,
        now: datetime,
    ) -> Updated:
        """Change fields, all or none."""
        arguments: list[Any] = [
            codec.millis(now),
            session,
            "" if etag_version is None else etag_version,
            "" if seen_version is None else seen_version,
        ]
        for change in changes:
            arguments += [change.path, change.answered_by, codec.field_bytes(change, device)]
        answer = await self._run(self._update, self._keys(owner, session), arguments)
        return Updated(int(answer[1]), tuple(codec.fields_of(answer[2]).values()))

    async def read(
        self, owner: OwnerKey, session: SessionId, *, turns: int, touch: bool, now: datetime
    ) -> SessionView:
        """The session with its newest turns."""
        arguments = [codec.millis(now), session, min(turns, self._limits.turns_max), int(touch)]
        answer = await self._run(self._read, self._keys(owner, session), arguments)
        _, facts, version, count, ended, used, fields, recent, block, block_count = answer
        status = SessionStatus.ENDED if ended == b"1" else SessionStatus.ACTIVE if fields else SessionStatus.RELEASED
        return SessionView(
            facts=codec.facts_of(facts),
            status=status,
            version=int(version),
            last_active_at=codec.instant_of_millis(used),
            turn_count=int(count),
            fields=codec.fields_of(fields),
            turns=codec.joined_turns(recent, int(count)),
            block=codec.block_of(block),
            block_count=int(block_count),
        )

    async def end(self, owner: OwnerKey, session: SessionId, now: datetime) -> None:
        """End it."""
        async with self._guarded():
            answer = await self._end(keys=self._keys(owner, session), args=[codec.millis(now), session])
        if answer[0] == b"unknown":
            raise session_not_found()

    async def blocks(self, owner: OwnerKey, session: SessionId) -> Sequence[StateBlock]:
        """The blocks kept, oldest first."""
        async with self._guarded():
            found: Sequence[Any] = await self._client.lrange(self._keys(owner, session)[4], 0, -1)
        return tuple(block for data in found if (block := codec.block_of(data)) is not None)

    async def drop_blocks(self, owner: OwnerKey, session: SessionId, upto: int) -> None:
        """Drop the blocks up to this sequence, but the newest."""
        async with self._guarded():
            await self._drop_blocks(keys=self._keys(owner, session), args=[0, session, upto])

    async def forget_turns(
        self, owner: OwnerKey, session: SessionId, turn_ids: Collection[str], now: datetime, revision: int
    ) -> None:
        """Empty these turns, remove the slots filled from them, and begin the state anew."""
        names = self._keys(owner, session)
        block = codec.block_body(StateBlock(updated_at=now, forgot_at=revision))
        for _ in range(_FORGET_TRIES_MAX):
            async with self._guarded():
                basis = await self._client.hmget(names[0], ["v", "n"])
                arguments = [codec.millis(now), session, block, *(part or b"" for part in basis)]
                arguments += await self._to_forget(names, turn_ids)
                answer = await self._forget_turns(keys=names, args=arguments)
            if answer[0] == _OK:
                return
        raise Unavailable(Reason.OVERLOADED, "too many writers change this session at once")

    async def _to_forget(self, names: Sequence[bytes], turn_ids: Collection[str]) -> list[Any]:
        """What `FORGET_TURNS` is to remove and to empty, as the session is read now."""
        kept: Sequence[Any] = await self._client.lrange(names[2], 0, -1)
        held: dict[Any, Any] = await self._client.hgetall(names[1])
        fields = codec.fields_of([part for pair in held.items() for part in pair])
        paths = [path for path, item in fields.items() if item.answered_by in turn_ids]
        arguments: list[Any] = [len(paths), len(turn_ids), *paths, *turn_ids]
        for data, each in zip(kept, codec.turns_of(kept, len(kept)), strict=True):
            if each.turn.id in turn_ids:
                arguments += [data, codec.turn_bytes(emptied(each))]
        return arguments

    async def ping(self) -> None:
        """Raise `Unavailable` unless the server answers."""
        async with self._guarded():
            await self._client.ping()

    async def close(self) -> None:
        """End every connection. Idempotent."""
        await self._client.aclose(close_connection_pool=True)

    # Parts -------------------------------------------------------------------------------------------------

    def _keys(self, owner: OwnerKey, session: str) -> list[bytes]:
        return keys.session_keys(self._settings.key_prefix, owner, session)

    @contextlib.asynccontextmanager
    async def _guarded(self) -> AsyncIterator[None]:
        """Bound a call in time and translate its failure; a server that is full answers, so it is not away."""
        full: OutOfMemoryError | None = None
        async with guarded(self._breaker, self._settings.transfer_timeout_seconds):
            try:
                yield
            except OutOfMemoryError as error:
                full = error
        if full is not None:
            raise LimitExceeded(Reason.STORAGE_FULL, "working memory is full") from full

    async def _run(self, script: AsyncScript, names: Sequence[bytes], arguments: Sequence[Any]) -> Any:
        """A script's answer, its refusals raised."""
        async with self._guarded():
            answer = await script(keys=names, args=arguments)
        if answer[0] in (_OK, b"behind") or (answer[0] == b"full" and script is self._create):
            return answer
        raise self._refusal(answer)

    def _refusal(self, answer: Sequence[Any]) -> MemoryServiceError:
        word = answer[0]
        if word == b"unknown":
            return session_not_found()
        if word == b"ended":
            return session_ended()
        if word == b"etag":
            return etag_mismatch(int(answer[1]))
        if word == b"unseen":
            return unseen_version(int(answer[1]))
        if word == b"unanswered":
            return not_answered(answer[1].decode())
        if word == b"full":
            return too_many_fields(self._limits.fields_max)
        return InternalError(Reason.INTERNAL, "a script of working memory gave an unknown answer")

    # Last, since its name would hide the type from what stands below it.
    async def list(self, owner: OwnerKey, *, after: SessionId | None, limit: int) -> SessionPage:
        """Sessions, newest first. Those that expired, or were evicted, are left out and no longer looked for."""
        sessions_key, expiries_key = self._keys(owner, "")[5:]
        upper = "+" if after is None else f"({after}"
        async with self._guarded():
            found: Sequence[Any] = await self._client.zrevrangebylex(sessions_key, upper, "-", start=0, num=limit + 1)
            async with self._client.pipeline(transaction=False) as batch:
                for id_ in found[:limit]:
                    facts, fields, turns, ids, blocks = self._keys(owner, id_.decode())[:5]
                    batch.hmget(facts, ["f", "v", "n", "e", "a", "q", "l"])
                    batch.hget(fields, "_b")
                    batch.exists(turns, ids)
                    batch.lindex(blocks, -1)
                answers = await batch.execute() if found else []
                lines = [_line(*answers[4 * place : 4 * place + 4]) for place in range(len(found[:limit]))]
                gone = [id_ for id_, line in zip(found, lines, strict=False) if line is None]
                if gone:
                    batch.zrem(sessions_key, *gone)
                    batch.zrem(expiries_key, *gone)
                    await batch.execute()
        known = [line for line in lines if line is not None]
        return SessionPage(known, SessionId(found[limit - 1].decode()) if len(found) > limit else None)


def _milliseconds(seconds: float) -> int:
    return max(1, round(seconds * 1000))


def _line(facts: Sequence[Any], turn_bytes: bytes | None, lists: int, block: bytes | None) -> SessionLine | None:
    """One session as the scripts' `found` sees it; None when too little is left of it."""
    about, version, count, ended, used, sequence, live = facts
    newest = codec.block_of(block)
    if about is None or (sequence != b"0" and newest is None):
        return None
    whole = turn_bytes is not None and (turn_bytes == b"0" or lists == 2)
    status = SessionStatus.ENDED if ended == b"1" else SessionStatus.ACTIVE if whole else SessionStatus.RELEASED
    lost = status is SessionStatus.RELEASED and live != b"0"
    return SessionLine(
        codec.facts_of(about),
        status,
        int(version) + lost,
        codec.instant_of_millis(used),
        int(count),
        newest.topic if newest else "",
    )
