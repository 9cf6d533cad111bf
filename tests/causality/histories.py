"""Causal histories: what devices did, each with what it had seen, and a naive model of where that must end.

The model is dense: it looks at the whole set of changes at once and never at an order of arrival.
"""

from __future__ import annotations

import json
import random
from collections import defaultdict
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from memory_service.domain.evidence import Evidence
from memory_service.domain.ids import DeviceId
from memory_service.domain.memory import Cardinality, Kind, MergePolicy
from memory_service.domain.siblings import Value, settle
from memory_service.domain.vector_clock import Dot, VectorClock
from memory_service.domain.vocabulary import DEFAULT_PREDICATES, Predicate, Vocabulary

ONE, MANY = Cardinality.ONE, Cardinality.MANY
POLICIES = {
    "p_confirm": (ONE, MergePolicy.CONFIRM),
    "p_highest": (ONE, MergePolicy.HIGHEST_CONFIDENCE),
    "p_union": (ONE, MergePolicy.UNION),
    "p_intersection": (ONE, MergePolicy.INTERSECTION),
    "p_many": (MANY, MergePolicy.UNION),
}
SCALARS: tuple[Any, ...] = ("red", "green", "blue")
LISTS: tuple[Any, ...] = (["mon", "tue"], ["tue", "wed"], ["tue"], ["thu"])
CONFIDENCES = (0.4, 0.6, 0.9)
DEVICES = tuple(DeviceId(name) for name in ("phone", "tablet", "laptop"))


def vocabulary() -> Vocabulary:
    """The shipped words and one for each policy."""
    extra = [Predicate(name, Kind.FACT, cardinality, policy) for name, (cardinality, policy) in POLICIES.items()]
    return Vocabulary.of([*DEFAULT_PREDICATES, *extra])


@dataclass(frozen=True)
class Act:
    """One change: a write, a correction of a slot, or a Forget of a slot or of the memory a write made."""

    dot: Dot
    context: VectorClock
    kind: str
    predicate: str = ""
    value: Any = None
    confidence: float = 0.0
    of: Dot | None = None

    @property
    def asserts(self) -> bool:
        """Whether it claims something."""
        return self.kind in ("write", "correct")


def _step(predicates: list[str]) -> st.SearchStrategy[tuple[Any, ...]]:
    write = st.tuples(st.just("write"), st.sampled_from(predicates), st.integers(0, 2), st.sampled_from(CONFIDENCES))
    return st.one_of(
        write,
        write,
        write,
        st.tuples(st.just("forget_slot"), st.sampled_from(predicates)),
        st.tuples(st.just("forget_write"), st.integers(0, 40)),
        st.tuples(st.just("see"), st.sampled_from(DEVICES)),
        st.tuples(st.just("see"), st.sampled_from(DEVICES)),
        st.tuples(st.just("see_all")),
    )


def _script(predicates: list[str]) -> st.SearchStrategy[list[tuple[DeviceId, tuple[Any, ...]]]]:
    return st.lists(st.tuples(st.sampled_from(DEVICES), _step(predicates)), min_size=2, max_size=16)


steps = st.lists(st.sampled_from(sorted(POLICIES)), min_size=1, max_size=2, unique=True).flatmap(_script)
"""Scripts about one or two slots, so that their changes do meet."""


def history(script: list[tuple[DeviceId, tuple[Any, ...]]]) -> list[Act]:
    """The changes that devices make when they follow a script; contexts are closed under what was seen."""
    seen: dict[DeviceId, VectorClock] = defaultdict(VectorClock)
    acts: list[Act] = []
    for device, step in script:
        if step[0] == "see":
            seen[device] = seen[device].merge(seen[step[1]])
            continue
        if step[0] == "see_all":
            for other in DEVICES:
                seen[device] = seen[device].merge(seen[other])
            continue
        act = _act(device, step, seen[device], acts)
        if act is not None:
            acts.append(act)
            seen[device] = seen[device].including(act.dot)
    return acts


def _act(device: DeviceId, step: tuple[Any, ...], context: VectorClock, acts: list[Act]) -> Act | None:
    dot = Dot(device, context.counter(device) + 1)
    if step[0] == "write":
        _, predicate, number, confidence = step
        lists = POLICIES[predicate][1] in (MergePolicy.UNION, MergePolicy.INTERSECTION) and predicate != "p_many"
        values = LISTS if lists and confidence != CONFIDENCES[0] else SCALARS
        return Act(dot, context, "write", predicate, values[number % len(values)], confidence)
    if step[0] == "forget_slot":
        return Act(dot, context, "forget_slot", step[1])
    writes = [a for a in acts if a.asserts and context.saw(a.dot)]
    if not writes:
        return None
    target = writes[step[1] % len(writes)]
    return Act(dot, context, "forget_write", target.predicate, target.value, of=target.dot)


def causal_order(acts: list[Act], chance: random.Random) -> list[Act]:
    """Some order in which every change comes after all that its writer had seen."""
    waiting, ordered, clock = list(acts), [], VectorClock()
    while waiting:
        ready = [a for a in waiting if clock.descends(a.context) and clock.counter(a.dot.device) + 1 == a.dot.counter]
        chosen = chance.choice(ready)
        waiting.remove(chosen)
        ordered.append(chosen)
        clock = clock.including(chosen.dot)
    return ordered


Heads = set[tuple[str, str, str, int, float]]


def naive_heads(acts: list[Act]) -> Heads:
    """(predicate, value, status, support, confidence) of everything that must stand at the end."""
    heads: Heads = set()
    for predicate, (cardinality, policy) in POLICIES.items():
        mine = [a for a in acts if a.predicate == predicate]
        alive = [a for a in mine if a.asserts and _stands(a, mine, cardinality)]
        claims: dict[str, list[Act]] = defaultdict(list)
        for act in alive:
            claims[_key(act.value)].append(act)
        evidence = {key: _evidence(group) for key, group in claims.items()}
        if cardinality is MANY:
            heads |= {(predicate, key, "active", e.support, e.confidence) for key, e in evidence.items()}
            continue
        settlement = settle(policy, [Value(key, e, value=json.loads(key)) for key, e in evidence.items()])
        merged = _key(settlement.merged) if settlement.merged else ""
        for key, e in evidence.items():
            status = "active" if key == merged else settlement.status[key].value
            heads.add((predicate, key, status, e.support, e.confidence))
        if merged and merged not in evidence:
            heads.add((predicate, merged, "merged", 0, 0.0))
    return heads


def _evidence(group: list[Act]) -> Evidence:
    evidence = Evidence()
    for act in group:
        evidence = evidence.attested(act.dot, act.confidence)
    return evidence


def _stands(act: Act, mine: list[Act], cardinality: Cardinality) -> bool:
    for other in mine:
        hits = other.kind == "forget_slot" or (other.kind == "forget_write" and _key(other.value) == _key(act.value))
        if hits and not act.context.saw(other.dot):
            return False
        replaces = cardinality is ONE and other.asserts and _key(other.value) != _key(act.value)
        if replaces and other.context.saw(act.dot):
            return False
    return True


def _key(value: Any) -> str:
    return json.dumps(value)
