"""What every call shares: the connection, the deadline, request ids, and what the client has seen."""

from __future__ import annotations

import importlib.metadata
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from memory_service.client import credentials, decode, encode, rpcs
from memory_service.client import types as t
from memory_service.client.arguments import check, checked_methods
from memory_service.client.causality import Causality
from memory_service.client.retry import Caller, RetryPolicy
from memory_service.client.wire import Request, Response, Rpc, Tls, Wire
from memory_service.v1 import memory_service_pb2 as api
from memory_service.v1 import types_pb2 as pb

TIMEOUT_SECONDS = 5.0
BATCH_TIMEOUT_SECONDS = 60.0
CLIENT_VERSION = importlib.metadata.version("memory-service")

ChangeRequest = TypeVar(
    "ChangeRequest",
    api.WriteRequest,
    api.CorrectRequest,
    api.ForgetRequest,
    api.RollbackRequest,
    api.ResolveConflictRequest,
    api.RevokeWriterRequest,
    api.DecideReviewRequest,
    api.UnmergeRequest,
)
Changed = TypeVar(
    "Changed",
    api.WriteResponse,
    api.CorrectResponse,
    api.ForgetResponse,
    api.RollbackResponse,
    api.ResolveConflictResponse,
    api.RevokeWriterResponse,
    api.DecideReviewResponse,
    api.UnmergeResponse,
)


@dataclass(frozen=True, slots=True)
class ClientOptions:
    """What a client was made with; see `AsyncMemoryClient`."""

    target: str | None = None
    key: str | None = field(default=None, repr=False)
    user: str = ""
    device: str = ""
    agent: str = ""
    session: str = ""
    timeout_seconds: float = TIMEOUT_SECONDS
    batch_timeout_seconds: float = BATCH_TIMEOUT_SECONDS
    tls: Tls | bool | None = None
    retry: RetryPolicy = field(default_factory=RetryPolicy)


class Plumbing:
    """Base of `Core`. Arguments of public methods are checked by `arguments`, in whatever class they are written."""

    def __init_subclass__(cls) -> None:
        checked_methods(cls)

    def __init__(self, options: ClientOptions, make_wire: Callable[[str, Tls | None, str], Wire]) -> None:
        found = credentials.find(options.target, options.key)
        self.target = found.target
        self.user, self.device = encode.text(options.user, "user"), encode.text(options.device, "device")
        self.agent, self.session = encode.text(options.agent, "agent"), encode.text(options.session, "session")
        self.timeout_seconds = encode.seconds(options.timeout_seconds)
        self.batch_timeout_seconds = encode.seconds(options.batch_timeout_seconds, "batch_timeout_seconds")
        self._metadata = (("authorization", f"Bearer {found.key}"),)
        tls = Tls() if options.tls is True else options.tls or None
        self._wire = make_wire(self.target, tls, CLIENT_VERSION)
        self._caller = Caller(self._wire, self.target, options.retry)
        self._causality = Causality()

    def __repr__(self) -> str:
        return f"{type(self).__name__}(target={self.target!r}, user={self.user!r}, device={self.device!r})"

    # ── What this client has seen ───────────────────────────────────────────────────────────────────────────

    def causal_context(self, user: str | None = None) -> t.Context | None:
        """Everything this client has seen of a user, None when nothing; may be stored and given back."""
        return self._causality.context(self._user(user))

    def token(self, user: str | None = None) -> str:
        """The newest token of a user known here, "" when none; for a recall by another process."""
        return self._causality.token(self._user(user))

    def adopt(self, *, user: str | None = None, token: str = "", context: t.Context | None = None) -> None:
        """Take over what an earlier run or another process had seen of a user."""
        self._causality.adopt(self._user(user), token=token, context=context)

    # ── Parts ───────────────────────────────────────────────────────────────────────────────────────────────

    async def _call(
        self,
        rpc: Rpc[Request, Response],
        request: Request,
        timeout_seconds: float | None,
        request_id: str = "",
    ) -> Response:
        return await self._caller.call(
            rpc,
            request,
            timeout_seconds=self.timeout_seconds if timeout_seconds is None else encode.seconds(timeout_seconds),
            metadata=self._metadata,
            request_id=request_id,
        )

    async def _change(
        self, rpc: Rpc[ChangeRequest, Changed], request: ChangeRequest, owner: str, timeout: float | None
    ) -> Changed:
        began = self._causality.begin()
        response = await self._call(rpc, request, timeout, request.request_id)
        named = request.HasField("dot") and not request.HasField("context")
        own = {response.dot.device: response.dot.counter} if named else None
        self._learn_change(owner, began, response, own, replayed=response.replayed)
        return response

    async def _made(
        self,
        rpc: Rpc[ChangeRequest, Changed],
        request: ChangeRequest,
        user: str | None,
        request_id: str | None,
        dot: t.Dot | None,
        context: t.ContextArgument,
        timeout_seconds: float | None,
    ) -> Changed:
        """Make a change: say whose it is and what its author had seen, send it, and learn from the answer."""
        owner = self._user(user)
        self._address(request, owner, request_id, dot, context)
        return await self._change(rpc, request, owner, timeout_seconds)

    def _learn_change(
        self,
        owner: str,
        began: int,
        answer: Changed | api.BatchWriteResponse,
        own: dict[str, int] | None,
        *,
        replayed: bool,
    ) -> None:
        # A replayed answer is as old as the change it first answered, so when the call began says nothing.
        self._causality.learn_change(
            owner,
            began=0 if replayed else began,
            token=answer.token,
            context=decode.context(answer.context),
            own=None if own is None else t.Context(own),
        )

    async def _send_batch(
        self,
        owner: str,
        batch: Sequence[api.BatchWriteItem],
        context: t.Context | None,
        timeout_seconds: float | None,
    ) -> api.BatchWriteResponse:
        request = api.BatchWriteRequest(user=owner, items=batch, context=encode.context(context))
        began = self._causality.begin()
        limit = self.batch_timeout_seconds if timeout_seconds is None else timeout_seconds
        response = await self._call(rpcs.BATCH_WRITE, request, limit)
        written = [result.written for result in response.results if result.HasField("written")]
        own: dict[str, int] | None = None
        if context is None and all(item.HasField("dot") for item in batch):
            own = {}
            for one in written:
                own[one.dot.device] = max(one.dot.counter, own.get(one.dot.device, 0))
        self._learn_change(owner, began, response, own, replayed=any(one.replayed for one in written))
        return response

    def _batch_item(self, item: t.NewMemory | str, user: str | None) -> tuple[str, t.NewMemory, api.BatchWriteItem]:
        check(item, t.NewMemory | str, "items")
        memory = t.NewMemory(item) if isinstance(item, str) else item
        identity = self._request_id(memory.request_id or None)
        memory = replace(memory, request_id=identity)
        message = api.BatchWriteItem(
            memory=encode.memory_input(memory.text, memory.fields),
            request_id=identity,
            dot=encode.dot(memory.dot, self.device),
        )
        self._sign(message.memory)
        return self._user(memory.user if memory.user is not None else user), memory, message

    def _sign(self, message: pb.MemoryInput) -> None:
        """Say which agent and conversation it comes from, unless it says so itself."""
        message.agent = message.agent or encode.text(self.agent, "agent")
        message.session = message.session or encode.text(self.session, "session")

    def _address(
        self,
        request: ChangeRequest,
        owner: str,
        request_id: str | None,
        dot: t.Dot | None,
        context: t.ContextArgument,
    ) -> None:
        """Say whose memory a change is for, and what its writer had seen."""
        request.user, request.request_id = owner, self._request_id(request_id)
        name, seen = encode.dot(dot, self.device), encode.context(self._context(owner, context))
        if name is not None:
            request.dot.CopyFrom(name)
        if seen is not None:
            request.context.CopyFrom(seen)

    def _user(self, user: str | None) -> str:
        return encode.text(self.user if user is None else user, "user")

    def _agent(self, agent: str | None) -> str:
        return encode.text(self.agent if agent is None else agent, "agent")

    def _context(self, owner: str, context: t.ContextArgument) -> t.Context | None:
        return self._causality.context(owner) if isinstance(context, t.Kept) else context

    @staticmethod
    def _request_id(given: str | None) -> str:
        return uuid.uuid4().hex if given is None else encode.text(given, "request_id")
