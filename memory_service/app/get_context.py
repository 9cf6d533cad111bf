"""GetContext: what an agent should know before its next turn, within its window (S1, S3, F4, B7).

The session and the memories are fetched at the same time. When one of them is away or late, the answer has the other
and says so; it fails only when there is nothing to answer with, or no such session.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, TypeVar

from memory_service.app.context_block import build_context_block
from memory_service.app.policies import OwnerPolicies
from memory_service.app.recall import Recall, RecalledMemory, RecallRequest, RecallResponse
from memory_service.app.session_prompt import SessionPrompt, session_prompt
from memory_service.app.sessions import known_id
from memory_service.app.validation import check_count
from memory_service.domain import limits
from memory_service.domain.errors import (
    DeadlineExceeded,
    FailedPrecondition,
    InvalidInput,
    MemoryServiceError,
    NotFound,
    Reason,
    Unavailable,
)
from memory_service.domain.memory import Cardinality, Kind, MemoryHead
from memory_service.domain.session.budget import WindowBudget
from memory_service.domain.session.failures import session_ended
from memory_service.domain.session.model import CONSTRAINTS, SessionId, SessionStatus, SessionView, TurnRole
from memory_service.domain.text import language_of, topic_of
from memory_service.domain.vocabulary import Vocabulary
from memory_service.ports.clock import Clock
from memory_service.ports.sessions import SessionStore
from memory_service.ports.telemetry import Telemetry
from memory_service.ports.tokenizer import Tokenizer, Tokenizers

DEFAULT_TOKENIZER: Final = "o200k_base"
_ANSWER_SECONDS: Final = (0.005, 0.1)
"""Of the time there is, a tenth is kept back for putting the answer together and sending it: at least, at most."""
_LAST_MOMENT_SECONDS: Final = 0.001
"""Even when no time is left, what needs none is fetched."""
_GIVE_WAY: Final = frozenset({Kind.PREFERENCE, Kind.TEMPORARY_PREFERENCE, Kind.PROCEDURE})
_THREAD_CHARS_MIN: Final = 20_000
_TURNS_OF_LANGUAGE: Final = 4
"""So many of the last turns of the user tell the language of a conversation."""
"""Longer conversations are put together beside the event loop."""
_LINE_TOKENS_MIN: Final = 6
"""No turn's line takes fewer, so no more turns than that are fetched."""

_Found = TypeVar("_Found")


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextRequest:
    """What is asked: `recall` has the query and all that a recall may be asked for (its token budget is set here)."""

    session: str
    recall: RecallRequest
    window_tokens: int = limits.WINDOW_TOKENS_DEFAULT
    tokenizer: str = DEFAULT_TOKENIZER


@dataclass(frozen=True, slots=True)
class ContextMemory:
    """A memory recalled, whether the block has it, and the constraint that holds instead of it ("" for none)."""

    recalled: RecalledMemory
    in_block: bool
    overridden_by: str


@dataclass(frozen=True, slots=True)
class TokenUse:
    """Tokens taken and allowed."""

    short_term: int
    recalled: int
    total: int
    budget: int
    tokenizer: str
    exact: bool


@dataclass(frozen=True, slots=True)
class ContextResponse:
    """The answer. `session` is None, `answer` is None, when that part is missing, and `missing` says why."""

    block: str
    session: SessionView | None
    prompt: SessionPrompt
    memories: tuple[ContextMemory, ...]
    answer: RecallResponse | None
    tokens: TokenUse
    degraded: bool
    missing: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class GetContext:
    """The use case."""

    store: SessionStore
    recall: Recall
    policies: OwnerPolicies
    tokenizers: Tokenizers
    clock: Clock
    telemetry: Telemetry
    _given_up: set[asyncio.Task[Any]] = field(default_factory=set)

    async def __call__(self, request: ContextRequest) -> ContextResponse:
        """Answer a request.

        Raises:
            InvalidInput: naming the field. NotFound: SESSION_NOT_FOUND. FailedPrecondition: SESSION_ENDED.
            Unavailable, DeadlineExceeded: neither the session nor the memories can be had.
        """
        check_count(request.window_tokens, "window_tokens", minimum=1, maximum=limits.WINDOW_TOKENS_MAX)
        tokenizer = self.tokenizers.get(request.tokenizer)
        if tokenizer is None:
            known = ", ".join(sorted(self.tokenizers))
            raise InvalidInput(
                Reason.FIELD_INVALID, "tokenizer is not known", field="tokenizer", metadata={"known": known}
            )
        budget = WindowBudget.of(request.window_tokens)
        view, answer, missing = await self._fetched(request, budget)
        for what in missing:
            self.telemetry.count("context_degraded_total", cause=what.partition(":")[0])
        overridden: dict[str, list[MemoryHead]] = {}
        if view is not None and answer is not None:
            overridden = self._overridden(view, answer, self.policies.of(request.recall.owner).vocabulary)
        parts = (request, budget, tokenizer, view, answer, missing, overridden)
        long = view is not None and sum(len(kept.turn.text) for kept in view.turns) > _THREAD_CHARS_MIN
        if long or tokenizer.name != DEFAULT_TOKENIZER:  # another's table may have to be read first
            return await asyncio.to_thread(self._put_together, *parts)
        return self._put_together(*parts)

    # Fetching ----------------------------------------------------------------------------------------------

    async def _fetched(
        self, request: ContextRequest, budget: WindowBudget
    ) -> tuple[SessionView | None, RecallResponse | None, tuple[str, ...]]:
        """Session and memories. Without a query the last thing the user said is asked, so the session comes first."""
        session = known_id(request.session)
        ends = _Ends.of(request.recall.deadline_seconds)
        reading = asyncio.create_task(self._session(request, session, budget))
        recalling: asyncio.Task[RecallResponse] | None = None
        try:
            if request.recall.query.strip() or request.recall.vector is not None:
                recalling = asyncio.create_task(self._recalled(request.recall, ends))
            view, missing = await ends.before(reading) or (None, (f"session: {Reason.DEADLINE_EXCEEDED.value}",))
            if recalling is None:
                asked = replace(request.recall, query="" if view is None else _last_said(view))
                recalling = asyncio.create_task(self._recalled(asked, ends))
            try:
                answer = await ends.before(recalling)
                if answer is None:
                    raise DeadlineExceeded(Reason.DEADLINE_EXCEEDED, "the time given for this context ran out")
                return view, answer, missing
            except (Unavailable, DeadlineExceeded) as error:
                if view is None:
                    raise
                return view, None, (*missing, f"memories: {error.reason.value}")
        finally:
            self._give_up(reading)
            if recalling is not None:
                self._give_up(recalling)

    def _give_up(self, task: asyncio.Task[Any]) -> None:
        """Cancel what is not done, without waiting: what hangs in a database that hangs ends late."""
        if task.done():
            if not task.cancelled():
                task.exception()  # it was told of already, or nobody asks any more
            return
        task.cancel()
        self._given_up.add(task)
        task.add_done_callback(self._gone)

    def _gone(self, task: asyncio.Task[Any]) -> None:
        self._given_up.discard(task)
        if not task.cancelled():
            task.exception()

    async def _recalled(self, asked: RecallRequest, ends: _Ends) -> RecallResponse:
        """Recall within what is left, so that it degrades by itself before it is given up."""
        return await self.recall(replace(asked, deadline_seconds=ends.left()))

    async def _session(
        self, request: ContextRequest, session: SessionId, budget: WindowBudget
    ) -> tuple[SessionView | None, tuple[str, ...]]:
        turns = min(limits.SESSION_TURNS_MAX, budget.short_term // _LINE_TOKENS_MIN)
        try:
            view = await self.store.read(
                request.recall.owner, session, turns=max(1, turns), touch=True, now=self.clock.now()
            )
        except (NotFound, FailedPrecondition):
            raise
        except MemoryServiceError as error:
            return None, (f"session: {error.reason.value}",)
        if view.status is SessionStatus.ENDED:
            raise session_ended()
        return view, ()

    # Overriding --------------------------------------------------------------------------------------------

    def _overridden(
        self, view: SessionView, answer: RecallResponse, vocabulary: Vocabulary
    ) -> dict[str, list[MemoryHead]]:
        """By constraint, the memories recalled that it holds instead of."""
        found: dict[str, list[MemoryHead]] = {}
        for path, item in view.fields.items():
            if not path.startswith(CONSTRAINTS):
                continue
            value: Any = item.value
            rule = _Rule.of(value, vocabulary)
            held = [memory.head for memory in answer.memories if rule.replaces(memory.head)]
            if held:
                found[path[len(CONSTRAINTS) :]] = held
        return found

    # Putting together --------------------------------------------------------------------------------------

    def _put_together(
        self,
        request: ContextRequest,
        budget: WindowBudget,
        tokenizer: Tokenizer,
        view: SessionView | None,
        answer: RecallResponse | None,
        missing: tuple[str, ...],
        overridden: Mapping[str, Sequence[MemoryHead]],
    ) -> ContextResponse:
        memories = answer.memories if answer else ()
        chinese = _is_chinese(request.recall.query, view, memories)
        prompt = SessionPrompt()
        if view is not None:
            prompt = session_prompt(
                view,
                budget=budget.short_term,
                tokenizer=tokenizer,
                counted_by=DEFAULT_TOKENIZER,
                chinese=chinese,
                overridden=overridden,
            )
        # A constraint that is not shown replaces nothing: what is remembered is then better than silence.
        held = {name: heads for name, heads in overridden.items() if name in prompt.constraints}
        by = {head.id: constraint for constraint, heads in held.items() for head in heads}
        standing = [memory for memory in memories if memory.head.id not in by]
        recalled, taken = "", frozenset[int]()
        if standing and budget.recalled:
            block = build_context_block(
                [memory.head for memory in standing],
                standings=[memory.standing for memory in standing],
                chinese=chinese,
                as_of=request.recall.as_of,
                token_budget=budget.recalled,
                estimate=tokenizer.count,
            )
            recalled, taken = block.text, frozenset(block.included)
        inside = {memory.head.id for place, memory in enumerate(standing) if place in taken}
        recalled_tokens = tokenizer.count(recalled)
        return ContextResponse(
            block=prompt.text + recalled,
            session=view,
            prompt=prompt,
            memories=tuple(ContextMemory(m, m.head.id in inside, by.get(m.head.id, "")) for m in memories),
            answer=answer,
            tokens=TokenUse(
                prompt.tokens,
                recalled_tokens,
                prompt.tokens + recalled_tokens,
                budget.everything,
                tokenizer.name,
                tokenizer.exact,
            ),
            degraded=bool(missing) or (answer is not None and answer.degraded),
            missing=missing,
        )


@dataclass(frozen=True, slots=True)
class _Ends:
    """When what is fetched must be there, by the event loop's clock; None for no limit."""

    at: float | None

    @classmethod
    def of(cls, deadline_seconds: float | None) -> _Ends:
        if deadline_seconds is None:
            return cls(None)
        least, most = _ANSWER_SECONDS
        kept_back = min(max(deadline_seconds / 10, least), most)
        return cls(asyncio.get_running_loop().time() + deadline_seconds - kept_back)

    def left(self) -> float | None:
        """Seconds left, None for no limit; 0 or less when none are."""
        return None if self.at is None else self.at - asyncio.get_running_loop().time()

    async def before(self, task: asyncio.Task[_Found]) -> _Found | None:
        """What a task comes to, None when it is late. The task is left running then."""
        left = self.left()
        await asyncio.wait({task}, timeout=None if left is None else max(_LAST_MOMENT_SECONDS, left))
        return task.result() if task.done() else None


@dataclass(frozen=True, slots=True)
class _Rule:
    """What a session's constraint is about, and so which memories it holds instead of.

    A predicate of one value is meant as a whole. Among many values, and without a predicate, the constraint is about
    what it shares words with; and without one only likings and ways of doing things give way, never an allergy.
    """

    predicate: str
    alone: bool
    words: frozenset[str]

    @classmethod
    def of(cls, value: Mapping[str, Any], vocabulary: Vocabulary) -> _Rule:
        named = str(value.get("predicate") or "")
        known = vocabulary.find(named) if named else None
        said = f"{value.get('text') or ''} {value.get('object') or ''}"
        alone = known is not None and known.cardinality is Cardinality.ONE
        return cls(known.name if known else named, alone, _words(said))

    def replaces(self, head: MemoryHead) -> bool:
        version = head.current
        shared = self.words & (words := _words(version.text))
        if self.predicate:
            same = version.assertion is not None and version.assertion.predicate == self.predicate
            return same and (self.alone or bool(shared))
        return version.kind in _GIVE_WAY and bool(shared) and 3 * len(shared) >= min(len(self.words), len(words))


def _words(text: str) -> frozenset[str]:
    return frozenset(word for word in topic_of(text).split() if not word.startswith("+"))


def _last_said(view: SessionView) -> str:
    """The last thing the user said, as far as a query may be long."""
    said = next((kept.turn.text for kept in reversed(view.turns) if kept.turn.role is TurnRole.USER), "")
    return said[: limits.QUERY_CHARS_MAX]


def _is_chinese(query: str, view: SessionView | None, memories: Sequence[RecalledMemory]) -> bool:
    """Whether the labels of a context are Chinese: all of them, so that one block never mixes two languages.

    By the last things the user said, taken together so that an "OK" or a number decides nothing; where they have no
    language, by the query, by the state, and last by the first memory.
    """
    said = [kept.turn.text for kept in view.turns if kept.turn.role is TurnRole.USER] if view else []
    block = view.block if view else None
    state = " ".join((block.topic, block.intent, *block.decisions, *block.pending)) if block else ""
    first = memories[0].head.current.text if memories else ""
    known = map(language_of, ("\n".join(said[-_TURNS_OF_LANGUAGE:]), query, state, first))
    return next((language for language in known if language != "und"), "en") == "zh"
