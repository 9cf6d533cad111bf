import datetime

from google.protobuf import duration_pb2 as _duration_pb2
from google.protobuf import field_mask_pb2 as _field_mask_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from memory_service.v1 import types_pb2 as _types_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Effect(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    EFFECT_UNSPECIFIED: _ClassVar[Effect]
    EFFECT_CREATED: _ClassVar[Effect]
    EFFECT_SUPPORTED: _ClassVar[Effect]
    EFFECT_UPDATED: _ClassVar[Effect]
    EFFECT_SUPERSEDED: _ClassVar[Effect]
    EFFECT_CONTESTED: _ClassVar[Effect]
    EFFECT_RETRACTED: _ClassVar[Effect]
    EFFECT_FORGOTTEN: _ClassVar[Effect]
    EFFECT_SUPPRESSED: _ClassVar[Effect]
    EFFECT_REACTIVATED: _ClassVar[Effect]
    EFFECT_YIELDED: _ClassVar[Effect]

class CorrectionNature(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    CORRECTION_NATURE_UNSPECIFIED: _ClassVar[CorrectionNature]
    CORRECTION_NATURE_WRONG: _ClassVar[CorrectionNature]
    CORRECTION_NATURE_OUTDATED: _ClassVar[CorrectionNature]

class ReviewCause(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    REVIEW_CAUSE_UNSPECIFIED: _ClassVar[ReviewCause]
    REVIEW_CAUSE_SENSITIVE: _ClassVar[ReviewCause]
    REVIEW_CAUSE_CONTESTED: _ClassVar[ReviewCause]

class ReviewDecision(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    REVIEW_DECISION_UNSPECIFIED: _ClassVar[ReviewDecision]
    REVIEW_DECISION_ACCEPT: _ClassVar[ReviewDecision]
    REVIEW_DECISION_REJECT: _ClassVar[ReviewDecision]
    REVIEW_DECISION_REOPEN: _ClassVar[ReviewDecision]

class RecallOutcome(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    RECALL_OUTCOME_UNSPECIFIED: _ClassVar[RecallOutcome]
    RECALL_OUTCOME_ADOPTED: _ClassVar[RecallOutcome]
    RECALL_OUTCOME_REJECTED: _ClassVar[RecallOutcome]
EFFECT_UNSPECIFIED: Effect
EFFECT_CREATED: Effect
EFFECT_SUPPORTED: Effect
EFFECT_UPDATED: Effect
EFFECT_SUPERSEDED: Effect
EFFECT_CONTESTED: Effect
EFFECT_RETRACTED: Effect
EFFECT_FORGOTTEN: Effect
EFFECT_SUPPRESSED: Effect
EFFECT_REACTIVATED: Effect
EFFECT_YIELDED: Effect
CORRECTION_NATURE_UNSPECIFIED: CorrectionNature
CORRECTION_NATURE_WRONG: CorrectionNature
CORRECTION_NATURE_OUTDATED: CorrectionNature
REVIEW_CAUSE_UNSPECIFIED: ReviewCause
REVIEW_CAUSE_SENSITIVE: ReviewCause
REVIEW_CAUSE_CONTESTED: ReviewCause
REVIEW_DECISION_UNSPECIFIED: ReviewDecision
REVIEW_DECISION_ACCEPT: ReviewDecision
REVIEW_DECISION_REJECT: ReviewDecision
REVIEW_DECISION_REOPEN: ReviewDecision
RECALL_OUTCOME_UNSPECIFIED: RecallOutcome
RECALL_OUTCOME_ADOPTED: RecallOutcome
RECALL_OUTCOME_REJECTED: RecallOutcome

class Affected(_message.Message):
    __slots__ = ("memory_id", "effect", "memory", "reason")
    MEMORY_ID_FIELD_NUMBER: _ClassVar[int]
    EFFECT_FIELD_NUMBER: _ClassVar[int]
    MEMORY_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    memory_id: str
    effect: Effect
    memory: _types_pb2.Memory
    reason: str
    def __init__(self, memory_id: _Optional[str] = ..., effect: _Optional[_Union[Effect, str]] = ..., memory: _Optional[_Union[_types_pb2.Memory, _Mapping]] = ..., reason: _Optional[str] = ...) -> None: ...

class WriteRequest(_message.Message):
    __slots__ = ("user", "memory", "request_id", "dot", "context")
    USER_FIELD_NUMBER: _ClassVar[int]
    MEMORY_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    DOT_FIELD_NUMBER: _ClassVar[int]
    CONTEXT_FIELD_NUMBER: _ClassVar[int]
    user: str
    memory: _types_pb2.MemoryInput
    request_id: str
    dot: _types_pb2.Dot
    context: _types_pb2.VectorClock
    def __init__(self, user: _Optional[str] = ..., memory: _Optional[_Union[_types_pb2.MemoryInput, _Mapping]] = ..., request_id: _Optional[str] = ..., dot: _Optional[_Union[_types_pb2.Dot, _Mapping]] = ..., context: _Optional[_Union[_types_pb2.VectorClock, _Mapping]] = ...) -> None: ...

class WriteResponse(_message.Message):
    __slots__ = ("memory", "effect", "affected", "token", "context", "dot", "replayed")
    MEMORY_FIELD_NUMBER: _ClassVar[int]
    EFFECT_FIELD_NUMBER: _ClassVar[int]
    AFFECTED_FIELD_NUMBER: _ClassVar[int]
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    CONTEXT_FIELD_NUMBER: _ClassVar[int]
    DOT_FIELD_NUMBER: _ClassVar[int]
    REPLAYED_FIELD_NUMBER: _ClassVar[int]
    memory: _types_pb2.Memory
    effect: Effect
    affected: _containers.RepeatedCompositeFieldContainer[Affected]
    token: str
    context: _types_pb2.VectorClock
    dot: _types_pb2.Dot
    replayed: bool
    def __init__(self, memory: _Optional[_Union[_types_pb2.Memory, _Mapping]] = ..., effect: _Optional[_Union[Effect, str]] = ..., affected: _Optional[_Iterable[_Union[Affected, _Mapping]]] = ..., token: _Optional[str] = ..., context: _Optional[_Union[_types_pb2.VectorClock, _Mapping]] = ..., dot: _Optional[_Union[_types_pb2.Dot, _Mapping]] = ..., replayed: _Optional[bool] = ...) -> None: ...

class BatchWriteItem(_message.Message):
    __slots__ = ("memory", "request_id", "dot")
    MEMORY_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    DOT_FIELD_NUMBER: _ClassVar[int]
    memory: _types_pb2.MemoryInput
    request_id: str
    dot: _types_pb2.Dot
    def __init__(self, memory: _Optional[_Union[_types_pb2.MemoryInput, _Mapping]] = ..., request_id: _Optional[str] = ..., dot: _Optional[_Union[_types_pb2.Dot, _Mapping]] = ...) -> None: ...

class BatchWriteRequest(_message.Message):
    __slots__ = ("user", "items", "context")
    USER_FIELD_NUMBER: _ClassVar[int]
    ITEMS_FIELD_NUMBER: _ClassVar[int]
    CONTEXT_FIELD_NUMBER: _ClassVar[int]
    user: str
    items: _containers.RepeatedCompositeFieldContainer[BatchWriteItem]
    context: _types_pb2.VectorClock
    def __init__(self, user: _Optional[str] = ..., items: _Optional[_Iterable[_Union[BatchWriteItem, _Mapping]]] = ..., context: _Optional[_Union[_types_pb2.VectorClock, _Mapping]] = ...) -> None: ...

class BatchWriteResult(_message.Message):
    __slots__ = ("written", "error")
    WRITTEN_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    written: WriteResponse
    error: ItemError
    def __init__(self, written: _Optional[_Union[WriteResponse, _Mapping]] = ..., error: _Optional[_Union[ItemError, _Mapping]] = ...) -> None: ...

class ItemError(_message.Message):
    __slots__ = ("code", "reason", "message", "field", "metadata")
    class MetadataEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    CODE_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    FIELD_FIELD_NUMBER: _ClassVar[int]
    METADATA_FIELD_NUMBER: _ClassVar[int]
    code: int
    reason: str
    message: str
    field: str
    metadata: _containers.ScalarMap[str, str]
    def __init__(self, code: _Optional[int] = ..., reason: _Optional[str] = ..., message: _Optional[str] = ..., field: _Optional[str] = ..., metadata: _Optional[_Mapping[str, str]] = ...) -> None: ...

class BatchWriteResponse(_message.Message):
    __slots__ = ("results", "token", "context")
    RESULTS_FIELD_NUMBER: _ClassVar[int]
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    CONTEXT_FIELD_NUMBER: _ClassVar[int]
    results: _containers.RepeatedCompositeFieldContainer[BatchWriteResult]
    token: str
    context: _types_pb2.VectorClock
    def __init__(self, results: _Optional[_Iterable[_Union[BatchWriteResult, _Mapping]]] = ..., token: _Optional[str] = ..., context: _Optional[_Union[_types_pb2.VectorClock, _Mapping]] = ...) -> None: ...

class RecallRequest(_message.Message):
    __slots__ = ("user", "query", "query_embedding", "filter", "limit", "token_budget", "consistency", "as_of_valid", "as_of_recorded", "profile", "agent", "read_only", "time_zone", "resolve_time", "deep")
    USER_FIELD_NUMBER: _ClassVar[int]
    QUERY_FIELD_NUMBER: _ClassVar[int]
    QUERY_EMBEDDING_FIELD_NUMBER: _ClassVar[int]
    FILTER_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    TOKEN_BUDGET_FIELD_NUMBER: _ClassVar[int]
    CONSISTENCY_FIELD_NUMBER: _ClassVar[int]
    AS_OF_VALID_FIELD_NUMBER: _ClassVar[int]
    AS_OF_RECORDED_FIELD_NUMBER: _ClassVar[int]
    PROFILE_FIELD_NUMBER: _ClassVar[int]
    AGENT_FIELD_NUMBER: _ClassVar[int]
    READ_ONLY_FIELD_NUMBER: _ClassVar[int]
    TIME_ZONE_FIELD_NUMBER: _ClassVar[int]
    RESOLVE_TIME_FIELD_NUMBER: _ClassVar[int]
    DEEP_FIELD_NUMBER: _ClassVar[int]
    user: str
    query: str
    query_embedding: _containers.RepeatedScalarFieldContainer[float]
    filter: _types_pb2.MemoryFilter
    limit: int
    token_budget: int
    consistency: _types_pb2.Consistency
    as_of_valid: _timestamp_pb2.Timestamp
    as_of_recorded: _timestamp_pb2.Timestamp
    profile: str
    agent: str
    read_only: bool
    time_zone: str
    resolve_time: bool
    deep: bool
    def __init__(self, user: _Optional[str] = ..., query: _Optional[str] = ..., query_embedding: _Optional[_Iterable[float]] = ..., filter: _Optional[_Union[_types_pb2.MemoryFilter, _Mapping]] = ..., limit: _Optional[int] = ..., token_budget: _Optional[int] = ..., consistency: _Optional[_Union[_types_pb2.Consistency, _Mapping]] = ..., as_of_valid: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., as_of_recorded: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., profile: _Optional[str] = ..., agent: _Optional[str] = ..., read_only: _Optional[bool] = ..., time_zone: _Optional[str] = ..., resolve_time: _Optional[bool] = ..., deep: _Optional[bool] = ...) -> None: ...

class ScoreBreakdown(_message.Message):
    __slots__ = ("total", "semantic", "freshness", "importance", "confidence", "cosine", "bm25", "rrf", "vector_rank", "lexical_rank", "slot_rank", "tier_bonus", "support")
    TOTAL_FIELD_NUMBER: _ClassVar[int]
    SEMANTIC_FIELD_NUMBER: _ClassVar[int]
    FRESHNESS_FIELD_NUMBER: _ClassVar[int]
    IMPORTANCE_FIELD_NUMBER: _ClassVar[int]
    CONFIDENCE_FIELD_NUMBER: _ClassVar[int]
    COSINE_FIELD_NUMBER: _ClassVar[int]
    BM25_FIELD_NUMBER: _ClassVar[int]
    RRF_FIELD_NUMBER: _ClassVar[int]
    VECTOR_RANK_FIELD_NUMBER: _ClassVar[int]
    LEXICAL_RANK_FIELD_NUMBER: _ClassVar[int]
    SLOT_RANK_FIELD_NUMBER: _ClassVar[int]
    TIER_BONUS_FIELD_NUMBER: _ClassVar[int]
    SUPPORT_FIELD_NUMBER: _ClassVar[int]
    total: float
    semantic: float
    freshness: float
    importance: float
    confidence: float
    cosine: float
    bm25: float
    rrf: float
    vector_rank: int
    lexical_rank: int
    slot_rank: int
    tier_bonus: float
    support: float
    def __init__(self, total: _Optional[float] = ..., semantic: _Optional[float] = ..., freshness: _Optional[float] = ..., importance: _Optional[float] = ..., confidence: _Optional[float] = ..., cosine: _Optional[float] = ..., bm25: _Optional[float] = ..., rrf: _Optional[float] = ..., vector_rank: _Optional[int] = ..., lexical_rank: _Optional[int] = ..., slot_rank: _Optional[int] = ..., tier_bonus: _Optional[float] = ..., support: _Optional[float] = ...) -> None: ...

class RecalledMemory(_message.Message):
    __slots__ = ("memory", "score", "breakdown", "contested", "why")
    MEMORY_FIELD_NUMBER: _ClassVar[int]
    SCORE_FIELD_NUMBER: _ClassVar[int]
    BREAKDOWN_FIELD_NUMBER: _ClassVar[int]
    CONTESTED_FIELD_NUMBER: _ClassVar[int]
    WHY_FIELD_NUMBER: _ClassVar[int]
    memory: _types_pb2.Memory
    score: float
    breakdown: ScoreBreakdown
    contested: bool
    why: str
    def __init__(self, memory: _Optional[_Union[_types_pb2.Memory, _Mapping]] = ..., score: _Optional[float] = ..., breakdown: _Optional[_Union[ScoreBreakdown, _Mapping]] = ..., contested: _Optional[bool] = ..., why: _Optional[str] = ...) -> None: ...

class RecallStage(_message.Message):
    __slots__ = ("name", "ran", "duration", "note")
    NAME_FIELD_NUMBER: _ClassVar[int]
    RAN_FIELD_NUMBER: _ClassVar[int]
    DURATION_FIELD_NUMBER: _ClassVar[int]
    NOTE_FIELD_NUMBER: _ClassVar[int]
    name: str
    ran: bool
    duration: _duration_pb2.Duration
    note: str
    def __init__(self, name: _Optional[str] = ..., ran: _Optional[bool] = ..., duration: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., note: _Optional[str] = ...) -> None: ...

class RecallResponse(_message.Message):
    __slots__ = ("memories", "context_block", "context", "token", "stages", "degraded", "candidates", "as_of_valid", "as_of_words")
    MEMORIES_FIELD_NUMBER: _ClassVar[int]
    CONTEXT_BLOCK_FIELD_NUMBER: _ClassVar[int]
    CONTEXT_FIELD_NUMBER: _ClassVar[int]
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    STAGES_FIELD_NUMBER: _ClassVar[int]
    DEGRADED_FIELD_NUMBER: _ClassVar[int]
    CANDIDATES_FIELD_NUMBER: _ClassVar[int]
    AS_OF_VALID_FIELD_NUMBER: _ClassVar[int]
    AS_OF_WORDS_FIELD_NUMBER: _ClassVar[int]
    memories: _containers.RepeatedCompositeFieldContainer[RecalledMemory]
    context_block: str
    context: _types_pb2.VectorClock
    token: str
    stages: _containers.RepeatedCompositeFieldContainer[RecallStage]
    degraded: bool
    candidates: int
    as_of_valid: _timestamp_pb2.Timestamp
    as_of_words: str
    def __init__(self, memories: _Optional[_Iterable[_Union[RecalledMemory, _Mapping]]] = ..., context_block: _Optional[str] = ..., context: _Optional[_Union[_types_pb2.VectorClock, _Mapping]] = ..., token: _Optional[str] = ..., stages: _Optional[_Iterable[_Union[RecallStage, _Mapping]]] = ..., degraded: _Optional[bool] = ..., candidates: _Optional[int] = ..., as_of_valid: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., as_of_words: _Optional[str] = ...) -> None: ...

class CorrectRequest(_message.Message):
    __slots__ = ("user", "memory_id", "slot", "memory", "update_mask", "etag", "nature", "changed_at", "reason", "request_id", "dot", "context")
    USER_FIELD_NUMBER: _ClassVar[int]
    MEMORY_ID_FIELD_NUMBER: _ClassVar[int]
    SLOT_FIELD_NUMBER: _ClassVar[int]
    MEMORY_FIELD_NUMBER: _ClassVar[int]
    UPDATE_MASK_FIELD_NUMBER: _ClassVar[int]
    ETAG_FIELD_NUMBER: _ClassVar[int]
    NATURE_FIELD_NUMBER: _ClassVar[int]
    CHANGED_AT_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    DOT_FIELD_NUMBER: _ClassVar[int]
    CONTEXT_FIELD_NUMBER: _ClassVar[int]
    user: str
    memory_id: str
    slot: _types_pb2.Slot
    memory: _types_pb2.MemoryInput
    update_mask: _field_mask_pb2.FieldMask
    etag: str
    nature: CorrectionNature
    changed_at: _timestamp_pb2.Timestamp
    reason: str
    request_id: str
    dot: _types_pb2.Dot
    context: _types_pb2.VectorClock
    def __init__(self, user: _Optional[str] = ..., memory_id: _Optional[str] = ..., slot: _Optional[_Union[_types_pb2.Slot, _Mapping]] = ..., memory: _Optional[_Union[_types_pb2.MemoryInput, _Mapping]] = ..., update_mask: _Optional[_Union[_field_mask_pb2.FieldMask, _Mapping]] = ..., etag: _Optional[str] = ..., nature: _Optional[_Union[CorrectionNature, str]] = ..., changed_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., reason: _Optional[str] = ..., request_id: _Optional[str] = ..., dot: _Optional[_Union[_types_pb2.Dot, _Mapping]] = ..., context: _Optional[_Union[_types_pb2.VectorClock, _Mapping]] = ...) -> None: ...

class CorrectResponse(_message.Message):
    __slots__ = ("memory", "effect", "affected", "token", "context", "dot", "replayed")
    MEMORY_FIELD_NUMBER: _ClassVar[int]
    EFFECT_FIELD_NUMBER: _ClassVar[int]
    AFFECTED_FIELD_NUMBER: _ClassVar[int]
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    CONTEXT_FIELD_NUMBER: _ClassVar[int]
    DOT_FIELD_NUMBER: _ClassVar[int]
    REPLAYED_FIELD_NUMBER: _ClassVar[int]
    memory: _types_pb2.Memory
    effect: Effect
    affected: _containers.RepeatedCompositeFieldContainer[Affected]
    token: str
    context: _types_pb2.VectorClock
    dot: _types_pb2.Dot
    replayed: bool
    def __init__(self, memory: _Optional[_Union[_types_pb2.Memory, _Mapping]] = ..., effect: _Optional[_Union[Effect, str]] = ..., affected: _Optional[_Iterable[_Union[Affected, _Mapping]]] = ..., token: _Optional[str] = ..., context: _Optional[_Union[_types_pb2.VectorClock, _Mapping]] = ..., dot: _Optional[_Union[_types_pb2.Dot, _Mapping]] = ..., replayed: _Optional[bool] = ...) -> None: ...

class MemoryIds(_message.Message):
    __slots__ = ("ids",)
    IDS_FIELD_NUMBER: _ClassVar[int]
    ids: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, ids: _Optional[_Iterable[str]] = ...) -> None: ...

class ForgetRequest(_message.Message):
    __slots__ = ("user", "memories", "slot", "filter", "statement", "validate_only", "reason", "request_id", "dot", "context")
    USER_FIELD_NUMBER: _ClassVar[int]
    MEMORIES_FIELD_NUMBER: _ClassVar[int]
    SLOT_FIELD_NUMBER: _ClassVar[int]
    FILTER_FIELD_NUMBER: _ClassVar[int]
    STATEMENT_FIELD_NUMBER: _ClassVar[int]
    VALIDATE_ONLY_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    DOT_FIELD_NUMBER: _ClassVar[int]
    CONTEXT_FIELD_NUMBER: _ClassVar[int]
    user: str
    memories: MemoryIds
    slot: _types_pb2.Slot
    filter: _types_pb2.MemoryFilter
    statement: _types_pb2.MemoryInput
    validate_only: bool
    reason: str
    request_id: str
    dot: _types_pb2.Dot
    context: _types_pb2.VectorClock
    def __init__(self, user: _Optional[str] = ..., memories: _Optional[_Union[MemoryIds, _Mapping]] = ..., slot: _Optional[_Union[_types_pb2.Slot, _Mapping]] = ..., filter: _Optional[_Union[_types_pb2.MemoryFilter, _Mapping]] = ..., statement: _Optional[_Union[_types_pb2.MemoryInput, _Mapping]] = ..., validate_only: _Optional[bool] = ..., reason: _Optional[str] = ..., request_id: _Optional[str] = ..., dot: _Optional[_Union[_types_pb2.Dot, _Mapping]] = ..., context: _Optional[_Union[_types_pb2.VectorClock, _Mapping]] = ...) -> None: ...

class ForgetResponse(_message.Message):
    __slots__ = ("forgotten_count", "memory_ids", "preview", "token", "context", "dot", "replayed")
    FORGOTTEN_COUNT_FIELD_NUMBER: _ClassVar[int]
    MEMORY_IDS_FIELD_NUMBER: _ClassVar[int]
    PREVIEW_FIELD_NUMBER: _ClassVar[int]
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    CONTEXT_FIELD_NUMBER: _ClassVar[int]
    DOT_FIELD_NUMBER: _ClassVar[int]
    REPLAYED_FIELD_NUMBER: _ClassVar[int]
    forgotten_count: int
    memory_ids: _containers.RepeatedScalarFieldContainer[str]
    preview: _containers.RepeatedCompositeFieldContainer[_types_pb2.Memory]
    token: str
    context: _types_pb2.VectorClock
    dot: _types_pb2.Dot
    replayed: bool
    def __init__(self, forgotten_count: _Optional[int] = ..., memory_ids: _Optional[_Iterable[str]] = ..., preview: _Optional[_Iterable[_Union[_types_pb2.Memory, _Mapping]]] = ..., token: _Optional[str] = ..., context: _Optional[_Union[_types_pb2.VectorClock, _Mapping]] = ..., dot: _Optional[_Union[_types_pb2.Dot, _Mapping]] = ..., replayed: _Optional[bool] = ...) -> None: ...

class GetMemoryRequest(_message.Message):
    __slots__ = ("user", "memory_id", "agent", "as_of_valid", "as_of_recorded")
    USER_FIELD_NUMBER: _ClassVar[int]
    MEMORY_ID_FIELD_NUMBER: _ClassVar[int]
    AGENT_FIELD_NUMBER: _ClassVar[int]
    AS_OF_VALID_FIELD_NUMBER: _ClassVar[int]
    AS_OF_RECORDED_FIELD_NUMBER: _ClassVar[int]
    user: str
    memory_id: str
    agent: str
    as_of_valid: _timestamp_pb2.Timestamp
    as_of_recorded: _timestamp_pb2.Timestamp
    def __init__(self, user: _Optional[str] = ..., memory_id: _Optional[str] = ..., agent: _Optional[str] = ..., as_of_valid: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., as_of_recorded: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class Link(_message.Message):
    __slots__ = ("from_id", "relation", "to_id")
    FROM_ID_FIELD_NUMBER: _ClassVar[int]
    RELATION_FIELD_NUMBER: _ClassVar[int]
    TO_ID_FIELD_NUMBER: _ClassVar[int]
    from_id: str
    relation: _types_pb2.Relation
    to_id: str
    def __init__(self, from_id: _Optional[str] = ..., relation: _Optional[_Union[_types_pb2.Relation, str]] = ..., to_id: _Optional[str] = ...) -> None: ...

class GetMemoryResponse(_message.Message):
    __slots__ = ("memory", "links", "context")
    MEMORY_FIELD_NUMBER: _ClassVar[int]
    LINKS_FIELD_NUMBER: _ClassVar[int]
    CONTEXT_FIELD_NUMBER: _ClassVar[int]
    memory: _types_pb2.Memory
    links: _containers.RepeatedCompositeFieldContainer[Link]
    context: _types_pb2.VectorClock
    def __init__(self, memory: _Optional[_Union[_types_pb2.Memory, _Mapping]] = ..., links: _Optional[_Iterable[_Union[Link, _Mapping]]] = ..., context: _Optional[_Union[_types_pb2.VectorClock, _Mapping]] = ...) -> None: ...

class ListMemoriesRequest(_message.Message):
    __slots__ = ("user", "filter", "page_size", "page_token", "agent", "as_of_valid", "as_of_recorded")
    USER_FIELD_NUMBER: _ClassVar[int]
    FILTER_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    AGENT_FIELD_NUMBER: _ClassVar[int]
    AS_OF_VALID_FIELD_NUMBER: _ClassVar[int]
    AS_OF_RECORDED_FIELD_NUMBER: _ClassVar[int]
    user: str
    filter: _types_pb2.MemoryFilter
    page_size: int
    page_token: str
    agent: str
    as_of_valid: _timestamp_pb2.Timestamp
    as_of_recorded: _timestamp_pb2.Timestamp
    def __init__(self, user: _Optional[str] = ..., filter: _Optional[_Union[_types_pb2.MemoryFilter, _Mapping]] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ..., agent: _Optional[str] = ..., as_of_valid: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., as_of_recorded: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class ListMemoriesResponse(_message.Message):
    __slots__ = ("memories", "next_page_token")
    MEMORIES_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    memories: _containers.RepeatedCompositeFieldContainer[_types_pb2.Memory]
    next_page_token: str
    def __init__(self, memories: _Optional[_Iterable[_Union[_types_pb2.Memory, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class GetHistoryRequest(_message.Message):
    __slots__ = ("user", "memory_id")
    USER_FIELD_NUMBER: _ClassVar[int]
    MEMORY_ID_FIELD_NUMBER: _ClassVar[int]
    user: str
    memory_id: str
    def __init__(self, user: _Optional[str] = ..., memory_id: _Optional[str] = ...) -> None: ...

class HistoryEvent(_message.Message):
    __slots__ = ("event", "version", "at", "actor", "device", "reason", "before", "after", "details")
    class DetailsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    EVENT_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    AT_FIELD_NUMBER: _ClassVar[int]
    ACTOR_FIELD_NUMBER: _ClassVar[int]
    DEVICE_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    BEFORE_FIELD_NUMBER: _ClassVar[int]
    AFTER_FIELD_NUMBER: _ClassVar[int]
    DETAILS_FIELD_NUMBER: _ClassVar[int]
    event: str
    version: int
    at: _timestamp_pb2.Timestamp
    actor: str
    device: str
    reason: str
    before: str
    after: str
    details: _containers.ScalarMap[str, str]
    def __init__(self, event: _Optional[str] = ..., version: _Optional[int] = ..., at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., actor: _Optional[str] = ..., device: _Optional[str] = ..., reason: _Optional[str] = ..., before: _Optional[str] = ..., after: _Optional[str] = ..., details: _Optional[_Mapping[str, str]] = ...) -> None: ...

class GetHistoryResponse(_message.Message):
    __slots__ = ("versions", "events", "links")
    VERSIONS_FIELD_NUMBER: _ClassVar[int]
    EVENTS_FIELD_NUMBER: _ClassVar[int]
    LINKS_FIELD_NUMBER: _ClassVar[int]
    versions: _containers.RepeatedCompositeFieldContainer[_types_pb2.Memory]
    events: _containers.RepeatedCompositeFieldContainer[HistoryEvent]
    links: _containers.RepeatedCompositeFieldContainer[Link]
    def __init__(self, versions: _Optional[_Iterable[_Union[_types_pb2.Memory, _Mapping]]] = ..., events: _Optional[_Iterable[_Union[HistoryEvent, _Mapping]]] = ..., links: _Optional[_Iterable[_Union[Link, _Mapping]]] = ...) -> None: ...

class RollbackRequest(_message.Message):
    __slots__ = ("user", "memory_id", "version", "etag", "reason", "request_id", "dot", "context")
    USER_FIELD_NUMBER: _ClassVar[int]
    MEMORY_ID_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    ETAG_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    DOT_FIELD_NUMBER: _ClassVar[int]
    CONTEXT_FIELD_NUMBER: _ClassVar[int]
    user: str
    memory_id: str
    version: int
    etag: str
    reason: str
    request_id: str
    dot: _types_pb2.Dot
    context: _types_pb2.VectorClock
    def __init__(self, user: _Optional[str] = ..., memory_id: _Optional[str] = ..., version: _Optional[int] = ..., etag: _Optional[str] = ..., reason: _Optional[str] = ..., request_id: _Optional[str] = ..., dot: _Optional[_Union[_types_pb2.Dot, _Mapping]] = ..., context: _Optional[_Union[_types_pb2.VectorClock, _Mapping]] = ...) -> None: ...

class RollbackResponse(_message.Message):
    __slots__ = ("memory", "affected", "token", "context", "dot", "replayed")
    MEMORY_FIELD_NUMBER: _ClassVar[int]
    AFFECTED_FIELD_NUMBER: _ClassVar[int]
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    CONTEXT_FIELD_NUMBER: _ClassVar[int]
    DOT_FIELD_NUMBER: _ClassVar[int]
    REPLAYED_FIELD_NUMBER: _ClassVar[int]
    memory: _types_pb2.Memory
    affected: _containers.RepeatedCompositeFieldContainer[Affected]
    token: str
    context: _types_pb2.VectorClock
    dot: _types_pb2.Dot
    replayed: bool
    def __init__(self, memory: _Optional[_Union[_types_pb2.Memory, _Mapping]] = ..., affected: _Optional[_Iterable[_Union[Affected, _Mapping]]] = ..., token: _Optional[str] = ..., context: _Optional[_Union[_types_pb2.VectorClock, _Mapping]] = ..., dot: _Optional[_Union[_types_pb2.Dot, _Mapping]] = ..., replayed: _Optional[bool] = ...) -> None: ...

class UnmergeRequest(_message.Message):
    __slots__ = ("user", "memory_id", "etag", "reason", "request_id", "dot", "context")
    USER_FIELD_NUMBER: _ClassVar[int]
    MEMORY_ID_FIELD_NUMBER: _ClassVar[int]
    ETAG_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    DOT_FIELD_NUMBER: _ClassVar[int]
    CONTEXT_FIELD_NUMBER: _ClassVar[int]
    user: str
    memory_id: str
    etag: str
    reason: str
    request_id: str
    dot: _types_pb2.Dot
    context: _types_pb2.VectorClock
    def __init__(self, user: _Optional[str] = ..., memory_id: _Optional[str] = ..., etag: _Optional[str] = ..., reason: _Optional[str] = ..., request_id: _Optional[str] = ..., dot: _Optional[_Union[_types_pb2.Dot, _Mapping]] = ..., context: _Optional[_Union[_types_pb2.VectorClock, _Mapping]] = ...) -> None: ...

class UnmergeResponse(_message.Message):
    __slots__ = ("memory", "effect", "affected", "token", "context", "dot", "replayed")
    MEMORY_FIELD_NUMBER: _ClassVar[int]
    EFFECT_FIELD_NUMBER: _ClassVar[int]
    AFFECTED_FIELD_NUMBER: _ClassVar[int]
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    CONTEXT_FIELD_NUMBER: _ClassVar[int]
    DOT_FIELD_NUMBER: _ClassVar[int]
    REPLAYED_FIELD_NUMBER: _ClassVar[int]
    memory: _types_pb2.Memory
    effect: Effect
    affected: _containers.RepeatedCompositeFieldContainer[Affected]
    token: str
    context: _types_pb2.VectorClock
    dot: _types_pb2.Dot
    replayed: bool
    def __init__(self, memory: _Optional[_Union[_types_pb2.Memory, _Mapping]] = ..., effect: _Optional[_Union[Effect, str]] = ..., affected: _Optional[_Iterable[_Union[Affected, _Mapping]]] = ..., token: _Optional[str] = ..., context: _Optional[_Union[_types_pb2.VectorClock, _Mapping]] = ..., dot: _Optional[_Union[_types_pb2.Dot, _Mapping]] = ..., replayed: _Optional[bool] = ...) -> None: ...

class PrewarmRequest(_message.Message):
    __slots__ = ("user",)
    USER_FIELD_NUMBER: _ClassVar[int]
    user: str
    def __init__(self, user: _Optional[str] = ...) -> None: ...

class PrewarmResponse(_message.Message):
    __slots__ = ("memories", "token")
    MEMORIES_FIELD_NUMBER: _ClassVar[int]
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    memories: int
    token: str
    def __init__(self, memories: _Optional[int] = ..., token: _Optional[str] = ...) -> None: ...

class ResolveConflictRequest(_message.Message):
    __slots__ = ("user", "memory_ids", "keep", "merge", "dismiss", "reason", "request_id", "dot", "context")
    USER_FIELD_NUMBER: _ClassVar[int]
    MEMORY_IDS_FIELD_NUMBER: _ClassVar[int]
    KEEP_FIELD_NUMBER: _ClassVar[int]
    MERGE_FIELD_NUMBER: _ClassVar[int]
    DISMISS_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    DOT_FIELD_NUMBER: _ClassVar[int]
    CONTEXT_FIELD_NUMBER: _ClassVar[int]
    user: str
    memory_ids: _containers.RepeatedScalarFieldContainer[str]
    keep: str
    merge: _types_pb2.MemoryInput
    dismiss: bool
    reason: str
    request_id: str
    dot: _types_pb2.Dot
    context: _types_pb2.VectorClock
    def __init__(self, user: _Optional[str] = ..., memory_ids: _Optional[_Iterable[str]] = ..., keep: _Optional[str] = ..., merge: _Optional[_Union[_types_pb2.MemoryInput, _Mapping]] = ..., dismiss: _Optional[bool] = ..., reason: _Optional[str] = ..., request_id: _Optional[str] = ..., dot: _Optional[_Union[_types_pb2.Dot, _Mapping]] = ..., context: _Optional[_Union[_types_pb2.VectorClock, _Mapping]] = ...) -> None: ...

class ResolveConflictResponse(_message.Message):
    __slots__ = ("memory", "effect", "affected", "token", "context", "dot", "replayed")
    MEMORY_FIELD_NUMBER: _ClassVar[int]
    EFFECT_FIELD_NUMBER: _ClassVar[int]
    AFFECTED_FIELD_NUMBER: _ClassVar[int]
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    CONTEXT_FIELD_NUMBER: _ClassVar[int]
    DOT_FIELD_NUMBER: _ClassVar[int]
    REPLAYED_FIELD_NUMBER: _ClassVar[int]
    memory: _types_pb2.Memory
    effect: Effect
    affected: _containers.RepeatedCompositeFieldContainer[Affected]
    token: str
    context: _types_pb2.VectorClock
    dot: _types_pb2.Dot
    replayed: bool
    def __init__(self, memory: _Optional[_Union[_types_pb2.Memory, _Mapping]] = ..., effect: _Optional[_Union[Effect, str]] = ..., affected: _Optional[_Iterable[_Union[Affected, _Mapping]]] = ..., token: _Optional[str] = ..., context: _Optional[_Union[_types_pb2.VectorClock, _Mapping]] = ..., dot: _Optional[_Union[_types_pb2.Dot, _Mapping]] = ..., replayed: _Optional[bool] = ...) -> None: ...

class ListReviewsRequest(_message.Message):
    __slots__ = ("user", "page_size", "page_token", "agent")
    USER_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    AGENT_FIELD_NUMBER: _ClassVar[int]
    user: str
    page_size: int
    page_token: str
    agent: str
    def __init__(self, user: _Optional[str] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ..., agent: _Optional[str] = ...) -> None: ...

class Review(_message.Message):
    __slots__ = ("memory", "cause")
    MEMORY_FIELD_NUMBER: _ClassVar[int]
    CAUSE_FIELD_NUMBER: _ClassVar[int]
    memory: _types_pb2.Memory
    cause: ReviewCause
    def __init__(self, memory: _Optional[_Union[_types_pb2.Memory, _Mapping]] = ..., cause: _Optional[_Union[ReviewCause, str]] = ...) -> None: ...

class ListReviewsResponse(_message.Message):
    __slots__ = ("reviews", "next_page_token")
    REVIEWS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    reviews: _containers.RepeatedCompositeFieldContainer[Review]
    next_page_token: str
    def __init__(self, reviews: _Optional[_Iterable[_Union[Review, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class DecideReviewRequest(_message.Message):
    __slots__ = ("user", "memory_id", "decision", "reason", "etag", "request_id", "dot", "context")
    USER_FIELD_NUMBER: _ClassVar[int]
    MEMORY_ID_FIELD_NUMBER: _ClassVar[int]
    DECISION_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    ETAG_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    DOT_FIELD_NUMBER: _ClassVar[int]
    CONTEXT_FIELD_NUMBER: _ClassVar[int]
    user: str
    memory_id: str
    decision: ReviewDecision
    reason: str
    etag: str
    request_id: str
    dot: _types_pb2.Dot
    context: _types_pb2.VectorClock
    def __init__(self, user: _Optional[str] = ..., memory_id: _Optional[str] = ..., decision: _Optional[_Union[ReviewDecision, str]] = ..., reason: _Optional[str] = ..., etag: _Optional[str] = ..., request_id: _Optional[str] = ..., dot: _Optional[_Union[_types_pb2.Dot, _Mapping]] = ..., context: _Optional[_Union[_types_pb2.VectorClock, _Mapping]] = ...) -> None: ...

class DecideReviewResponse(_message.Message):
    __slots__ = ("memory", "effect", "affected", "token", "context", "dot", "replayed")
    MEMORY_FIELD_NUMBER: _ClassVar[int]
    EFFECT_FIELD_NUMBER: _ClassVar[int]
    AFFECTED_FIELD_NUMBER: _ClassVar[int]
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    CONTEXT_FIELD_NUMBER: _ClassVar[int]
    DOT_FIELD_NUMBER: _ClassVar[int]
    REPLAYED_FIELD_NUMBER: _ClassVar[int]
    memory: _types_pb2.Memory
    effect: Effect
    affected: _containers.RepeatedCompositeFieldContainer[Affected]
    token: str
    context: _types_pb2.VectorClock
    dot: _types_pb2.Dot
    replayed: bool
    def __init__(self, memory: _Optional[_Union[_types_pb2.Memory, _Mapping]] = ..., effect: _Optional[_Union[Effect, str]] = ..., affected: _Optional[_Iterable[_Union[Affected, _Mapping]]] = ..., token: _Optional[str] = ..., context: _Optional[_Union[_types_pb2.VectorClock, _Mapping]] = ..., dot: _Optional[_Union[_types_pb2.Dot, _Mapping]] = ..., replayed: _Optional[bool] = ...) -> None: ...

class Writer(_message.Message):
    __slots__ = ("device", "agent", "actor")
    DEVICE_FIELD_NUMBER: _ClassVar[int]
    AGENT_FIELD_NUMBER: _ClassVar[int]
    ACTOR_FIELD_NUMBER: _ClassVar[int]
    device: str
    agent: str
    actor: str
    def __init__(self, device: _Optional[str] = ..., agent: _Optional[str] = ..., actor: _Optional[str] = ...) -> None: ...

class RevokeWriterRequest(_message.Message):
    __slots__ = ("user", "writer", "undo_revision", "since", "validate_only", "reason", "request_id", "dot", "context")
    USER_FIELD_NUMBER: _ClassVar[int]
    WRITER_FIELD_NUMBER: _ClassVar[int]
    UNDO_REVISION_FIELD_NUMBER: _ClassVar[int]
    SINCE_FIELD_NUMBER: _ClassVar[int]
    VALIDATE_ONLY_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    DOT_FIELD_NUMBER: _ClassVar[int]
    CONTEXT_FIELD_NUMBER: _ClassVar[int]
    user: str
    writer: Writer
    undo_revision: int
    since: _timestamp_pb2.Timestamp
    validate_only: bool
    reason: str
    request_id: str
    dot: _types_pb2.Dot
    context: _types_pb2.VectorClock
    def __init__(self, user: _Optional[str] = ..., writer: _Optional[_Union[Writer, _Mapping]] = ..., undo_revision: _Optional[int] = ..., since: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., validate_only: _Optional[bool] = ..., reason: _Optional[str] = ..., request_id: _Optional[str] = ..., dot: _Optional[_Union[_types_pb2.Dot, _Mapping]] = ..., context: _Optional[_Union[_types_pb2.VectorClock, _Mapping]] = ...) -> None: ...

class RevokeWriterResponse(_message.Message):
    __slots__ = ("changes", "affected", "revision", "token", "context", "dot", "replayed")
    CHANGES_FIELD_NUMBER: _ClassVar[int]
    AFFECTED_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    CONTEXT_FIELD_NUMBER: _ClassVar[int]
    DOT_FIELD_NUMBER: _ClassVar[int]
    REPLAYED_FIELD_NUMBER: _ClassVar[int]
    changes: int
    affected: _containers.RepeatedCompositeFieldContainer[Affected]
    revision: int
    token: str
    context: _types_pb2.VectorClock
    dot: _types_pb2.Dot
    replayed: bool
    def __init__(self, changes: _Optional[int] = ..., affected: _Optional[_Iterable[_Union[Affected, _Mapping]]] = ..., revision: _Optional[int] = ..., token: _Optional[str] = ..., context: _Optional[_Union[_types_pb2.VectorClock, _Mapping]] = ..., dot: _Optional[_Union[_types_pb2.Dot, _Mapping]] = ..., replayed: _Optional[bool] = ...) -> None: ...

class MemoryFeedback(_message.Message):
    __slots__ = ("memory_id", "outcome")
    MEMORY_ID_FIELD_NUMBER: _ClassVar[int]
    OUTCOME_FIELD_NUMBER: _ClassVar[int]
    memory_id: str
    outcome: RecallOutcome
    def __init__(self, memory_id: _Optional[str] = ..., outcome: _Optional[_Union[RecallOutcome, str]] = ...) -> None: ...

class RecordFeedbackRequest(_message.Message):
    __slots__ = ("user", "items", "request_id")
    USER_FIELD_NUMBER: _ClassVar[int]
    ITEMS_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    user: str
    items: _containers.RepeatedCompositeFieldContainer[MemoryFeedback]
    request_id: str
    def __init__(self, user: _Optional[str] = ..., items: _Optional[_Iterable[_Union[MemoryFeedback, _Mapping]]] = ..., request_id: _Optional[str] = ...) -> None: ...

class RecordFeedbackResponse(_message.Message):
    __slots__ = ("recorded", "missing_ids", "token", "replayed")
    RECORDED_FIELD_NUMBER: _ClassVar[int]
    MISSING_IDS_FIELD_NUMBER: _ClassVar[int]
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    REPLAYED_FIELD_NUMBER: _ClassVar[int]
    recorded: int
    missing_ids: _containers.RepeatedScalarFieldContainer[str]
    token: str
    replayed: bool
    def __init__(self, recorded: _Optional[int] = ..., missing_ids: _Optional[_Iterable[str]] = ..., token: _Optional[str] = ..., replayed: _Optional[bool] = ...) -> None: ...
