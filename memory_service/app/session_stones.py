"""What a Forget leaves for the sessions that the forgotten came from: what is made of them is not to repeat it (B3).

A session's state is read without the owner's lock and carries on what turns said, so no look at words can tell
whether something forgotten is in it. A session's tombstone can: it names the Forget's revision and, by digest, the
turns. The state says after which Forget it began anew, and which turns made it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from memory_service.app.commands import SessionOrigin
from memory_service.app.workspace import Authorship, Workspace
from memory_service.domain.ids import Revision
from memory_service.domain.records import Tombstone, TombstoneScope
from memory_service.domain.session.model import SessionId


@dataclass(frozen=True, slots=True)
class SessionStones:
    """The tombstones of one session, as they stand while the owner is locked."""

    workspace: Workspace
    session: SessionId
    stones: tuple[Tombstone, ...]

    @classmethod
    async def of(cls, workspace: Workspace, session: SessionId) -> SessionStones:
        """Read them."""
        if not workspace.state.revision:
            return cls(workspace, session, ())
        digest = workspace.digest(TombstoneScope.SESSION, session)
        return cls(workspace, session, tuple(await workspace.change.tombstones([digest])))

    @property
    def revision(self) -> Revision:
        """Of the last Forget; 0 without any."""
        return max((stone.revision for stone in self.stones), default=Revision(0))

    def turns_among(self, turn_ids: Iterable[str]) -> list[str]:
        """Those of these turns that something forgotten came from."""
        digests = {digest for stone in self.stones for digest in stone.claims}
        return [i for i in turn_ids if _turn_digest(self.workspace, self.session, i) in digests] if digests else []

    def stop(self, origin: SessionOrigin) -> bool:
        """Whether this state may hold what was forgotten since it began, or comes from a turn that was forgotten
        before it was added."""
        return self.revision > origin.forgot_at or bool(self.turns_among(origin.turn_ids))


def stop_turns(workspace: Workspace, session: SessionId, turn_ids: Iterable[str], by: Authorship) -> None:
    """Stage the tombstone of a session whose turns something forgotten came from."""
    digests = tuple(_turn_digest(workspace, session, turn_id) for turn_id in turn_ids)
    digest = workspace.digest(TombstoneScope.SESSION, session)
    workspace.tombstone_of_digest(TombstoneScope.SESSION, digest, by, digests)


def _turn_digest(workspace: Workspace, session: SessionId, turn_id: str) -> bytes:
    return workspace.digest(TombstoneScope.SESSION, f"{session}/{turn_id}")
