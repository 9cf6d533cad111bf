"""What a client remembers of each user: the newest token and everything it has seen.

Tokens are opaque, so which of two is newer is told from when their calls ran and from their contexts. When
neither decides (two changes that overlapped and do not know of each other) the next recall asks for full
consistency instead of risking to miss one of them.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass, field

from memory_service.client.types import Consistency, Context


@dataclass(slots=True)
class _Seen:
    """`finished` is the tick at which the token was learned; `unsure` that an equally new one was dropped."""

    token: str = ""
    token_context: Context = field(default_factory=Context)
    context: Context | None = None
    finished: int = 0
    unsure: bool = False


class Causality:
    """Thread-safe; keeps at most `users_max` users and drops the least recently used.

    A user that was dropped is like one never seen: the next recall takes what is at hand.
    """

    def __init__(self, users_max: int = 10_000) -> None:
        self._users_max = users_max
        self._users: OrderedDict[str, _Seen] = OrderedDict()
        self._tick = 0
        self._lock = threading.Lock()

    def begin(self) -> int:
        """The tick of a call that starts now; hand it to `learn_change`."""
        with self._lock:
            self._tick += 1
            return self._tick

    def context(self, user: str) -> Context | None:
        """Everything seen of a user, None when nothing was."""
        with self._lock:
            seen = self._users.get(user)
            return seen.context if seen else None

    def token(self, user: str) -> str:
        """The newest token known, "" when there is none."""
        with self._lock:
            seen = self._users.get(user)
            return seen.token if seen else ""

    def consistency(self, user: str) -> Consistency | None:
        """What a recall needs so that it sees this client's changes; None when it made and read none."""
        with self._lock:
            seen = self._users.get(user)
            if seen is None or not seen.token:
                return None
            return Consistency.fully_consistent() if seen.unsure else Consistency.at_least_as_fresh(seen.token)

    def learn_change(
        self, user: str, *, began: int, token: str, context: Context, own: Context | None = None
    ) -> None:
        """Take in the answer of a change that began at tick `began`.

        `own` is given for a change that named its device but no context: the service then answers with all it
        has, which this client need not have read. Taking that over would let its next correction silently
        replace a value it never saw, so only its own change is added to what it had read.
        """
        with self._lock:
            seen = self._touch(user)
            if seen.context is None:
                seen.context = context
            else:
                seen.context = seen.context.merged(context if own is None else own)
            if not token:
                return
            self._tick += 1
            if not seen.token or began > seen.finished or context.covers(seen.token_context):
                # A change accepted after another's answer, or that knows of it, has the newer token. An
                # unsure state ends only when this change began after both that caused it were answered.
                seen.unsure = seen.unsure and began <= seen.finished
                seen.token, seen.token_context, seen.finished = token, context, self._tick
            elif not seen.token_context.covers(context):
                seen.unsure = True
                seen.token, seen.token_context, seen.finished = token, context, self._tick

    def learn_read(self, user: str, *, began: int, token: str, context: Context, full: bool) -> None:
        """Take in the answer of a recall. It may be older than what is known; then the token stays.

        `full` says that the recall was fully consistent; begun after every answer known, it ends an unsure
        state.
        """
        with self._lock:
            seen = self._touch(user)
            seen.context = context if seen.context is None else seen.context.merged(context)
            settles = full and began > seen.finished
            if token and (settles or (not seen.unsure and context.covers(seen.token_context))):
                self._tick += 1
                seen.unsure = False
                seen.token, seen.token_context, seen.finished = token, context, self._tick

    def adopt(self, user: str, *, token: str = "", context: Context | None = None) -> None:
        """Take over what another client (or an earlier run) had seen, in place of what is known."""
        with self._lock:
            self._users.pop(user, None)
            seen = self._touch(user)
            self._tick += 1
            seen.token, seen.context, seen.finished = token, context, self._tick
            seen.token_context = context or Context()

    def _touch(self, user: str) -> _Seen:
        seen = self._users.setdefault(user, _Seen())
        self._users.move_to_end(user)
        if len(self._users) > self._users_max:
            self._users.popitem(last=False)
        return seen
