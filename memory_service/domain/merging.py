"""Which memories say the same, and what one memory made of them says (P11, S9, C5). Pure rules.

Only the wording of one of them is ever taken, never made up; and two are one only when nothing speaks against it:
two memories that should have been one cost a line in an answer, one that should have been two costs a fact.
"""

from __future__ import annotations

import dataclasses
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import replace
from datetime import datetime
from typing import Final

from memory_service.domain import limits
from memory_service.domain.evidence import Evidence
from memory_service.domain.ids import MemoryId
from memory_service.domain.memory import Kind, MemoryHead, MemoryVersion, Status, Tier, Usage, Visibility
from memory_service.domain.relations.bare import bare_wording
from memory_service.domain.retrieval.rows import is_turn
from memory_service.domain.slots import claim_of_assertion, slot_of_assertion
from memory_service.domain.text import normalise, same_text_key

MERGED: Final = "merged"
"""The reason with which a memory is superseded by the one it was merged into."""
SOURCES_MAX: Final = 200
"""Most memories one merge takes."""

# What holds for a while is told apart by its time, and a summary is no statement of its own.
_LEFT_ALONE: Final = frozenset({Kind.TEMPORARY_PREFERENCE, Kind.CONTEXT, Kind.EVENT, Kind.TASK, Kind.SUMMARY})


def mergeable(head: MemoryHead, now: datetime) -> bool:
    """Whether a memory may be merged at all: it stands undisputed, by evidence of its own, for now and for good."""
    version = head.current
    return (
        version.status is Status.ACTIVE
        and not version.disputed
        and version.tier is not Tier.ARCHIVE
        and not head.cold
        and version.kind not in _LEFT_ALONE
        and (version.valid_to is None or version.valid_to > now)
        and (version.expires_at is None or version.expires_at > now)
    )


def claim_key(version: MemoryVersion) -> str:
    """Equal for memories that say the same, whoever may see them: one value of one predicate, or one wording.

    Of a statement in words it is the preference it states, else its words in their order but for fillers. A turn of
    a conversation is a record of what was said, not a claim, so of one every word counts.
    """
    assertion = version.assertion
    if assertion is not None:
        return claim_of_assertion(slot_of_assertion(assertion.subject, assertion.predicate), assertion.object)
    text = version.text
    return f"said {same_text_key(text) or text}" if is_turn(version) else f"claimed {bare_wording(text)}"


def same_claims(heads: Sequence[MemoryHead]) -> list[list[MemoryHead]]:
    """Those that say the same, are of one kind and hold at the same times, two or more each, in the order given.

    By hashes of what they say, so that it takes time in proportion to the memories and not to their pairs.
    """
    if len(heads) < 2:
        return []
    found: defaultdict[object, list[MemoryHead]] = defaultdict(list)
    for head in heads:
        version = head.current
        found[claim_key(version), version.kind, version.valid_from, version.valid_to].append(head)
    return [same for same in found.values() if len(same) > 1]


def alike(
    same: Sequence[MemoryHead],
    minimum: int,
    merges: Set[MemoryId],
    apart: Mapping[MemoryId, Set[MemoryId]],
) -> list[list[MemoryHead]]:
    """Groups to be merged of memories that say the same (`same_claims`): each with every other of its group.

    Args:
        same: oldest first.
        minimum: fewest members of a group; two when one of them is a merge already.
        merges: which of them are merges.
        apart: for each, the undone merges it was part of: two of one such are kept apart.
    """
    groups = (group for pool in _pools(same) for group in _groups(pool, apart))
    return [group for group in groups if _worth_merging(group, minimum, merges)]


def _pools(heads: Sequence[MemoryHead]) -> list[list[MemoryHead]]:
    """Those that may be merged for their readers: what is private to one agent with its own or with what all may see.

    What all may see goes with the agent that has the oldest of the private ones.
    """
    first = next((_private_to(head) for head in heads if _private_to(head) is not None), None)
    pools: dict[str | None, list[MemoryHead]] = {}
    for head in heads:
        agent = _private_to(head)
        pools.setdefault(first if agent is None else agent, []).append(head)
    return list(pools.values())


def _private_to(head: MemoryHead) -> str | None:
    """The agent that keeps a memory for itself; None for what all may see."""
    version = head.current
    return version.provenance.agent if version.visibility is Visibility.PRIVATE else None


def _groups(pool: Sequence[MemoryHead], apart: Mapping[MemoryId, Set[MemoryId]]) -> Iterator[list[MemoryHead]]:
    """Parts of a pool of at most `SOURCES_MAX`, none with two that a merge which was undone had joined."""
    left = list(pool)
    while left:
        group: list[MemoryHead] = []
        rest: list[MemoryHead] = []
        undone: set[MemoryId] = set()
        for head in left:
            parted = apart.get(head.id, frozenset())
            if len(group) == SOURCES_MAX or undone & parted:
                rest.append(head)
            else:
                group.append(head)
                undone |= parted
        yield group
        left = rest


def _worth_merging(group: Sequence[MemoryHead], minimum: int, merges: Set[MemoryId]) -> bool:
    needed = 2 if any(head.id in merges for head in group) else minimum
    # What was only inferred so far is observed one by one: its conversations are counted memory by memory (E3).
    return len(group) >= needed and any(head.current.tier is Tier.LONG_TERM for head in group)


def best_wording(heads: Sequence[MemoryHead]) -> MemoryHead:
    """The one whose wording speaks for all: the best supported, then the newest, then the most specific.

    Where some are private and others not, one that all may read.
    """
    return max(
        heads,
        key=lambda h: (
            h.current.visibility is Visibility.SHARED,
            h.current.support,
            h.current.recorded_at,
            len(same_text_key(h.current.text)),
            h.id,
        ),
    )


def merged_version(heads: Sequence[MemoryHead], **fixed: object) -> MemoryVersion:
    """The first version of what `heads` make together, as of `fixed`, which names at least id, dot and times.

    The statements of all stand behind it; it holds as long as the longest of them.
    """
    best = best_wording(heads).current
    versions = [head.current for head in heads]
    evidence = Evidence.of(a for version in versions for a in version.evidence)
    fields: dict[str, object] = {
        "version": 1,
        "content_version": 1,
        "evidence": evidence,
        "support": evidence.support,
        "confidence": evidence.confidence,
        "importance": max(v.importance for v in versions),
        "tags": _tags(versions),
        "tier": Tier.LONG_TERM,
        "valid_from": _earliest(v.valid_from for v in versions),
        "valid_to": _latest(v.valid_to for v in versions),
        "expires_at": _latest(v.expires_at for v in versions),
        "said_at": max((v.said_at for v in versions if v.said_at), default=None),
        "pinned": any(v.pinned for v in versions),
        "disputed": False,
        "redacted": False,
        "reason": MERGED,
    }
    return replace(best, **(fields | fixed))  # type: ignore[arg-type]


def merged_usage(heads: Iterable[MemoryHead]) -> Usage:
    """Their uses taken together: counts added, the last of their times."""
    uses = [head.usage for head in heads]
    fields: dict[str, object] = {}
    for name in (field.name for field in dataclasses.fields(Usage)):
        values = [getattr(use, name) for use in uses]
        counts = name.endswith("_count")
        fields[name] = sum(values) if counts else max((v for v in values if v is not None), default=None)
    return Usage(**fields)  # type: ignore[arg-type]


def taken_apart(
    sources: Mapping[MemoryId, MemoryVersion], first: MemoryVersion, now: Evidence | None
) -> dict[MemoryId, Evidence]:
    """The evidence each source gets back when a merge is undone.

    Args:
        sources: each source as it was before the merge.
        first: the merge as it was made.
        now: its present evidence; None when nothing was taken from it or added to it since.

    What later writers replaced stays replaced; what was stated since goes to the source whose wording it took.
    """
    given = {a.dot: a for version in sources.values() for a in version.evidence}
    if now is None:
        return {memory_id: version.evidence for memory_id, version in sources.items()}
    kept = {a.dot for a in now}
    gone = [a.dot for a in first.evidence if a.dot not in kept]
    since = [a for a in now if a.dot not in given]
    spokesman = next((i for i, v in sources.items() if v.claim == first.claim), next(iter(sources), None))
    return {
        memory_id: Evidence.of([*version.evidence.without(gone), *(since if memory_id == spokesman else ())])
        for memory_id, version in sources.items()
    }


def faithful(text: str, sources: Sequence[str]) -> bool:
    """Whether a text made of others says no more than they do: no longer, no other numbers, no other words of weight.

    Every word (every Chinese character) must be in one of the sources, but for a few that only join.
    """
    if not text.strip() or len(text) > sum(map(len, sources)):
        return False
    known = {unit for source in sources for unit in _units(source)}
    return all(unit in known or unit in _JOINING for unit in _units(text))


_UNIT_RE: Final = re.compile(r"[\u3400-\u9fff]|\d+(?:[.,:]\d+)*|[^\W\d_]+(?:['\u2019][^\W\d_]+)*")
_JOINING: Final = frozenset(
    (
        "and",
        "or",
        "as",
        "but",
        "also",
        "with",
        "of",
        "in",
        "to",
        "the",
        "a",
        "an",
        "is",
        "are",
        *"和与及并且也都的而或又还",
    )
)


def _units(text: str) -> list[str]:
    return _UNIT_RE.findall(normalise(text))


def _tags(versions: Sequence[MemoryVersion]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(tag for version in versions for tag in version.tags))[: limits.TAGS_MAX]


def _earliest(times: Iterable[datetime | None]) -> datetime | None:
    """The first of some starts; None (open) when one of them is open."""
    given = list(times)
    present = [moment for moment in given if moment is not None]
    return min(present) if len(present) == len(given) else None


def _latest(times: Iterable[datetime | None]) -> datetime | None:
    """The last of some ends; None (open) when one of them is open."""
    given = list(times)
    present = [moment for moment in given if moment is not None]
    return max(present) if len(present) == len(given) else None
