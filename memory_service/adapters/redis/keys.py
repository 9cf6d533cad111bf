"""Keys in Redis: a version prefix, then length-prefixed fields, so that no two meanings share a key.

The owner's id stands in braces: Redis Cluster hashes only what is inside them, so all of an owner's keys live on
one node and one script may touch them together.
"""

from __future__ import annotations

import uuid

from memory_service.domain.ids import OwnerKey, Revision

_REVISION_DIGITS = 20
_NEWS_ID_BYTES = 16
_NEWS_BYTES = _NEWS_ID_BYTES + 8


def fields(*parts: bytes) -> bytes:
    """Each part after its length: ("ab", "c") and ("a", "bc") give different bytes."""
    return b"".join(b"%d:%b" % (len(part), part) for part in parts)


def owner_key(prefix: str, owner: OwnerKey) -> bytes:
    """The key of the hash that holds an owner's snapshots."""
    return b"%b:{%b}:%b" % (prefix.encode(), owner.id.hex.encode(), fields(b"snapshots"))


def vector_key(prefix: str, model_id: str, text_digest: bytes) -> bytes:
    """The key of one query's vector."""
    return b"%b:%b" % (prefix.encode(), fields(b"vector", model_id.encode(), text_digest))


def channel(prefix: str) -> bytes:
    """The channel on which processes tell one another of changes."""
    return b"%b:%b" % (prefix.encode(), fields(b"changes"))


def revision_text(revision: Revision) -> bytes:
    """A revision as decimal digits of one width, so that text order is number order (Lua's numbers are inexact)."""
    return b"%0*d" % (_REVISION_DIGITS, revision)


def news(owner: OwnerKey, revision: Revision) -> bytes:
    """A message on the channel: the owner's id, then the revision in 8 bytes."""
    return owner.id.bytes + revision.to_bytes(8, "big")


def read_news(message: bytes) -> tuple[str, Revision]:
    """(owner id, revision) of a message. Raises ValueError for anything else on the channel."""
    if len(message) != _NEWS_BYTES:
        raise ValueError("not a message of this service")
    owner_id = uuid.UUID(bytes=message[:_NEWS_ID_BYTES])
    return str(owner_id), Revision(int.from_bytes(message[_NEWS_ID_BYTES:], "big"))


def session_keys(prefix: str, owner: OwnerKey, session: str) -> list[bytes]:
    """Keys of a session: facts, fields, turns, ids of turns, blocks; then those of the owner's two lists of sessions.

    All of them are always named, so that a script touches no key that it was not given.
    """
    own = b"%b:{%b}:" % (prefix.encode(), owner.id.hex.encode())
    parts = [own + fields(name, session.encode()) for name in (b"facts", b"fields", b"turns", b"ids", b"blocks")]
    return [*parts, own + fields(b"sessions"), own + fields(b"expiries")]


def session_request_key(prefix: str, owner: OwnerKey, request_id: str) -> bytes:
    """The key that remembers which session a request began."""
    return b"%b:{%b}:%b" % (prefix.encode(), owner.id.hex.encode(), fields(b"began", request_id.encode()))
