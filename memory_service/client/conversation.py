"""A session as a context manager: begun when entered, ended when left."""

from __future__ import annotations

from typing import Any, Self

from memory_service.client import session_values as s
from memory_service.client.errors import MemoryClientError
from memory_service.client.session_calls import SessionCalls
from memory_service.client.wire import drive


class _Conversation:
    """What both forms share: the calls, and the session they are about."""

    def __init__(
        self, calls: SessionCalls, session_id: str | None, user: str | None, *, keep: bool, begin: dict[str, Any]
    ) -> None:
        self._calls = calls
        self._user = user
        self._keep = keep or session_id is not None
        self._begin = begin
        self.id = session_id or ""
        """The session's id; "" before it is entered."""
        self.version = 0
        """The newest version of its fields seen here."""

    async def _enter(self) -> None:
        if self.id:
            found = await self._calls.get_session(self.id, turns=0, user=self._user)
        else:
            found = await self._calls.create_session(user=self._user, **self._begin)
        self.id, self.version = found.id, found.version

    async def _leave(self, failed: bool) -> None:
        if self._keep:
            return
        try:
            await self._calls.end_session(self.id, user=self._user)
        except MemoryClientError:
            # What went wrong inside says more; and a session that is not ended goes by itself.
            if not failed:
                raise

    async def _say(self, role: str, text: str, turn: dict[str, Any]) -> s.AppendResult:
        return await self._calls.append_turns(self.id, [s.Turn(role, text, **turn)], user=self._user)

    async def _update(self, fields: dict[str, Any]) -> s.UpdateResult:
        fields.setdefault("seen_version", self.version)
        result = await self._calls.update_session(self.id, user=self._user, **fields)
        self.version = result.version
        return result

    async def _read(self, turns: int | None) -> s.Session:
        found = await self._calls.get_session(self.id, turns=turns, user=self._user)
        self.version = found.version
        return found


class AsyncConversation(_Conversation):
    """A session for as long as a block lasts; made by `AsyncMemoryClient.conversation`.

        async with memory.conversation(agent="planner") as talk:
            await talk.user("Book me a table for two.")
            context = await talk.context(window_tokens=8_000)
            await talk.assistant("For when?")

    Leaving it ends the session, unless it was given by id or is to be kept. `update` tells what another device had
    set since this one last looked.
    """

    async def __aenter__(self) -> Self:
        await self._enter()
        return self

    async def __aexit__(self, kind: object, *exception: object) -> None:
        await self._leave(kind is not None)

    async def user(self, text: str, **turn: Any) -> s.AppendResult:
        """Add what the user said; `turn` takes the other fields of `Turn`."""
        return await self._say("user", text, turn)

    async def assistant(self, text: str, **turn: Any) -> s.AppendResult:
        """Add what the agent said."""
        return await self._say("assistant", text, turn)

    async def tool(self, name: str, text: str = "", *, ok: bool = True, **turn: Any) -> s.AppendResult:
        """Add what a tool answered."""
        return await self._say("tool", text, {"tool": name, "tool_status": "ok" if ok else "failed", **turn})

    async def context(self, query: str = "", **options: Any) -> s.SessionContext:
        """What the agent should know now; `options` are those of `get_context`."""
        return await self._calls.get_context(self.id, query, user=self._user, **options)

    async def update(self, **fields: Any) -> s.UpdateResult:
        """Change fields; `fields` are those of `update_session`."""
        return await self._update(fields)

    async def read(self, turns: int | None = None) -> s.Session:
        """The session as it stands."""
        return await self._read(turns)


class Conversation(_Conversation):
    """The same, blocking; made by `MemoryClient.conversation`."""

    def __enter__(self) -> Self:
        drive(self._enter())
        return self

    def __exit__(self, kind: object, *exception: object) -> None:
        drive(self._leave(kind is not None))

    def user(self, text: str, **turn: Any) -> s.AppendResult:
        """Add what the user said; `turn` takes the other fields of `Turn`."""
        return drive(self._say("user", text, turn))

    def assistant(self, text: str, **turn: Any) -> s.AppendResult:
        """Add what the agent said."""
        return drive(self._say("assistant", text, turn))

    def tool(self, name: str, text: str = "", *, ok: bool = True, **turn: Any) -> s.AppendResult:
        """Add what a tool answered."""
        return drive(self._say("tool", text, {"tool": name, "tool_status": "ok" if ok else "failed", **turn}))

    def context(self, query: str = "", **options: Any) -> s.SessionContext:
        """What the agent should know now; `options` are those of `get_context`."""
        return drive(self._calls.get_context(self.id, query, user=self._user, **options))

    def update(self, **fields: Any) -> s.UpdateResult:
        """Change fields; `fields` are those of `update_session`."""
        return drive(self._update(fields))

    def read(self, turns: int | None = None) -> s.Session:
        """The session as it stands."""
        return drive(self._read(turns))
