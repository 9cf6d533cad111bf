"""The limits on what a caller may send. Units are the last word of each name. Listed by `GetServerInfo`."""

from __future__ import annotations

from datetime import UTC, datetime

TEXT_CHARS_MAX = 16_384
QUERY_CHARS_MAX = 8_192
NAME_CHARS_MAX = 256
"""Subjects, devices, agents, sessions, processes, references, users."""
TOPIC_CHARS_MAX = 256
PREDICATE_CHARS_MAX = 64
REQUEST_ID_CHARS_MAX = 128
REASON_CHARS_MAX = 512
TAG_CHARS_MAX = 128
TAGS_MAX = 32
DERIVED_FROM_MAX = 256
OBJECT_DEPTH_MAX = 16
OBJECT_BYTES_MAX = 16_384
BATCH_ITEMS_MAX = 500
FORGET_IDS_MAX = 500
RESOLVE_IDS_MAX = 64
FEEDBACK_ITEMS_MAX = 200
REVOKE_CHANGES_MAX = 20_000
FORGET_MEMORIES_MAX = 10_000
CLOCK_DEVICES_MAX = 1_024
"""Devices a causal context may name in a request."""
RECALL_LIMIT_DEFAULT = 10
RECALL_LIMIT_MAX = 200
PAGE_SIZE_DEFAULT = 50
PAGE_SIZE_MAX = 500
FILTER_VALUES_MAX = 256
"""Values one condition of a filter may list."""
PREVIEW_MEMORIES_MAX = 100
PREDICATES_MAX = 500
"""Predicates of one tenant's vocabulary."""
PREDICATE_ALIASES_MAX = 50
TAU_DAYS_MAX = 36_500
POLICY_BYTES_MAX = 262_144
"""A version of a tenant's vocabulary, of a parameter set or of an experiment, as JSON."""
POLICY_VERSIONS_MAX = 500
"""Versions kept of each; older ones go."""
PARAMETER_SETS_MAX = 20
MEMORIES_PER_OWNER_MAX_DEFAULT = 200_000
TURNS_AT_ONCE_MAX = 100
TURN_ID_CHARS_MAX = 128
INTENT_DEPTH_MAX = 5
SLOT_DEPTH_MAX = 8
"""Parts of a slot's dotted path."""
FIELD_PATH_CHARS_MAX = 256
FIELD_BYTES_MAX = 4_096
"""JSON of one field of a session."""
FIELDS_AT_ONCE_MAX = 64
SESSION_FIELDS_MAX = 128
SESSION_TURNS_MAX = 200
"""Turns a session keeps; the oldest leave."""
SESSION_TURN_BYTES_MAX = 512 * 1024
SESSION_TURN_IDS_MAX = 1_024
"""Ids a session remembers, by which a turn sent again is known."""
SESSION_BLOCKS_MAX = 20
SESSIONS_PER_OWNER_MAX_DEFAULT = 10_000
WINDOW_TOKENS_DEFAULT = 8_192
WINDOW_TOKENS_MAX = 10_000_000
PREDICATES_AT_ONCE_MAX = 64
MESSAGE_BYTES_MAX = 16 * 1024 * 1024
"""Largest gRPC message accepted: a batch of 500 memories with their vectors."""
TIME_MIN = datetime(1, 1, 2, tzinfo=UTC)
TIME_MAX = datetime(9999, 12, 30, tzinfo=UTC)
"""A day inside what PostgreSQL, protobuf and Python all hold, so that no time zone pushes a value out."""


def as_mapping() -> dict[str, int]:
    """Every integer limit by lower-case name."""
    return {name.lower(): value for name, value in globals().items() if name.isupper() and isinstance(value, int)}
