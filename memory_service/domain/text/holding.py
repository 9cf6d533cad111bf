"""From when and until when a statement says that it holds: "since the 2nd", "until Friday", 从下个月起, 到周五为止.

Only what the words say plainly beside a resolved time counts. A past date after "from" is mostly where a thing comes
from ("the notes from Monday"), two bare weekdays are mostly a weekly schedule, and a clock time alone is a time of
day: none of these bound anything.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime
from typing import Final

from memory_service.domain.intervals import Window
from memory_service.domain.text.calendar_math import FINENESS, Granularity, TimeSpan
from memory_service.domain.text.traditional import to_simplified

_CHARS_MAX: Final = 280
_SENTENCE_RE: Final = re.compile(r"[。!?！？\n;；]+|(?<![ap]\.m)(?<!\bno)\.(?=\s|$)", re.IGNORECASE)

_SINCE_RE: Final = re.compile(
    r"(?:\b(?:ever\s+since|since|starting(?:\s+(?:from|on))?|beginning(?:\s+(?:from|on|in))?|effective(?:\s+from)?"
    r"|with\s+effect\s+from|as\s+(?:of|from))\s+(?:the\s+|about\s+|around\s+|early\s+|late\s+|mid[- ])*"
    r"|(?:自从|打从|自打|自)\s*)$",
    re.IGNORECASE,
)
_FROM_RE: Final = re.compile(r"(?:\bfrom\s+(?:the\s+|about\s+|around\s+)*|从\s*)$", re.IGNORECASE)
_ONWARDS_RE: Final = re.compile(
    r"\s*(?:\b(?:on|onwards?|forward|forth)\b(?!\s+(?:the|my|a)\b)|份?(?:那天)?(?:起|开始|以来|始)(?!来|床|飞|身|点|草))",
    re.IGNORECASE,
)
_NOT_UNTIL_RE: Final = re.compile(
    r"(?:\bnot|n['\u2019]t|\bnever|\bno\s+\w+)\b[^,.;]{0,40}\b(?:until|till)\s+(?:the\s+)?$", re.I
)
_UNTIL_RE: Final = re.compile(
    r"(?:\b(?:until|till|through|up\s+(?:to|until)|valid\s+(?:to|until|through)|expires?(?:\s+on)?)\s+"
    r"(?:the\s+|about\s+|around\s+)*"
    r"|(?:一直|直|截|截止|持续|延长?|有效期?|待|住|留|用|干|做|忙|休|病|借|放|关|开|租|值|带|只|限)到\s*"
    r"|(?:截至|截止|有效期至|有效至|延至|至)\s*)$",
    re.IGNORECASE,
)
_YEARS_RE: Final = re.compile(
    r"\d{4}\D{1,24}\d{4}|[\d零〇一二三四五六七八九]{4}年.{0,5}[到至~\u2014-].{0,1}[\d零〇一二三四五六七八九]{4}年"
)
_RANGE_RE: Final = re.compile(r"\s*(?:to|until|till|through|-|\u2013|\u2014|到|至)\s*\S", re.IGNORECASE)
_CLAUSE_EDGES: Final = ",;:，；：、-\u2014()（）"
_CLAUSE_END_RE: Final = re.compile(r"\s*(?:$|[,;.!?，；。！？)）]|[\u4e00-\u9fff])")
_TO_RE: Final = re.compile(r"\s*(?:to|until|till|through|-|\u2013|\u2014|到|至)\s*$", re.IGNORECASE)
_UNTIL_AFTER_RE: Final = re.compile(
    r"\s*(?:为止|截止|到期|失效|作废|之?前(?:都|一直|有效|不)|以前(?:都|一直|有效|不)|结束(?!后))"
)
_ONLY_THEN_RE: Final = re.compile(r"[\s,，]*(?:才|再|就)")
_PREPOSITION_RE: Final = re.compile(r"^(?:(since|starting|from)|(until|till)|(through))\b[\s-]*", re.IGNORECASE)
_CHANGED_RE: Final = re.compile(
    r"\b(?:moved|switched|changed|became|started|joined|transferred|swapped|migrated|converted|upgraded"
    r"|reverted|roll(?:ed)?\s+(?:[\w.]+\s+){0,4}back|went\s+back\s+to|took\s+over|taken\s+over|(?:got|was|been)\s+(?:promoted|transferred|moved)|went\s+(?:vegan|vegetarian|keto))\b"
    r"|(?<!不)(?:搬[到去进家来了]|搬(?=[的过])|换[成到了]|改[成为用到]|改(?=[的了])|转[到成岗正]|升[为成职]|升(?=了)|调[到去]"
    r"|切[到换]|(?:换|改|切|调|搬|转|退|滚)回|回滚|恢复[成到]|入职|加入|接手|接任|上任|开始|当上|成为|戒了)",
    re.IGNORECASE,
)
_BEFORE_RE: Final = re.compile(r"\bbefore\s+(?:the\s+)?$", re.IGNORECASE)
_BEFORE_AFTER_RE: Final = re.compile(r"\s*(?:之前|以前)(?!要|得|必须|会|能)")
_LASTED_RE: Final = re.compile(
    r"\b(?:lived|worked|led|used to|was|were|belonged|stayed)\b|(?<![要会得将想])(?:一直|住在|都是|都在|还是|还在)"
    r"|我(?:是|在|用|叫|做|当|归)(?!的)",
    re.IGNORECASE,
)
"""Tells of a state, which what "before" names ended; "send it before March" tells of none."""
_BACK_RE: Final = re.compile(r"(?:last|past)\s|(?:最近|过去|近)", re.IGNORECASE)
_SO_FAR_RE: Final = re.compile(
    r"(?:\b(?:have|has)|['\u2019](?:ve|s))\s+(?:\w+\s+)?been\b|一直|都在|都是", re.IGNORECASE
)
"""Tells of what has lasted until now."""
_BARE_WEEKDAY_RE: Final = re.compile(
    r"(?:周|星期|礼拜)[一二三四五六日天]|(?:mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?\.?",
    re.IGNORECASE,
)


def held_window(text: str, spans: Sequence[TimeSpan], said_at: datetime) -> Window:
    """The stretch of time in which `text` says it holds; unbounded where it says none.

    Args:
        text: one or few sentences; of a text over 280 characters nothing is read, since it says other things too.
        spans: its time expressions, resolved (`find_times`).
        said_at: when it was said (aware), the clock against which "from Monday" is ahead.

    Returns:
        The start of what "since" or "from" names. The end of what "until" names, and so of the whole day of "until
        Friday"; but "until March" ends where March begins, and a clock time ends at that minute.
    """
    if len(text) > _CHARS_MAX:
        return Window()
    text = to_simplified(text)
    starts: list[tuple[TimeSpan, datetime]] = []
    ends: list[tuple[TimeSpan, datetime]] = []
    changed = _CHANGED_RE.search(text) is not None
    for index, span in enumerate(spans):
        if not span.day_said and span.granularity not in (Granularity.MINUTE, Granularity.HOUR):
            continue
        before = text[_sentence_start(text, span) : span.text_span[0]]
        after = text[span.text_span[1] :]
        own = _PREPOSITION_RE.match(text[slice(*span.text_span)])
        ahead = span.end > said_at
        if _begins(before, after, own, ahead) or (
            span.granularity is Granularity.RANGE
            and own is None
            and (_FROM_RE.search(before) or _YEARS_RE.match(text[slice(*span.text_span)]))
        ):
            starts.append((span, span.start))
            if span.granularity is Granularity.RANGE and own is None and not _ONWARDS_RE.match(after):
                ends.append((span, span.end))
        elif _so_far(text, span):
            starts.append((span, span.start))
        elif _ended_by(text, before, after, span):
            ends.append((span, span.start))
        elif _NOT_UNTIL_RE.search(before + (own.group() if own else "")):
            starts.append((span, span.start))
        elif (_stops(before, after, own) or (index and starts and _TO_RE.search(before))) and (
            not _ONLY_THEN_RE.match(after)
        ):
            ends.append((span, _end(span, own, before)))
    if not starts and not ends and changed and len(spans) == 1 and spans[0].day_said and spans[0].start <= said_at:
        starts.append((spans[0], spans[0].start))
    return _window(text, starts, ends)


def looks_back(text: str, span: TimeSpan) -> bool:
    """Whether a time is the stretch up to now: "the last two months", 最近三周."""
    return span.granularity is Granularity.RANGE and _BACK_RE.match(text, span.text_span[0]) is not None


def _so_far(text: str, span: TimeSpan) -> bool:
    return looks_back(text, span) and _SO_FAR_RE.search(text) is not None


def _ended_by(text: str, before: str, after: str, span: TimeSpan) -> bool:
    """Whether a state was only before that time: "before March I lived in Bonn", 三月之前我住在波恩."""
    if _BEFORE_RE.search(before) is None and _BEFORE_AFTER_RE.match(after) is None:
        return False
    return _LASTED_RE.search(text) is not None and FINENESS[span.granularity] >= FINENESS[Granularity.DAY]


def _sentence_start(text: str, span: TimeSpan) -> int:
    found = 0
    for match in _SENTENCE_RE.finditer(text, 0, span.text_span[0]):
        found = match.end()
    return found


def _begins(before: str, after: str, own: re.Match[str] | None, ahead: bool) -> bool:
    if _TO_RE.search(before) and _FROM_RE.search(before) is None and own is None:
        return False
    if _ONWARDS_RE.match(after) or _SINCE_RE.search(before):
        return True
    if own is not None and own.group(1):
        return ahead or own.group(1).lower() != "from"
    if _FROM_RE.search(before) is None or re.match(r"\s*的", after):
        return False
    if _RANGE_RE.match(after):
        return True
    # "the notes from Monday are here": only at the edge of a clause does "from" say when something begins.
    lead = _FROM_RE.sub("", before).rstrip()
    return ahead and (not lead or lead[-1] in _CLAUSE_EDGES or _CLAUSE_END_RE.match(after) is not None)


def _stops(before: str, after: str, own: re.Match[str] | None) -> bool:
    if own is not None and (own.group(2) or own.group(3)):
        return True
    return _UNTIL_RE.search(before) is not None or _UNTIL_AFTER_RE.match(after) is not None


def _end(span: TimeSpan, own: re.Match[str] | None, before: str) -> datetime:
    if span.granularity in (Granularity.MINUTE, Granularity.HOUR):
        return span.start
    inclusive = (own is not None and own.group(3) is not None) or re.search(r"through\s+$", before, re.I) is not None
    english = re.search(r"[a-z]\s*$", before, re.I) is not None or own is not None
    long = FINENESS[span.granularity] >= FINENESS[Granularity.MONTH]
    return span.start if long and english and not inclusive else span.end


def _window(
    text: str, starts: Sequence[tuple[TimeSpan, datetime]], ends: Sequence[tuple[TimeSpan, datetime]]
) -> Window:
    if len(starts) > 1 or len(ends) > 1:
        return Window()
    if starts and ends and all(_is_bare_weekday(text, span) for span, _ in (*starts, *ends)):
        return Window()
    window = Window(starts[0][1] if starts else None, ends[0][1] if ends else None)
    return Window() if window.empty else window


def _is_bare_weekday(text: str, span: TimeSpan) -> bool:
    return _BARE_WEEKDAY_RE.fullmatch(text[slice(*span.text_span)].strip()) is not None
