"""The port to what reads the state of a conversation (S2). By rule unless something better is put here."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from memory_service.domain.session.model import StateBlock, Turn


class StateReader(Protocol):
    """Reads what turns do to the state block.

    Contract: gives a new block only when the state changed, with `sequence` one more than the block's and the turns
    that changed it at the end of `turn_ids`; None otherwise. The same input gives the same block: the caller may
    ask again after another writer was faster. Quick, since the turns are acknowledged after it; a reader that needs
    longer gives None and improves the block later.
    """

    async def advance(
        self, block: StateBlock | None, turns: Sequence[Turn], before: Sequence[Turn], now: datetime
    ) -> StateBlock | None:
        """The block after `turns`, which followed `before`."""
        ...

    async def summarise(self, blocks: Sequence[StateBlock]) -> str:
        """One text that says what these blocks say (S10)."""
        ...
