"""How well memories fit the time a question is about: a factor on their scores (E17).

What takes place at another time than the one that was asked for, and what is over, is less of an answer; what is for
the moment overrides, while it lasts, what usually holds.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

import numpy as np

from memory_service.domain.memory import Kind
from memory_service.domain.retrieval.columns import ABSENT, Floats, Ints
from memory_service.domain.retrieval.filters import ahead_rows
from memory_service.domain.retrieval.rows import KIND_CODE
from memory_service.domain.retrieval.snapshot import OwnerSnapshot
from memory_service.domain.retrieval.times import NEVER_AFTER, NEVER_BEFORE, microseconds
from memory_service.domain.text.asked import AskedTimes

AT_THE_TIME: Final = 1.4
AT_ANOTHER: Final = 0.75
OVER: Final = 0.6
FOR_THE_MOMENT: Final = 1.25
AHEAD: Final = 0.85
IN_THE_WAY: Final = 0.6
"""Chosen on the development set of change over time; see docs/evaluation.md."""

NO_TIMES: Final = AskedTimes()
_MOMENT: Final = timedelta(days=15)
_PASSING: Final = (Kind.EVENT, Kind.CONTEXT, Kind.TEMPORARY_PREFERENCE)


def timing(snapshot: OwnerSnapshot, rows: Ints, asked: AskedTimes, now: datetime, *, ahead: bool = False) -> Floats:
    """The factor of each of `rows`, shape (rows,): 1 for what has no time of its own.

    Args:
        asked: the times a question names, and whether it asks about the past.
        now: the moment the answer is about.
        ahead: whether it may as well ask about what is to come.
    """
    columns = snapshot.rows
    moment = microseconds(now)
    factor = np.ones(len(rows))
    kinds = columns["kind"][rows]
    starts, ends = columns["valid_from"][rows], columns["valid_to"][rows]
    dated = (kinds == KIND_CODE[Kind.EVENT]) & (starts > NEVER_BEFORE) & (ends < NEVER_AFTER)
    if asked.windows:
        met = np.zeros(len(rows), np.bool_)
        for start, end in asked.windows:
            met |= (starts < microseconds(end)) & (microseconds(start) < ends)
        factor[dated & met] *= AT_THE_TIME
        factor[dated & ~met] *= AT_ANOTHER
    if not asked.past:
        factor[dated & (ends <= moment)] *= OVER
    if not ahead:
        factor *= presence(snapshot, rows, now, asked)
    expiring = columns["expires_at"][rows]
    brief = np.isin(kinds, [KIND_CODE[kind] for kind in _PASSING])
    factor[brief & (expiring > moment) & (expiring <= microseconds(now + _MOMENT))] *= FOR_THE_MOMENT
    return factor


def presence(snapshot: OwnerSnapshot, rows: Ints, now: datetime, asked: AskedTimes = NO_TIMES) -> Floats:
    """The factor that puts states which have not begun behind those that hold, most of all behind one of their slot.

    What holds at a time that was asked about is behind nothing. Shape (rows,).
    """
    factor = np.ones(len(rows))
    ahead = ahead_rows(snapshot, now)[rows]
    columns = snapshot.rows
    for start, end in asked.windows:
        ahead &= ~(
            (columns["valid_from"][rows] < microseconds(end)) & (microseconds(start) < columns["valid_to"][rows])
        )
    if not ahead.any():
        return factor
    slots = np.where(columns["predicate"][rows] != ABSENT, columns["slot"][rows], ABSENT)
    taken = slots[~ahead & (slots != ABSENT)]
    factor[ahead] = np.where(np.isin(slots[ahead], taken), IN_THE_WAY, AHEAD)
    return factor
