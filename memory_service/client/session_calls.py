"""The calls of sessions; see `Conversation` for the handy form."""

from __future__ import annotations

from collections.abc import Sequence

from memory_service.client import encode, rpcs
from memory_service.client import session_values as s
from memory_service.client import session_wire as wire
from memory_service.client import types as t
from memory_service.client.plumbing import Plumbing
from memory_service.v1 import session_service_pb2 as pb


class SessionCalls(Plumbing):
    """Base of `Core`; arguments common to all calls are told there."""

    async def create_session(
        self,
        *,
        agent: str | None = None,
        record_episodes: bool | None = None,
        intents: Sequence[s.Intent | str] | None = None,
        constraints: wire.Constraints | None = None,
        tasks: wire.Tasks | None = None,
        user: str | None = None,
        request_id: str | None = None,
        timeout_seconds: float | None = None,
    ) -> s.Session:
        """Begin a session, and have the user's memories loaded meanwhile.

        Args:
            record_episodes: keep its turns in the episodic log; the tenant's setting when None.
            intents, constraints, tasks: fields to begin with.
        """
        request = pb.CreateSessionRequest(
            user=self._user(user),
            agent=self._agent(agent),
            record_episodes=record_episodes,
            state=wire.state_out(intents, None, constraints, tasks),
            request_id=self._request_id(request_id),
        )
        response = await self._call(rpcs.CREATE_SESSION, request, timeout_seconds, request.request_id)
        return wire.session(response.session)

    async def get_session(
        self,
        session_id: str,
        *,
        turns: int | None = None,
        user: str | None = None,
        timeout_seconds: float | None = None,
    ) -> s.Session:
        """Read a session with its newest `turns` (20 when None, at most 200). Looking does not keep it alive."""
        request = pb.GetSessionRequest(
            user=self._user(user),
            session_id=encode.text(session_id, "session_id"),
            turns=None if turns is None else encode.integer(turns, "turns"),
        )
        return wire.session((await self._call(rpcs.GET_SESSION, request, timeout_seconds)).session)

    async def list_sessions(
        self,
        *,
        page_size: int = 0,
        page_token: str = "",
        user: str | None = None,
        timeout_seconds: float | None = None,
    ) -> s.SessionPage:
        """Read one page of a user's sessions, newest first."""
        request = pb.ListSessionsRequest(
            user=self._user(user),
            page_size=encode.integer(page_size, "page_size"),
            page_token=encode.text(page_token, "page_token"),
        )
        return wire.session_page(await self._call(rpcs.LIST_SESSIONS, request, timeout_seconds))

    async def append_turns(
        self,
        session_id: str,
        turns: Sequence[s.Turn],
        *,
        user: str | None = None,
        timeout_seconds: float | None = None,
    ) -> s.AppendResult:
        """Add turns, at most 100. One with an id that the session has is the same turn and changes nothing."""
        messages = [wire.turn_out(turn, f"turns[{place}]") for place, turn in enumerate(turns)]
        request = pb.AppendTurnsRequest(
            user=self._user(user), session_id=encode.text(session_id, "session_id"), turns=messages
        )
        response = await self._call(rpcs.APPEND_TURNS, request, timeout_seconds)
        return wire.append_result(response, [message.id for message in messages])

    async def update_session(
        self,
        session_id: str,
        *,
        intents: Sequence[s.Intent | str] | None = None,
        slots: wire.Slots | None = None,
        constraints: wire.Constraints | None = None,
        tasks: wire.Tasks | None = None,
        remove: Sequence[str] = (),
        etag: str = "",
        seen_version: int | None = None,
        device: str | None = None,
        user: str | None = None,
        timeout_seconds: float | None = None,
    ) -> s.UpdateResult:
        """Set fields, and remove others; all or none. What is not named stays as it is.

        Args:
            intents: the whole stack, the present one last; [] empties it.
            slots: by name, the value and the id of the turn in which the user answered.
            constraints, tasks: by an id of your own.
            remove: paths such as "slots.city".
            etag: refuse (`Aborted`) if any field changed since it was read.
            seen_version: the session's `version` when it was read: the answer tells which fields another had
                set since, and this change overwrote.
        """
        state = wire.state_out(intents, slots, constraints, tasks)
        request = pb.UpdateSessionRequest(
            user=self._user(user),
            session_id=encode.text(session_id, "session_id"),
            state=state,
            update_mask=wire.mask_of(state, remove, no_intents=intents is not None),
            etag=encode.text(etag, "etag"),
            seen_version=None if seen_version is None else encode.integer(seen_version, "seen_version", 2**64 - 1),
            device=encode.text(self.device if device is None else device, "device"),
        )
        # With an etag, a change whose answer was lost would look like another's when it is sent again.
        rpc = rpcs.UPDATE_SESSION_ONCE if etag else rpcs.UPDATE_SESSION
        return wire.update_result(await self._call(rpc, request, timeout_seconds))

    async def end_session(
        self, session_id: str, *, user: str | None = None, timeout_seconds: float | None = None
    ) -> s.Session:
        """End a session: its turns and fields go, its state block can be read for a day."""
        request = pb.EndSessionRequest(user=self._user(user), session_id=encode.text(session_id, "session_id"))
        return wire.session((await self._call(rpcs.END_SESSION, request, timeout_seconds)).session)

    async def get_context(
        self,
        session_id: str,
        query: str = "",
        *,
        window_tokens: int = 0,
        limit: int = 0,
        where: t.MemoryFilter | None = None,
        consistency: t.Consistency | None = None,
        profile: str = "",
        tokenizer: str = "",
        read_only: bool = False,
        agent: str | None = None,
        user: str | None = None,
        timeout_seconds: float | None = None,
    ) -> s.SessionContext:
        """What an agent should know before its next turn, as a block for the prompt and as data.

        Args:
            query: what the turn is about; the last thing the user said when empty.
            window_tokens: of the model's window (8,192 when 0) the session gets at most 40%, memories 20%.
            tokenizer: "o200k_base" when empty, "cl100k_base", or "bytes": a bound for any other model.

        Sees this client's own changes, as `recall` does.
        """
        owner = self._user(user)
        chosen = consistency or self._causality.consistency(owner)
        request = pb.GetContextRequest(
            user=owner,
            session_id=encode.text(session_id, "session_id"),
            query=encode.text(query, "query"),
            window_tokens=encode.integer(window_tokens, "window_tokens"),
            profile=encode.text(profile, "profile"),
            limit=encode.integer(limit, "limit"),
            filter=encode.memory_filter(where),
            consistency=encode.consistency(chosen),
            agent=self._agent(agent),
            tokenizer=encode.text(tokenizer, "tokenizer"),
            read_only=read_only,
        )
        began = self._causality.begin()
        result = wire.session_context(await self._call(rpcs.GET_CONTEXT, request, timeout_seconds))
        if result.token:
            full = chosen is not None and chosen.requirement == "fully_consistent"
            self._causality.learn_read(owner, began=began, token=result.token, context=result.context, full=full)
        return result

    async def get_preferences(
        self,
        predicates: Sequence[str],
        *,
        consistency: t.Consistency | None = None,
        agent: str | None = None,
        user: str | None = None,
        timeout_seconds: float | None = None,
    ) -> dict[str, s.Preference]:
        """Look up what is remembered under predicates, without search; by the predicates' own names."""
        owner = self._user(user)
        request = pb.GetPreferencesRequest(
            user=owner,
            predicates=encode.texts(predicates, "predicates"),
            agent=self._agent(agent),
            consistency=encode.consistency(consistency or self._causality.consistency(owner)),
        )
        return wire.preferences(await self._call(rpcs.GET_PREFERENCES, request, timeout_seconds))
