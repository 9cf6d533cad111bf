"""The closed sets of words of the API. `UNKNOWN` only comes back, from a server newer than this client."""

from __future__ import annotations

from enum import StrEnum


class Kind(StrEnum):
    """What sort of thing a memory says. `UNKNOWN` only comes back, from a newer server."""

    UNKNOWN = "unknown"
    PREFERENCE = "preference"
    PROFILE = "profile"
    FACT = "fact"
    EVENT = "event"
    CONSTRAINT = "constraint"
    PROCEDURE = "procedure"
    CONTEXT = "context"
    TASK = "task"
    TEMPORARY_PREFERENCE = "temporary_preference"
    SUMMARY = "summary"


class Source(StrEnum):
    """How the writer came to know what it writes; sets the confidence unless one is given."""

    UNKNOWN = "unknown"
    EXPLICIT = "explicit"
    EXPLICIT_CORRECTION = "explicit_correction"
    DERIVED = "derived"
    INFERRED = "inferred"


class Tier(StrEnum):
    """Where a memory stands in its life."""

    UNKNOWN = "unknown"
    CANDIDATE = "candidate"
    LONG_TERM = "long_term"
    ARCHIVE = "archive"


class Status(StrEnum):
    """Whether a memory speaks for the present: superseded was true once, retracted never was; yielded stands,
    but another value of its slot speaks for it."""

    UNKNOWN = "unknown"
    ACTIVE = "active"
    CONTESTED = "contested"
    SUPERSEDED = "superseded"
    RETRACTED = "retracted"
    YIELDED = "yielded"


class Standing(StrEnum):
    """What a memory is at the time that was asked about: superseded was true and another took its place, past is over
    by itself, wrong was never true. Only `recall`, `get` and `list` say it; `UNKNOWN` elsewhere."""

    UNKNOWN = "unknown"
    CURRENT = "current"
    UPCOMING = "upcoming"
    PAST = "past"
    SUPERSEDED = "superseded"
    WRONG = "wrong"
    YIELDED = "yielded"


class Visibility(StrEnum):
    """Who, among one user's agents, may see a memory."""

    UNKNOWN = "unknown"
    SHARED = "shared"
    PRIVATE = "private"


class Relation(StrEnum):
    """What joins two memories."""

    UNKNOWN = "unknown"
    DERIVED_FROM = "derived_from"
    SUPERSEDES = "supersedes"
    CONTRADICTS = "contradicts"
    SUPPORTS = "supports"
    MERGED_INTO = "merged_into"


class Effect(StrEnum):
    """What a change did to one memory."""

    UNKNOWN = "unknown"
    CREATED = "created"
    SUPPORTED = "supported"
    UPDATED = "updated"
    SUPERSEDED = "superseded"
    CONTESTED = "contested"
    RETRACTED = "retracted"
    FORGOTTEN = "forgotten"
    SUPPRESSED = "suppressed"
    REACTIVATED = "reactivated"
    YIELDED = "yielded"


class CorrectionNature(StrEnum):
    """What was wrong with the old value: never true, or true until now."""

    WRONG = "wrong"
    OUTDATED = "outdated"


class Role(StrEnum):
    """What a key may do: read; also change; also administer the tenant's keys."""

    UNKNOWN = "unknown"
    READER = "reader"
    WRITER = "writer"
    ADMIN = "admin"
