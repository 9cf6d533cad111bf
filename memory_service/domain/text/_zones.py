"""Time zones said beside a clock time: "9 am London time", "3 pm UTC", 北京时间九点."""

from __future__ import annotations

import re
from typing import Final
from zoneinfo import ZoneInfo

# What people call a zone, by IANA name: capitals and other cities whose names stand for one, and the letters
# that mean one zone only (CST and IST mean several and are left out).
_NAMES: Final[dict[str, str]] = {
    "UTC": "utc gmt",
    "Europe/London": "london uk british 伦敦 英国",
    "Europe/Paris": "paris cet 巴黎 法国",
    "Europe/Berlin": "berlin german 柏林 德国",
    "Europe/Madrid": "madrid",
    "Europe/Rome": "rome",
    "Europe/Istanbul": "istanbul",
    "Europe/Moscow": "moscow 莫斯科",
    "Africa/Cairo": "cairo",
    "Africa/Johannesburg": "johannesburg",
    "Africa/Lagos": "lagos",
    "Africa/Nairobi": "nairobi",
    "America/New_York": "eastern et est edt new-york boston toronto 纽约 美东",
    "America/Chicago": "central chicago 芝加哥",
    "America/Denver": "mountain denver",
    "America/Los_Angeles": "pacific pt pst pdt los-angeles san-francisco seattle 洛杉矶 旧金山 美西",
    "America/Mexico_City": "mexico-city",
    "America/Sao_Paulo": "sao-paulo",
    "America/Argentina/Buenos_Aires": "buenos-aires",
    "Asia/Dubai": "dubai 迪拜",
    "Asia/Kolkata": "india indian delhi mumbai 印度",
    "Asia/Bangkok": "bangkok 曼谷",
    "Asia/Singapore": "singapore 新加坡",
    "Asia/Hong_Kong": "hong-kong 香港",
    "Asia/Shanghai": "beijing shanghai china 北京 上海 中国",
    "Asia/Taipei": "taipei 台北",
    "Asia/Seoul": "seoul korea kst 首尔 韩国",
    "Asia/Tokyo": "tokyo japan jst osaka 东京 日本",
    "Australia/Sydney": "sydney melbourne 悉尼",
    "Pacific/Auckland": "auckland nzt 奥克兰",
}
_ZONES: Final = {name.replace("-", " "): key for key, names in _NAMES.items() for name in names.split()}
# These stand alone after a clock time; city names need "time" behind them.
_LETTERS: Final = frozenset(["utc", "gmt", "cet", "et", "est", "edt", "pt", "pst", "pdt", "kst", "jst", "nzt"])

_CHINESE: Final = "|".join(name for name in _ZONES if not name.isascii())
_ENGLISH: Final = "|".join(re.escape(name) for name in _ZONES if name.isascii())
_AFTER_RE: Final = re.compile(
    rf"\s*\(?(?:({_ENGLISH})(?:['\u2019]s)?\s+(?:standard\s+|daylight\s+|summer\s+)?time\b|({'|'.join(_LETTERS)})\b)",
    re.IGNORECASE,
)
_BEFORE_RE: Final = re.compile(rf"(?:当地)?({_CHINESE})(?:当地)?时间的?\s*$")
_BEFORE_CHARS: Final = 8


def zone_said(text: str, span: tuple[int, int]) -> tuple[ZoneInfo, tuple[int, int]] | None:
    """The zone named right behind (English) or right before (Chinese) the expression at `span`.

    With it comes the span widened by the zone's name. None when no zone is named there.
    """
    low, high = span
    after = _AFTER_RE.match(text, high)
    if after is not None:
        return ZoneInfo(_ZONES[(after.group(1) or after.group(2)).lower()]), (low, after.end())
    before = _BEFORE_RE.search(text, max(0, low - _BEFORE_CHARS), low)
    if before is not None:
        return ZoneInfo(_ZONES[before.group(1)]), (before.start(), high)
    return None
