"""The quantities of a statement, each with the kind of thing it counts: what can be said of one thing only once.

A price, a time of day, a date, a dose, a size: two statements about one thing that give it two of one kind cannot
both hold, whatever else they say. A number without any kind ("up to 75") may be of the only kind the other one has.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from memory_service.domain.text.analysis import stem_english
from memory_service.domain.text.numerals import ENGLISH_NUMBERS, ENGLISH_ORDINALS, chinese_number

Quantity = tuple[str, float | str]
"""A kind and a value. Kinds: `money`, `clock` (hours), `date` (month * 100 + day, month 0 when not named), `%`, `=`
and a word for what a number follows ("net 30"), `code` (its letters and digits), the word or measure word it counts,
or "" for none."""

CLOCK: Final = "clock"
DATE: Final = "date"
MONEY: Final = "money"
BARE: Final = ""
CODE: Final = "code"
_CODE_RE: Final = re.compile(r"\b(?=[a-z0-9_-]*[a-z]{2})(?=[a-z0-9_-]*\d{3})[a-z0-9]+(?:[_-][a-z0-9]+)*\b")

_MONTHS: Final = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
_MONTH: Final = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?"
    r"|nov(?:ember)?|dec(?:ember)?)"
)
_ORDINAL: Final = rf"(?:\d{{1,2}}(?:st|nd|rd|th)|{'|'.join(sorted(ENGLISH_ORDINALS, key=len, reverse=True))})"
_WORDS: Final = "|".join(
    sorted((word for word in ENGLISH_NUMBERS if word not in ("a", "an", "couple", "one")), key=len, reverse=True)
)
_HOUR: Final = rf"(?:\d{{1,2}}|{_WORDS}|one)"
_DATE_RES: Final = (
    re.compile(rf"\b(?P<m>{_MONTH})\s+(?:the\s+)?(?P<d>{_ORDINAL}|\d{{1,2}})\b"),
    re.compile(rf"\b(?:the\s+)?(?P<d>{_ORDINAL}|\d{{1,2}})\s+(?:of\s+)?(?P<m>{_MONTH})\b"),
    re.compile(rf"\bthe\s+(?P<d>{_ORDINAL})(?!\s+(?:of\s+)?[a-z])(?P<m>)"),
)
_CLOCK_RES: Final = (
    re.compile(rf"\b(?P<half>half)(?:\s+past)?\s+(?P<h>{_HOUR})\b(?P<m>)(?P<pm>)"),
    re.compile(r"\b(?P<h>\d{1,2})[:.](?P<m>[0-5]\d)\s*(?P<pm>[ap]\.?m\b)?(?P<half>)"),
    re.compile(rf"\b(?P<h>{_HOUR})\s*(?:(?P<pm>[ap]\.?m)\b|o['\u2019]?clock)(?P<m>)(?P<half>)"),
    re.compile(r"\b(?P<quarter>quarter (?:past|to))\s+(?P<h>\d{1,2}|[a-z]+)\b(?P<m>)(?P<pm>)(?P<half>)"),
)
_MONEY_RE: Final = re.compile(
    r"[$\u20ac\u00a3\u00a5\uffe5]\s*(?P<n>\d(?:[\d,]*\d)?(?:\.\d+)?)\s*(?P<k>k|m|thousand|million)?\b"
    r"|\b(?P<n2>\d(?:[\d,]*\d)?(?:\.\d+)?)\s*(?P<k2>k|thousand|million)?\s*(?:dollars?|euros?|pounds?|quid|bucks|usd|eur|gbp|rmb)\b"
)
_NUMBER_RE: Final = re.compile(
    rf"(?:(?P<label>[a-z]{{2,}})\s+)?(?P<n>\d(?:[\d,]*\d)?(?:\.\d+)?|\b(?:{_WORDS})\b)(?P<k>k\b)?[\s-]*(?P<unit>%|\u00b0c?|[a-z]+)?"
)
# "One" counts where it stands before what is measured, and else means somebody.
_ONE_RE: Final = re.compile(
    r"\b(?:one|an?)\s+(?=(?:minute|hour|day|week|fortnight|month|year|mile|kilo|pound)(?:s|['\u2019]s)?\b)"
)
_DATE_ZH_RE: Final = re.compile(
    r"(?:(?P<m>[\d一二三四五六七八九十]{1,3})月(?:份)?)?(?P<d>[\d一二三四五六七八九十廿]{1,3})[号日](?!线|楼|院|店|机|桌|门|馆|会|仓|库|车|厅|房|产|坑|桥)"
)
_CLOCK_ZH_RE: Final = re.compile(
    r"(?P<h>[\d一二两三四五六七八九十]{1,3})[点:](?!儿|\d*[%元])(?P<half>半)?(?P<m>[\d]{2})?"
)
_NTH_ZH_RE: Final = re.compile(r"第(?P<n>[\d一二三四五六七八九十]{1,3})(?P<unit>[个次届期层排名章节])")
_NUMBER_ZH_RE: Final = re.compile(
    r"(?<![周期拜])(?P<n>\d(?:[\d,]*\d)?(?:\.\d+)?|[一二两三四五六七八九十百千万零]+)\s*(?P<large>[万千百k])?"
    r"(?P<unit>元|块|毫克|微克|公斤|千克|公里|千米|厘米|分钟|小时|个月|[度斤克升米岁年天次人位名只条件台辆套层楼室房号页级档寸兆周倍折%])?"
)
_NO_UNIT_EN: Final = frozenset(
    word
    for line in (
        "and or to from at on in by for of the a an is are was were it they he she we i but so per each",
        "not no as with",
        "now again st nd rd th am pm this that than if when until till before after over instead",
    )
    for word in line.split()
)
_NUMBERED_EN: Final = frozenset(
    word
    for line in (
        "number no nr note item fact step entry record case ticket issue order page chapter part row line message",
        "memory thing test file doc document task question example",
    )
    for word in line.split()
)
_NO_LABEL_EN: Final = frozenset(
    word
    for line in (
        "is are was to at from for by about around roughly of in on with the and or than over under up only just",
        "now a an be takes take took costs cost",
        "need needs have has had got get like say says said not no out down back go",
        "goes us we me i you they it he she",
    )
    for word in line.split()
)
_UNIT_EN: Final = {
    "kg": "kilo",
    "kilogram": "kilo",
    "km": "kilometr",
    "min": "minut",
    "hr": "hour",
    "mg": "milligram",
}
_UNIT_ZH: Final = {"千克": "公斤", "千米": "公里", "名": "位", "人": "位"}
_SHORT_ZH_RE: Final = re.compile(
    r"(?P<head>[一二两三四五六七八九十]+)(?P<large>[万千百])(?P<tail>[一二三四五六七八九])"
)
_LARGE: Final = {"k": 1e3, "thousand": 1e3, "m": 1e6, "million": 1e6, "万": 1e4, "千": 1e3, "百": 1e2}
_PM: Final = re.compile(r"下午|晚上|傍晚|夜里|晚")


def quantities(folded: str) -> frozenset[Quantity]:
    """The quantities of a normalised text, English, Chinese or both."""
    text, found = folded, set[Quantity]()
    for take in (_codes, _dates, _clocks, _money):
        text = take(text, found)
    if folded.isascii():
        found.update(_numbers_en(text))
    else:
        text = _dates_zh(text, found)
        found.update(_numbers_zh(text))
        found.update(q for q in _numbers_en(re.sub(r"[\u4e00-\u9fff]+", " ; ", text)) if q[0].isascii() and q[0])
    return frozenset(found)


def clashing(earlier: Iterable[Quantity], later: Iterable[Quantity], left: frozenset[float]) -> list[str]:
    """The kinds of which both have some and not one in common; `left` are numbers the later one leaves behind."""
    mine, its = _by_kind(earlier), _by_kind(later)
    if left:
        its = {kind: values - left or values for kind, values in its.items()}
    kinds = [kind for kind in mine.keys() & its.keys() if not _meet(kind, mine[kind], its[kind])]
    if kinds or not mine or not its or mine.keys() & its.keys():
        return sorted(kinds)
    # A number of no kind is of the only kind the other one has.
    kinds_of_all = mine.keys() | its.keys()
    one_kind = len(mine) == len(its) == 1 and BARE in kinds_of_all and not {DATE, CLOCK} & kinds_of_all
    (theirs,), (own,) = (tuple(side.values())[:1] for side in (mine, its))
    return [BARE] if one_kind and theirs.isdisjoint(own) else []


def _by_kind(found: Iterable[Quantity]) -> dict[str, set[float | str]]:
    grouped: dict[str, set[float | str]] = {}
    for kind, value in found:
        grouped.setdefault(kind, set()).add(value)
    return grouped


def _meet(kind: str, mine: set[float | str], its: set[float | str]) -> bool:
    if mine & its:
        return True
    one, other = ([value for value in side if isinstance(value, float)] for side in (mine, its))
    if kind == DATE:
        return any(a % 100 == b % 100 and (a < 100 or b < 100) for a in one for b in other)
    if kind == CLOCK:
        # Nobody says of nine whether it is in the morning.
        return any(a % 12 == b % 12 for a in one for b in other)
    return False


_DECIMAL_RE: Final = re.compile(r"[0-9]+(?:\.[0-9]+)?")


def _number(text: str) -> float | None:
    bare = text.replace(",", "")
    if bare[:1].isdigit():
        # "G101八点" is a train and an hour: what is not all one number is none.
        return float(bare) if len(bare) <= 15 and _DECIMAL_RE.fullmatch(bare) else None
    if bare in ENGLISH_NUMBERS:
        return float(ENGLISH_NUMBERS[bare])
    value = chinese_number(bare)
    return None if value is None else float(value)


def _codes(text: str, found: set[Quantity]) -> str:
    """Passwords, references and the like, of letters and several digits in one word."""

    def taken(match: re.Match[str]) -> str:
        found.add((CODE, match.group()))
        return " ; "

    return _CODE_RE.sub(taken, text)


def _dates(text: str, found: set[Quantity]) -> str:
    def taken(match: re.Match[str]) -> str:
        day = match["d"]
        value = ENGLISH_ORDINALS.get(day) or int(re.sub(r"\D", "", day) or 0)
        month = _MONTHS.index(match["m"][:3]) + 1 if match["m"] else 0
        if not 0 < value <= 31:
            return match.group()
        found.add((DATE, month * 100.0 + value))
        return " ; "

    for pattern in _DATE_RES:
        text = pattern.sub(taken, text)
    return text


def _clocks(text: str, found: set[Quantity]) -> str:
    def taken(match: re.Match[str]) -> str:
        hour = _number(match["h"])
        if hour is None or hour > 24:
            return match.group()
        groups = match.groupdict()
        quarter = groups.get("quarter")
        hour += 0.5 if groups["half"] else 0.0
        hour += float(groups["m"] or 0) / 60
        hour += 0.0 if not quarter else 0.25 if quarter.endswith("past") else -0.25
        found.add((CLOCK, hour + 12 * bool(groups["pm"] and groups["pm"].startswith("p") and hour < 12)))
        return " ; "

    for pattern in _CLOCK_RES:
        text = pattern.sub(taken, text)
    return text


def _money(text: str, found: set[Quantity]) -> str:
    def taken(match: re.Match[str]) -> str:
        value = _number(match["n"] or match["n2"])
        if value is not None:
            found.add((MONEY, value * _LARGE.get(match["k"] or match["k2"] or "", 1.0)))
        return " ; "

    return _MONEY_RE.sub(taken, text)


def _numbers_en(text: str) -> Iterator[Quantity]:
    for match in _NUMBER_RE.finditer(_ONE_RE.sub("1 ", text)):
        value = _number(match["n"])
        if value is None:
            continue
        value *= 1e3 if match["k"] else 1.0
        unit, label = match["unit"] or "", match["label"] or ""
        if unit and unit not in _NO_UNIT_EN:
            stem = stem_english(unit)
            yield _UNIT_EN.get(stem, stem), value
        elif label in _NUMBERED_EN:
            continue  # names one of many, and is no value of anything
        elif label and label not in _NO_LABEL_EN and label not in ENGLISH_NUMBERS:
            yield f"={stem_english(label)}", value
        else:
            yield BARE, value


def _dates_zh(text: str, found: set[Quantity]) -> str:
    def date(match: re.Match[str]) -> str:
        day, month = _number(match["d"]), _number(match["m"]) if match["m"] else 0.0
        if day is None or month is None or not 0 < day <= 31 or not 0 <= month <= 12:
            return match.group()
        found.add((DATE, month * 100 + day))
        return ";"

    def clock(match: re.Match[str]) -> str:
        hour = _number(match["h"])
        if hour is None or hour > 24:
            return match.group()
        hour += 0.5 if match["half"] else float(match["m"] or 0) / 60
        late = bool(_PM.search(text[: match.start()])) and hour < 12
        found.add((CLOCK, hour + 12 * late))
        return ";"

    def nth(match: re.Match[str]) -> str:
        value = _number(match["n"])
        if value is not None:
            found.add((f"第{match['unit']}", value))
        return ";"

    for pattern, take in ((_DATE_ZH_RE, date), (_CLOCK_ZH_RE, clock), (_NTH_ZH_RE, nth)):
        text = pattern.sub(take, text)
    return text


def _numbers_zh(text: str) -> Iterator[Quantity]:
    for match in _NUMBER_ZH_RE.finditer(text):
        raw, unit = match["n"], match["unit"] or ""
        value = _tail_left_out(raw) or _number(raw)
        if value is None or raw in ("一", "万", "千", "百") or (len(raw) == 1 and not raw.isdigit() and not unit):
            continue
        value *= _LARGE.get(match["large"] or "", 1.0)
        yield (MONEY if unit in ("元", "块") else _UNIT_ZH.get(unit, unit)), value


def _tail_left_out(raw: str) -> float | None:
    """The value of 一万八 or 两千五, whose last unit is not said; None for others."""
    match = _SHORT_ZH_RE.fullmatch(raw)
    if not match:
        return None
    head, tail = chinese_number(match["head"]), chinese_number(match["tail"])
    if head is None or tail is None:
        return None
    return head * _LARGE[match["large"]] + tail * _LARGE[match["large"]] / 10
