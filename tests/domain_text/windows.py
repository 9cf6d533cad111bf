"""Labelled statements: whether they last, take place or pass, and when (E17); `data/windows.jsonl`.

Said on Wednesday 13 May 2026 at ten, in London or in Shanghai. `life` is what becomes of it: `standing` until
changed, `event` at a time, `passing` over by itself. `start` and `end` are the window of what stands or takes place;
of what passes, `end` is when it is over (its expiry may be up to a day and a half later, never earlier).
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

from memory_service.app.commands import Statement
from memory_service.app.drafts import Draft, Drafting

ZONES = {"en": ZoneInfo("Europe/London"), "zh": ZoneInfo("Asia/Shanghai")}
PASSING_MAX = timedelta(days=15)
GRACE = timedelta(hours=36)


@dataclass(frozen=True)
class Labelled:
    """One statement and what is true of it; times are local, None is open."""

    part: str
    language: str
    text: str
    life: str
    start: str | None
    end: str | None

    @property
    def zone(self) -> ZoneInfo:
        """The speaker's zone."""
        return ZONES[self.language]

    @property
    def said_at(self) -> datetime:
        """When it was said."""
        return datetime(2026, 5, 13, 10, tzinfo=self.zone)

    def time(self, value: str | None) -> datetime | None:
        """A local time of a label."""
        return None if value is None else datetime.fromisoformat(value).replace(tzinfo=self.zone)


def labelled() -> list[Labelled]:
    """Every statement of the set."""
    path = Path(__file__).parent / "data" / "windows.jsonl"
    return [Labelled(**json.loads(line)) for line in path.read_text("utf-8").splitlines()]


async def drafted(drafting: Drafting, one: Labelled) -> Draft:
    """What the service makes of it."""
    return await drafting.draft(Statement(text=one.text, time_zone=one.zone.key), one.said_at)


def life_of(draft: Draft, one: Labelled) -> str:
    """`standing`, `event` or `passing`, by what the draft will do."""
    if draft.expires_at is not None:
        return "passing"
    dated = draft.valid_from is not None and draft.valid_to is not None and draft.valid_to > one.said_at
    return "event" if draft.kind.value == "event" and dated else "standing"


def right_window(draft: Draft, one: Labelled) -> bool:
    """Whether it holds, or passes, when the label says."""
    start, end = one.time(one.start), one.time(one.end)
    if one.life != "passing":
        return (draft.valid_from, draft.valid_to) == (start, end)
    expires = draft.expires_at
    if expires is None or expires > one.said_at + PASSING_MAX:
        return False
    return end is None or end <= expires <= end + GRACE
