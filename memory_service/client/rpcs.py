"""The calls of the API, by name."""

from __future__ import annotations

from typing import Final

from memory_service.client.wire import Rpc
from memory_service.v1 import admin_service_pb2 as admin
from memory_service.v1 import memory_service_pb2 as api
from memory_service.v1 import sync_service_pb2 as sync

_MEMORY: Final = "/memory_service.v1.MemoryService"
_SYNC: Final = "/memory_service.v1.SyncService"
_ADMIN: Final = "/memory_service.v1.AdminService"

WRITE = Rpc[api.WriteRequest, api.WriteResponse](f"{_MEMORY}/Write", api.WriteResponse)
BATCH_WRITE = Rpc[api.BatchWriteRequest, api.BatchWriteResponse](f"{_MEMORY}/BatchWrite", api.BatchWriteResponse)
RECALL = Rpc[api.RecallRequest, api.RecallResponse](f"{_MEMORY}/Recall", api.RecallResponse)
CORRECT = Rpc[api.CorrectRequest, api.CorrectResponse](f"{_MEMORY}/Correct", api.CorrectResponse)
FORGET = Rpc[api.ForgetRequest, api.ForgetResponse](f"{_MEMORY}/Forget", api.ForgetResponse)
GET = Rpc[api.GetMemoryRequest, api.GetMemoryResponse](f"{_MEMORY}/GetMemory", api.GetMemoryResponse)
LIST = Rpc[api.ListMemoriesRequest, api.ListMemoriesResponse](f"{_MEMORY}/ListMemories", api.ListMemoriesResponse)
HISTORY = Rpc[api.GetHistoryRequest, api.GetHistoryResponse](f"{_MEMORY}/GetHistory", api.GetHistoryResponse)
ROLLBACK = Rpc[api.RollbackRequest, api.RollbackResponse](f"{_MEMORY}/Rollback", api.RollbackResponse)
UNMERGE = Rpc[api.UnmergeRequest, api.UnmergeResponse](f"{_MEMORY}/Unmerge", api.UnmergeResponse)
RESOLVE = Rpc[api.ResolveConflictRequest, api.ResolveConflictResponse](
    f"{_MEMORY}/ResolveConflict", api.ResolveConflictResponse
)
REVOKE_WRITER = Rpc[api.RevokeWriterRequest, api.RevokeWriterResponse](
    f"{_MEMORY}/RevokeWriter", api.RevokeWriterResponse
)
PREWARM = Rpc[api.PrewarmRequest, api.PrewarmResponse](f"{_MEMORY}/Prewarm", api.PrewarmResponse)

SYNC = Rpc[sync.SyncRequest, sync.SyncResponse](f"{_SYNC}/Sync", sync.SyncResponse)
WATCH = Rpc[sync.WatchRequest, sync.WatchResponse](f"{_SYNC}/Watch", sync.WatchResponse)

# A key has no request id: made twice, it would be two.
CREATE_KEY = Rpc[admin.CreateKeyRequest, admin.CreateKeyResponse](
    f"{_ADMIN}/CreateKey", admin.CreateKeyResponse, safe=False
)
LIST_KEYS = Rpc[admin.ListKeysRequest, admin.ListKeysResponse](f"{_ADMIN}/ListKeys", admin.ListKeysResponse)
REVOKE_KEY = Rpc[admin.RevokeKeyRequest, admin.RevokeKeyResponse](f"{_ADMIN}/RevokeKey", admin.RevokeKeyResponse)
SERVER_INFO = Rpc[admin.GetServerInfoRequest, admin.GetServerInfoResponse](
    f"{_ADMIN}/GetServerInfo", admin.GetServerInfoResponse
)
