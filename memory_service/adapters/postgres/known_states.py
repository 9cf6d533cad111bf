"""The states that this process committed last, so that the next change of an owner need not read its own again.

A known state is used only after PostgreSQL has confirmed, while it locked the owner's row, that the row is still the
version it was read from: same revision, written by the same transaction.
"""

from __future__ import annotations

import uuid
from collections import OrderedDict
from dataclasses import dataclass

from memory_service.domain.records import OwnerState

KNOWN_STATES_MAX = 4_096
KNOWN_DEVICES_MAX = 64
"""Longer clocks are not remembered, so that all together take no more than some 40 MiB."""


@dataclass(frozen=True, slots=True)
class KnownState:
    """An owner's state and the version of the row that holds it.

    Attributes:
        xmin: the transaction that wrote the row.
        epoch: `Database.epoch` when it was learnt; another one may be of another history (a restored backup).
    """

    state: OwnerState
    xmin: int
    epoch: int


class KnownStates:
    """The most recently used ones, by owner."""

    def __init__(self) -> None:
        self._states: OrderedDict[uuid.UUID, KnownState] = OrderedDict()

    def taken(self, owner: uuid.UUID, epoch: int) -> KnownState | None:
        """The owner's, which is forgotten until it is put back: a change that fails leaves nothing behind."""
        known = self._states.pop(owner, None)
        return None if known is None or known.epoch != epoch else known

    def put(self, owner: uuid.UUID, known: KnownState) -> None:
        """Remember, unless it is too large."""
        if len(known.state.clock) > KNOWN_DEVICES_MAX:
            return
        self._states[owner] = known
        self._states.move_to_end(owner)
        while len(self._states) > KNOWN_STATES_MAX:
            self._states.popitem(last=False)
