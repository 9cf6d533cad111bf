"""Keys under which statements meet: the slot they are about, and the claim they make of it.

Two statements with one slot speak of the same thing; two with one claim say the same of it, whatever the casing,
width, spacing or punctuation. Keys are partitioned by who may see the statement, so a private memory of one
agent never meets, merges with or reveals another's.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from datetime import datetime

from memory_service.domain.memory import Assertion, JsonValue, Visibility
from memory_service.domain.text import normalise, same_text_key
from memory_service.domain.text.traditional import to_simplified

_SEPARATOR = "\x1f"
_SELF_NAMES = frozenset({"user", "me", "i", "myself", "the user", "用户", "我", "本人"})
SELF = "user"
"""The canonical subject of statements about the user."""


def canonical_subject(subject: str) -> str:
    """`subject` without surplus space; every way of naming the user becomes `user`."""
    tidy = " ".join(subject.split())
    return SELF if normalise(tidy) in _SELF_NAMES else tidy


def audience(visibility: Visibility, agent: str) -> str:
    """The partition of keys: everybody's, or one agent's own (C14)."""
    return f"private{_SEPARATOR}{agent}" if visibility is Visibility.PRIVATE else "shared"


def slot_of_assertion(subject: str, predicate: str, who: str = "shared") -> str:
    """Slot key of a structured statement; `predicate` is canonical."""
    return _SEPARATOR.join((who, "a", normalise(canonical_subject(subject)), to_simplified(predicate)))


def slot_of_topic(topic: str, who: str = "shared") -> str:
    """Slot key of a statement without structure; "" when it has no topic."""
    normal = normalise(topic)
    return _SEPARATOR.join((who, "t", normal)) if normal else ""


def same_slot(slot: str, shared: str) -> bool:
    """Whether `slot` is the shared slot `shared`, or the same of one agent for itself."""
    return bool(shared) and slot.endswith(shared.removeprefix("shared"))


def claim_of_assertion(slot: str, value: JsonValue) -> str:
    """Claim key of a structured statement: its slot and its value, strings compared by `same_text_key`."""
    return "a:" + _digest(slot, json.dumps(_comparable(value), sort_keys=True, ensure_ascii=False))


def claim_of_text(text: str, who: str = "shared") -> str:
    """Claim key of a statement without structure: its wording up to case, width, spacing and punctuation."""
    # Text of punctuation alone has an empty key and is compared to the letter.
    return "x:" + _digest(who, same_text_key(text) or f"={text}")


def render_assertion(assertion: Assertion) -> str:
    """A sentence-like text for a statement that came without one, to be read and embedded."""
    return f"{assertion.subject} {assertion.predicate.replace('_', ' ')}: {render_value(assertion.object)}"


def render_value(value: JsonValue) -> str:
    """A value as it is read: a string as it is, anything else as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, sort_keys=True)


def payload_digest(salt: bytes, operation: str, payload: object) -> bytes:
    """Salted digest of what a change asked for: equal requests have equal digests (B2)."""
    canonical = json.dumps(payload, sort_keys=True, ensure_ascii=True, default=_plain)
    return hashlib.blake2b(f"{operation}\n{canonical}".encode(), digest_size=32, key=salt).digest()


def tombstone_digest(salt: bytes, scope: str, key: str) -> bytes:
    """Salted digest by which a tombstone knows what it stops, without keeping it (B3)."""
    return hashlib.blake2b(f"{scope}\n{key}".encode(), digest_size=32, key=salt).digest()


def _digest(*parts: str) -> str:
    return hashlib.blake2b(_SEPARATOR.join(parts).encode(), digest_size=16).hexdigest()


def _comparable(value: JsonValue) -> object:
    if isinstance(value, str):
        return same_text_key(value)
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**63:
        return int(value)
    if isinstance(value, int | float):
        return value
    if isinstance(value, Mapping):
        return {key: _comparable(item) for key, item in value.items()}
    return [_comparable(item) for item in value]


def _plain(value: object) -> object:
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, set | frozenset | tuple):
        items = list(value)
        return sorted(items, key=repr) if isinstance(value, set | frozenset) else items
    return str(value)
