"""Whether a predicate outside the vocabulary is likely to hold several values at once (P3), by its name alone.

A name is all there is to go by. A plural, or a verb in the third person, speaks of any number of things ("hobbies",
"plays"); a singular noun of one ("team", "extension"), unless people have several of its kind ("hobby", "friend").
"""

from __future__ import annotations

from typing import Final

from memory_service.domain.text.traditional import to_simplified

_ONE: Final = frozenset(["means", "is", "equals", "status", "address", "bus", "class", "glasses", "news", "series"])
_SEVERAL: Final = frozenset(
    [
        "hobby",
        "interest",
        "skill",
        "friend",
        "child",
        "kid",
        "son",
        "daughter",
        "sibling",
        "brother",
        "sister",
        "pet",
        "dog",
        "cat",
        "language",
        "instrument",
        "sport",
        "tool",
        "subscription",
        "membership",
        "member",
        "colleague",
        "neighbour",
        "neighbor",
        "project",
        "injury",
        "condition",
        "symptom",
        "allergy",
        "allergen",
        "medication",
        "medicine",
        "visited",
        "trip",
        "book",
        "movie",
        "film",
        "game",
        "fear",
        "dream",
        "strength",
        "weakness",
        "habit",
        "tradition",
        "nickname",
        "alias",
        "collection",
        "dislike",
        "like",
        "love",
        "fact",
        "note",
        "feature",
        "want",
        "need",
        "use",
        "own",
        "have",
        "know",
        "play",
        "speak",
        "eat",
        "drink",
        "watch",
        "read",
        "爱好",
        "兴趣",
        "技能",
        "特长",
        "朋友",
        "孩子",
        "宠物",
        "语言",
        "乐器",
        "运动",
        "工具",
        "会员",
        "成员",
        "同事",
        "项目",
        "伤病",
        "病史",
        "症状",
        "过敏",
        "用药",
        "药物",
        "去过",
        "书",
        "电影",
        "游戏",
        "害怕",
        "梦想",
        "习惯",
        "别名",
        "外号",
        "昵称",
        "喜欢",
        "讨厌",
        "不喜欢",
        "会",
        "有",
        "养",
        "玩",
        "吃",
        "喝",
        "看",
        "用",
        "认识",
        "拥有",
    ]
)


def may_hold_several(predicate: str) -> bool:
    """Whether several values of a normalised predicate name (`best_friend`) may hold at once."""
    predicate = to_simplified(predicate)
    last = predicate.rsplit("_", 1)[-1]
    if predicate in _SEVERAL or last in _SEVERAL:
        return True
    if predicate in _ONE or last in _ONE:
        return False
    return last.isascii() and last.endswith("s") and not last.endswith(("ss", "us", "is"))
