import datetime

from google.protobuf import struct_pb2 as _struct_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Kind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    KIND_UNSPECIFIED: _ClassVar[Kind]
    KIND_PREFERENCE: _ClassVar[Kind]
    KIND_PROFILE: _ClassVar[Kind]
    KIND_FACT: _ClassVar[Kind]
    KIND_EVENT: _ClassVar[Kind]
    KIND_CONSTRAINT: _ClassVar[Kind]
    KIND_PROCEDURE: _ClassVar[Kind]
    KIND_CONTEXT: _ClassVar[Kind]
    KIND_TASK: _ClassVar[Kind]
    KIND_TEMPORARY_PREFERENCE: _ClassVar[Kind]
    KIND_SUMMARY: _ClassVar[Kind]

class Source(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    SOURCE_UNSPECIFIED: _ClassVar[Source]
    SOURCE_EXPLICIT: _ClassVar[Source]
    SOURCE_EXPLICIT_CORRECTION: _ClassVar[Source]
    SOURCE_DERIVED: _ClassVar[Source]
    SOURCE_INFERRED: _ClassVar[Source]

class Tier(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    TIER_UNSPECIFIED: _ClassVar[Tier]
    TIER_CANDIDATE: _ClassVar[Tier]
    TIER_LONG_TERM: _ClassVar[Tier]
    TIER_ARCHIVE: _ClassVar[Tier]

class Status(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    STATUS_UNSPECIFIED: _ClassVar[Status]
    STATUS_ACTIVE: _ClassVar[Status]
    STATUS_CONTESTED: _ClassVar[Status]
    STATUS_SUPERSEDED: _ClassVar[Status]
    STATUS_RETRACTED: _ClassVar[Status]
    STATUS_YIELDED: _ClassVar[Status]

class Standing(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    STANDING_UNSPECIFIED: _ClassVar[Standing]
    STANDING_CURRENT: _ClassVar[Standing]
    STANDING_UPCOMING: _ClassVar[Standing]
    STANDING_PAST: _ClassVar[Standing]
    STANDING_SUPERSEDED: _ClassVar[Standing]
    STANDING_WRONG: _ClassVar[Standing]
    STANDING_YIELDED: _ClassVar[Standing]

class Visibility(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    VISIBILITY_UNSPECIFIED: _ClassVar[Visibility]
    VISIBILITY_SHARED: _ClassVar[Visibility]
    VISIBILITY_PRIVATE: _ClassVar[Visibility]

class Relation(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    RELATION_UNSPECIFIED: _ClassVar[Relation]
    RELATION_DERIVED_FROM: _ClassVar[Relation]
    RELATION_SUPERSEDES: _ClassVar[Relation]
    RELATION_CONTRADICTS: _ClassVar[Relation]
    RELATION_SUPPORTS: _ClassVar[Relation]
    RELATION_MERGED_INTO: _ClassVar[Relation]
KIND_UNSPECIFIED: Kind
KIND_PREFERENCE: Kind
KIND_PROFILE: Kind
KIND_FACT: Kind
KIND_EVENT: Kind
KIND_CONSTRAINT: Kind
KIND_PROCEDURE: Kind
KIND_CONTEXT: Kind
KIND_TASK: Kind
KIND_TEMPORARY_PREFERENCE: Kind
KIND_SUMMARY: Kind
SOURCE_UNSPECIFIED: Source
SOURCE_EXPLICIT: Source
SOURCE_EXPLICIT_CORRECTION: Source
SOURCE_DERIVED: Source
SOURCE_INFERRED: Source
TIER_UNSPECIFIED: Tier
TIER_CANDIDATE: Tier
TIER_LONG_TERM: Tier
TIER_ARCHIVE: Tier
STATUS_UNSPECIFIED: Status
STATUS_ACTIVE: Status
STATUS_CONTESTED: Status
STATUS_SUPERSEDED: Status
STATUS_RETRACTED: Status
STATUS_YIELDED: Status
STANDING_UNSPECIFIED: Standing
STANDING_CURRENT: Standing
STANDING_UPCOMING: Standing
STANDING_PAST: Standing
STANDING_SUPERSEDED: Standing
STANDING_WRONG: Standing
STANDING_YIELDED: Standing
VISIBILITY_UNSPECIFIED: Visibility
VISIBILITY_SHARED: Visibility
VISIBILITY_PRIVATE: Visibility
RELATION_UNSPECIFIED: Relation
RELATION_DERIVED_FROM: Relation
RELATION_SUPERSEDES: Relation
RELATION_CONTRADICTS: Relation
RELATION_SUPPORTS: Relation
RELATION_MERGED_INTO: Relation

class VectorClock(_message.Message):
    __slots__ = ("counters",)
    class CountersEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: int
        def __init__(self, key: _Optional[str] = ..., value: _Optional[int] = ...) -> None: ...
    COUNTERS_FIELD_NUMBER: _ClassVar[int]
    counters: _containers.ScalarMap[str, int]
    def __init__(self, counters: _Optional[_Mapping[str, int]] = ...) -> None: ...

class Dot(_message.Message):
    __slots__ = ("device", "counter")
    DEVICE_FIELD_NUMBER: _ClassVar[int]
    COUNTER_FIELD_NUMBER: _ClassVar[int]
    device: str
    counter: int
    def __init__(self, device: _Optional[str] = ..., counter: _Optional[int] = ...) -> None: ...

class Assertion(_message.Message):
    __slots__ = ("subject", "predicate", "object")
    SUBJECT_FIELD_NUMBER: _ClassVar[int]
    PREDICATE_FIELD_NUMBER: _ClassVar[int]
    OBJECT_FIELD_NUMBER: _ClassVar[int]
    subject: str
    predicate: str
    object: _struct_pb2.Value
    def __init__(self, subject: _Optional[str] = ..., predicate: _Optional[str] = ..., object: _Optional[_Union[_struct_pb2.Value, _Mapping]] = ...) -> None: ...

class Provenance(_message.Message):
    __slots__ = ("actor", "device", "agent", "session", "process", "reference")
    ACTOR_FIELD_NUMBER: _ClassVar[int]
    DEVICE_FIELD_NUMBER: _ClassVar[int]
    AGENT_FIELD_NUMBER: _ClassVar[int]
    SESSION_FIELD_NUMBER: _ClassVar[int]
    PROCESS_FIELD_NUMBER: _ClassVar[int]
    REFERENCE_FIELD_NUMBER: _ClassVar[int]
    actor: str
    device: str
    agent: str
    session: str
    process: str
    reference: str
    def __init__(self, actor: _Optional[str] = ..., device: _Optional[str] = ..., agent: _Optional[str] = ..., session: _Optional[str] = ..., process: _Optional[str] = ..., reference: _Optional[str] = ...) -> None: ...

class Memory(_message.Message):
    __slots__ = ("id", "version", "etag", "kind", "text", "assertion", "topic", "tags", "source", "confidence", "importance", "support", "tier", "status", "valid_from", "valid_to", "recorded_at", "expires_at", "said_at", "created_at", "provenance", "dot", "context", "visibility", "pinned", "access_count", "adopted_count", "last_access_at", "language", "reason", "redacted", "rejected_count", "standing", "superseded_by", "cold")
    ID_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    ETAG_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    ASSERTION_FIELD_NUMBER: _ClassVar[int]
    TOPIC_FIELD_NUMBER: _ClassVar[int]
    TAGS_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    CONFIDENCE_FIELD_NUMBER: _ClassVar[int]
    IMPORTANCE_FIELD_NUMBER: _ClassVar[int]
    SUPPORT_FIELD_NUMBER: _ClassVar[int]
    TIER_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    VALID_FROM_FIELD_NUMBER: _ClassVar[int]
    VALID_TO_FIELD_NUMBER: _ClassVar[int]
    RECORDED_AT_FIELD_NUMBER: _ClassVar[int]
    EXPIRES_AT_FIELD_NUMBER: _ClassVar[int]
    SAID_AT_FIELD_NUMBER: _ClassVar[int]
    CREATED_AT_FIELD_NUMBER: _ClassVar[int]
    PROVENANCE_FIELD_NUMBER: _ClassVar[int]
    DOT_FIELD_NUMBER: _ClassVar[int]
    CONTEXT_FIELD_NUMBER: _ClassVar[int]
    VISIBILITY_FIELD_NUMBER: _ClassVar[int]
    PINNED_FIELD_NUMBER: _ClassVar[int]
    ACCESS_COUNT_FIELD_NUMBER: _ClassVar[int]
    ADOPTED_COUNT_FIELD_NUMBER: _ClassVar[int]
    LAST_ACCESS_AT_FIELD_NUMBER: _ClassVar[int]
    LANGUAGE_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    REDACTED_FIELD_NUMBER: _ClassVar[int]
    REJECTED_COUNT_FIELD_NUMBER: _ClassVar[int]
    STANDING_FIELD_NUMBER: _ClassVar[int]
    SUPERSEDED_BY_FIELD_NUMBER: _ClassVar[int]
    COLD_FIELD_NUMBER: _ClassVar[int]
    id: str
    version: int
    etag: str
    kind: Kind
    text: str
    assertion: Assertion
    topic: str
    tags: _containers.RepeatedScalarFieldContainer[str]
    source: Source
    confidence: float
    importance: float
    support: int
    tier: Tier
    status: Status
    valid_from: _timestamp_pb2.Timestamp
    valid_to: _timestamp_pb2.Timestamp
    recorded_at: _timestamp_pb2.Timestamp
    expires_at: _timestamp_pb2.Timestamp
    said_at: _timestamp_pb2.Timestamp
    created_at: _timestamp_pb2.Timestamp
    provenance: Provenance
    dot: Dot
    context: VectorClock
    visibility: Visibility
    pinned: bool
    access_count: int
    adopted_count: int
    last_access_at: _timestamp_pb2.Timestamp
    language: str
    reason: str
    redacted: bool
    rejected_count: int
    standing: Standing
    superseded_by: str
    cold: bool
    def __init__(self, id: _Optional[str] = ..., version: _Optional[int] = ..., etag: _Optional[str] = ..., kind: _Optional[_Union[Kind, str]] = ..., text: _Optional[str] = ..., assertion: _Optional[_Union[Assertion, _Mapping]] = ..., topic: _Optional[str] = ..., tags: _Optional[_Iterable[str]] = ..., source: _Optional[_Union[Source, str]] = ..., confidence: _Optional[float] = ..., importance: _Optional[float] = ..., support: _Optional[int] = ..., tier: _Optional[_Union[Tier, str]] = ..., status: _Optional[_Union[Status, str]] = ..., valid_from: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., valid_to: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., recorded_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., expires_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., said_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., created_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., provenance: _Optional[_Union[Provenance, _Mapping]] = ..., dot: _Optional[_Union[Dot, _Mapping]] = ..., context: _Optional[_Union[VectorClock, _Mapping]] = ..., visibility: _Optional[_Union[Visibility, str]] = ..., pinned: _Optional[bool] = ..., access_count: _Optional[int] = ..., adopted_count: _Optional[int] = ..., last_access_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., language: _Optional[str] = ..., reason: _Optional[str] = ..., redacted: _Optional[bool] = ..., rejected_count: _Optional[int] = ..., standing: _Optional[_Union[Standing, str]] = ..., superseded_by: _Optional[str] = ..., cold: _Optional[bool] = ...) -> None: ...

class MemoryInput(_message.Message):
    __slots__ = ("text", "assertion", "kind", "topic", "tags", "source", "confidence", "importance", "valid_from", "valid_to", "expires_at", "said_at", "time_zone", "visibility", "pinned", "embedding", "agent", "session", "process", "reference", "derived_from")
    TEXT_FIELD_NUMBER: _ClassVar[int]
    ASSERTION_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    TOPIC_FIELD_NUMBER: _ClassVar[int]
    TAGS_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    CONFIDENCE_FIELD_NUMBER: _ClassVar[int]
    IMPORTANCE_FIELD_NUMBER: _ClassVar[int]
    VALID_FROM_FIELD_NUMBER: _ClassVar[int]
    VALID_TO_FIELD_NUMBER: _ClassVar[int]
    EXPIRES_AT_FIELD_NUMBER: _ClassVar[int]
    SAID_AT_FIELD_NUMBER: _ClassVar[int]
    TIME_ZONE_FIELD_NUMBER: _ClassVar[int]
    VISIBILITY_FIELD_NUMBER: _ClassVar[int]
    PINNED_FIELD_NUMBER: _ClassVar[int]
    EMBEDDING_FIELD_NUMBER: _ClassVar[int]
    AGENT_FIELD_NUMBER: _ClassVar[int]
    SESSION_FIELD_NUMBER: _ClassVar[int]
    PROCESS_FIELD_NUMBER: _ClassVar[int]
    REFERENCE_FIELD_NUMBER: _ClassVar[int]
    DERIVED_FROM_FIELD_NUMBER: _ClassVar[int]
    text: str
    assertion: Assertion
    kind: Kind
    topic: str
    tags: _containers.RepeatedScalarFieldContainer[str]
    source: Source
    confidence: float
    importance: float
    valid_from: _timestamp_pb2.Timestamp
    valid_to: _timestamp_pb2.Timestamp
    expires_at: _timestamp_pb2.Timestamp
    said_at: _timestamp_pb2.Timestamp
    time_zone: str
    visibility: Visibility
    pinned: bool
    embedding: _containers.RepeatedScalarFieldContainer[float]
    agent: str
    session: str
    process: str
    reference: str
    derived_from: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, text: _Optional[str] = ..., assertion: _Optional[_Union[Assertion, _Mapping]] = ..., kind: _Optional[_Union[Kind, str]] = ..., topic: _Optional[str] = ..., tags: _Optional[_Iterable[str]] = ..., source: _Optional[_Union[Source, str]] = ..., confidence: _Optional[float] = ..., importance: _Optional[float] = ..., valid_from: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., valid_to: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., expires_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., said_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., time_zone: _Optional[str] = ..., visibility: _Optional[_Union[Visibility, str]] = ..., pinned: _Optional[bool] = ..., embedding: _Optional[_Iterable[float]] = ..., agent: _Optional[str] = ..., session: _Optional[str] = ..., process: _Optional[str] = ..., reference: _Optional[str] = ..., derived_from: _Optional[_Iterable[str]] = ...) -> None: ...

class Slot(_message.Message):
    __slots__ = ("subject", "predicate", "topic")
    SUBJECT_FIELD_NUMBER: _ClassVar[int]
    PREDICATE_FIELD_NUMBER: _ClassVar[int]
    TOPIC_FIELD_NUMBER: _ClassVar[int]
    subject: str
    predicate: str
    topic: str
    def __init__(self, subject: _Optional[str] = ..., predicate: _Optional[str] = ..., topic: _Optional[str] = ...) -> None: ...

class Consistency(_message.Message):
    __slots__ = ("minimize_latency", "at_least_as_fresh", "fully_consistent")
    MINIMIZE_LATENCY_FIELD_NUMBER: _ClassVar[int]
    AT_LEAST_AS_FRESH_FIELD_NUMBER: _ClassVar[int]
    FULLY_CONSISTENT_FIELD_NUMBER: _ClassVar[int]
    minimize_latency: bool
    at_least_as_fresh: str
    fully_consistent: bool
    def __init__(self, minimize_latency: _Optional[bool] = ..., at_least_as_fresh: _Optional[str] = ..., fully_consistent: _Optional[bool] = ...) -> None: ...

class MemoryFilter(_message.Message):
    __slots__ = ("kinds", "statuses", "tiers", "sources", "tags_all", "tags_any", "topics", "slots", "subjects", "predicates", "agents", "devices", "sessions", "said_from", "said_until", "importance_min", "confidence_min", "ids")
    KINDS_FIELD_NUMBER: _ClassVar[int]
    STATUSES_FIELD_NUMBER: _ClassVar[int]
    TIERS_FIELD_NUMBER: _ClassVar[int]
    SOURCES_FIELD_NUMBER: _ClassVar[int]
    TAGS_ALL_FIELD_NUMBER: _ClassVar[int]
    TAGS_ANY_FIELD_NUMBER: _ClassVar[int]
    TOPICS_FIELD_NUMBER: _ClassVar[int]
    SLOTS_FIELD_NUMBER: _ClassVar[int]
    SUBJECTS_FIELD_NUMBER: _ClassVar[int]
    PREDICATES_FIELD_NUMBER: _ClassVar[int]
    AGENTS_FIELD_NUMBER: _ClassVar[int]
    DEVICES_FIELD_NUMBER: _ClassVar[int]
    SESSIONS_FIELD_NUMBER: _ClassVar[int]
    SAID_FROM_FIELD_NUMBER: _ClassVar[int]
    SAID_UNTIL_FIELD_NUMBER: _ClassVar[int]
    IMPORTANCE_MIN_FIELD_NUMBER: _ClassVar[int]
    CONFIDENCE_MIN_FIELD_NUMBER: _ClassVar[int]
    IDS_FIELD_NUMBER: _ClassVar[int]
    kinds: _containers.RepeatedScalarFieldContainer[Kind]
    statuses: _containers.RepeatedScalarFieldContainer[Status]
    tiers: _containers.RepeatedScalarFieldContainer[Tier]
    sources: _containers.RepeatedScalarFieldContainer[Source]
    tags_all: _containers.RepeatedScalarFieldContainer[str]
    tags_any: _containers.RepeatedScalarFieldContainer[str]
    topics: _containers.RepeatedScalarFieldContainer[str]
    slots: _containers.RepeatedCompositeFieldContainer[Slot]
    subjects: _containers.RepeatedScalarFieldContainer[str]
    predicates: _containers.RepeatedScalarFieldContainer[str]
    agents: _containers.RepeatedScalarFieldContainer[str]
    devices: _containers.RepeatedScalarFieldContainer[str]
    sessions: _containers.RepeatedScalarFieldContainer[str]
    said_from: _timestamp_pb2.Timestamp
    said_until: _timestamp_pb2.Timestamp
    importance_min: float
    confidence_min: float
    ids: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, kinds: _Optional[_Iterable[_Union[Kind, str]]] = ..., statuses: _Optional[_Iterable[_Union[Status, str]]] = ..., tiers: _Optional[_Iterable[_Union[Tier, str]]] = ..., sources: _Optional[_Iterable[_Union[Source, str]]] = ..., tags_all: _Optional[_Iterable[str]] = ..., tags_any: _Optional[_Iterable[str]] = ..., topics: _Optional[_Iterable[str]] = ..., slots: _Optional[_Iterable[_Union[Slot, _Mapping]]] = ..., subjects: _Optional[_Iterable[str]] = ..., predicates: _Optional[_Iterable[str]] = ..., agents: _Optional[_Iterable[str]] = ..., devices: _Optional[_Iterable[str]] = ..., sessions: _Optional[_Iterable[str]] = ..., said_from: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., said_until: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., importance_min: _Optional[float] = ..., confidence_min: _Optional[float] = ..., ids: _Optional[_Iterable[str]] = ...) -> None: ...
