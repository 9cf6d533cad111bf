"""Contract: memories in cold storage have their place in everything but searches (P9)."""

from __future__ import annotations

import dataclasses

import pytest

from memory_service.domain.errors import InternalError
from memory_service.domain.ids import MemoryId, OwnerKey, Revision
from memory_service.domain.memory import MemoryHead, MemoryVersion, Status, Tier, Usage
from memory_service.domain.records import ASSERTION_ORDINAL, ColdFile, MemoryFilter
from memory_service.ports.memory_store import Changeset, MemoryStore, OwnerState
from tests.contracts.builders import (
    EVERYTHING,
    MODEL,
    OTHER_MODEL,
    at,
    commit,
    fragment,
    new_id,
    new_owner,
    next_state,
    plain,
    version,
    write,
)

FILE, LATER = "file-1", "file-2"
IDLE = at(1000)


def archived(memory_id: MemoryId, number: int = 1, **fields: object) -> MemoryVersion:
    return version(memory_id, number, tier=Tier.ARCHIVE, **{"text": f"old {memory_id}", **fields})


async def frozen(store: MemoryStore, owner: OwnerKey, count: int = 1, file: str = FILE) -> list[MemoryId]:
    """Archived memories that were moved to a file."""
    ids = [new_id() for _ in range(count)]
    versions = [archived(i, slot=f"slot {i}", claim=f"claim {i}") for i in ids]
    pieces = [fragment(v, model_id=m) for v in versions for m in (MODEL, OTHER_MODEL)]
    await write(store, owner, *versions, fragments=pieces)
    assert set(await store.freeze(owner, file, dict.fromkeys(ids, 1))) == set(ids)
    return ids


async def head(store: MemoryStore, owner: OwnerKey, memory_id: MemoryId) -> MemoryHead:
    found = await store.get(owner, memory_id)
    assert found is not None
    return found


async def thaw(store: MemoryStore, owner: OwnerKey, *ids: MemoryId) -> Revision:
    """Bring memories back with a new version each."""
    old = [(await head(store, owner, i)).current for i in ids]

    def build(state: OwnerState) -> Changeset:
        after = next_state(state)
        versions = [
            dataclasses.replace(v, version=v.version + 1, revision=after.revision, tier=Tier.LONG_TERM) for v in old
        ]
        pieces = [fragment(v, seed=None) for v in versions]
        return Changeset(state=after, versions=versions, fragments=pieces, thawed=ids)

    return await commit(store, owner, build)


async def test_only_what_is_archived_and_idle_is_offered_with_all_its_fragments(store: MemoryStore):
    owner, old, used, recent, hot = new_owner(), new_id(), new_id(), new_id(), new_id()
    pieces = [fragment(archived(old), n, model_id=m) for n in (0, 1) for m in (MODEL, OTHER_MODEL)]
    await write(store, owner, archived(old), fragments=pieces)
    await write(store, owner, archived(used), usage={used: Usage(1, 0, at(2000), None)})
    await write(store, owner, archived(recent, recorded_at=at(2000)))
    await write(store, owner, version(hot))
    (row,) = await store.freezable(owner, IDLE, limit=10)
    assert row.head == await head(store, owner, old)
    expected = sorted(pieces, key=lambda p: (p.ordinal, p.model_id))
    found = sorted(row.fragments, key=lambda p: (p.ordinal, p.model_id))
    assert [(p.ordinal, p.model_id, p.text, p.terms) for p in found] == [
        (p.ordinal, p.model_id, p.text, p.terms) for p in expected
    ]
    assert {r.head.id for r in await store.freezable(owner, at(3000), limit=10)} == {old, used, recent}
    assert len(await store.freezable(owner, at(3000), limit=2)) == 2


async def test_an_assertion_beside_the_text_keeps_nothing_hot_and_other_words_do(store: MemoryStore):
    owner, asserted, reworded = new_owner(), new_id(), new_id()
    for memory_id, ordinal in ((asserted, ASSERTION_ORDINAL), (reworded, 1)):
        of = archived(memory_id)
        whole = dataclasses.replace(fragment(of), text=of.text)
        await write(store, owner, of, fragments=[whole, fragment(of, ordinal)])
    (row,) = await store.freezable(owner, IDLE, limit=10)
    assert row.head.id == asserted
    assert {piece.ordinal for piece in row.fragments} == {0, ASSERTION_ORDINAL}


async def test_a_cold_memory_is_read_as_before_and_says_where_it_is(store: MemoryStore):
    owner, memory_id = new_owner(), new_id()
    await write(store, owner, archived(memory_id), usage={memory_id: Usage(3, 1, at(5), at(6))})
    before = await head(store, owner, memory_id)
    state = await store.state(owner)
    await store.freeze(owner, FILE, {memory_id: 1})
    after = await head(store, owner, memory_id)
    assert after == dataclasses.replace(before, cold=True)
    assert await store.state(owner) == state
    assert (await store.list(owner, EVERYTHING, limit=10)).heads == [after]
    assert (await store.list(owner, MemoryFilter(tiers=frozenset({Tier.LONG_TERM})), limit=10)).heads == []
    assert [v.text for v in await store.history(owner, memory_id)] == [before.current.text]
    async with store.change(owner) as change:
        assert list(await change.heads([memory_id])) == [after]
        assert list(await change.heads_in_slots(["slot"])) == [after]
        assert list(await change.heads_of_claims(["claim"])) == [after]
        assert list(await change.heads_of_claims(["claim"], standing_only=False)) == [after]
        assert list(await change.select(EVERYTHING, limit=10)) == [after]
        assert await change.fragments(memory_id, 1) == []
        assert [v.id for v in await change.versions_at([before.current.revision])] == [memory_id]
    assert list(await store.cold_heads(owner, FILE, [memory_id])) == [after]
    assert list(await store.cold_heads(owner, LATER, [memory_id])) == []
    assert await store.cold_files(owner) == [ColdFile(FILE, 1)]
    assert await store.archived_rows(owner, MODEL, limit=10) == []
    assert await store.waiting_fragments(owner, MODEL, limit=10) == []
    assert await store.freezable(owner, at(10**6), limit=10) == []


async def test_archived_rows_are_those_that_are_hot_and_current_newest_first(store: MemoryStore):
    owner, first, second, gone = new_owner(), new_id(), new_id(), new_id()
    await write(store, owner, archived(first, recorded_at=at(1)))
    await write(store, owner, archived(second, recorded_at=at(2)))
    await write(store, owner, archived(gone, status=Status.SUPERSEDED))
    await write(store, owner, version(new_id()))
    rows = await store.archived_rows(owner, MODEL, limit=10)
    assert [row.head.id for row in rows] == [second, first]
    assert all(len(row.fragments) == 1 and row.fragments[0].vector is not None for row in rows)
    assert [r.head.id for r in await store.archived_rows(owner, MODEL, limit=1)] == [second]


async def test_a_snapshot_from_before_hears_that_a_memory_left(store: MemoryStore):
    owner, memory_id = new_owner(), new_id()
    first = await write(store, owner, version(memory_id))
    second = await write(store, owner, archived(memory_id, 2))
    await store.freeze(owner, FILE, {memory_id: 2})
    delta = await store.search_rows_since(owner, MODEL, first)
    assert (delta.rows, delta.removed) == ([], [memory_id])
    assert list((await store.search_rows_since(owner, MODEL, second)).removed) == []
    assert (await store.search_rows(owner, MODEL)).rows == []
    (changed,) = await store.changed(owner, None, limit=10)
    assert (changed.revision, changed.head) == (second, await head(store, owner, memory_id))


async def test_pages_run_through_hot_and_cold_memories_in_order(store: MemoryStore):
    owner, ids = new_owner(), [new_id() for _ in range(9)]
    for number, memory_id in enumerate(ids):
        await write(store, owner, archived(memory_id, recorded_at=at(number)))
    await store.freeze(owner, FILE, dict.fromkeys(ids[::2], 1))
    seen: list[MemoryId] = []
    after = None
    while True:
        page = await store.list(owner, EVERYTHING, limit=2, after=after)
        seen += [h.id for h in page.heads]
        after = page.next_after
        if after is None:
            break
    assert seen == ids
    told: list[MemoryId] = []
    cursor: tuple[Revision, MemoryId] | None = None
    while batch := await store.changed(owner, cursor, limit=2):
        told += [c.memory_id for c in batch]
        assert all(c.head is not None and c.head.cold is (c.memory_id in ids[::2]) for c in batch)
        cursor = (batch[-1].revision, batch[-1].memory_id)
    assert told == ids


async def test_what_changed_since_it_was_read_stays_hot_and_is_gone_from_the_file(store: MemoryStore):
    owner, still, changed, never = new_owner(), new_id(), new_id(), new_id()
    await write(store, owner, archived(still), archived(changed))
    await write(store, owner, version(changed, 2))
    assert await store.freeze(owner, FILE, {still: 1, changed: 1, never: 1}) == [still]
    assert not (await head(store, owner, changed)).cold
    (file,) = await store.cold_files(owner)
    assert (file.name, file.live, set(file.gone)) == (FILE, 1, {changed, never})
    assert await store.freeze(owner, LATER, {still: 1}) == []
    assert {f.name: (f.live, f.gone) for f in await store.cold_files(owner)}[LATER] == (0, (still,))


async def test_a_cold_memory_comes_back_with_its_next_version(store: MemoryStore):
    owner = new_owner()
    one, other = await frozen(store, owner, 2)
    created = (await head(store, owner, one)).created_at
    revision = await thaw(store, owner, one)
    back = await head(store, owner, one)
    assert (back.cold, back.current.version, back.created_at) == (False, 2, created)
    (row,) = (await store.search_rows(owner, MODEL)).rows
    assert row.head.id == one
    assert [r.head.id for r in (await store.search_rows_since(owner, MODEL, Revision(revision - 1))).rows] == [one]
    (file,) = await store.cold_files(owner)
    assert (file.live, file.gone) == (1, (one,))
    assert list(await store.cold_heads(owner, FILE, [one, other])) == [await head(store, owner, other)]
    # It may become cold again, in another file.
    await write(store, owner, archived(one, 3))
    assert await store.freeze(owner, LATER, {one: 3}) == [one]
    assert [h.id for h in await store.cold_heads(owner, LATER, [one])] == [one]


async def test_a_change_cannot_bring_back_what_is_not_cold(store: MemoryStore):
    owner, memory_id = new_owner(), new_id()
    await write(store, owner, archived(memory_id))
    with pytest.raises(InternalError):
        await thaw(store, owner, memory_id)


async def test_a_forgotten_cold_memory_leaves_nothing_but_that_it_must_leave_the_file(store: MemoryStore):
    owner = new_owner()
    one, other = await frozen(store, owner, 2)
    await commit(store, owner, lambda s: Changeset(state=next_state(s), forgotten=[one]))
    assert await store.get(owner, one) is None
    assert all(v.redacted and v.text == "" for v in await store.history(owner, one))
    assert [h.id for h in (await store.list(owner, EVERYTHING, limit=10)).heads] == [other]
    assert list(await store.cold_heads(owner, FILE, [one])) == []
    async with store.change(owner) as change:
        assert list(await change.heads_of_claims([f"claim {one}"], standing_only=False)) == []
    assert await store.cold_files(owner) == [ColdFile(FILE, 1, (one,))]


async def test_a_file_is_replaced_by_one_without_what_is_gone(store: MemoryStore):
    owner = new_owner()
    one, two, three = await frozen(store, owner, 3)
    await commit(store, owner, lambda s: Changeset(state=next_state(s), forgotten=[one]))
    # Another one is forgotten while the new file, which still holds it, is being written.
    await commit(store, owner, lambda s: Changeset(state=next_state(s), forgotten=[two]))
    assert await store.refile(owner, FILE, LATER, without=[one]) == 2
    assert await store.refile(owner, FILE, "again", without=[one]) == 0
    assert await store.cold_files(owner) == [ColdFile(FILE, 0, (one,)), ColdFile(LATER, 1, (two,))]
    await store.unfile(owner, FILE)
    await store.unfile(owner, LATER)
    assert await store.cold_files(owner) == [ColdFile(LATER, 1)]
    assert [h.id for h in await store.cold_heads(owner, LATER, [one, two, three])] == [three]


async def test_uses_of_a_cold_memory_are_counted(store: MemoryStore):
    owner = new_owner()
    (one,) = await frozen(store, owner)
    await store.record_access(owner, {one: (2, at(50))})
    assert (await head(store, owner, one)).usage == Usage(2, 0, at(50), None)


async def test_cold_storage_is_of_one_owner(store: MemoryStore):
    owner, other = new_owner(), new_owner()
    (one,) = await frozen(store, owner)
    await write(store, other, version(new_id()))
    assert await store.cold_files(other) == []
    assert list(await store.cold_heads(other, FILE, [one])) == []
    assert await store.freeze(other, FILE, {one: 1}) == []
    assert await store.refile(other, FILE, LATER, without=[]) == 1  # its own note, of a file that holds nothing of it
    assert await store.cold_files(owner) == [ColdFile(FILE, 1)]
    assert plain(await store.cold_files(new_owner())) == ()
