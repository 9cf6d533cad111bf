"""The controlled vocabulary of predicates (P3): how many values, how long they last, how concurrent ones merge."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from enum import StrEnum

from memory_service.domain.errors import InvalidInput, Reason
from memory_service.domain.memory import Cardinality, Kind, MergePolicy


class UnknownPredicates(StrEnum):
    """What to do with a predicate that is not in the vocabulary: refuse it, or keep it under general rules."""

    REFUSE = "refuse"
    MAP = "map"


@dataclass(frozen=True, slots=True)
class Predicate:
    """One word of the vocabulary.

    Attributes:
        kind: kind of a statement with it, unless the writer says otherwise.
        cardinality: whether a new value takes the place of the old one (E2).
        merge: what becomes of concurrent values (F7).
        tau: decay constant that overrides the kind's (E1, P7); None takes the kind's.
        decays: False for what must never fade, such as an allergy (P7).
        aliases: other names writers use for it.
    """

    name: str
    kind: Kind
    cardinality: Cardinality
    merge: MergePolicy
    tau: timedelta | None = None
    decays: bool = True
    aliases: tuple[str, ...] = ()


def normalise_name(name: str) -> str:
    """Lower case, one underscore between words: `Tech Stack`, `tech-stack` and `TECH_STACK` are one predicate."""
    folded = unicodedata.normalize("NFKC", name).casefold()
    return "_".join("".join(c if c.isalnum() else " " for c in folded).split())


_ONE, _MANY = Cardinality.ONE, Cardinality.MANY
_UNION, _CONFIRM = MergePolicy.UNION, MergePolicy.CONFIRM
_HIGHEST, _INTERSECTION = MergePolicy.HIGHEST_CONFIDENCE, MergePolicy.INTERSECTION

DEFAULT_PREDICATES: tuple[Predicate, ...] = (
    Predicate("name", Kind.PROFILE, _ONE, _CONFIRM, decays=False, aliases=("full_name", "called", "姓名", "名字")),
    Predicate("birthday", Kind.PROFILE, _ONE, _CONFIRM, decays=False, aliases=("date_of_birth", "born", "生日")),
    Predicate(
        "role",
        Kind.PROFILE,
        _ONE,
        _CONFIRM,
        aliases=("job", "job_title", "occupation", "profession", "职业", "职位"),
    ),
    Predicate("employer", Kind.PROFILE, _ONE, _CONFIRM, aliases=("company", "works_at", "workplace", "公司", "单位")),
    Predicate(
        "location",
        Kind.PROFILE,
        _ONE,
        _CONFIRM,
        aliases=("city", "home", "lives_in", "residence", "address", "住址", "城市", "住在"),
    ),
    Predicate("language", Kind.PROFILE, _MANY, _UNION, aliases=("speaks", "languages", "语言")),
    Predicate("family", Kind.PROFILE, _MANY, _UNION, aliases=("relative", "spouse", "partner", "child", "家人")),
    Predicate("pet", Kind.PROFILE, _MANY, _UNION, aliases=("pets", "宠物")),
    Predicate(
        "contact",
        Kind.FACT,
        _MANY,
        _UNION,
        aliases=("phone", "email", "phone_number", "联系方式", "电话", "邮箱"),
    ),
    Predicate("allergy", Kind.CONSTRAINT, _MANY, _UNION, decays=False, aliases=("allergies", "allergic_to", "过敏")),
    Predicate("diet", Kind.CONSTRAINT, _MANY, _UNION, aliases=("dietary_restriction", "饮食")),
    Predicate("health", Kind.FACT, _MANY, _UNION, aliases=("condition", "medication", "健康")),
    Predicate("constraint", Kind.CONSTRAINT, _MANY, _UNION, aliases=("rule", "requirement", "约束", "限制")),
    Predicate("budget", Kind.CONSTRAINT, _ONE, _CONFIRM, aliases=("spending_limit", "预算")),
    Predicate("preference", Kind.PREFERENCE, _MANY, _UNION, aliases=("likes", "prefers", "like", "偏好", "喜欢")),
    Predicate("dislike", Kind.PREFERENCE, _MANY, _UNION, aliases=("dislikes", "hates", "不喜欢", "讨厌")),
    Predicate("favorite", Kind.PREFERENCE, _ONE, _HIGHEST, aliases=("favourite", "最喜欢")),
    Predicate("availability", Kind.FACT, _MANY, _INTERSECTION, aliases=("free_times", "空闲")),
    Predicate("schedule", Kind.FACT, _MANY, _UNION, aliases=("routine", "habit", "日程", "习惯")),
    Predicate("goal", Kind.FACT, _MANY, _UNION, tau=timedelta(days=90), aliases=("goals", "plan", "目标")),
    Predicate("deadline", Kind.EVENT, _MANY, _UNION, tau=timedelta(days=7), aliases=("due", "due_date", "截止日期")),
    Predicate("tech_stack", Kind.FACT, _MANY, _UNION, aliases=("technology", "tools", "技术栈")),
    Predicate("editor", Kind.PREFERENCE, _ONE, _HIGHEST, aliases=("ide", "text_editor", "编辑器")),
    Predicate("timezone", Kind.PROFILE, _ONE, _HIGHEST, aliases=("time_zone", "时区")),
    Predicate("ownership", Kind.FACT, _MANY, _UNION, aliases=("owns", "has", "possession", "拥有")),
    Predicate("incident", Kind.CONTEXT, _MANY, _UNION, tau=timedelta(days=2), aliases=("outage", "故障")),
    Predicate("status", Kind.TASK, _ONE, _HIGHEST, aliases=("task_status", "state", "状态")),
    Predicate("procedure", Kind.PROCEDURE, _MANY, _UNION, aliases=("how_to", "workflow", "流程")),
    Predicate("attribute", Kind.FACT, _MANY, _UNION, aliases=("property", "属性")),
)
"""Shipped vocabulary. `attribute` lends its rules to unknown predicates under MAP."""


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The predicates in force and what to do with others."""

    predicates: Mapping[str, Predicate]
    unknown: UnknownPredicates = UnknownPredicates.REFUSE
    _by_name: Mapping[str, Predicate] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        names: dict[str, Predicate] = {}
        for predicate in self.predicates.values():
            for name in (predicate.name, *predicate.aliases):
                known = names.setdefault(normalise_name(name), predicate)
                if known is not predicate:
                    raise ValueError(f"{name!r} names both {known.name!r} and {predicate.name!r}")
        object.__setattr__(self, "_by_name", names)

    @classmethod
    def of(
        cls,
        predicates: Iterable[Predicate] = DEFAULT_PREDICATES,
        unknown: UnknownPredicates = UnknownPredicates.REFUSE,
    ) -> Vocabulary:
        """A vocabulary of these predicates."""
        return cls({p.name: p for p in predicates}, unknown)

    def with_policies(self, policies: Mapping[str, MergePolicy]) -> Vocabulary:
        """The same words with other merge policies, by name or alias (F7: a tenant's own choice).

        Raises:
            ValueError: for a word that is not in the vocabulary.
        """
        changed = dict(self.predicates)
        for name, policy in policies.items():
            found = self.find(name)
            if found is None:
                raise ValueError(f"{name!r} is not in the vocabulary")
            changed[found.name] = replace(found, merge=policy)
        return Vocabulary(changed, self.unknown)

    def find(self, name: str) -> Predicate | None:
        """The predicate with this name or alias, whatever its case and separators."""
        return self._by_name.get(normalise_name(name))

    def resolve(self, name: str, field_name: str) -> Predicate:
        """The predicate to store a statement under.

        Raises:
            InvalidInput: UNKNOWN_PREDICATE when it is not known and unknown ones are refused (P3), or when
                nothing is left of the name after normalisation.
        """
        normal = normalise_name(name)
        found = self._by_name.get(normal)
        if found is not None:
            return found
        if self.unknown is UnknownPredicates.REFUSE or not normal:
            known = ", ".join(sorted(self.predicates))
            raise InvalidInput(
                Reason.UNKNOWN_PREDICATE,
                f"{field_name} is not in the vocabulary",
                field=field_name,
                metadata={"known": known},
            )
        general = self._by_name["attribute"]
        return Predicate(normal, general.kind, general.cardinality, general.merge, general.tau, general.decays)
