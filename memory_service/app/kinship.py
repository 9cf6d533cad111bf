"""Finds the memories a plain statement speaks of, and how it relates to each (E2, E9, E10, P10, B8).

Nobody names a slot in ordinary talk, so what a statement updates, denies or repeats is found by likeness and judged
by wording (`domain/relations`), without a language model. The search and the judging happen before the owner is
locked, on the owner's snapshot; inside the lock only what was committed since is judged as well, so that two writers
that arrive together still meet.

Only a writer that names no context takes part: it counts as having seen everything, so its statement comes after all
others. Wording cannot order concurrent statements; devices that name what they had seen keep both, and de-duplication
joins them later. Turns of a conversation and long texts are records of what was said, not claims: they neither
replace anything nor are replaced.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final

import numpy as np
from numpy.typing import NDArray

from memory_service.app.commands import ChangeMeta
from memory_service.app.disputes import opponents
from memory_service.app.drafts import TEMPORARY_KINDS, Draft
from memory_service.app.fragmenting import width
from memory_service.app.workspace import Workspace
from memory_service.domain.ids import MemoryId, OwnerKey, Revision
from memory_service.domain.memory import (
    STANDING_STATUSES,
    Cardinality,
    Kind,
    MemoryHead,
    Source,
    Status,
    Tier,
    Visibility,
)
from memory_service.domain.plurality import may_hold_several
from memory_service.domain.records import ASSERTION_ORDINAL, Fragment
from memory_service.domain.relations import Judgement, StatementRelation, judge, may_concern, read
from memory_service.domain.relations.acting import CONFLICT_SHARED_MIN, sure
from memory_service.domain.relations.deciding import speaks_for
from memory_service.domain.relations.other_value import guesses_apart
from memory_service.domain.relations.subjects import in_common, returns_to
from memory_service.domain.retrieval.candidates import dense_list, lexical_list
from memory_service.domain.retrieval.columns import Floats, Ints
from memory_service.domain.retrieval.dense import NO_VECTOR
from memory_service.domain.retrieval.filters import current_rows
from memory_service.domain.retrieval.fusion import Fusion
from memory_service.domain.retrieval.rows import is_turn
from memory_service.domain.retrieval.snapshot import OwnerSnapshot
from memory_service.domain.slots import render_assertion
from memory_service.ports.clock import Clock
from memory_service.ports.embedder import EmbeddingModel
from memory_service.ports.snapshots import NO_REVISION, Freshness, Requirement, SnapshotSource

CLAIM_WIDTH_MAX: Final = 240
"""Longest text that is compared as one claim: about forty English words, eighty Chinese characters."""
_SENTENCES_MAX: Final = 4
_SENTENCE_END_RE: Final = re.compile(r"[.!?](?=\s|$)|[。！？]")
_EACH_WAY: Final = 12
"""Memories judged of those nearest by meaning, and of those nearest by words."""
_SINCE_MAX: Final = 64
"""Newest changes, committed since the snapshot or staged before in the same commit, that are judged too."""
_INLINE_MAX: Final = 4
"""Statements searched for on the event loop; more leave it."""
_FUSION: Final = Fusion()
_NEWEST: Final = Requirement(Freshness.FULLY_CONSISTENT)


@dataclass(frozen=True, slots=True)
class Judged:
    """A judgement of a memory's text as it was in `content_version`.

    `closeness` (about 0 to 1) is how near the statement is to it: the cosine where there is one, else shared words.
    """

    content_version: int
    judgement: Judgement
    closeness: float
    disputed: bool = False


@dataclass(frozen=True, slots=True)
class Nearby:
    """What was found of one statement before the lock: judgements of the texts as they were at `revision`."""

    revision: Revision = NO_REVISION
    judged: Mapping[MemoryId, Judged] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Kin:
    """The standing memories a statement speaks of.

    Attributes:
        same: the one that says the same in other words; `wordings` are those it is searched by already.
        rivals: those that cannot hold beside it, with why.
        narrowed: those it adds detail to, or narrows; they stay.
        corrected: the rival that the statement takes back ("no, I meant …").
        context: what the corrected or updated memory is searched by, since who corrects or updates something seldom
            repeats what it is about.
    """

    same: MemoryHead | None = None
    wordings: Sequence[str] = ()
    rivals: Mapping[MemoryId, tuple[MemoryHead, Judgement]] = field(default_factory=dict)
    narrowed: Sequence[MemoryHead] = ()
    corrected: MemoryId | None = None
    context: Sequence[Fragment] = ()


_BY_STRUCTURE: Final = Judgement(StatementRelation.DIFFERENT, 1.0, "one slot: the vocabulary decides")
_DIGIT_RE: Final = re.compile(r"\d")
_TOLD: Final = frozenset({Source.EXPLICIT, Source.EXPLICIT_CORRECTION})
_BESIDE: Final = frozenset({"more", "scope"})
_HINTS: Final = frozenset({"hint", "change"})
_SAME_TALK: Final = 0.2
_TAKEN_BACK: Final = Judgement(StatementRelation.OPPOSITE, 0.6, "taken back by its wording")
_RETURNED: Final = Judgement(StatementRelation.UPDATE, 0.7, "goes back to what it replaced")
_GUESSES_APART: Final = Judgement(StatementRelation.OPPOSITE, 0.6, "two guesses of one thing")
ANOTHER_VALUE: Final = "another value of one slot"
CONTRADICTED: Final = Judgement(StatementRelation.OPPOSITE, 1.0, "contradicts what is confirmed here")
NO_KIN: Final = Kin()


def takes_part(draft: Draft, meta: ChangeMeta) -> bool:
    """Whether a statement is compared by wording; see the module."""
    said = draft.statement
    turn = said.process == "conversation" and bool(said.session)
    return meta.context is None and not turn and is_claim(draft.text)


def is_claim(text: str) -> bool:
    """Whether a text is short and plain enough to be one claim; notes and lists are records, not claims."""
    return (
        width(text) <= CLAIM_WIDTH_MAX and len(_SENTENCE_END_RE.findall(text)) <= _SENTENCES_MAX and "\n" not in text
    )


@dataclass(frozen=True, slots=True)
class Kinship:
    """See the module."""

    snapshots: SnapshotSource
    model: EmbeddingModel
    clock: Clock

    async def nearby(self, owner: OwnerKey, drafts: Sequence[Draft | None]) -> list[Nearby]:
        """What each of these statements is near to; nothing for None.

        Raises:
            Unavailable: when the store is away.
        """
        wanted = [draft for draft in drafts if draft is not None]
        if not wanted:
            return [Nearby() for _ in drafts]
        snapshot = await self.snapshots.snapshot(owner, _NEWEST)
        if not len(snapshot):
            return [Nearby(snapshot.revision) for _ in drafts]
        search = _Search(snapshot, self.clock.now(), self.model)
        if len(wanted) > _INLINE_MAX:
            found = iter(await asyncio.to_thread(lambda: [search.nearby(draft) for draft in wanted]))
        else:
            found = iter([search.nearby(draft) for draft in wanted])
        return [Nearby() if draft is None else next(found) for draft in drafts]

    async def kin(self, workspace: Workspace, draft: Draft, nearby: Nearby) -> Kin:
        """The kin of a statement as things stand inside the lock."""
        corrects = takes_back(draft)
        returns = "return" in read(draft.text).signs and draft.source in _TOLD
        anyway = corrects or returns
        judged = {i: found for i, found in nearby.judged.items() if anyway or found.disputed or not _apart(found)}
        await self._load(workspace, judged)
        for head in await self._newer(workspace, nearby.revision):
            if not _comparable(head, draft):
                continue
            cosine = await self._cosine(workspace, head, draft)
            judged[head.id] = _judged(head, draft, cosine, cosine or 0.0)
        disputed = [workspace.heads[i] for i in judged if _is_disputed(workspace.heads.get(i))]
        kin = await _with_opponents(workspace, draft, _sorted(workspace, draft, judged, self.clock.now()), disputed)
        if returns and not any(map(_updates, (judgement for _, judgement in kin.rivals.values()))):
            kin = await self._returning(workspace, draft, kin, judged)
        if corrects:
            kin = await self._correcting(workspace, draft, kin, judged)
        elif kin.rivals:
            kin = replace(kin, context=await self._followed(workspace, kin))
        if kin.same is None:
            return kin
        pieces = await self._pieces(workspace, kin.same)
        return replace(kin, wordings=[piece.text for piece in pieces])

    async def _correcting(
        self, workspace: Workspace, draft: Draft, kin: Kin, judged: Mapping[MemoryId, Judged]
    ) -> Kin:
        """With what a correction takes back: a rival, or else the nearest of what it may concern."""
        among = [i for i in judged if i in workspace.heads and workspace.heads[i].current.claim != draft.claim]
        among = [i for i in kin.rivals if i in judged] or among
        newest = max((workspace.heads[i].current.revision for i in among), default=NO_REVISION)
        heads = [workspace.heads[i] for i in among if _may_be_meant(workspace.heads[i], draft, newest)]
        if not heads:
            return kin
        meant = max(
            heads, key=lambda head: (_taken_back(head, draft), _nearness(head, draft, judged[head.id]), str(head.id))
        )
        same = None if kin.same is not None and kin.same.id == meant.id else kin.same
        rivals = {**kin.rivals, meant.id: kin.rivals.get(meant.id, (meant, _TAKEN_BACK))}
        context = await self._pieces(workspace, meant)
        return replace(kin, same=same, rivals=rivals, corrected=meant.id, context=context)

    async def _returning(
        self, workspace: Workspace, draft: Draft, kin: Kin, judged: Mapping[MemoryId, Judged]
    ) -> Kin:
        """With what stands in the place of what the statement goes back to ("back with …", 又换回…).

        It seldom names what it leaves; but that is searched by what it replaced, too, and so is near.
        """
        later, rivals = read(draft.text), dict(kin.rivals)
        for memory_id in judged:
            head = workspace.heads.get(memory_id)
            if head is None or not _comparable(head, draft) or head.current.claim == draft.claim:
                continue
            held = read(head.current.text)
            replaced = [p.text for p in await self._pieces(workspace, head) if p.text not in head.current.text]
            if any(returns_to(read(text), held, later) for text in replaced):
                rivals[memory_id] = (head, _RETURNED)
        return replace(kin, rivals=rivals)

    async def _followed(self, workspace: Workspace, kin: Kin) -> Sequence[Fragment]:
        """What the memory is searched by that the statement surely updates; nothing when it surely updates none."""
        updated = [pair for pair in kin.rivals.values() if _updates(pair[1])]
        if not updated:
            return ()
        head, _ = max(updated, key=lambda pair: (pair[1].certainty, str(pair[0].id)))
        return (await self._pieces(workspace, head))[:1]

    async def _load(self, workspace: Workspace, ids: Iterable[MemoryId]) -> None:
        missing = [i for i in ids if i not in workspace.heads]
        if missing:
            workspace.adopt(await workspace.change.heads(missing))

    async def _newer(self, workspace: Workspace, since: Revision) -> list[MemoryHead]:
        """Memories that changed after the snapshot: committed meanwhile, or staged before in this commit."""
        committed = workspace.change.state.revision
        ids: dict[MemoryId, None] = {}
        if committed > since:
            revisions = [Revision(r) for r in range(max(since + 1, committed - _SINCE_MAX + 1), committed + 1)]
            ids |= dict.fromkeys(version.id for version in await workspace.change.versions_at(revisions))
        ids |= dict.fromkeys(workspace.staged_ids()[-_SINCE_MAX:])
        await self._load(workspace, ids)
        return [workspace.heads[i] for i in ids if i in workspace.heads]

    async def _cosine(self, workspace: Workspace, head: MemoryHead, draft: Draft) -> float | None:
        own = _mean(draft.wording_vectors)
        version = head.current
        if own is None or not may_concern(read(version.text), read(draft.text)):
            return None
        pieces = await self._pieces(workspace, head)
        vectors = [p.vector for p in pieces if p.vector is not None and p.model_id == self.model.id]
        theirs = _mean(np.stack(vectors)) if vectors else None
        return None if theirs is None or not self.model.judges_claims else float(own @ theirs)

    @staticmethod
    async def _pieces(workspace: Workspace, head: MemoryHead) -> list[Fragment]:
        """The words a memory is searched by, as committed and as staged, in order; not its assertion."""
        version = head.current
        stored = await workspace.change.fragments(head.id, version.content_version)
        staged = workspace.staged_fragments(head.id, version.content_version)
        words = {piece.ordinal: piece for piece in (*stored, *staged) if piece.ordinal != ASSERTION_ORDINAL}
        return list(words.values())


@dataclass(frozen=True, slots=True)
class _Search:
    """Over one snapshot: the memories nearest to a statement, judged. Pure computing."""

    snapshot: OwnerSnapshot
    now: datetime
    model: EmbeddingModel

    def nearby(self, draft: Draft) -> Nearby:
        snapshot = self.snapshot
        mask = current_rows(snapshot, self.now) & ~snapshot.rows["turn"]
        rows = np.flatnonzero(mask)
        cosine = self._cosines(rows, draft)
        words, strong = self._lexical(rows, draft)
        chosen = dict.fromkeys(self._best(words))
        if cosine is not None:
            chosen |= dict.fromkeys(self._best(cosine))
        slot = snapshot.strings.find(draft.slot) if draft.slot else -1
        if slot >= 0:
            chosen |= dict.fromkeys(np.flatnonzero(snapshot.rows["slot"][rows] == slot)[-_EACH_WAY:].tolist())
        judged: dict[MemoryId, Judged] = {}
        for place in chosen:
            head = snapshot.head(int(rows[place]))
            if _comparable(head, draft):
                near = None if cosine is None or cosine[place] == NO_VECTOR else float(cosine[place])
                shared = min(1.0, float(words[place]) / strong) if strong else 0.0
                scaled = near if self.model.judges_claims else None
                judged[head.id] = _judged(head, draft, scaled, max(near or 0.0, shared))
        return Nearby(snapshot.revision, judged)

    def _cosines(self, rows: Ints, draft: Draft) -> Floats | None:
        own = _mean(draft.wording_vectors)
        if own is None or draft.model_id != self.model.id or self.snapshot.model_id != self.model.id:
            return None
        return dense_list(self.snapshot, rows, own)

    def _lexical(self, rows: Ints, draft: Draft) -> tuple[Floats, float]:
        terms = list(dict.fromkeys(term for piece in draft.terms for term in piece))
        return lexical_list(self.snapshot, rows, terms, _FUSION)

    @staticmethod
    def _best(scores: Floats) -> list[int]:
        """Places of the highest positive scores, best first."""
        best = np.argsort(-scores, kind="stable")[:_EACH_WAY]
        return [int(place) for place in best if scores[place] > 0]


def settled_in(draft: Draft, kin: Kin) -> Draft:
    """The draft as what it stands against has it: "changed jobs today" is told as an event, but what changed is a
    standing fact, and neither its kind nor its hold is for the day (E17).
    """
    said = draft.statement
    if draft.kind not in (Kind.EVENT, Kind.CONTEXT) or said.kind is not None:
        return draft
    for head, _ in kin.rivals.values():
        if head.current.kind not in TEMPORARY_KINDS:
            return replace(draft, kind=head.current.kind, valid_to=said.valid_to, expires_at=said.expires_at)
    return draft


async def _with_opponents(workspace: Workspace, draft: Draft, kin: Kin, near: Sequence[MemoryHead]) -> Kin:
    """With those that contradict what the draft confirms: new evidence for one side is evidence against the other.

    It confirms what it repeats; and where a guess is disputed, the side whose own words it has.
    """
    confirmed = [kin.same] if kin.same else workspace.with_claim(draft.claim)
    against = {h.id: (h, CONTRADICTED) for h in await opponents(workspace, confirmed)}
    evidence = read(draft.text)
    favoured: set[MemoryId] = set()
    for head in near if draft.source in _TOLD else ():
        for other in await opponents(workspace, [head]):
            if other.current.tier is not Tier.CANDIDATE:
                continue  # what was told is not decided by what sounds like it
            if speaks_for(evidence, read(head.current.text), read(other.current.text)) > 0:
                against[other.id] = (other, CONTRADICTED)
                favoured.add(head.id)
    denied = {i: pair for i, pair in kin.rivals.items() if i not in favoured or _updates(pair[1])}
    return replace(kin, rivals=against | denied) if against else kin


def takes_back(draft: Draft) -> bool:
    """Whether a statement corrects an earlier one, by its source or in so many words."""
    if draft.source is Source.EXPLICIT_CORRECTION:
        return not draft.structured
    return draft.source is Source.EXPLICIT and "correction" in read(draft.text).signs


def _updates(judgement: Judgement) -> bool:
    return judgement.relation is StatementRelation.UPDATE


def _is_disputed(head: MemoryHead | None) -> bool:
    return head is not None and head.current.status is Status.CONTESTED


def _apart(found: Judged) -> bool:
    return found.judgement.relation is StatementRelation.DIFFERENT


def _may_be_meant(head: MemoryHead, draft: Draft, newest: Revision) -> bool:
    """Whether a correction may be of this memory: it has a telling word in common, or came just before it."""
    if in_common(read(head.current.text), read(draft.text)) >= CONFLICT_SHARED_MIN:
        return True
    same_talk = bool(draft.statement.session) and head.current.provenance.session == draft.statement.session
    return same_talk and head.current.revision == newest


def _taken_back(head: MemoryHead, draft: Draft) -> float:
    """Weight of the words and numbers of a memory that a correction denies and says nowhere else: "203, not 302"."""
    earlier, later = read(head.current.text), read(draft.text)
    affirmed = {term for term in later.terms if term not in later.denied}
    words = sum(weight for term, weight in earlier.terms.items() if term in later.denied and term not in affirmed)
    numbers = later.left_behind & {value for _, value in earlier.quantities}
    return round(words + 2.0 * len(numbers), 3)


def _nearness(head: MemoryHead, draft: Draft, found: Judged) -> float:
    """How likely a correction is of this memory: by likeness, more so in one conversation."""
    same_talk = bool(draft.statement.session) and head.current.provenance.session == draft.statement.session
    return found.closeness + _SAME_TALK * same_talk


def _judged(head: MemoryHead, draft: Draft, cosine: float | None, closeness: float) -> Judged:
    """The judgement by wording, where structure does not decide.

    Values of one slot are told apart by the vocabulary, and what is stated of two subjects is two things. Only where
    the vocabulary does not say how many values there may be, and of a slot of many where both writers used their own
    words ("no longer allergic"), has the wording a say.
    """
    version = head.current
    same_slot = draft.structured and version.slot == draft.slot
    decided = same_slot and not draft.mapped and not (draft.cardinality is Cardinality.MANY and _worded(head, draft))
    if decided or _of_other_things(head, draft):
        return Judged(version.content_version, _BY_STRUCTURE, closeness)
    same_slot = same_slot and draft.mapped
    earlier, later = read(version.text), read(draft.text)
    judgement = judge(earlier, later, cosine=cosine, same_slot=same_slot)
    if same_slot and not later.signs & _BESIDE:
        judgement = _other_value(head, draft, judgement)
    if judgement.relation is StatementRelation.OPPOSITE and later.signs & _HINTS and draft.source in _TOLD:
        # The same said again with another value, and "now": also where the one before told of a change as well.
        judgement = replace(judgement, relation=StatementRelation.UPDATE)
    guesses = draft.source is Source.INFERRED and version.tier is Tier.CANDIDATE
    untold = draft.source not in _TOLD and version.source not in _TOLD
    if untold and judgement.relation is StatementRelation.DIFFERENT and guesses_apart(earlier, later, cosine):
        return Judged(version.content_version, _GUESSES_APART, closeness, _is_disputed(head))
    if not same_slot and not sure(judgement, earlier, later, cosine, guesses=guesses):
        judgement = Judgement(StatementRelation.DIFFERENT, judgement.certainty, f"unsure: {judgement.reason}")
    return Judged(version.content_version, judgement, closeness, _is_disputed(head))


def _other_value(head: MemoryHead, draft: Draft, judgement: Judgement) -> Judgement:
    """The judgement of another value of one slot, where the vocabulary does not know how many there may be.

    Numbers, times and dates a thing has one of, whatever they are called; of others the name tells.
    """
    told, telling = head.current.assertion, draft.assertion
    kept = (StatementRelation.PARAPHRASE, StatementRelation.UPDATE)
    if told is None or telling is None or judgement.relation in kept or head.current.claim == draft.claim:
        return judgement
    values = (told.object, telling.object)
    scalar = all(isinstance(value, str | int | float) for value in values)
    counted = scalar and all(_DIGIT_RE.search(str(value)) for value in values)
    if counted or (scalar and not may_hold_several(telling.predicate)):
        return Judgement(StatementRelation.OPPOSITE, 0.9, ANOTHER_VALUE)
    return judgement


def _of_other_things(head: MemoryHead, draft: Draft) -> bool:
    """Whether both are assertions about two subjects, or of one in two slots without words to compare."""
    told, telling = head.current.assertion, draft.assertion
    if told is None or telling is None or head.current.slot == draft.slot:
        return False
    return told.subject != telling.subject or not _worded(head, draft)


def _worded(head: MemoryHead, draft: Draft) -> bool:
    """Whether both came in words of their own, not only as assertions."""
    told = head.current.assertion
    return bool(draft.statement.text) and (told is None or head.current.text != render_assertion(told))


def _comparable(head: MemoryHead, draft: Draft) -> bool:
    """Whether a memory is a claim made before the same audience."""
    version = head.current
    if version.status not in STANDING_STATUSES or is_turn(version) or not is_claim(version.text):
        return False
    private = (version.visibility is Visibility.PRIVATE, draft.visibility is Visibility.PRIVATE)
    return private == (False, False) or (all(private) and version.provenance.agent == draft.statement.agent)


def _in_common(head: MemoryHead, draft: Draft) -> float:
    """Weight of the words that both have."""
    later = read(draft.text).terms
    return round(sum(weight for term, weight in read(head.current.text).terms.items() if term in later), 3)


def _happened(head: MemoryHead, draft: Draft, judgement: Judgement, now: datetime) -> bool:
    """Whether one of two conflicting statements tells what happened: another day's event does not undo it.

    Only what lies ahead can be moved or called off, and only what holds can end.
    """
    old = head.current
    undated = old.window.end is None and old.assertion is None
    if old.kind is Kind.EVENT and (undated or old.window.over(now)):
        return True
    undated = draft.valid_to is None and not draft.structured
    told = draft.kind is Kind.EVENT and (undated or (draft.valid_to is not None and draft.valid_to <= now))
    return told and not _updates(judgement)


def _sorted(workspace: Workspace, draft: Draft, judged: Mapping[MemoryId, Judged], now: datetime) -> Kin:
    same: list[tuple[float, MemoryHead]] = []
    rivals: dict[MemoryId, tuple[MemoryHead, Judgement]] = {}
    narrowed: list[MemoryHead] = []
    for memory_id, found in judged.items():
        head, judgement = workspace.heads.get(memory_id), found.judgement
        if head is None or head.current.content_version != found.content_version or not _comparable(head, draft):
            continue
        if judgement.relation is StatementRelation.PARAPHRASE:
            same.append((judgement.certainty, head))
        elif judgement.relation in (StatementRelation.UPDATE, StatementRelation.OPPOSITE):
            if not _happened(head, draft, judgement, now):
                rivals[memory_id] = (head, judgement)
        elif judgement.relation is StatementRelation.REFINEMENT:
            narrowed.append(head)
    named = read(draft.text).names
    known = {i: read(workspace.heads[i].current.text).names for i in judged if i in workspace.heads}
    if any(names & named for names in known.values()):
        # It names something that is remembered, so it is about that, and not about another of the kind.
        rivals = {i: pair for i, pair in rivals.items() if not known[i] or known[i] & named}
    # Who says that something changed means one thing: what has most words in common with it. The others stay.
    changed = sorted((_in_common(head, draft), j.certainty, str(i)) for i, (head, j) in rivals.items() if _updates(j))
    others = {key for _, _, key in changed[:-1]}
    rivals = {i: pair for i, pair in rivals.items() if str(i) not in others}
    best = max(same, key=lambda pair: (pair[0], str(pair[1].id)), default=None)
    return Kin(best[1] if best else None, (), rivals, narrowed)


def _mean(vectors: NDArray[np.float32] | None) -> NDArray[np.float32] | None:
    """The unit mean of some unit vectors of shape (pieces, dimension); None without any direction."""
    if vectors is None or not len(vectors):
        return None
    total = vectors.mean(axis=0, dtype=np.float32)
    length = float(np.linalg.norm(total))
    return total / np.float32(length) if length > 1e-6 else None
