import datetime

from google.protobuf import duration_pb2 as _duration_pb2
from memory_service.v1 import memory_service_pb2 as _memory_service_pb2
from memory_service.v1 import types_pb2 as _types_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class SyncRequest(_message.Message):
    __slots__ = ("open", "change", "pull")
    OPEN_FIELD_NUMBER: _ClassVar[int]
    CHANGE_FIELD_NUMBER: _ClassVar[int]
    PULL_FIELD_NUMBER: _ClassVar[int]
    open: SyncOpen
    change: SyncChange
    pull: SyncPull
    def __init__(self, open: _Optional[_Union[SyncOpen, _Mapping]] = ..., change: _Optional[_Union[SyncChange, _Mapping]] = ..., pull: _Optional[_Union[SyncPull, _Mapping]] = ...) -> None: ...

class SyncOpen(_message.Message):
    __slots__ = ("user", "device", "cursor", "clock", "agent")
    USER_FIELD_NUMBER: _ClassVar[int]
    DEVICE_FIELD_NUMBER: _ClassVar[int]
    CURSOR_FIELD_NUMBER: _ClassVar[int]
    CLOCK_FIELD_NUMBER: _ClassVar[int]
    AGENT_FIELD_NUMBER: _ClassVar[int]
    user: str
    device: str
    cursor: str
    clock: _types_pb2.VectorClock
    agent: str
    def __init__(self, user: _Optional[str] = ..., device: _Optional[str] = ..., cursor: _Optional[str] = ..., clock: _Optional[_Union[_types_pb2.VectorClock, _Mapping]] = ..., agent: _Optional[str] = ...) -> None: ...

class SyncChange(_message.Message):
    __slots__ = ("write", "correct", "forget", "resolve", "rollback")
    WRITE_FIELD_NUMBER: _ClassVar[int]
    CORRECT_FIELD_NUMBER: _ClassVar[int]
    FORGET_FIELD_NUMBER: _ClassVar[int]
    RESOLVE_FIELD_NUMBER: _ClassVar[int]
    ROLLBACK_FIELD_NUMBER: _ClassVar[int]
    write: _memory_service_pb2.WriteRequest
    correct: _memory_service_pb2.CorrectRequest
    forget: _memory_service_pb2.ForgetRequest
    resolve: _memory_service_pb2.ResolveConflictRequest
    rollback: _memory_service_pb2.RollbackRequest
    def __init__(self, write: _Optional[_Union[_memory_service_pb2.WriteRequest, _Mapping]] = ..., correct: _Optional[_Union[_memory_service_pb2.CorrectRequest, _Mapping]] = ..., forget: _Optional[_Union[_memory_service_pb2.ForgetRequest, _Mapping]] = ..., resolve: _Optional[_Union[_memory_service_pb2.ResolveConflictRequest, _Mapping]] = ..., rollback: _Optional[_Union[_memory_service_pb2.RollbackRequest, _Mapping]] = ...) -> None: ...

class SyncPull(_message.Message):
    __slots__ = ("page_size",)
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    page_size: int
    def __init__(self, page_size: _Optional[int] = ...) -> None: ...

class SyncResponse(_message.Message):
    __slots__ = ("opened", "ack", "page")
    OPENED_FIELD_NUMBER: _ClassVar[int]
    ACK_FIELD_NUMBER: _ClassVar[int]
    PAGE_FIELD_NUMBER: _ClassVar[int]
    opened: SyncOpened
    ack: SyncAck
    page: SyncPage
    def __init__(self, opened: _Optional[_Union[SyncOpened, _Mapping]] = ..., ack: _Optional[_Union[SyncAck, _Mapping]] = ..., page: _Optional[_Union[SyncPage, _Mapping]] = ...) -> None: ...

class SyncOpened(_message.Message):
    __slots__ = ("counter", "clock")
    COUNTER_FIELD_NUMBER: _ClassVar[int]
    CLOCK_FIELD_NUMBER: _ClassVar[int]
    counter: int
    clock: _types_pb2.VectorClock
    def __init__(self, counter: _Optional[int] = ..., clock: _Optional[_Union[_types_pb2.VectorClock, _Mapping]] = ...) -> None: ...

class SyncAck(_message.Message):
    __slots__ = ("dot", "written", "corrected", "forgotten", "resolved", "rolled_back", "error")
    DOT_FIELD_NUMBER: _ClassVar[int]
    WRITTEN_FIELD_NUMBER: _ClassVar[int]
    CORRECTED_FIELD_NUMBER: _ClassVar[int]
    FORGOTTEN_FIELD_NUMBER: _ClassVar[int]
    RESOLVED_FIELD_NUMBER: _ClassVar[int]
    ROLLED_BACK_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    dot: _types_pb2.Dot
    written: _memory_service_pb2.WriteResponse
    corrected: _memory_service_pb2.CorrectResponse
    forgotten: _memory_service_pb2.ForgetResponse
    resolved: _memory_service_pb2.ResolveConflictResponse
    rolled_back: _memory_service_pb2.RollbackResponse
    error: _memory_service_pb2.ItemError
    def __init__(self, dot: _Optional[_Union[_types_pb2.Dot, _Mapping]] = ..., written: _Optional[_Union[_memory_service_pb2.WriteResponse, _Mapping]] = ..., corrected: _Optional[_Union[_memory_service_pb2.CorrectResponse, _Mapping]] = ..., forgotten: _Optional[_Union[_memory_service_pb2.ForgetResponse, _Mapping]] = ..., resolved: _Optional[_Union[_memory_service_pb2.ResolveConflictResponse, _Mapping]] = ..., rolled_back: _Optional[_Union[_memory_service_pb2.RollbackResponse, _Mapping]] = ..., error: _Optional[_Union[_memory_service_pb2.ItemError, _Mapping]] = ...) -> None: ...

class SyncPage(_message.Message):
    __slots__ = ("memories", "forgotten_ids", "cursor", "done", "clock")
    MEMORIES_FIELD_NUMBER: _ClassVar[int]
    FORGOTTEN_IDS_FIELD_NUMBER: _ClassVar[int]
    CURSOR_FIELD_NUMBER: _ClassVar[int]
    DONE_FIELD_NUMBER: _ClassVar[int]
    CLOCK_FIELD_NUMBER: _ClassVar[int]
    memories: _containers.RepeatedCompositeFieldContainer[_types_pb2.Memory]
    forgotten_ids: _containers.RepeatedScalarFieldContainer[str]
    cursor: str
    done: bool
    clock: _types_pb2.VectorClock
    def __init__(self, memories: _Optional[_Iterable[_Union[_types_pb2.Memory, _Mapping]]] = ..., forgotten_ids: _Optional[_Iterable[str]] = ..., cursor: _Optional[str] = ..., done: _Optional[bool] = ..., clock: _Optional[_Union[_types_pb2.VectorClock, _Mapping]] = ...) -> None: ...

class WatchRequest(_message.Message):
    __slots__ = ("user", "cursor", "from_start", "events", "kinds", "checkpoint_interval", "agent")
    USER_FIELD_NUMBER: _ClassVar[int]
    CURSOR_FIELD_NUMBER: _ClassVar[int]
    FROM_START_FIELD_NUMBER: _ClassVar[int]
    EVENTS_FIELD_NUMBER: _ClassVar[int]
    KINDS_FIELD_NUMBER: _ClassVar[int]
    CHECKPOINT_INTERVAL_FIELD_NUMBER: _ClassVar[int]
    AGENT_FIELD_NUMBER: _ClassVar[int]
    user: str
    cursor: str
    from_start: bool
    events: _containers.RepeatedScalarFieldContainer[str]
    kinds: _containers.RepeatedScalarFieldContainer[_types_pb2.Kind]
    checkpoint_interval: _duration_pb2.Duration
    agent: str
    def __init__(self, user: _Optional[str] = ..., cursor: _Optional[str] = ..., from_start: _Optional[bool] = ..., events: _Optional[_Iterable[str]] = ..., kinds: _Optional[_Iterable[_Union[_types_pb2.Kind, str]]] = ..., checkpoint_interval: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., agent: _Optional[str] = ...) -> None: ...

class WatchResponse(_message.Message):
    __slots__ = ("event", "checkpoint")
    EVENT_FIELD_NUMBER: _ClassVar[int]
    CHECKPOINT_FIELD_NUMBER: _ClassVar[int]
    event: WatchEvent
    checkpoint: WatchCheckpoint
    def __init__(self, event: _Optional[_Union[WatchEvent, _Mapping]] = ..., checkpoint: _Optional[_Union[WatchCheckpoint, _Mapping]] = ...) -> None: ...

class WatchEvent(_message.Message):
    __slots__ = ("cursor", "memory_id", "event", "memory")
    CURSOR_FIELD_NUMBER: _ClassVar[int]
    MEMORY_ID_FIELD_NUMBER: _ClassVar[int]
    EVENT_FIELD_NUMBER: _ClassVar[int]
    MEMORY_FIELD_NUMBER: _ClassVar[int]
    cursor: str
    memory_id: str
    event: _memory_service_pb2.HistoryEvent
    memory: _types_pb2.Memory
    def __init__(self, cursor: _Optional[str] = ..., memory_id: _Optional[str] = ..., event: _Optional[_Union[_memory_service_pb2.HistoryEvent, _Mapping]] = ..., memory: _Optional[_Union[_types_pb2.Memory, _Mapping]] = ...) -> None: ...

class WatchCheckpoint(_message.Message):
    __slots__ = ("cursor",)
    CURSOR_FIELD_NUMBER: _ClassVar[int]
    cursor: str
    def __init__(self, cursor: _Optional[str] = ...) -> None: ...
