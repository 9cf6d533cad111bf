"""When a statement holds or passes, read from its wording; a labelled set with a hold-out part (E17)."""

from __future__ import annotations

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_service.domain.intervals import Window, concurrent
from memory_service.domain.text import find_times
from memory_service.domain.text.asked import time_asked, times_asked, without_time
from memory_service.domain.text.holding import held_window
from tests.app.harness import World
from tests.domain_text.windows import drafted, labelled, life_of, right_window

FLOORS = {
    ("development", "en"): (21, 21),
    ("development", "zh"): (20, 20),
    ("hold-out", "en"): (20, 18),
    ("hold-out", "zh"): (17, 17),
}
"""Of about 20 each: how many lives and how many windows are right."""

SHANGHAI = ZoneInfo("Asia/Shanghai")
NOW = datetime(2026, 5, 13, 10, tzinfo=SHANGHAI)


@pytest.mark.parametrize(("part", "language"), sorted(FLOORS))
async def test_lives_and_windows_of_the_labelled_statements(part: str, language: str) -> None:
    drafting = World().changes.drafting
    chosen = [one for one in labelled() if (one.part, one.language) == (part, language)]
    drafts = [(await drafted(drafting, one), one) for one in chosen]
    lives = sum(life_of(draft, one) == one.life for draft, one in drafts)
    windows = sum(right_window(draft, one) for draft, one in drafts)
    least = FLOORS[part, language]
    assert lives >= least[0]
    assert windows >= least[1]


async def test_what_lasts_is_never_let_lapse() -> None:
    """The costly mistake: a standing statement that stops being recalled."""
    drafting = World().changes.drafting
    for one in labelled():
        if one.life == "standing":
            draft = await drafted(drafting, one)
            assert draft.expires_at is None
            assert draft.valid_to is None or one.end is not None or draft.valid_to <= one.said_at


@pytest.mark.parametrize(
    "text", ["Is it open until Friday?", "If I lived there until May", "我是不是从三月开始上班？"]
)
async def test_what_is_not_stated_bounds_nothing(text: str) -> None:
    draft = await World().changes.drafting.draft(_statement(text), NOW)
    assert (draft.valid_from, draft.valid_to, draft.expires_at) == (None, None, None)


async def test_the_writers_own_bounds_come_before_the_wording() -> None:
    start = datetime(2026, 1, 1, tzinfo=UTC)
    draft = await World().changes.drafting.draft(_statement("Since March I work nights", valid_from=start), NOW)
    assert (draft.valid_from, draft.valid_to) == (start, None)


async def test_a_turn_of_a_conversation_is_a_record_and_never_expires_by_its_wording() -> None:
    draft = await World().changes.drafting.draft(
        _statement("I'm in Porto until Sunday", session="s", process="conversation"), NOW
    )
    assert draft.expires_at is None


def _statement(text: str, **given: object):
    from memory_service.app.commands import Statement

    return Statement(text=text, time_zone=SHANGHAI.key, **given)  # type: ignore[arg-type]


times = st.none() | st.integers(0, 12).map(lambda n: datetime(2026, 1, 1 + n, tzinfo=UTC))
windows = st.builds(Window, times, times)


@given(windows, windows)
def test_a_cut_leaves_exactly_what_is_outside(held: Window, cut: Window) -> None:
    parts = [part for part in held.without(cut) if part is not None]
    for day in range(-1, 15):
        at = datetime(2026, 1, 1, 12, tzinfo=UTC).replace(day=max(1, day + 1))
        kept = sum(part.holds(at) for part in parts)
        assert kept == (held.holds(at) and not (cut.holds(at) and not cut.empty) and not held.empty)
    assert not any(part.empty or part.overlaps(cut) for part in parts)


@given(st.lists(windows, max_size=8))
def test_groups_share_no_moment_and_keep_everything(items: list[Window]) -> None:
    groups = concurrent(items, lambda window: window)
    assert sorted(map(repr, (w for group in groups for w in group))) == sorted(map(repr, items))
    for number, group in enumerate(groups):
        for other in groups[number + 1 :]:
            assert not any(a.overlaps(b) for a in group for b in other)


@given(st.text(max_size=120))
def test_any_text_has_a_window_that_is_not_empty(text: str) -> None:
    assert not held_window(text, find_times(text, NOW, SHANGHAI), NOW).empty


@pytest.mark.parametrize(
    ("query", "day", "words"),
    [
        ("Which editor did I use three months ago?", "2026-02-13", "three months ago"),
        ("我三个月前用的是什么编辑器", "2026-02-13", "三个月前"),
        ("What was my title on February 10th?", "2026-02-10", "February 10th"),
        ("The screenshot's dated 1 March, who led us then?", "2026-03-01", "1 March"),
        ("去年三月我住在哪里？", "2025-03-16", "去年三月"),
        ("一月底我在执行哪种饮食法？", "2026-01-31", "一月底"),
        ("What did I drive in 2019?", "2019-07-02", "in 2019"),
        ("Where did I live in January?", "2026-01-16", "in January"),
        ("Which editor do I use?", None, ""),
        ("What do I have on tomorrow?", None, ""),
        ("明天我有什么安排？", None, ""),
        ("Did I move between March 3 and March 9?", None, ""),
        ("What am I doing on 1 June?", None, ""),
    ],
)
def test_the_past_time_that_a_question_names(query: str, day: str | None, words: str) -> None:
    asked = time_asked(query, NOW, SHANGHAI)
    if day is None:
        assert asked is None
        return
    assert asked is not None
    assert (f"{asked.at.astimezone(SHANGHAI):%Y-%m-%d}", asked.words) == (day, words)
    assert words not in without_time(query, asked.at, NOW, SHANGHAI)


def test_a_question_of_nothing_but_a_time_is_left_as_it_is() -> None:
    at = datetime(2026, 5, 12, 4, tzinfo=UTC)
    assert without_time("昨天", at, NOW, SHANGHAI) == "昨天"


def test_the_times_a_question_names_are_wider_where_its_zone_is_not_known() -> None:
    known, unknown = times_asked("tonight?", NOW, SHANGHAI), times_asked("tonight?", NOW, None)
    (one,), (other,) = known.windows, unknown.windows
    assert other[0] < one[0] < one[1] < other[1]
    assert not known.past
    assert times_asked("what did I do last night?", NOW, SHANGHAI).past
