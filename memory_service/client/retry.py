"""When and how often a call is sent again."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass

import grpc

from memory_service.client.errors import (
    DeadlineExceeded,
    Internal,
    MemoryClientError,
    ResourceExhausted,
    Unavailable,
)
from memory_service.client.failures import from_rpc_error
from memory_service.client.wire import Metadata, Request, Response, Rpc, Wire


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """Jittered exponential back-off inside the call's own deadline.

    The n-th wait (from 0) is drawn from [half, whole] of `min(backoff_seconds_max, backoff_seconds * 2**n)`,
    or is what the service asks for if that is longer. A wait that would pass the deadline is not begun.

    Attributes:
        attempts_max: how often a call is sent at most, the first time included; 1 never sends it again.
        attempt_timeout_seconds: the deadline of one attempt; the call's whole deadline when None.
    """

    attempts_max: int = 10
    backoff_seconds: float = 0.05
    backoff_seconds_max: float = 2.0
    attempt_timeout_seconds: float | None = None

    def wait_seconds(self, attempt: int, asked: float | None, draw: float) -> float:
        """The wait after the `attempt`-th failure (from 1); `draw` is a random number in [0, 1)."""
        longest = min(self.backoff_seconds_max, self.backoff_seconds * 2.0 ** min(attempt - 1, 30))
        return max(asked or 0.0, longest * (0.5 + draw / 2))


def worth_retrying(error: MemoryClientError) -> bool:
    """Whether the same request may succeed later: only for a call that is safe to send twice."""
    if isinstance(error, Unavailable | DeadlineExceeded):
        return True
    return isinstance(error, ResourceExhausted) and error.retry_after_seconds is not None


def broken_off(error: MemoryClientError) -> bool:
    """Whether a stream ended by a fault on the way: a fault of the service itself has a reason."""
    return isinstance(error, Internal) and not error.reason


@dataclass(frozen=True, slots=True)
class Caller:
    """Sends calls over a wire until they are answered, refused, or out of time."""

    wire: Wire
    target: str
    policy: RetryPolicy
    now: Callable[[], float] = time.monotonic
    draw: Callable[[], float] = random.random

    async def call(
        self,
        rpc: Rpc[Request, Response],
        request: Request,
        *,
        timeout_seconds: float,
        metadata: Metadata,
        request_id: str = "",
    ) -> Response:
        """The answer, or the error of the last attempt that says something.

        The deadline covers everything, waits included, and every attempt carries what is left of it as its
        gRPC deadline.

        Raises:
            MemoryClientError: with `attempts` and `request_id` filled in.
        """
        deadline = self.now() + timeout_seconds
        attempt = 0
        last: MemoryClientError | None = None
        while True:
            attempt += 1
            remaining = deadline - self.now()
            if remaining <= 0:
                raise last or DeadlineExceeded("no time was left for the call", request_id=request_id)
            try:
                return await self.wire.unary(
                    rpc, request, timeout=self._attempt_timeout(remaining), metadata=metadata
                )
            except grpc.RpcError as failure:
                error = from_rpc_error(failure, self.target)
            if last is not None and isinstance(error, DeadlineExceeded) and not error.reason:
                error = last  # "connection refused" says more than "and then time ran out"
            error.attempts, error.request_id, last = attempt, request_id, error
            wait = self.policy.wait_seconds(attempt, error.retry_after_seconds, self.draw())
            if (
                not rpc.safe
                or not worth_retrying(error)
                or attempt >= self.policy.attempts_max
                or self.now() + wait >= deadline
            ):
                raise error
            await self.wire.sleep(wait)

    def _attempt_timeout(self, remaining: float) -> float:
        limit = self.policy.attempt_timeout_seconds
        return remaining if limit is None else min(remaining, limit)
