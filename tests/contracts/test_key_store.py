"""Key store contract."""

from __future__ import annotations

import asyncio
import dataclasses
import hashlib
import uuid

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory_service.domain.errors import AlreadyExists
from memory_service.domain.ids import TenantId, UserId
from memory_service.ports.keys import ApiKey, KeyStore, Role
from tests.contracts import builders as make
from tests.contracts import strategies


def new_key(tenant: str | None = None, **fields: object) -> ApiKey:
    """A key nobody has; `fields` override."""
    key_id = uuid.uuid4()
    defaults: dict[str, object] = {
        "id": key_id,
        "tenant": TenantId(tenant or f"tenant-{key_id}"),
        "name": "laptop",
        "prefix": "msk_ab",
        "digest": hashlib.sha256(key_id.bytes).digest(),
        "roles": frozenset({Role.READER}),
        "users": frozenset(),
        "created_at": make.at(0),
    }
    return ApiKey(**{**defaults, **fields})  # type: ignore[arg-type]


@settings(max_examples=30)
@given(
    name=strategies.texts,
    prefix=strategies.texts,
    roles=st.frozensets(st.sampled_from(Role)),
    users=st.frozensets(strategies.texts.map(UserId), max_size=4),
    expires=st.none() | strategies.times,
    created=strategies.times,
)
async def test_keys_round_trip(keys: KeyStore, name, prefix, roles, users, expires, created):
    key = new_key(name=name, prefix=prefix, roles=roles, users=users, expires_at=expires, created_at=created)
    await keys.add(key)
    utc = make.START.tzinfo
    wanted = dataclasses.replace(
        key, created_at=created.astimezone(utc), expires_at=expires and expires.astimezone(utc)
    )
    found = await keys.find(key.digest)
    assert found == wanted
    assert make.plain(found) == make.plain(wanted)
    assert list(await keys.list(key.tenant)) == [wanted]


async def test_an_unknown_digest_finds_nothing(keys: KeyStore):
    assert await keys.find(bytes(32)) is None
    assert await keys.find(b"") is None
    assert list(await keys.list(TenantId("nobody"))) == []


async def test_keys_are_listed_per_tenant_oldest_first(keys: KeyStore):
    tenant = f"tenant-{uuid.uuid4()}"
    mine = [new_key(tenant, created_at=make.at(second)) for second in (3, 1, 2)]
    other = new_key(f"{tenant}x")
    for key in (*mine, other):
        await keys.add(key)
    assert list(await keys.list(TenantId(tenant))) == [mine[1], mine[2], mine[0]]
    assert list(await keys.list(other.tenant)) == [other]


async def test_revoking_keeps_the_first_time_and_the_key(keys: KeyStore):
    key = new_key()
    await keys.add(key)
    assert await keys.revoke(key.tenant, key.id, make.at(5))
    assert await keys.revoke(key.tenant, key.id, make.at(9))
    wanted = dataclasses.replace(key, revoked_at=make.at(5))
    assert await keys.find(key.digest) == wanted
    assert list(await keys.list(key.tenant)) == [wanted]


async def test_a_tenant_cannot_revoke_the_key_of_another(keys: KeyStore):
    key, other = new_key(), new_key()
    await keys.add(key)
    await keys.add(other)
    assert not await keys.revoke(other.tenant, key.id, make.at(5))
    assert not await keys.revoke(key.tenant, uuid.uuid4(), make.at(5))
    assert await keys.find(key.digest) == key


@pytest.mark.parametrize("same", ["id", "digest"])
async def test_no_second_key_takes_an_id_or_digest(keys: KeyStore, same: str):
    key = new_key()
    await keys.add(key)
    with pytest.raises(AlreadyExists):
        await keys.add(new_key(**{same: getattr(key, same)}))
    assert await keys.find(key.digest) == key


async def test_a_secret_is_made_once_however_many_ask(keys: KeyStore):
    name = f"secret-{uuid.uuid4()}"
    secrets = await asyncio.gather(*(keys.secret(name) for _ in range(8)))
    assert len(set(secrets)) == 1
    assert len(secrets[0]) == 32
    assert await keys.secret(name) == secrets[0]
    assert await keys.secret(f"{name}-other") != secrets[0]
