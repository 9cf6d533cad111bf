"""Which memories say the same, and what one memory made of them says (P11, S9, C5). Pure rules.

Only the wording of one of them is ever taken, never made up; and two are one only when nothing speaks against it:
two memories that should have been one cost a line in an answer, one that should have been two costs a fact.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

import numpy as np
from numpy.typing import NDArray

from memory_service.domain import limits
from memory_service.domain.evidence import Evidence
from memory_service.domain.ids import MemoryId
from memory_service.domain.memory import Kind, MemoryHead, MemoryVersion, Status, Tier, Usage, Visibility
from memory_service.domain.relations import StatementRelation, judge, read
from memory_service.domain.relations.acting import sure
from memory_service.domain.retrieval.rows import is_turn
from memory_service.domain.slots import claim_of_assertion, slot_of_assertion
from memory_service.domain.text import normalise, polarity, same_text_key

SameClaim = Callable[[MemoryHead, MemoryHead, float | None], bool]
"""Whether two memories say the same; given their cosine (-1..1, 0 when one has no vector).

None: the model's cosines are not on the scale that statements are judged by.
"""

MERGED: Final = "merged"
"""The reason with which a memory is superseded by the one it was merged into."""
SOURCES_MAX: Final = 200
"""Most memories one merge takes."""

# What holds for a while is told apart by its time, and a summary is no statement of its own.
_LEFT_ALONE: Final = frozenset({Kind.TEMPORARY_PREFERENCE, Kind.CONTEXT, Kind.EVENT, Kind.TASK, Kind.SUMMARY})
# Words that may come and go without changing what is said.
_FILLER_RE: Final = re.compile(
    r"\b(?:a|an|the|really|very|quite|also|just|honestly|actually)\b|真的|非常|特别地?|十分(?![钟之])|其实|很|也|呢|啊|吧|呀"
)


@dataclass(frozen=True, slots=True)
class Piece:
    """A memory to compare: its head and its vector of unit length, None while it has none."""

    head: MemoryHead
    vector: NDArray[np.float32] | None


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


def same_claim(a: MemoryHead, b: MemoryHead, cosine: float | None) -> bool:
    """The rule: the same wording, or two plain statements of which one surely is a paraphrase of the other."""
    if same_wording(a, b, cosine):
        return True
    if a.current.assertion is not None or b.current.assertion is not None:
        return False
    if is_turn(a.current) or is_turn(b.current):
        return False  # a record of what was said, not a claim
    first, second = read(a.current.text), read(b.current.text)
    judgement = judge(first, second, cosine=cosine)
    return judgement.relation is StatementRelation.PARAPHRASE and sure(judgement, first, second, cosine)


def same_wording(a: MemoryHead, b: MemoryHead, cosine: float | None) -> bool:  # noqa: ARG001 (a `SameClaim`)
    """The rule without a judge of meaning: equal values, or wordings that differ in filler words alone.

    A wording with the same words in another order is not taken for the same ("from Rome to Paris").
    """
    return wording_key(a.current) == wording_key(b.current)


def wording_key(version: MemoryVersion) -> str:
    """Equal for memories that say the same in the same words, whoever may see them and whatever fills the gaps."""
    assertion = version.assertion
    if assertion is not None:
        return claim_of_assertion(slot_of_assertion(assertion.subject, assertion.predicate), assertion.object)
    return f"{polarity(version.text)}{_bare(version.text)}"


def compatible(a: MemoryHead, b: MemoryHead) -> bool:
    """Whether the merge of two that say the same loses nothing: one kind, times that meet, no secret told."""
    first, second = a.current, b.current
    return (
        first.kind is second.kind
        and (first.valid_from, first.valid_to) == (second.valid_from, second.valid_to)
        and _readers_agree(first, second)
    )


def _readers_agree(a: MemoryVersion, b: MemoryVersion) -> bool:
    """What is private to one agent is merged with what all may see, or with its own; never with another's."""
    private = [v.provenance.agent for v in (a, b) if v.visibility is Visibility.PRIVATE]
    return len(set(private)) < 2


def alike(
    pieces: Sequence[Piece], *, same: SameClaim, near_cosine: float, minimum: int, merges: frozenset[MemoryId]
) -> list[list[MemoryHead]]:
    """Groups of memories each of which says the same as every other of its group, oldest first.

    A group has at least `minimum` members, or two when one of them is a merge already (in `merges`), and one that
    is long-term. Every pair is compared, so that no chain of small differences joins two that differ.
    """
    cosines = _cosines(pieces)
    keys = [wording_key(piece.head.current) for piece in pieces]
    free = list(range(len(pieces)))
    found: list[list[MemoryHead]] = []
    while free:
        group = [free.pop(0)]
        for place in list(free):
            if len(group) == SOURCES_MAX:
                break
            if all(_one(pieces, keys, cosines, member, place, same, near_cosine) for member in group):
                group.append(place)
                free.remove(place)
        heads = [pieces[place].head for place in group]
        needed = 2 if any(head.id in merges for head in heads) else minimum
        # What was only inferred so far is observed one by one: its conversations are counted memory by memory (E3).
        if len(heads) >= needed and any(head.current.tier is Tier.LONG_TERM for head in heads):
            found.append(heads)
    return found


def _one(
    pieces: Sequence[Piece],
    keys: Sequence[str],
    cosines: NDArray[np.float32],
    first: int,
    second: int,
    same: SameClaim,
    near_cosine: float,
) -> bool:
    a, b = pieces[first].head, pieces[second].head
    cosine = float(cosines[first, second])
    near = keys[first] == keys[second] or cosine >= near_cosine
    return near and compatible(a, b) and same(a, b, cosine)


def _cosines(pieces: Sequence[Piece]) -> NDArray[np.float32]:
    """Shape (pieces, pieces); 0 where one has no vector."""
    width = max((len(p.vector) for p in pieces if p.vector is not None), default=1)
    matrix = np.zeros((len(pieces), width), np.float32)
    for place, piece in enumerate(pieces):
        if piece.vector is not None:
            matrix[place] = piece.vector
    product: NDArray[np.float32] = matrix @ matrix.T
    return product


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


def _bare(text: str) -> str:
    """The wording without fillers, spacing and punctuation; a text of fillers alone stays as it is."""
    return same_text_key(_FILLER_RE.sub(" ", normalise(text))) or f"={text}"


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
