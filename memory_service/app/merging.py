"""Stages the merge of memories that say the same, and its undoing (P11, C5, E11).

The merged memory is a new one. What it was made of stays, superseded by it, with a link to it and with every
version: undoing the merge makes each what it was before.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from memory_service.app.commands import Affected, Effect
from memory_service.app.fragmenting import WHOLE_WIDTH_MAX, WORDINGS_MAX, waiting_fragments, width
from memory_service.app.rollback import RESTORED
from memory_service.app.settling import Settling
from memory_service.app.workspace import Authorship, Workspace, affected
from memory_service.domain.evidence import Evidence
from memory_service.domain.ids import MemoryId
from memory_service.domain.memory import STANDING_STATUSES, MemoryHead, MemoryVersion, Relation, Status
from memory_service.domain.merging import MERGED, best_wording, merged_usage, merged_version, taken_apart
from memory_service.domain.records import ASSERTION_ORDINAL, Fragment, JournalEvent, Link
from memory_service.domain.slots import audience, claim_of_text
from memory_service.domain.text import language_of

_LOOKUP_MAX = 500
WHOLE = (*RESTORED, "status", "tier", "evidence", "disputed", "support", "provenance")
"""Fields that make a memory what it was before a change."""


@dataclass(frozen=True, slots=True)
class Merge:
    """A merge as it was made and as it is.

    Attributes:
        absorbed: what it was made of and nothing has touched since: this may be what it was again.
        superseded: what it was made of and speaks for itself no more, whatever happened in between.
    """

    head: MemoryHead
    first: MemoryVersion
    absorbed: Sequence[MemoryHead]
    superseded: Sequence[MemoryHead]

    @property
    def untouched(self) -> bool:
        """Whether it still claims what it was made to claim, so that what it absorbed speaks for the present."""
        standing = self.head.current.status in STANDING_STATUSES or self.head.current.reason == MERGED
        return standing and self.head.current.claim == self.first.claim


@dataclass(slots=True)
class Merging:
    """Stages merges in a workspace; the owner is locked."""

    workspace: Workspace
    settling: Settling

    async def merge(self, heads: Sequence[MemoryHead], memory_id: MemoryId, text: str, by: Authorship) -> MemoryHead:
        """Stage one memory in place of `heads`, under `memory_id`.

        `text` is its wording where that is none of theirs, "" to take the best of theirs with its vectors.
        """
        ws = self.workspace
        best = best_wording(heads)
        fixed: dict[str, object] = {
            "id": memory_id,
            "recorded_at": by.now,
            "dot": by.dot,
            "context": by.context,
            "revision": ws.state.revision,
        }
        pieces: list[Fragment]
        if text:
            who = audience(best.current.visibility, best.current.provenance.agent)
            fixed |= {"text": text, "claim": claim_of_text(text, who), "language": language_of(text)}
            pieces = waiting_fragments(memory_id, 1, text, best.current.assertion)
            others = heads
        else:
            stored = await ws.change.fragments(best.id, best.current.content_version)
            pieces = [replace(piece, memory_id=memory_id, content_version=1) for piece in stored]
            others = [head for head in heads if head.id != best.id]
        if width(text or best.current.text) <= WHOLE_WIDTH_MAX:
            pieces = _with_wordings(pieces, await self._said_in(others))
        made = ws.create_version(merged_version(heads, **fixed), pieces, by)
        ws.use(made, merged_usage(heads))
        self.settling.note(JournalEvent.CREATED, None, made, by, MERGED, {"merged": len(heads)})
        for head in heads:
            old = head.current
            after = ws.revise(
                head, by, MERGED, dot=old.dot, context=old.context, status=Status.SUPERSEDED, evidence=Evidence()
            )
            ws.link(head.id, Relation.MERGED_INTO, memory_id)
            self.settling.note(JournalEvent.SUPERSEDED, head, after, by, MERGED, {"by": str(memory_id)})
        return ws.heads[memory_id]

    async def _said_in(self, heads: Sequence[MemoryHead]) -> list[Fragment]:
        """All that some memories are searched by, unless they are long: first their own words, then others."""
        found: list[Fragment] = []
        for head in heads:
            if width(head.current.text) <= WHOLE_WIDTH_MAX:
                found += await self.workspace.change.fragments(head.id, head.current.content_version)
        worded = (piece for piece in found if piece.ordinal != ASSERTION_ORDINAL)
        return sorted(worded, key=lambda piece: piece.ordinal)

    async def _give_words_back(self, merge: Merge, restored: Sequence[MemoryHead]) -> None:
        """Stage that what a merge was called since is a wording of the source whose words it took."""
        heir = next((h for h in restored if h.current.claim == merge.first.claim), next(iter(restored), None))
        if heir is None or width(heir.current.text) > WHOLE_WIDTH_MAX:
            return
        ws = self.workspace
        known = {piece.text for piece in await self._said_in(merge.absorbed)} | {merge.first.text}
        own = await ws.change.fragments(heir.id, heir.current.content_version)
        fresh = [piece for piece in await self._said_in([merge.head]) if piece.text not in known]
        ws.reword(_with_wordings(own, fresh)[len(own) :])

    async def find(self, ids: Iterable[MemoryId]) -> list[Merge]:
        """Those of these memories that are merges of others which do not speak for themselves."""
        ws = self.workspace
        wanted = list(dict.fromkeys(ids))
        there = set(wanted)
        links = [link for link in await self._links(wanted) if link.to_id in there]
        if not links:
            return []
        sources: dict[MemoryId, list[MemoryId]] = {}
        for link in links:
            sources.setdefault(link.to_id, []).append(link.from_id)
        ws.adopt(await ws.change.heads([*sources, *(i for some in sources.values() for i in some)]))
        found: list[Merge] = []
        for merge_id, some in sources.items():
            head = ws.heads.get(merge_id)
            versions = await ws.change.versions(merge_id)
            if head is None or not versions or versions[0].redacted:
                continue
            first = versions[0]
            there_still = [ws.heads[i] for i in some if i in ws.heads]
            superseded = [source for source in there_still if source.current.status is Status.SUPERSEDED]
            absorbed = [source for source in superseded if source.current.revision == first.revision]
            if superseded:
                found.append(Merge(head, first, absorbed, superseded))
        return found

    async def merges_of(self, ids: Iterable[MemoryId]) -> list[Merge]:
        """The merges that absorbed any of these memories."""
        wanted = list(dict.fromkeys(ids))
        there = set(wanted)
        return await self.find(link.to_id for link in await self._links(wanted) if link.from_id in there)

    async def _links(self, ids: Sequence[MemoryId]) -> list[Link]:
        """Who was merged into whom among these memories and others."""
        found: list[Link] = []
        for start in range(0, len(ids), _LOOKUP_MAX):
            found += await self.workspace.change.linked(ids[start : start + _LOOKUP_MAX], Relation.MERGED_INTO)
        return found

    async def restore(
        self, merge: Merge, by: Authorship, reason: str, *, without: frozenset[MemoryId] = frozenset()
    ) -> list[Affected]:
        """Stage that what a merge absorbed is what it was before, but for those in `without`.

        The merge itself is left to the caller.
        """
        ws = self.workspace
        before: dict[MemoryId, MemoryVersion] = {}
        for source in merge.absorbed:
            earlier = [v for v in await ws.change.versions(source.id) if v.version < source.current.version]
            if earlier and not earlier[-1].redacted:
                before[source.id] = earlier[-1]
        await ws.load([v.slot for v in before.values()], [v.claim for v in before.values()])
        now = merge.head.current.evidence
        shares = taken_apart(before, merge.first, None if now == merge.first.evidence or not now else now)
        touched: list[Affected] = []
        for source in merge.absorbed:
            old = before.get(source.id)
            if old is None or source.id in without or not shares[source.id] or ws.forgotten_since(old):
                continue
            fields = {name: getattr(old, name) for name in WHOLE}
            share = shares[source.id]
            fields |= {"evidence": share, "support": share.support, "confidence": share.confidence}
            if share == old.evidence:
                fields |= {"support": old.support, "confidence": old.confidence}
            after = ws.revise(source, by, reason, dot=old.dot, context=old.context, **fields)
            self.settling.note(JournalEvent.ROLLED_BACK, source, after, by, reason, {"to_version": old.version})
            touched.append(affected(after, Effect.UPDATED, reason))
        await self._give_words_back(merge, [item.head for item in touched if item.head is not None])
        return touched

    async def take_apart(self, merge: Merge, by: Authorship, reason: str) -> list[Affected]:
        """Stage the undoing of a merge: what it absorbed is back, and the merge was never stated."""
        touched = await self.restore(merge, by, reason)
        return [self.settling.retract(self.workspace.heads[merge.head.id], by, reason), *touched]


def _with_wordings(own: Sequence[Fragment], more: Sequence[Fragment]) -> list[Fragment]:
    """What a memory is searched by, and other words that say the same as far as there is room (see `kinship`)."""
    found = list(own)
    if not own:
        return found
    texts = {piece.text for piece in own}
    places: dict[str, int] = {}
    free = max(piece.ordinal for piece in own) + 1
    for piece in more:
        if piece.text in texts or (piece.text not in places and free + len(places) >= WORDINGS_MAX):
            continue
        place = places.setdefault(piece.text, free + len(places))
        found.append(
            replace(piece, memory_id=own[0].memory_id, content_version=own[0].content_version, ordinal=place)
        )
    return found
