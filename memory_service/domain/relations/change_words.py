"""Words that say that something changed or ends, as the readings have them."""

from __future__ import annotations

from typing import Final

ENDING_WORDS: Final = frozenset({"stop", "quit", "sold", "sell", "gave", "drop", "end", "finish", "cancel"})
"""Words (stems) that open a statement which ends something."""

CHANGE_WORDS: Final = frozenset(
    word
    for line in (
        "move switch chang swap renam replac stop start quit sold sell buy bought gave join left leav cancel back",
        "new old longer anymor turn becom got get go went top put bump rais lower slid goe",
        "meant correct misread wrong",
        "搬 挪 交 归 回 换 改 停 卖 买 戒 以后 之后 换成 改成 改到 搬到 搬去 现在 起 转 调 升 退 离 离开 离职 恢复 ",
        "变 变成",
        "说错 记错 更正 纠正",
    )
    for word in line.split()
)
"""Words of change: anything may have them, so that they say nothing of what a statement is about."""
