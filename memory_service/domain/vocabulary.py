"""The controlled vocabulary of predicates (P3): how many values, how long they last, how concurrent ones merge."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from enum import StrEnum

from memory_service.domain import limits
from memory_service.domain.errors import InvalidInput, Reason
from memory_service.domain.memory import Cardinality, Kind, MergePolicy
from memory_service.domain.text.storable import check_storable
from memory_service.domain.text.traditional import to_simplified


class UnknownPredicates(StrEnum):
    """What to do with a predicate that is not in the vocabulary: refuse it, or keep it under general rules."""

    REFUSE = "refuse"
    MAP = "map"


class Sensitivity(StrEnum):
    """Whether what was inferred or derived of a predicate waits for a person to accept it (P13)."""

    NORMAL = "normal"
    SENSITIVE = "sensitive"


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
        sensitivity: whether what was inferred or derived of it waits in the review queue (P13).
        formerly: those of its aliases under which memories were kept once: what was forgotten under them stays
            forgotten under this one (B3). Kept by the vocabulary, not given by callers.
    """

    name: str
    kind: Kind
    cardinality: Cardinality
    merge: MergePolicy
    tau: timedelta | None = None
    decays: bool = True
    aliases: tuple[str, ...] = ()
    sensitivity: Sensitivity = Sensitivity.NORMAL
    formerly: tuple[str, ...] = ()

    @property
    def sensitive(self) -> bool:
        """Whether what was not said outright of it waits for a person."""
        return self.sensitivity is Sensitivity.SENSITIVE


def normalise_name(name: str) -> str:
    """Lower case, one underscore between words: `Tech Stack`, `tech-stack` and `TECH_STACK` are one predicate."""
    folded = unicodedata.normalize("NFKC", name).casefold()
    return "_".join("".join(c if c.isalnum() else " " for c in folded).split())


_ONE, _MANY = Cardinality.ONE, Cardinality.MANY
_UNION, _CONFIRM = MergePolicy.UNION, MergePolicy.CONFIRM
_HIGHEST, _INTERSECTION = MergePolicy.HIGHEST_CONFIDENCE, MergePolicy.INTERSECTION
_SENSITIVE = Sensitivity.SENSITIVE
GENERAL = "attribute"
"""The predicate that lends its rules to unknown ones under MAP; a vocabulary that maps needs it."""

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
        sensitivity=_SENSITIVE,
    ),
    Predicate(
        "allergy",
        Kind.CONSTRAINT,
        _MANY,
        _UNION,
        decays=False,
        aliases=("allergies", "allergic_to", "过敏"),
        sensitivity=_SENSITIVE,
    ),
    Predicate("diet", Kind.CONSTRAINT, _MANY, _UNION, aliases=("dietary_restriction", "饮食")),
    Predicate(
        "health",
        Kind.FACT,
        _MANY,
        _UNION,
        aliases=("condition", "medication", "健康"),
        sensitivity=_SENSITIVE,
    ),
    Predicate("constraint", Kind.CONSTRAINT, _MANY, _UNION, aliases=("rule", "requirement", "约束", "限制")),
    Predicate("budget", Kind.CONSTRAINT, _ONE, _CONFIRM, aliases=("spending_limit", "预算"), sensitivity=_SENSITIVE),
    Predicate("preference", Kind.PREFERENCE, _MANY, _UNION, aliases=("likes", "prefers", "like", "偏好", "喜欢")),
    Predicate("dislike", Kind.PREFERENCE, _MANY, _UNION, aliases=("dislikes", "hates", "不喜欢", "讨厌")),
    Predicate("favorite", Kind.PREFERENCE, _ONE, _HIGHEST, aliases=("favourite", "最喜欢")),
    Predicate("availability", Kind.FACT, _MANY, _INTERSECTION, aliases=("free_times", "空闲")),
    Predicate("schedule", Kind.FACT, _MANY, _UNION, aliases=("routine", "habit", "日程", "习惯")),
    Predicate("goal", Kind.FACT, _MANY, _UNION, tau=timedelta(days=90), aliases=("goals", "plan", "目标")),
    Predicate("deadline", Kind.EVENT, _MANY, _UNION, tau=timedelta(days=90), aliases=("due", "due_date", "截止日期")),
    Predicate("tech_stack", Kind.FACT, _MANY, _UNION, aliases=("technology", "tools", "技术栈")),
    Predicate("editor", Kind.PREFERENCE, _ONE, _HIGHEST, aliases=("ide", "text_editor", "编辑器")),
    Predicate("timezone", Kind.PROFILE, _ONE, _HIGHEST, aliases=("time_zone", "时区")),
    Predicate("ownership", Kind.FACT, _MANY, _UNION, aliases=("owns", "has", "possession", "拥有")),
    Predicate("incident", Kind.CONTEXT, _MANY, _UNION, tau=timedelta(days=2), aliases=("outage", "故障")),
    Predicate("status", Kind.TASK, _ONE, _HIGHEST, aliases=("task_status", "state", "状态")),
    Predicate("procedure", Kind.PROCEDURE, _MANY, _UNION, aliases=("how_to", "workflow", "流程")),
    Predicate("attribute", Kind.FACT, _MANY, _UNION, aliases=("property", "属性")),
)
"""Shipped vocabulary: what a tenant has until it makes its own."""


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The predicates in force and what to do with others."""

    predicates: Mapping[str, Predicate]
    unknown: UnknownPredicates = UnknownPredicates.REFUSE
    _by_name: Mapping[str, Predicate] = field(init=False, repr=False)
    _by_folded: Mapping[str, Predicate] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        names: dict[str, Predicate] = {}
        for predicate in self.predicates.values():
            for name in (predicate.name, *predicate.aliases):
                known = names.setdefault(normalise_name(name), predicate)
                if known is not predicate:
                    raise ValueError(f"{name!r} names both {known.name!r} and {predicate.name!r}")
        folded: dict[str, Predicate] = {}
        for name, predicate in names.items():
            folded.setdefault(to_simplified(name), predicate)
        object.__setattr__(self, "_by_name", names)
        object.__setattr__(self, "_by_folded", folded)

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

    def having(self, predicate: Predicate) -> Vocabulary:
        """The same words with this one, in place of the one of its name when there is one.

        Raises:
            InvalidInput: FIELD_INVALID when one of its names is another word's, FIELD_TOO_LONG beyond
                `PREDICATES_MAX`.
        """
        for name in (predicate.name, *predicate.aliases):
            known = self.find(name)
            if known is not None and known.name != predicate.name:
                raise InvalidInput(
                    Reason.FIELD_INVALID,
                    "one of the names given is another word's already",
                    field="predicate.name" if name == predicate.name else "predicate.aliases",
                    metadata={"predicate": known.name},
                )
        old = self.predicates.get(predicate.name)
        former = set(old.formerly if old is not None else ())
        aliases = [normalise_name(alias) for alias in predicate.aliases]
        if self.unknown is UnknownPredicates.MAP:  # any name may have been in use
            former |= {alias for alias in aliases if self.find(alias) is None}
        kept = replace(predicate, formerly=tuple(alias for alias in aliases if alias in former))
        words = dict(self.predicates) | {predicate.name: kept}
        if len(words) > limits.PREDICATES_MAX:
            raise InvalidInput(
                Reason.FIELD_TOO_LONG,
                f"a vocabulary may have at most {limits.PREDICATES_MAX} predicates",
                field="predicate",
                metadata={"limit": str(limits.PREDICATES_MAX)},
            )
        return Vocabulary(words, self.unknown)

    def without(self, name: str, replacement: str = "") -> Vocabulary:
        """The same words less this one; its names become the replacement's, when one is named.

        Raises:
            InvalidInput: UNKNOWN_PREDICATE when either is not here, FIELD_INVALID for a word as its own
                replacement or for the word that unknown predicates need, FIELD_TOO_LONG for too many aliases.
        """
        leaving = self._known(name, "name")
        words = {known: predicate for known, predicate in self.predicates.items() if known != leaving.name}
        if replacement:
            heir = self._known(replacement, "replacement")
            if heir.name == leaving.name:
                raise InvalidInput(Reason.FIELD_INVALID, "a word cannot replace itself", field="replacement")
            names = (*heir.aliases, leaving.name, *leaving.aliases)
            former = (*heir.formerly, leaving.name, *leaving.formerly)
            words[heir.name] = checked(replace(heir, aliases=names, formerly=former), "replacement")
        return Vocabulary(words, self.unknown).complete("name")

    def with_unknown(self, unknown: UnknownPredicates) -> Vocabulary:
        """The same words with another answer to those that are not among them.

        Raises:
            InvalidInput: FIELD_INVALID when unknown ones are to be mapped and there is nothing to map them to.
        """
        return Vocabulary(self.predicates, unknown).complete("unknown_predicates")

    def complete(self, field_name: str) -> Vocabulary:
        """This vocabulary, when unknown predicates have the word they need: itself, not another one by its name.

        Raises:
            InvalidInput: FIELD_INVALID.
        """
        if self.unknown is UnknownPredicates.MAP and GENERAL not in self.predicates:
            raise InvalidInput(
                Reason.FIELD_INVALID,
                f"while unknown predicates are mapped the word {GENERAL!r} must stay, since they take its rules",
                field=field_name,
            )
        return self

    def sensitive(self, name: str) -> bool:
        """Whether a predicate, or a topic of the same name, is sensitive (P13)."""
        found = self.find(name)
        return found is not None and found.sensitive

    def _known(self, name: str, field_name: str) -> Predicate:
        found = self.find(name)
        if found is None:
            raise InvalidInput(
                Reason.UNKNOWN_PREDICATE,
                f"{field_name} is not in the vocabulary",
                field=field_name,
                metadata={"known": ", ".join(sorted(self.predicates))},
            )
        return found

    def find(self, name: str) -> Predicate | None:
        """The predicate with this name or alias, whatever its case, separators and, in Chinese, its script."""
        return self._named(normalise_name(name))

    def _named(self, normal: str) -> Predicate | None:
        return self._by_name.get(normal) or self._by_folded.get(to_simplified(normal))

    def resolve(self, name: str, field_name: str) -> Predicate:
        """The predicate to store a statement under.

        Raises:
            InvalidInput: UNKNOWN_PREDICATE when it is not known and unknown ones are refused (P3), or when
                nothing is left of the name after normalisation.
        """
        normal = normalise_name(name)
        found = self._named(normal)
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
        general = self._by_name[GENERAL]
        return Predicate(normal, general.kind, general.cardinality, general.merge, general.tau, general.decays)


def checked(predicate: Predicate, field_name: str) -> Predicate:
    """The predicate as it is kept: its name normalised, its aliases each once and none of them its name.

    Raises:
        InvalidInput: FIELD_REQUIRED or FIELD_INVALID for a name of which nothing is left, FIELD_TOO_LONG for a long
            name or too many aliases, FIELD_OUT_OF_RANGE for a tau that is not positive or beyond `TAU_DAYS_MAX`.
    """
    name = _checked_name(predicate.name, f"{field_name}.name")
    aliases: dict[str, str] = {}
    for index, alias in enumerate(predicate.aliases):
        normal = _checked_name(alias, f"{field_name}.aliases[{index}]")
        if normal != name:
            aliases.setdefault(normal, alias.strip())
    if len(aliases) > limits.PREDICATE_ALIASES_MAX:
        raise InvalidInput(
            Reason.FIELD_TOO_LONG,
            f"{field_name}.aliases may list at most {limits.PREDICATE_ALIASES_MAX} names",
            field=f"{field_name}.aliases",
            metadata={"limit": str(limits.PREDICATE_ALIASES_MAX), "actual": str(len(aliases))},
        )
    tau = predicate.tau
    if tau is not None and not timedelta(0) < tau <= timedelta(days=limits.TAU_DAYS_MAX):
        raise InvalidInput(
            Reason.FIELD_OUT_OF_RANGE,
            f"{field_name}.tau must be more than zero and at most {limits.TAU_DAYS_MAX} days",
            field=f"{field_name}.tau",
            metadata={"minimum": "0", "maximum": str(limits.TAU_DAYS_MAX * 86_400)},
        )
    if tau is not None and not predicate.decays:
        raise InvalidInput(
            Reason.FIELD_INVALID, f"{field_name} has a tau or never decays, not both", field=f"{field_name}.tau"
        )
    return replace(predicate, name=name, aliases=tuple(aliases.values()))


def _checked_name(name: str, field_name: str) -> str:
    if not name:
        raise InvalidInput(Reason.FIELD_REQUIRED, f"{field_name} must be given", field=field_name)
    check_storable(name, field_name, limits.PREDICATE_CHARS_MAX)
    normal = normalise_name(name)
    if not normal or len(normal) > limits.PREDICATE_CHARS_MAX:
        raise InvalidInput(
            Reason.FIELD_INVALID,
            f"{field_name} needs letters or digits, at most {limits.PREDICATE_CHARS_MAX} once normalised",
            field=field_name,
        )
    return normal
