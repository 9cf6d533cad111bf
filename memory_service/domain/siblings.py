"""Values of one slot that stand at once, and how each is shown (F7, B1).

A slot of one value holds several when their writers had not seen each other (siblings), or when arbitration could not
decide between an old and a new one (disputed). All of them are kept until a later change replaces them; a policy only
decides which speaks. It looks at nothing but the values themselves, so the outcome is the same in every order of
delivery, and a value held back by one that is later replaced speaks again.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from memory_service.domain.evidence import Evidence
from memory_service.domain.memory import JsonValue, MergePolicy, Status


@dataclass(frozen=True, slots=True)
class Value:
    """One standing value of a slot.

    Attributes:
        key: names it in the outcome.
        disputed: arbitration set it against another value (E4).
        value: the statement's value, where it has one.
        candidate: it was inferred and is still observed (E3).
    """

    key: str
    evidence: Evidence
    disputed: bool = False
    value: JsonValue = None
    candidate: bool = False


@dataclass(frozen=True, slots=True)
class Settlement:
    """How a slot's values are shown.

    Attributes:
        status: of each value: active, contested, or yielded (held back, not shown).
        merged: what speaks in their place when they are lists and the policy merges; None otherwise.
    """

    status: Mapping[str, Status]
    merged: JsonValue = None


def settle(policy: MergePolicy, values: Sequence[Value]) -> Settlement:
    """Decide how the standing values of one single-valued slot are shown.

    A candidate is held back while there is a value that is none: a guess neither replaces nor disputes what was
    said (E3). Disputed values are contested while there are two values at all, whatever the policy (E4).
    Otherwise: UNION shows all, or the union of lists; INTERSECTION what lists have in common, and contests values
    that are none; HIGHEST_CONFIDENCE the greatest by (confidence, newest dot); CONFIRM contests all until a
    person decides.
    """
    settled = [value for value in values if not value.candidate]
    if settled and len(settled) < len(values):
        settlement = settle(policy, settled)
        held = {value.key: Status.YIELDED for value in values if value.candidate}
        return Settlement({**held, **settlement.status}, settlement.merged)
    if len(values) < 2:
        return Settlement({value.key: Status.ACTIVE for value in values})
    if any(value.disputed for value in values) or policy is MergePolicy.CONFIRM:
        return _all(values, Status.CONTESTED)
    if policy is MergePolicy.HIGHEST_CONFIDENCE:
        winner = max(values, key=lambda value: value.evidence.rank)
        status = {v.key: Status.ACTIVE if v is winner else Status.YIELDED for v in values}
        return Settlement(status)
    lists = [value.value for value in values if isinstance(value.value, list | tuple)]
    if len(lists) == len(values):
        merged = _union(lists) if policy is MergePolicy.UNION else _intersection(lists)
        # Lists with nothing in common are a conflict, not an empty answer.
        if merged:
            return Settlement({value.key: Status.YIELDED for value in values}, merged)
        return _all(values, Status.CONTESTED)
    return _all(values, Status.ACTIVE if policy is MergePolicy.UNION else Status.CONTESTED)


def _all(values: Iterable[Value], status: Status) -> Settlement:
    return Settlement({value.key: status for value in values})


def _union(lists: Sequence[Sequence[JsonValue]]) -> list[JsonValue]:
    items = {_key(item): item for items in lists for item in items}
    return [items[key] for key in sorted(items)]


def _intersection(lists: Sequence[Sequence[JsonValue]]) -> list[JsonValue]:
    common = set.intersection(*({_key(item) for item in items} for items in lists))
    items = {_key(item): item for item in lists[0]}
    return [items[key] for key in sorted(common)]


def _key(item: JsonValue) -> str:
    return json.dumps(item, sort_keys=True, ensure_ascii=False, default=list)
