"""The asynchronous client."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from datetime import datetime
from typing import Any, Self

from memory_service.client import types as t
from memory_service.client.conversation import AsyncConversation
from memory_service.client.core import Core
from memory_service.client.errors import MemoryClientError
from memory_service.client.plumbing import BATCH_TIMEOUT_SECONDS, TIMEOUT_SECONDS, ClientOptions
from memory_service.client.retry import RetryPolicy
from memory_service.client.watch import CHECKPOINT_SECONDS, AsyncWatch, watcher
from memory_service.client.wire import AsyncWire, Tls


class AsyncMemoryClient(Core):
    """A client of the memory service for asyncio.

        async with AsyncMemoryClient(user="ann") as memory:
            await memory.write("I am allergic to peanuts.")
            for found in await memory.recall("what must I not eat?"):
                print(found.memory.text)

    Args:
        target: "host:port"; `MEMORY_SERVICE_TARGET`, the credentials file's, or 127.0.0.1:50051 when None.
        key: the API key; `MEMORY_SERVICE_KEY`, or that of the credentials file when None.
        user: whose memory, unless a call says otherwise; may be empty when the key is bound to one user.
        device: the writer's own id; the server numbers its changes. Empty: the server writes under its own.
        agent, session: sent with every write, and `agent` with every read, unless a call says otherwise.
        timeout_seconds: overall deadline of a call, retries and waits included.
        batch_timeout_seconds: the same for each batch of `write_many`.
        tls: True for the system's roots, a `Tls` for others or for mutual TLS; None for plain text.
        retry: when and how often a call is sent again.

    Changes are safe to retry since each carries a request id. For each user the client keeps the newest
    token and everything it has seen: a recall sees this client's own changes on any replica, and Correct,
    Forget and Rollback tell the service what their author knew. One client may be shared by all tasks of an
    event loop. Give a `device` to have concurrent changes noticed exactly: without one, this client's own
    changes make it count as having seen everything that was accepted before them.

    Raises:
        Unauthenticated: no key was found.
        InvalidArgument: the key or target cannot be one.
    """

    def __init__(
        self,
        target: str | None = None,
        key: str | None = None,
        user: str = "",
        device: str = "",
        agent: str = "",
        session: str = "",
        timeout_seconds: float = TIMEOUT_SECONDS,
        tls: Tls | bool | None = None,
        *,
        batch_timeout_seconds: float = BATCH_TIMEOUT_SECONDS,
        retry: RetryPolicy | None = None,
    ) -> None:
        options = ClientOptions(
            target,
            key,
            user,
            device,
            agent,
            session,
            timeout_seconds,
            batch_timeout_seconds,
            tls,
            retry or RetryPolicy(),
        )
        super().__init__(options, AsyncWire)

    def list(
        self,
        *,
        where: t.MemoryFilter | None = None,
        page_size: int = 0,
        as_of_valid: datetime | None = None,
        as_of_recorded: datetime | None = None,
        agent: str | None = None,
        user: str | None = None,
        timeout_seconds: float | None = None,
    ) -> AsyncIterator[t.Memory]:
        """All memories in order of creation, page by page; `timeout_seconds` is for each page.

        The as-of times are those of `list_page`.
        """
        return self._iterate(
            where=where,
            page_size=page_size,
            as_of_valid=as_of_valid,
            as_of_recorded=as_of_recorded,
            agent=agent,
            user=user,
            timeout_seconds=timeout_seconds,
        )

    def conversation(
        self, session_id: str | None = None, *, user: str | None = None, keep: bool = False, **begin: Any
    ) -> AsyncConversation:
        """A session for as long as a block lasts; see `AsyncConversation`.

        Args:
            session_id: of a session to go on with; a new one is begun when None.
            keep: leave a new one alive at the end. One that was given is never ended.
            begin: arguments of `create_session` for a new one.
        """
        return AsyncConversation(self, session_id, user, keep=keep, begin=begin)

    def watch(
        self,
        cursor: str | None = None,
        *,
        from_start: bool = False,
        events: Sequence[str] = (),
        kinds: Sequence[t.Kind | str] = (),
        checkpoint_seconds: float = CHECKPOINT_SECONDS,
        on_interruption: Callable[[MemoryClientError], None] | None = None,
        agent: str | None = None,
        user: str | None = None,
        timeout_seconds: float | None = None,
    ) -> AsyncWatch:
        """Every state change of a user's memories, in the order of commits, as `WatchEvent`s and checkpoints.

        Args:
            cursor: where to go on; from now when None. Keep the watch's `cursor` (or that of the last event
                or checkpoint dealt with) to go on later without missing anything.
            from_start: without a cursor, from the first change.
            events: only these, e.g. "superseded". kinds: only of memories of these kinds.
            checkpoint_seconds: how often the service tells where it stands when nothing happens.
            on_interruption: told of every break before the watch goes on.
            agent: who watches (its private memories included); the client's agent when None.
            timeout_seconds: how long a service that was not reached yet is tried; the client's when None.

        A broken stream, a service that is away and WATCHER_TOO_SLOW are waited out: the watch goes on where
        it was. Everything else is raised, `OutOfRange` (CURSOR_TOO_OLD) above all: what happened since is no
        longer kept, so read the memories anew and watch from now. The first checkpoint says from where.
        """
        inner = watcher(
            self,
            cursor=cursor,
            from_start=from_start,
            events=events,
            kinds=kinds,
            checkpoint_seconds=checkpoint_seconds,
            on_interruption=on_interruption,
            agent=agent,
            user=user,
            timeout_seconds=timeout_seconds,
        )
        return AsyncWatch(inner)

    async def close(self) -> None:
        """Close the connection; calls under way end with `ClientClosed`."""
        await self._wire.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exception: object) -> None:
        await self.close()
