import datetime

from google.protobuf import field_mask_pb2 as _field_mask_pb2
from google.protobuf import struct_pb2 as _struct_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from memory_service.v1 import memory_service_pb2 as _memory_service_pb2
from memory_service.v1 import types_pb2 as _types_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class SessionStatus(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    SESSION_STATUS_UNSPECIFIED: _ClassVar[SessionStatus]
    SESSION_STATUS_ACTIVE: _ClassVar[SessionStatus]
    SESSION_STATUS_RELEASED: _ClassVar[SessionStatus]
    SESSION_STATUS_ENDED: _ClassVar[SessionStatus]

class TurnRole(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    TURN_ROLE_UNSPECIFIED: _ClassVar[TurnRole]
    TURN_ROLE_USER: _ClassVar[TurnRole]
    TURN_ROLE_ASSISTANT: _ClassVar[TurnRole]
    TURN_ROLE_TOOL: _ClassVar[TurnRole]
    TURN_ROLE_SYSTEM: _ClassVar[TurnRole]

class ToolStatus(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    TOOL_STATUS_UNSPECIFIED: _ClassVar[ToolStatus]
    TOOL_STATUS_OK: _ClassVar[ToolStatus]
    TOOL_STATUS_FAILED: _ClassVar[ToolStatus]

class TurnTag(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    TURN_TAG_UNSPECIFIED: _ClassVar[TurnTag]
    TURN_TAG_CORRECTION: _ClassVar[TurnTag]
    TURN_TAG_PRAISE: _ClassVar[TurnTag]
    TURN_TAG_REPEAT: _ClassVar[TurnTag]
    TURN_TAG_TOOL_FAILURE: _ClassVar[TurnTag]

class TaskStatus(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    TASK_STATUS_UNSPECIFIED: _ClassVar[TaskStatus]
    TASK_STATUS_PENDING: _ClassVar[TaskStatus]
    TASK_STATUS_RUNNING: _ClassVar[TaskStatus]
    TASK_STATUS_DONE: _ClassVar[TaskStatus]
    TASK_STATUS_FAILED: _ClassVar[TaskStatus]
    TASK_STATUS_CANCELLED: _ClassVar[TaskStatus]
SESSION_STATUS_UNSPECIFIED: SessionStatus
SESSION_STATUS_ACTIVE: SessionStatus
SESSION_STATUS_RELEASED: SessionStatus
SESSION_STATUS_ENDED: SessionStatus
TURN_ROLE_UNSPECIFIED: TurnRole
TURN_ROLE_USER: TurnRole
TURN_ROLE_ASSISTANT: TurnRole
TURN_ROLE_TOOL: TurnRole
TURN_ROLE_SYSTEM: TurnRole
TOOL_STATUS_UNSPECIFIED: ToolStatus
TOOL_STATUS_OK: ToolStatus
TOOL_STATUS_FAILED: ToolStatus
TURN_TAG_UNSPECIFIED: TurnTag
TURN_TAG_CORRECTION: TurnTag
TURN_TAG_PRAISE: TurnTag
TURN_TAG_REPEAT: TurnTag
TURN_TAG_TOOL_FAILURE: TurnTag
TASK_STATUS_UNSPECIFIED: TaskStatus
TASK_STATUS_PENDING: TaskStatus
TASK_STATUS_RUNNING: TaskStatus
TASK_STATUS_DONE: TaskStatus
TASK_STATUS_FAILED: TaskStatus
TASK_STATUS_CANCELLED: TaskStatus

class Turn(_message.Message):
    __slots__ = ("id", "role", "text", "said_at", "action", "tool", "tool_status", "feedback", "sequence", "accepted_at", "tags", "tokens")
    ID_FIELD_NUMBER: _ClassVar[int]
    ROLE_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    SAID_AT_FIELD_NUMBER: _ClassVar[int]
    ACTION_FIELD_NUMBER: _ClassVar[int]
    TOOL_FIELD_NUMBER: _ClassVar[int]
    TOOL_STATUS_FIELD_NUMBER: _ClassVar[int]
    FEEDBACK_FIELD_NUMBER: _ClassVar[int]
    SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    ACCEPTED_AT_FIELD_NUMBER: _ClassVar[int]
    TAGS_FIELD_NUMBER: _ClassVar[int]
    TOKENS_FIELD_NUMBER: _ClassVar[int]
    id: str
    role: TurnRole
    text: str
    said_at: _timestamp_pb2.Timestamp
    action: str
    tool: str
    tool_status: ToolStatus
    feedback: str
    sequence: int
    accepted_at: _timestamp_pb2.Timestamp
    tags: _containers.RepeatedScalarFieldContainer[TurnTag]
    tokens: int
    def __init__(self, id: _Optional[str] = ..., role: _Optional[_Union[TurnRole, str]] = ..., text: _Optional[str] = ..., said_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., action: _Optional[str] = ..., tool: _Optional[str] = ..., tool_status: _Optional[_Union[ToolStatus, str]] = ..., feedback: _Optional[str] = ..., sequence: _Optional[int] = ..., accepted_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., tags: _Optional[_Iterable[_Union[TurnTag, str]]] = ..., tokens: _Optional[int] = ...) -> None: ...

class Intent(_message.Message):
    __slots__ = ("name", "detail")
    NAME_FIELD_NUMBER: _ClassVar[int]
    DETAIL_FIELD_NUMBER: _ClassVar[int]
    name: str
    detail: str
    def __init__(self, name: _Optional[str] = ..., detail: _Optional[str] = ...) -> None: ...

class SessionSlot(_message.Message):
    __slots__ = ("name", "value", "answered_by", "version")
    NAME_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    ANSWERED_BY_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    name: str
    value: _struct_pb2.Value
    answered_by: str
    version: int
    def __init__(self, name: _Optional[str] = ..., value: _Optional[_Union[_struct_pb2.Value, _Mapping]] = ..., answered_by: _Optional[str] = ..., version: _Optional[int] = ...) -> None: ...

class SessionConstraint(_message.Message):
    __slots__ = ("id", "text", "predicate", "object", "version")
    ID_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    PREDICATE_FIELD_NUMBER: _ClassVar[int]
    OBJECT_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    id: str
    text: str
    predicate: str
    object: _struct_pb2.Value
    version: int
    def __init__(self, id: _Optional[str] = ..., text: _Optional[str] = ..., predicate: _Optional[str] = ..., object: _Optional[_Union[_struct_pb2.Value, _Mapping]] = ..., version: _Optional[int] = ...) -> None: ...

class SessionTask(_message.Message):
    __slots__ = ("id", "text", "status", "version")
    ID_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    id: str
    text: str
    status: TaskStatus
    version: int
    def __init__(self, id: _Optional[str] = ..., text: _Optional[str] = ..., status: _Optional[_Union[TaskStatus, str]] = ..., version: _Optional[int] = ...) -> None: ...

class SessionState(_message.Message):
    __slots__ = ("intents", "slots", "constraints", "tasks")
    INTENTS_FIELD_NUMBER: _ClassVar[int]
    SLOTS_FIELD_NUMBER: _ClassVar[int]
    CONSTRAINTS_FIELD_NUMBER: _ClassVar[int]
    TASKS_FIELD_NUMBER: _ClassVar[int]
    intents: _containers.RepeatedCompositeFieldContainer[Intent]
    slots: _containers.RepeatedCompositeFieldContainer[SessionSlot]
    constraints: _containers.RepeatedCompositeFieldContainer[SessionConstraint]
    tasks: _containers.RepeatedCompositeFieldContainer[SessionTask]
    def __init__(self, intents: _Optional[_Iterable[_Union[Intent, _Mapping]]] = ..., slots: _Optional[_Iterable[_Union[SessionSlot, _Mapping]]] = ..., constraints: _Optional[_Iterable[_Union[SessionConstraint, _Mapping]]] = ..., tasks: _Optional[_Iterable[_Union[SessionTask, _Mapping]]] = ...) -> None: ...

class StateBlock(_message.Message):
    __slots__ = ("sequence", "topic", "intent", "entities", "decisions", "pending", "updated_at", "turn_ids")
    SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    TOPIC_FIELD_NUMBER: _ClassVar[int]
    INTENT_FIELD_NUMBER: _ClassVar[int]
    ENTITIES_FIELD_NUMBER: _ClassVar[int]
    DECISIONS_FIELD_NUMBER: _ClassVar[int]
    PENDING_FIELD_NUMBER: _ClassVar[int]
    UPDATED_AT_FIELD_NUMBER: _ClassVar[int]
    TURN_IDS_FIELD_NUMBER: _ClassVar[int]
    sequence: int
    topic: str
    intent: str
    entities: _containers.RepeatedScalarFieldContainer[str]
    decisions: _containers.RepeatedScalarFieldContainer[str]
    pending: _containers.RepeatedScalarFieldContainer[str]
    updated_at: _timestamp_pb2.Timestamp
    turn_ids: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, sequence: _Optional[int] = ..., topic: _Optional[str] = ..., intent: _Optional[str] = ..., entities: _Optional[_Iterable[str]] = ..., decisions: _Optional[_Iterable[str]] = ..., pending: _Optional[_Iterable[str]] = ..., updated_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., turn_ids: _Optional[_Iterable[str]] = ...) -> None: ...

class Session(_message.Message):
    __slots__ = ("id", "status", "agent", "started_at", "last_active_at", "etag", "version", "record_episodes", "turn_count", "state", "block", "turns")
    ID_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    AGENT_FIELD_NUMBER: _ClassVar[int]
    STARTED_AT_FIELD_NUMBER: _ClassVar[int]
    LAST_ACTIVE_AT_FIELD_NUMBER: _ClassVar[int]
    ETAG_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    RECORD_EPISODES_FIELD_NUMBER: _ClassVar[int]
    TURN_COUNT_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    BLOCK_FIELD_NUMBER: _ClassVar[int]
    TURNS_FIELD_NUMBER: _ClassVar[int]
    id: str
    status: SessionStatus
    agent: str
    started_at: _timestamp_pb2.Timestamp
    last_active_at: _timestamp_pb2.Timestamp
    etag: str
    version: int
    record_episodes: bool
    turn_count: int
    state: SessionState
    block: StateBlock
    turns: _containers.RepeatedCompositeFieldContainer[Turn]
    def __init__(self, id: _Optional[str] = ..., status: _Optional[_Union[SessionStatus, str]] = ..., agent: _Optional[str] = ..., started_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., last_active_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., etag: _Optional[str] = ..., version: _Optional[int] = ..., record_episodes: _Optional[bool] = ..., turn_count: _Optional[int] = ..., state: _Optional[_Union[SessionState, _Mapping]] = ..., block: _Optional[_Union[StateBlock, _Mapping]] = ..., turns: _Optional[_Iterable[_Union[Turn, _Mapping]]] = ...) -> None: ...

class CreateSessionRequest(_message.Message):
    __slots__ = ("user", "agent", "record_episodes", "state", "request_id")
    USER_FIELD_NUMBER: _ClassVar[int]
    AGENT_FIELD_NUMBER: _ClassVar[int]
    RECORD_EPISODES_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    user: str
    agent: str
    record_episodes: bool
    state: SessionState
    request_id: str
    def __init__(self, user: _Optional[str] = ..., agent: _Optional[str] = ..., record_episodes: _Optional[bool] = ..., state: _Optional[_Union[SessionState, _Mapping]] = ..., request_id: _Optional[str] = ...) -> None: ...

class CreateSessionResponse(_message.Message):
    __slots__ = ("session",)
    SESSION_FIELD_NUMBER: _ClassVar[int]
    session: Session
    def __init__(self, session: _Optional[_Union[Session, _Mapping]] = ...) -> None: ...

class GetSessionRequest(_message.Message):
    __slots__ = ("user", "session_id", "turns")
    USER_FIELD_NUMBER: _ClassVar[int]
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    TURNS_FIELD_NUMBER: _ClassVar[int]
    user: str
    session_id: str
    turns: int
    def __init__(self, user: _Optional[str] = ..., session_id: _Optional[str] = ..., turns: _Optional[int] = ...) -> None: ...

class GetSessionResponse(_message.Message):
    __slots__ = ("session",)
    SESSION_FIELD_NUMBER: _ClassVar[int]
    session: Session
    def __init__(self, session: _Optional[_Union[Session, _Mapping]] = ...) -> None: ...

class ListSessionsRequest(_message.Message):
    __slots__ = ("user", "page_size", "page_token")
    USER_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    user: str
    page_size: int
    page_token: str
    def __init__(self, user: _Optional[str] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ...) -> None: ...

class SessionSummary(_message.Message):
    __slots__ = ("id", "status", "agent", "started_at", "last_active_at", "turn_count", "topic")
    ID_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    AGENT_FIELD_NUMBER: _ClassVar[int]
    STARTED_AT_FIELD_NUMBER: _ClassVar[int]
    LAST_ACTIVE_AT_FIELD_NUMBER: _ClassVar[int]
    TURN_COUNT_FIELD_NUMBER: _ClassVar[int]
    TOPIC_FIELD_NUMBER: _ClassVar[int]
    id: str
    status: SessionStatus
    agent: str
    started_at: _timestamp_pb2.Timestamp
    last_active_at: _timestamp_pb2.Timestamp
    turn_count: int
    topic: str
    def __init__(self, id: _Optional[str] = ..., status: _Optional[_Union[SessionStatus, str]] = ..., agent: _Optional[str] = ..., started_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., last_active_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., turn_count: _Optional[int] = ..., topic: _Optional[str] = ...) -> None: ...

class ListSessionsResponse(_message.Message):
    __slots__ = ("sessions", "next_page_token")
    SESSIONS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    sessions: _containers.RepeatedCompositeFieldContainer[SessionSummary]
    next_page_token: str
    def __init__(self, sessions: _Optional[_Iterable[_Union[SessionSummary, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class AppendTurnsRequest(_message.Message):
    __slots__ = ("user", "session_id", "turns")
    USER_FIELD_NUMBER: _ClassVar[int]
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    TURNS_FIELD_NUMBER: _ClassVar[int]
    user: str
    session_id: str
    turns: _containers.RepeatedCompositeFieldContainer[Turn]
    def __init__(self, user: _Optional[str] = ..., session_id: _Optional[str] = ..., turns: _Optional[_Iterable[_Union[Turn, _Mapping]]] = ...) -> None: ...

class AppendTurnsResponse(_message.Message):
    __slots__ = ("duplicates", "turn_count", "block", "notices", "recorded")
    DUPLICATES_FIELD_NUMBER: _ClassVar[int]
    TURN_COUNT_FIELD_NUMBER: _ClassVar[int]
    BLOCK_FIELD_NUMBER: _ClassVar[int]
    NOTICES_FIELD_NUMBER: _ClassVar[int]
    RECORDED_FIELD_NUMBER: _ClassVar[int]
    duplicates: _containers.RepeatedScalarFieldContainer[str]
    turn_count: int
    block: StateBlock
    notices: _containers.RepeatedCompositeFieldContainer[TurnNotice]
    recorded: bool
    def __init__(self, duplicates: _Optional[_Iterable[str]] = ..., turn_count: _Optional[int] = ..., block: _Optional[_Union[StateBlock, _Mapping]] = ..., notices: _Optional[_Iterable[_Union[TurnNotice, _Mapping]]] = ..., recorded: _Optional[bool] = ...) -> None: ...

class TurnNotice(_message.Message):
    __slots__ = ("turn_id", "tags")
    TURN_ID_FIELD_NUMBER: _ClassVar[int]
    TAGS_FIELD_NUMBER: _ClassVar[int]
    turn_id: str
    tags: _containers.RepeatedScalarFieldContainer[TurnTag]
    def __init__(self, turn_id: _Optional[str] = ..., tags: _Optional[_Iterable[_Union[TurnTag, str]]] = ...) -> None: ...

class UpdateSessionRequest(_message.Message):
    __slots__ = ("user", "session_id", "state", "update_mask", "etag", "seen_version", "device")
    USER_FIELD_NUMBER: _ClassVar[int]
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    UPDATE_MASK_FIELD_NUMBER: _ClassVar[int]
    ETAG_FIELD_NUMBER: _ClassVar[int]
    SEEN_VERSION_FIELD_NUMBER: _ClassVar[int]
    DEVICE_FIELD_NUMBER: _ClassVar[int]
    user: str
    session_id: str
    state: SessionState
    update_mask: _field_mask_pb2.FieldMask
    etag: str
    seen_version: int
    device: str
    def __init__(self, user: _Optional[str] = ..., session_id: _Optional[str] = ..., state: _Optional[_Union[SessionState, _Mapping]] = ..., update_mask: _Optional[_Union[_field_mask_pb2.FieldMask, _Mapping]] = ..., etag: _Optional[str] = ..., seen_version: _Optional[int] = ..., device: _Optional[str] = ...) -> None: ...

class OverwrittenField(_message.Message):
    __slots__ = ("path", "value", "device", "version")
    PATH_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    DEVICE_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    path: str
    value: _struct_pb2.Value
    device: str
    version: int
    def __init__(self, path: _Optional[str] = ..., value: _Optional[_Union[_struct_pb2.Value, _Mapping]] = ..., device: _Optional[str] = ..., version: _Optional[int] = ...) -> None: ...

class UpdateSessionResponse(_message.Message):
    __slots__ = ("etag", "version", "overwritten")
    ETAG_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    OVERWRITTEN_FIELD_NUMBER: _ClassVar[int]
    etag: str
    version: int
    overwritten: _containers.RepeatedCompositeFieldContainer[OverwrittenField]
    def __init__(self, etag: _Optional[str] = ..., version: _Optional[int] = ..., overwritten: _Optional[_Iterable[_Union[OverwrittenField, _Mapping]]] = ...) -> None: ...

class EndSessionRequest(_message.Message):
    __slots__ = ("user", "session_id")
    USER_FIELD_NUMBER: _ClassVar[int]
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    user: str
    session_id: str
    def __init__(self, user: _Optional[str] = ..., session_id: _Optional[str] = ...) -> None: ...

class EndSessionResponse(_message.Message):
    __slots__ = ("session",)
    SESSION_FIELD_NUMBER: _ClassVar[int]
    session: Session
    def __init__(self, session: _Optional[_Union[Session, _Mapping]] = ...) -> None: ...

class GetContextRequest(_message.Message):
    __slots__ = ("user", "session_id", "query", "window_tokens", "profile", "limit", "filter", "consistency", "agent", "tokenizer", "read_only")
    USER_FIELD_NUMBER: _ClassVar[int]
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    QUERY_FIELD_NUMBER: _ClassVar[int]
    WINDOW_TOKENS_FIELD_NUMBER: _ClassVar[int]
    PROFILE_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    FILTER_FIELD_NUMBER: _ClassVar[int]
    CONSISTENCY_FIELD_NUMBER: _ClassVar[int]
    AGENT_FIELD_NUMBER: _ClassVar[int]
    TOKENIZER_FIELD_NUMBER: _ClassVar[int]
    READ_ONLY_FIELD_NUMBER: _ClassVar[int]
    user: str
    session_id: str
    query: str
    window_tokens: int
    profile: str
    limit: int
    filter: _types_pb2.MemoryFilter
    consistency: _types_pb2.Consistency
    agent: str
    tokenizer: str
    read_only: bool
    def __init__(self, user: _Optional[str] = ..., session_id: _Optional[str] = ..., query: _Optional[str] = ..., window_tokens: _Optional[int] = ..., profile: _Optional[str] = ..., limit: _Optional[int] = ..., filter: _Optional[_Union[_types_pb2.MemoryFilter, _Mapping]] = ..., consistency: _Optional[_Union[_types_pb2.Consistency, _Mapping]] = ..., agent: _Optional[str] = ..., tokenizer: _Optional[str] = ..., read_only: _Optional[bool] = ...) -> None: ...

class ContextMemory(_message.Message):
    __slots__ = ("recalled", "in_block", "overridden_by")
    RECALLED_FIELD_NUMBER: _ClassVar[int]
    IN_BLOCK_FIELD_NUMBER: _ClassVar[int]
    OVERRIDDEN_BY_FIELD_NUMBER: _ClassVar[int]
    recalled: _memory_service_pb2.RecalledMemory
    in_block: bool
    overridden_by: str
    def __init__(self, recalled: _Optional[_Union[_memory_service_pb2.RecalledMemory, _Mapping]] = ..., in_block: _Optional[bool] = ..., overridden_by: _Optional[str] = ...) -> None: ...

class TokenUse(_message.Message):
    __slots__ = ("short_term", "recalled", "total", "budget", "tokenizer", "exact")
    SHORT_TERM_FIELD_NUMBER: _ClassVar[int]
    RECALLED_FIELD_NUMBER: _ClassVar[int]
    TOTAL_FIELD_NUMBER: _ClassVar[int]
    BUDGET_FIELD_NUMBER: _ClassVar[int]
    TOKENIZER_FIELD_NUMBER: _ClassVar[int]
    EXACT_FIELD_NUMBER: _ClassVar[int]
    short_term: int
    recalled: int
    total: int
    budget: int
    tokenizer: str
    exact: bool
    def __init__(self, short_term: _Optional[int] = ..., recalled: _Optional[int] = ..., total: _Optional[int] = ..., budget: _Optional[int] = ..., tokenizer: _Optional[str] = ..., exact: _Optional[bool] = ...) -> None: ...

class GetContextResponse(_message.Message):
    __slots__ = ("block", "session", "memories", "tokens", "turns_left_out", "degraded", "missing", "context", "token", "stages", "constraints_left_out")
    BLOCK_FIELD_NUMBER: _ClassVar[int]
    SESSION_FIELD_NUMBER: _ClassVar[int]
    MEMORIES_FIELD_NUMBER: _ClassVar[int]
    TOKENS_FIELD_NUMBER: _ClassVar[int]
    TURNS_LEFT_OUT_FIELD_NUMBER: _ClassVar[int]
    DEGRADED_FIELD_NUMBER: _ClassVar[int]
    MISSING_FIELD_NUMBER: _ClassVar[int]
    CONTEXT_FIELD_NUMBER: _ClassVar[int]
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    STAGES_FIELD_NUMBER: _ClassVar[int]
    CONSTRAINTS_LEFT_OUT_FIELD_NUMBER: _ClassVar[int]
    block: str
    session: Session
    memories: _containers.RepeatedCompositeFieldContainer[ContextMemory]
    tokens: TokenUse
    turns_left_out: int
    degraded: bool
    missing: _containers.RepeatedScalarFieldContainer[str]
    context: _types_pb2.VectorClock
    token: str
    stages: _containers.RepeatedCompositeFieldContainer[_memory_service_pb2.RecallStage]
    constraints_left_out: int
    def __init__(self, block: _Optional[str] = ..., session: _Optional[_Union[Session, _Mapping]] = ..., memories: _Optional[_Iterable[_Union[ContextMemory, _Mapping]]] = ..., tokens: _Optional[_Union[TokenUse, _Mapping]] = ..., turns_left_out: _Optional[int] = ..., degraded: _Optional[bool] = ..., missing: _Optional[_Iterable[str]] = ..., context: _Optional[_Union[_types_pb2.VectorClock, _Mapping]] = ..., token: _Optional[str] = ..., stages: _Optional[_Iterable[_Union[_memory_service_pb2.RecallStage, _Mapping]]] = ..., constraints_left_out: _Optional[int] = ...) -> None: ...

class GetPreferencesRequest(_message.Message):
    __slots__ = ("user", "predicates", "agent", "consistency")
    USER_FIELD_NUMBER: _ClassVar[int]
    PREDICATES_FIELD_NUMBER: _ClassVar[int]
    AGENT_FIELD_NUMBER: _ClassVar[int]
    CONSISTENCY_FIELD_NUMBER: _ClassVar[int]
    user: str
    predicates: _containers.RepeatedScalarFieldContainer[str]
    agent: str
    consistency: _types_pb2.Consistency
    def __init__(self, user: _Optional[str] = ..., predicates: _Optional[_Iterable[str]] = ..., agent: _Optional[str] = ..., consistency: _Optional[_Union[_types_pb2.Consistency, _Mapping]] = ...) -> None: ...

class PreferenceValue(_message.Message):
    __slots__ = ("predicate", "memories", "contested")
    PREDICATE_FIELD_NUMBER: _ClassVar[int]
    MEMORIES_FIELD_NUMBER: _ClassVar[int]
    CONTESTED_FIELD_NUMBER: _ClassVar[int]
    predicate: str
    memories: _containers.RepeatedCompositeFieldContainer[_types_pb2.Memory]
    contested: bool
    def __init__(self, predicate: _Optional[str] = ..., memories: _Optional[_Iterable[_Union[_types_pb2.Memory, _Mapping]]] = ..., contested: _Optional[bool] = ...) -> None: ...

class GetPreferencesResponse(_message.Message):
    __slots__ = ("values", "context", "token")
    VALUES_FIELD_NUMBER: _ClassVar[int]
    CONTEXT_FIELD_NUMBER: _ClassVar[int]
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    values: _containers.RepeatedCompositeFieldContainer[PreferenceValue]
    context: _types_pb2.VectorClock
    token: str
    def __init__(self, values: _Optional[_Iterable[_Union[PreferenceValue, _Mapping]]] = ..., context: _Optional[_Union[_types_pb2.VectorClock, _Mapping]] = ..., token: _Optional[str] = ...) -> None: ...
