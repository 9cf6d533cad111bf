"""Contract of cold storage, on every backend."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow.fs as fs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory_service.adapters.inmemory.cold_store import InMemoryColdStore
from memory_service.adapters.parquet import FolderFiles, ParquetColdStore, RemoteFiles, files_of_uri
from memory_service.domain.errors import Reason, Unavailable
from memory_service.domain.ids import OwnerKey, TenantId, UserId
from memory_service.domain.memory import Assertion, MemoryHead, Tier, Usage
from memory_service.domain.records import Fragment, SearchRow
from memory_service.ports.cold_store import ColdFileGone, ColdQuery, ColdStore
from tests.contracts.builders import (
    MODEL,
    OTHER_MODEL,
    at,
    fragment,
    new_id,
    new_owner,
    plain,
    vector,
    version,
)


@pytest.fixture(params=["inmemory", "folder", "remote"])
def cold(request: pytest.FixtureRequest, tmp_path: Path) -> ColdStore:
    if request.param == "inmemory":
        return InMemoryColdStore()
    if request.param == "folder":
        return ParquetColdStore(FolderFiles(tmp_path / "cold"))
    return ParquetColdStore(RemoteFiles(fs._MockFileSystem(), "bucket/prefix"))


def row(text: str, *, terms: Sequence[str] = ("term",), seed: int | None = 1, model_id: str = MODEL) -> SearchRow:
    current = version(new_id(), tier=Tier.ARCHIVE, text=text)
    piece = dataclasses.replace(fragment(current, seed=seed, model_id=model_id), terms=tuple(terms), text=text)
    return SearchRow(MemoryHead(current, Usage(), at(1)), (piece,))


def ask(terms: Sequence[str] = (), seed: int | None = None, limit: int = 10, model_id: str = MODEL) -> ColdQuery:
    return ColdQuery(terms, None if seed is None else vector(seed), model_id, limit)


def below(folder: Path) -> list[Path]:
    """Everything in a folder, files after their folders."""
    return sorted(folder.rglob("*"))


def halved(rows: Sequence[SearchRow]) -> object:
    """Rows as they come back: vectors in half precision."""

    def half(piece: Fragment) -> Fragment:
        return piece if piece.vector is None else dataclasses.replace(
            piece, vector=piece.vector.astype(np.float16).astype(np.float32)
        )  # fmt: skip

    return plain([SearchRow(r.head, tuple(map(half, r.fragments))) for r in rows])


async def test_what_is_put_comes_back_with_every_field(cold: ColdStore):
    owner = new_owner()
    current = version(
        new_id(),
        3,
        tier=Tier.ARCHIVE,
        text="绿茶 tea \U0001f375",
        content_version=2,
        assertion=Assertion("user", "likes", {"a": [1, 2.5, None, "茶"]}),
        tags=("a", "茶"),
        valid_from=at(1),
        valid_to=at(2),
        expires_at=at(3),
        said_at=at(4),
        pinned=True,
        disputed=False,
    )
    head = MemoryHead(current, Usage(3, 1, at(7), at(8)), at(0))
    old = dataclasses.replace(fragment(current, seed=3), content_version=1, text="before")
    pieces = (
        old,
        fragment(current, 0, seed=4),
        fragment(current, 0, seed=5, model_id=OTHER_MODEL),
        fragment(current, 1, seed=None),
    )
    bare = SearchRow(MemoryHead(version(new_id(), tier=Tier.ARCHIVE), Usage(), at(0)), ())
    rows = [SearchRow(head, pieces), bare, row("last")]
    assert await cold.put(owner, "f", rows) > 0
    assert plain(await cold.read(owner, "f")) == halved(rows)
    assert plain(await cold.read(owner, "f", [bare.head.id])) == halved([bare])
    assert await cold.size(owner, "f") > 0


async def test_files_are_named_by_owner_and_removed(cold: ColdStore):
    owner, other = new_owner(), new_owner()
    assert list(await cold.names(owner)) == []
    await cold.put(owner, "b", [row("one")])
    await cold.put(owner, "a", [row("two")])
    assert list(await cold.names(owner)) == ["a", "b"]
    assert list(await cold.names(other)) == []
    with pytest.raises(ColdFileGone):
        await cold.read(other, "a")
    await cold.remove(other, "a")
    await cold.remove(owner, "a")
    await cold.remove(owner, "a")
    assert list(await cold.names(owner)) == ["b"]
    for call in (cold.read(owner, "a"), cold.size(owner, "a"), cold.search(owner, "a", ask(["x"]))):
        with pytest.raises(ColdFileGone):
            await call


async def test_the_best_by_meaning_and_by_words_are_found(cold: ColdStore):
    owner = new_owner()
    rows = [row(f"text {n}", terms=["common", f"t{n}"], seed=n) for n in range(20)]
    await cold.put(owner, "f", rows)
    (hit,) = await cold.search(owner, "f", ask([], seed=7, limit=1))
    assert hit.memory_id == rows[7].head.id
    assert hit.cosine == pytest.approx(1.0, abs=1e-3)
    assert hit.words == 0
    assert halved([SearchRow(rows[7].head, hit.fragments)]) == halved([rows[7]])
    (hit,) = await cold.search(owner, "f", ask(["common", "t3", "nowhere"], limit=1))
    assert hit.memory_id == rows[3].head.id
    assert hit.cosine is None
    both = await cold.search(owner, "f", ask(["t3"], seed=7, limit=1))
    assert {h.memory_id for h in both} == {rows[3].head.id, rows[7].head.id}
    assert await cold.search(owner, "f", ask(["nowhere"])) == []
    assert await cold.search(owner, "f", ask([])) == []
    assert len(await cold.search(owner, "f", ask(["common"], limit=5))) == 5


async def test_vectors_of_another_model_and_texts_of_the_past_are_not_searched(cold: ColdStore):
    owner = new_owner()
    other = row("other", seed=7, model_id=OTHER_MODEL, terms=["here"])
    waiting = row("waiting", seed=None, terms=["here"])
    present = row("present", terms=["here"])
    past = dataclasses.replace(present.fragments[0], content_version=9, terms=("past",), vector=vector(7))
    rows = [other, waiting, SearchRow(present.head, (past, *present.fragments))]
    await cold.put(owner, "f", rows)
    found = await cold.search(owner, "f", ask([], seed=7))
    assert [h.memory_id for h in found] == [present.head.id]
    assert found[0].cosine is not None
    assert found[0].cosine < 0.99
    assert await cold.search(owner, "f", ask(["past"])) == []
    assert len(await cold.search(owner, "f", ask(["here"], seed=7))) == 3


@settings(max_examples=30, deadline=None)
@given(data=st.data())
async def test_parquet_finds_what_the_plain_model_finds(
    data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
):
    words = st.lists(st.sampled_from("abcdef"), max_size=6)
    drawn = data.draw(st.lists(st.tuples(words, st.none() | st.integers(0, 9)), min_size=1, max_size=12))
    rows = [row(f"r{n}", terms=terms, seed=seed) for n, (terms, seed) in enumerate(drawn)]
    asked = ask(data.draw(words), data.draw(st.none() | st.integers(0, 9)), data.draw(st.integers(1, 12)))
    owner, results = new_owner(), []
    for store in (InMemoryColdStore(), ParquetColdStore(FolderFiles(tmp_path_factory.mktemp("cold")))):
        await store.put(owner, "f", rows)
        hits = await store.search(owner, "f", asked)
        results.append(
            {h.memory_id: (None if h.cosine is None else round(h.cosine, 5), round(h.words, 9)) for h in hits}
        )
    assert results[0] == results[1]


async def test_no_path_tells_who_the_owner_is(tmp_path: Path):
    owner = OwnerKey(TenantId("acme-tenant"), UserId("alice-user"))
    await ParquetColdStore(FolderFiles(tmp_path)).put(owner, "f", [row("x")])
    paths = [str(p.relative_to(tmp_path)) for p in below(tmp_path)]
    assert len(paths) == 3
    assert not any("acme" in p or "alice" in p for p in paths)


async def test_a_write_that_is_killed_leaves_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    cold, owner = ParquetColdStore(FolderFiles(tmp_path)), new_owner()

    def killed(_: int) -> None:
        raise OSError("killed")

    monkeypatch.setattr(os, "fsync", killed)
    with pytest.raises(Unavailable):
        await cold.put(owner, "f", [row("x")])
    monkeypatch.undo()
    assert list(await cold.names(owner)) == []
    part = below(tmp_path)[-1]
    assert part.suffix == ".part"
    os.utime(part, (0, 0))
    assert list(await cold.names(owner)) == []
    assert part not in below(tmp_path)
    await cold.put(owner, "f", [row("x")])
    assert list(await cold.names(owner)) == ["f"]


@pytest.mark.parametrize("content", [b"", b"PAR1 not parquet", b"PAR1" * 1000])
async def test_a_damaged_file_is_unavailable_and_names_no_path(tmp_path: Path, content: bytes):
    cold, owner = ParquetColdStore(FolderFiles(tmp_path)), new_owner()
    await cold.put(owner, "f", [row("x")])
    path = below(tmp_path)[-1]
    path.write_bytes(content)
    with pytest.raises(Unavailable) as caught:
        await cold.read(owner, "f")
    assert caught.value.reason is Reason.COLD_STORAGE_UNAVAILABLE
    assert str(tmp_path) not in caught.value.message


async def test_a_folder_may_be_named_by_its_address(tmp_path: Path):
    owner = new_owner()
    await ParquetColdStore(files_of_uri((tmp_path / "a").as_uri())).put(owner, "f", [row("x")])
    assert list(await ParquetColdStore(FolderFiles(tmp_path / "a")).names(owner)) == ["f"]


def test_an_address_that_means_nothing_is_refused_without_being_told():
    with pytest.raises(ValueError, match="not the address") as caught:
        files_of_uri("nonsense://secret@host")
    assert "secret" not in str(caught.value)
