"""Traditional Chinese read as Simplified Chinese, so that one set of rules and one index serve both scripts.

Only what is read is folded (keys, terms, what rules look at); what is stored and shown stays as it was written. One
character becomes one character, so a place in the folded text is the same place in the text.
"""

from __future__ import annotations

import re
from typing import Final

from memory_service.domain.text._traditional import SIMPLIFIED, TRADITIONAL

# Characters of both scripts: what they stand for shows by their neighbours. Where Simplified Chinese has the
# character too (著名, 乾隆, 瞭望, 慰藉, 覆盖, the surname 沈) it stays.
_BESIDE: Final = (
    (
        "著",
        "着",
        r"(?<![名原編编土顯显卓昭專专巨鉅論论譯译合所遺遗拙新知雜杂撰》」])著(?![名述稱称者錄录有]|作(?![業业]))",
    ),
    ("乾", "干", r"乾(?![隆坤陵卦縣县]|嘉[學学時时之]|清[宮宫]|(?<=康乾)[盛時时之])"),
    ("徵", "征", r"(?<!角)徵(?!羽)"),
    ("畫", "划", r"(?<=[計计規规企策籌筹謀谋])畫"),
    ("鍊", "链", r"(?<=[項项拉手鎖锁鐵铁金銀银鑰钥鉸铰頸颈腳脚])鍊|鍊(?=[子條条墜坠])"),
    ("沈", "沉", r"(?<=[昏陰阴深低浮])沈|沈(?=[沒没船重迷澱淀甸悶闷溺淪沦積积])"),
    ("瞭", "了", r"瞭(?![望哨])"),
    ("藉", "借", r"(?<![慰狼蘊蕴枕醞酝藉])藉(?!藉)"),
    ("覆", "复", r"(?<=[答回反重函批])覆(?![蓋盖沒没滅灭])"),
    ("甚", "什", r"甚(?=[麼麽么])"),
    ("彷", "仿", r"彷(?=[彿佛])"),
    ("祇", "只", r"(?<![神地])祇"),
)
_BESIDE_RE: Final = re.compile("|".join(pattern for _, _, pattern in _BESIDE))
_BESIDE_FOLDED: Final = {char: folded for char, folded, _ in _BESIDE}

_ANY_RE: Final = re.compile(f"[{TRADITIONAL}{''.join(_BESIDE_FOLDED)}]")
_SOME_BESIDE_RE: Final = re.compile(f"[{''.join(_BESIDE_FOLDED)}]")
_PLANE: Final = 0x10000


def _table() -> str:
    """The folded character of every code point of the first plane: a string is looked up faster than a dictionary."""
    folded = dict(zip(TRADITIONAL, SIMPLIFIED, strict=True))
    return "".join(folded.get(char, char) for char in map(chr, range(_PLANE)))


_TABLE: Final = _table()


def to_simplified(text: str) -> str:
    """`text` with every Traditional character as the Simplified one, character by character.

    The length stays, and so does every text without Traditional characters. Words stay those of the writer (軟體
    becomes 软体, not 软件). Idempotent; never raises. A sentence takes 0.3 µs with nothing to fold, else 2 µs.
    """
    if text.isascii() or _ANY_RE.search(text) is None:
        return text
    if _SOME_BESIDE_RE.search(text) is not None:
        text = _BESIDE_RE.sub(lambda match: _BESIDE_FOLDED[match.group()], text)
    return text.translate(_TABLE)
