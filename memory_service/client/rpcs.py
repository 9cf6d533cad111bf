"""The calls of the API, by name."""

from __future__ import annotations

from typing import Final

from memory_service.client.wire import Request, Response, Rpc
from memory_service.v1 import admin_service_pb2 as admin
from memory_service.v1 import memory_service_pb2 as api
from memory_service.v1 import policy_pb2 as policy
from memory_service.v1 import session_service_pb2 as session
from memory_service.v1 import sync_service_pb2 as sync

_MEMORY: Final = "/memory_service.v1.MemoryService"
_SYNC: Final = "/memory_service.v1.SyncService"
_ADMIN: Final = "/memory_service.v1.AdminService"
_SESSION: Final = "/memory_service.v1.SessionService"

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
LIST_REVIEWS = Rpc[api.ListReviewsRequest, api.ListReviewsResponse](f"{_MEMORY}/ListReviews", api.ListReviewsResponse)
DECIDE_REVIEW = Rpc[api.DecideReviewRequest, api.DecideReviewResponse](
    f"{_MEMORY}/DecideReview", api.DecideReviewResponse
)
FEEDBACK = Rpc[api.RecordFeedbackRequest, api.RecordFeedbackResponse](
    f"{_MEMORY}/RecordFeedback", api.RecordFeedbackResponse
)
PREWARM = Rpc[api.PrewarmRequest, api.PrewarmResponse](f"{_MEMORY}/Prewarm", api.PrewarmResponse)

SYNC = Rpc[sync.SyncRequest, sync.SyncResponse](f"{_SYNC}/Sync", sync.SyncResponse)
WATCH = Rpc[sync.WatchRequest, sync.WatchResponse](f"{_SYNC}/Watch", sync.WatchResponse)

CREATE_SESSION = Rpc[session.CreateSessionRequest, session.CreateSessionResponse](
    f"{_SESSION}/CreateSession", session.CreateSessionResponse
)
GET_SESSION = Rpc[session.GetSessionRequest, session.GetSessionResponse](
    f"{_SESSION}/GetSession", session.GetSessionResponse
)
LIST_SESSIONS = Rpc[session.ListSessionsRequest, session.ListSessionsResponse](
    f"{_SESSION}/ListSessions", session.ListSessionsResponse
)
APPEND_TURNS = Rpc[session.AppendTurnsRequest, session.AppendTurnsResponse](
    f"{_SESSION}/AppendTurns", session.AppendTurnsResponse
)
UPDATE_SESSION = Rpc[session.UpdateSessionRequest, session.UpdateSessionResponse](
    f"{_SESSION}/UpdateSession", session.UpdateSessionResponse
)
UPDATE_SESSION_ONCE = Rpc[session.UpdateSessionRequest, session.UpdateSessionResponse](
    f"{_SESSION}/UpdateSession", session.UpdateSessionResponse, safe=False
)
END_SESSION = Rpc[session.EndSessionRequest, session.EndSessionResponse](
    f"{_SESSION}/EndSession", session.EndSessionResponse
)
GET_CONTEXT = Rpc[session.GetContextRequest, session.GetContextResponse](
    f"{_SESSION}/GetContext", session.GetContextResponse
)
GET_PREFERENCES = Rpc[session.GetPreferencesRequest, session.GetPreferencesResponse](
    f"{_SESSION}/GetPreferences", session.GetPreferencesResponse
)

# A key has no request id: made twice, it would be two.
CREATE_KEY = Rpc[admin.CreateKeyRequest, admin.CreateKeyResponse](
    f"{_ADMIN}/CreateKey", admin.CreateKeyResponse, safe=False
)
LIST_KEYS = Rpc[admin.ListKeysRequest, admin.ListKeysResponse](f"{_ADMIN}/ListKeys", admin.ListKeysResponse)
REVOKE_KEY = Rpc[admin.RevokeKeyRequest, admin.RevokeKeyResponse](f"{_ADMIN}/RevokeKey", admin.RevokeKeyResponse)
SERVER_INFO = Rpc[admin.GetServerInfoRequest, admin.GetServerInfoResponse](
    f"{_ADMIN}/GetServerInfo", admin.GetServerInfoResponse
)
LIST_JOBS = Rpc[admin.ListJobsRequest, admin.ListJobsResponse](f"{_ADMIN}/ListJobs", admin.ListJobsResponse)
RUN_UPKEEP = Rpc[admin.RunUpkeepRequest, admin.RunUpkeepResponse](f"{_ADMIN}/RunUpkeep", admin.RunUpkeepResponse)
LIST_FAILED_JOBS = Rpc[admin.ListFailedJobsRequest, admin.ListFailedJobsResponse](
    f"{_ADMIN}/ListFailedJobs", admin.ListFailedJobsResponse
)
REQUEUE_JOBS = Rpc[admin.RequeueJobsRequest, admin.RequeueJobsResponse](
    f"{_ADMIN}/RequeueJobs", admin.RequeueJobsResponse
)


def _policy(request: type[Request], response: type[Response], *, safe: bool = True) -> Rpc[Request, Response]:
    """A call on a tenant's policies, named as its request is. Most changes may be sent again: what changes nothing
    makes no version."""
    name = request.DESCRIPTOR.name.removesuffix("Request")
    return Rpc[Request, Response](f"{_ADMIN}/{name}", response, safe=safe)


LIST_PREDICATES = _policy(policy.ListPredicatesRequest, policy.ListPredicatesResponse)
PUT_PREDICATE = _policy(policy.PutPredicateRequest, policy.PutPredicateResponse)
REMOVE_PREDICATE = _policy(policy.RemovePredicateRequest, policy.RemovePredicateResponse, safe=False)
SET_UNKNOWN_PREDICATES = _policy(policy.SetUnknownPredicatesRequest, policy.SetUnknownPredicatesResponse)
VOCABULARY_HISTORY = _policy(policy.GetVocabularyHistoryRequest, policy.GetVocabularyHistoryResponse)
ROLLBACK_VOCABULARY = _policy(policy.RollbackVocabularyRequest, policy.RollbackVocabularyResponse)
LIST_PARAMETERS = _policy(policy.ListParametersRequest, policy.ListParametersResponse)
SET_PARAMETERS = _policy(policy.SetParametersRequest, policy.SetParametersResponse)
PARAMETER_HISTORY = _policy(policy.GetParameterHistoryRequest, policy.GetParameterHistoryResponse)
ROLLBACK_PARAMETERS = _policy(policy.RollbackParametersRequest, policy.RollbackParametersResponse)
START_EXPERIMENT = _policy(policy.StartExperimentRequest, policy.StartExperimentResponse, safe=False)
STOP_EXPERIMENT = _policy(policy.StopExperimentRequest, policy.StopExperimentResponse)
LIST_EXPERIMENTS = _policy(policy.ListExperimentsRequest, policy.ListExperimentsResponse)
CALIBRATION = _policy(policy.GetCalibrationRequest, policy.GetCalibrationResponse)
