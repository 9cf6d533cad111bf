"""The table of a memory's life: what is in it, and what is not."""

from __future__ import annotations

import pytest

from memory_service.domain.errors import InternalError
from memory_service.domain.lifecycle import TRANSITIONS, State, check
from memory_service.domain.memory import Status, Tier
from memory_service.domain.records import JournalEvent

_ARCHIVED = State(Tier.ARCHIVE, Status.ACTIVE)
_OBSERVED = State(Tier.CANDIDATE, Status.ACTIVE)
_SETTLED = State(Tier.LONG_TERM, Status.ACTIVE)


def test_every_event_is_in_the_table() -> None:
    assert {event for event, _, _ in TRANSITIONS} == set(JournalEvent)


@pytest.mark.parametrize(
    ("event", "before", "after"),
    [
        (JournalEvent.CREATED, None, _OBSERVED),
        (JournalEvent.PROMOTED, _OBSERVED, _SETTLED),
        (JournalEvent.ARCHIVED, _SETTLED, _ARCHIVED),
        (JournalEvent.REACTIVATED, _ARCHIVED, _SETTLED),
        (JournalEvent.SUPERSEDED, _SETTLED, State(Tier.LONG_TERM, Status.SUPERSEDED)),
        (JournalEvent.FORGOTTEN, _ARCHIVED, None),
    ],
)
def test_what_a_life_is_made_of(event: JournalEvent, before: State | None, after: State | None) -> None:
    check(event, before, after)


@pytest.mark.parametrize(
    ("event", "before", "after"),
    [
        (JournalEvent.CREATED, _SETTLED, _SETTLED),
        (JournalEvent.PROMOTED, _SETTLED, _SETTLED),
        (JournalEvent.PROMOTED, _ARCHIVED, _SETTLED),
        (JournalEvent.SUPPORTED, _OBSERVED, _SETTLED),
        (JournalEvent.SUPPORTED, _ARCHIVED, _SETTLED),
        (JournalEvent.ARCHIVED, _ARCHIVED, _ARCHIVED),
        (JournalEvent.ARCHIVED, State(Tier.LONG_TERM, Status.RETRACTED), State(Tier.ARCHIVE, Status.RETRACTED)),
        (JournalEvent.ARCHIVED, State(Tier.LONG_TERM, Status.CONTESTED), _ARCHIVED),
        (JournalEvent.CONTESTED, State(Tier.LONG_TERM, Status.SUPERSEDED), State(Tier.LONG_TERM, Status.CONTESTED)),
        (JournalEvent.RETRACTED, _SETTLED, _SETTLED),
    ],
)
def test_what_is_not_in_the_table_is_a_bug(event: JournalEvent, before: State | None, after: State) -> None:
    with pytest.raises(InternalError, match=f"by being {event}"):
        check(event, before, after)
