"""How well memories fit the time a question is about: a factor on their scores (E17).

What takes place at another time than the one that was asked for, and what is over, is less of an answer; what is for
the moment overrides, while it lasts, what usually holds.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

import numpy as np

from memory_service.domain.memory import Kind
from memory_service.domain.retrieval.columns import Floats, Ints
from memory_service.domain.retrieval.rows import KIND_CODE
from memory_service.domain.retrieval.snapshot import OwnerSnapshot
from memory_service.domain.retrieval.times import NEVER_AFTER, NEVER_BEFORE, microseconds
from memory_service.domain.text.asked import AskedTimes

AT_THE_TIME: Final = 1.4
AT_ANOTHER: Final = 0.75
OVER: Final = 0.6
FOR_THE_MOMENT: Final = 1.25
"""Chosen on the development set of change over time; see docs/evaluation.md."""

_MOMENT: Final = timedelta(days=15)
_PASSING: Final = (Kind.EVENT, Kind.CONTEXT, Kind.TEMPORARY_PREFERENCE)


def timing(snapshot: OwnerSnapshot, rows: Ints, asked: AskedTimes, now: datetime) -> Floats:
    """The factor of each of `rows`, shape (rows,): 1 for what has no time of its own.

    Args:
        asked: the times a question names, and whether it asks about the past.
        now: the moment the answer is about.
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
    expiring = columns["expires_at"][rows]
    brief = np.isin(kinds, [KIND_CODE[kind] for kind in _PASSING])
    factor[brief & (expiring > moment) & (expiring <= microseconds(now + _MOMENT))] *= FOR_THE_MOMENT
    return factor
