"""Time zones said beside a clock time: "9 am London time", "3 pm UTC", 北京时间九点."""

from __future__ import annotations

import re
from typing import Final
from zoneinfo import ZoneInfo

# What people call a zone, by IANA name: capitals and other cities whose names stand for one, and the letters
# that mean one zone only (CST and IST mean several and are left out).
_NAMES: Final[dict[str, str]] = {
    "UTC": "utc gmt",
    "Europe/London": "london uk british 伦敦 英国 edinburgh manchester",
    "Europe/Paris": "paris cet 巴黎 法国 lyon",
    "Europe/Berlin": "berlin german 柏林 德国 munich hamburg frankfurt 慕尼黑 法兰克福",
    "Europe/Madrid": "madrid barcelona 马德里",
    "Europe/Rome": "rome milan florence 罗马 米兰",
    "Europe/Istanbul": "istanbul",
    "Europe/Moscow": "moscow 莫斯科 russian 俄罗斯",
    "Africa/Cairo": "cairo",
    "Africa/Johannesburg": "johannesburg",
    "Africa/Lagos": "lagos",
    "Africa/Nairobi": "nairobi",
    "America/New_York": "eastern et est edt new-york boston toronto washington miami atlanta 纽约 美东 波士顿 华盛顿",
    "America/Chicago": "central chicago 芝加哥 dallas houston austin 中部",
    "America/Denver": "mountain denver colorado 丹佛",
    "America/Los_Angeles": "pacific pt pst pdt los-angeles san-francisco seattle san-diego 洛杉矶 旧金山 美西 西雅图",
    "America/Mexico_City": "mexico-city",
    "America/Sao_Paulo": "sao-paulo",
    "America/Argentina/Buenos_Aires": "buenos-aires",
    "Asia/Dubai": "dubai 迪拜",
    "Asia/Kolkata": "india indian delhi mumbai 印度 bangalore bengaluru chennai 孟买 德里",
    "Asia/Bangkok": "bangkok 曼谷",
    "Asia/Singapore": "singapore 新加坡 singaporean",
    "Asia/Hong_Kong": "hong-kong 香港",
    "Asia/Shanghai": "beijing shanghai china 北京 上海 中国 shenzhen guangzhou hangzhou chengdu chinese 深圳 广州",
    "Asia/Taipei": "taipei 台北",
    "Asia/Seoul": "seoul korea kst 首尔 韩国 korean busan",
    "Asia/Tokyo": "tokyo japan jst osaka 东京 日本 kyoto japanese nagoya sapporo 京都 大阪",
    "Australia/Sydney": "sydney melbourne 悉尼 canberra 墨尔本",
    "Pacific/Auckland": "auckland wellington nzt 奥克兰",
    "Australia/Perth": "perth",
    "Australia/Brisbane": "brisbane",
    "America/Toronto": "ottawa montreal 多伦多",
    "America/Vancouver": "vancouver 温哥华",
    "America/Halifax": "halifax",
    "America/Phoenix": "phoenix arizona",
    "America/Anchorage": "anchorage alaska",
    "America/Bogota": "bogota",
    "America/Lima": "lima",
    "America/Santiago": "santiago",
    "Pacific/Honolulu": "honolulu hawaii 夏威夷",
    "Europe/Lisbon": "lisbon 里斯本",
    "Europe/Dublin": "dublin irish",
    "Europe/Amsterdam": "amsterdam 阿姆斯特丹",
    "Europe/Brussels": "brussels",
    "Europe/Zurich": "zurich geneva 苏黎世",
    "Europe/Vienna": "vienna 维也纳",
    "Europe/Prague": "prague",
    "Europe/Warsaw": "warsaw",
    "Europe/Stockholm": "stockholm 斯德哥尔摩",
    "Europe/Oslo": "oslo",
    "Europe/Copenhagen": "copenhagen",
    "Europe/Helsinki": "helsinki",
    "Europe/Athens": "athens 雅典",
    "Europe/Kyiv": "kyiv",
    "Asia/Jakarta": "jakarta",
    "Asia/Manila": "manila 马尼拉",
    "Asia/Kuala_Lumpur": "kuala-lumpur 吉隆坡",
    "Asia/Ho_Chi_Minh": "hanoi saigon",
    "Asia/Karachi": "karachi",
    "Asia/Dhaka": "dhaka",
    "Asia/Riyadh": "riyadh",
    "Asia/Jerusalem": "jerusalem israel",
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
