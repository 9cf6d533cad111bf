"""The synchronous client: the same logic over a wire that blocks, with the same signatures."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterator, Sequence
from datetime import datetime
from functools import update_wrapper
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

from memory_service.client import types as t
from memory_service.client.arguments import checked_methods
from memory_service.client.conversation import Conversation
from memory_service.client.core import Core
from memory_service.client.errors import MemoryClientError
from memory_service.client.plumbing import BATCH_TIMEOUT_SECONDS, TIMEOUT_SECONDS, ClientOptions
from memory_service.client.retry import RetryPolicy
from memory_service.client.watch import CHECKPOINT_SECONDS, Watch, watcher
from memory_service.client.wire import BlockingWire, Tls, drive

P = ParamSpec("P")
Result = TypeVar("Result")


def _blocking(
    method: Callable[Concatenate[Core, P], Coroutine[Any, Any, Result]],
) -> Callable[Concatenate[MemoryClient, P], Result]:
    """The method of the same name that blocks until its answer is there."""

    def call(self: MemoryClient, /, *args: P.args, **kwargs: P.kwargs) -> Result:
        return drive(method(self._core, *args, **kwargs))

    update_wrapper(call, method)
    return call


@checked_methods
class MemoryClient:
    """A client of the memory service that blocks; for everything else see `AsyncMemoryClient`.

        with MemoryClient(user="ann") as memory:
            memory.write("I am allergic to peanuts.")
            for found in memory.recall("what must I not eat?"):
                print(found.memory.text)

    One client may be shared by all threads of a process (make it after a fork, not before).
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
        self._core = Core(options, BlockingWire)

    write = _blocking(Core.write)
    write_many = _blocking(Core.write_many)
    correct = _blocking(Core.correct)
    forget = _blocking(Core.forget)
    rollback = _blocking(Core.rollback)
    resolve_conflict = _blocking(Core.resolve_conflict)
    revoke_writer = _blocking(Core.revoke_writer)
    unmerge = _blocking(Core.unmerge)
    undo_revocation = _blocking(Core.undo_revocation)
    create_session = _blocking(Core.create_session)
    get_session = _blocking(Core.get_session)
    list_sessions = _blocking(Core.list_sessions)
    append_turns = _blocking(Core.append_turns)
    update_session = _blocking(Core.update_session)
    end_session = _blocking(Core.end_session)
    get_context = _blocking(Core.get_context)
    get_preferences = _blocking(Core.get_preferences)
    record_feedback = _blocking(Core.record_feedback)
    recall = _blocking(Core.recall)
    get = _blocking(Core.get)
    list_page = _blocking(Core.list_page)
    history = _blocking(Core.history)
    prewarm = _blocking(Core.prewarm)
    server_info = _blocking(Core.server_info)
    create_key = _blocking(Core.create_key)
    list_keys = _blocking(Core.list_keys)
    revoke_key = _blocking(Core.revoke_key)
    vocabulary = _blocking(Core.vocabulary)
    put_predicate = _blocking(Core.put_predicate)
    remove_predicate = _blocking(Core.remove_predicate)
    set_unknown_predicates = _blocking(Core.set_unknown_predicates)
    vocabulary_history = _blocking(Core.vocabulary_history)
    rollback_vocabulary = _blocking(Core.rollback_vocabulary)
    parameters = _blocking(Core.parameters)
    set_parameters = _blocking(Core.set_parameters)
    parameter_history = _blocking(Core.parameter_history)
    rollback_parameters = _blocking(Core.rollback_parameters)
    start_experiment = _blocking(Core.start_experiment)
    stop_experiment = _blocking(Core.stop_experiment)
    experiments = _blocking(Core.experiments)
    calibration = _blocking(Core.calibration)
    reviews = _blocking(Core.reviews)
    decide_review = _blocking(Core.decide_review)
    list_jobs = _blocking(Core.list_jobs)
    run_upkeep = _blocking(Core.run_upkeep)
    list_failed_jobs = _blocking(Core.list_failed_jobs)
    requeue_jobs = _blocking(Core.requeue_jobs)

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
    ) -> Iterator[t.Memory]:
        """All memories in order of creation, page by page; `timeout_seconds` is for each page.

        The as-of times are those of `list_page`.
        """
        pages = self._core._iterate(
            where=where,
            page_size=page_size,
            as_of_valid=as_of_valid,
            as_of_recorded=as_of_recorded,
            agent=agent,
            user=user,
            timeout_seconds=timeout_seconds,
        )

        async def following() -> t.Memory:
            return await anext(pages)

        while True:
            try:
                memory = drive(following())
            except StopAsyncIteration:
                return
            yield memory

    def conversation(
        self, session_id: str | None = None, *, user: str | None = None, keep: bool = False, **begin: Any
    ) -> Conversation:
        """A session for as long as a block lasts; see `AsyncMemoryClient.conversation`."""
        return Conversation(self._core, session_id, user, keep=keep, begin=begin)

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
    ) -> Watch:
        """Every state change of a user's memories; see `AsyncMemoryClient.watch`."""
        inner = watcher(
            self._core,
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
        return Watch(inner)

    @property
    def target(self) -> str:
        """Where it connects to."""
        return self._core.target

    def causal_context(self, user: str | None = None) -> t.Context | None:
        """Everything this client has seen of a user, None when nothing; may be stored and given back."""
        return self._core.causal_context(user)

    def token(self, user: str | None = None) -> str:
        """The newest token of a user known here, "" when none; for a recall by another process."""
        return self._core.token(user)

    def adopt(self, *, user: str | None = None, token: str = "", context: t.Context | None = None) -> None:
        """Take over what an earlier run or another process had seen of a user."""
        self._core.adopt(user=user, token=token, context=context)

    def close(self) -> None:
        """Close the connection; calls under way in other threads end with `ClientClosed`."""
        drive(self._core._wire.close())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return repr(self._core).replace("Core(", "MemoryClient(", 1)
