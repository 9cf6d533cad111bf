"""Nobody reads or changes what is another's: every RPC, by every wrong caller (B4)."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from datetime import timedelta

import grpc
import pytest
from google.protobuf import field_mask_pb2, timestamp_pb2
from google.protobuf.message import Message

from memory_service.ports.keys import Role
from memory_service.v1 import admin_service_pb2 as admin
from memory_service.v1 import memory_service_pb2 as api
from memory_service.v1 import policy_pb2 as policy
from memory_service.v1 import session_service_pb2 as session
from memory_service.v1 import sync_service_pb2 as sync
from memory_service.v1 import types_pb2 as pb
from tests.acceptance.raw import METHODS, Raw, refusal
from tests.acceptance.service import ServiceProcess
from tests.acceptance.world import Key, make_keys, new_user, state_of

SECRET = "the vault code is xylophone-4417"


@dataclasses.dataclass(frozen=True, slots=True)
class Victim:
    """What a wrong caller knows of its victim: more than it ever should."""

    user: str
    memory_id: str
    etag: str
    token: str
    page_token: str
    context: pb.VectorClock
    key: Key
    session_id: str = ""

    def __repr__(self) -> str:
        return "victim"


@dataclasses.dataclass(frozen=True, slots=True)
class Callers:
    """Wrong callers by name."""

    revoked: Key
    expired: Key
    reader: Key
    writer: Key
    other_user: Key
    other_tenant: Key


REQUESTS: dict[str, Callable[[Victim], Message]] = {
    "Write": lambda v: api.WriteRequest(user=v.user, memory=pb.MemoryInput(text="intruder"), context=v.context),
    "BatchWrite": lambda v: api.BatchWriteRequest(
        user=v.user, items=[api.BatchWriteItem(memory=pb.MemoryInput(text="intruder"))]
    ),
    "Recall": lambda v: api.RecallRequest(user=v.user, query=SECRET, limit=200),
    "RecordFeedback": lambda v: api.RecordFeedbackRequest(
        user=v.user, items=[api.MemoryFeedback(memory_id=v.memory_id, outcome=api.RECALL_OUTCOME_REJECTED)]
    ),
    "Correct": lambda v: api.CorrectRequest(
        user=v.user, memory_id=v.memory_id, memory=pb.MemoryInput(text="intruder"), etag=v.etag
    ),
    "Forget": lambda v: api.ForgetRequest(user=v.user, memories=api.MemoryIds(ids=[v.memory_id])),
    "GetMemory": lambda v: api.GetMemoryRequest(user=v.user, memory_id=v.memory_id),
    "ListMemories": lambda v: api.ListMemoriesRequest(user=v.user),
    "GetHistory": lambda v: api.GetHistoryRequest(user=v.user, memory_id=v.memory_id),
    "Rollback": lambda v: api.RollbackRequest(user=v.user, memory_id=v.memory_id, version=1),
    "Prewarm": lambda v: api.PrewarmRequest(user=v.user),
    "ResolveConflict": lambda v: api.ResolveConflictRequest(user=v.user, memory_ids=[v.memory_id], dismiss=True),
    "RevokeWriter": lambda v: api.RevokeWriterRequest(
        user=v.user, writer=api.Writer(device="victims-phone"), since=timestamp_pb2.Timestamp(seconds=1)
    ),
    "Unmerge": lambda v: api.UnmergeRequest(user=v.user, memory_id=v.memory_id),
    "Sync": lambda v: sync.SyncRequest(open=sync.SyncOpen(user=v.user, device="intruder")),
    "Watch": lambda v: sync.WatchRequest(user=v.user, from_start=True),
    "CreateSession": lambda v: session.CreateSessionRequest(user=v.user, request_id="victims-begin"),
    "GetSession": lambda v: session.GetSessionRequest(user=v.user, session_id=v.session_id),
    "ListSessions": lambda v: session.ListSessionsRequest(user=v.user),
    "AppendTurns": lambda v: session.AppendTurnsRequest(
        user=v.user,
        session_id=v.session_id,
        turns=[session.Turn(id="i", role=session.TURN_ROLE_USER, text="intruder")],
    ),
    "UpdateSession": lambda v: session.UpdateSessionRequest(
        user=v.user,
        session_id=v.session_id,
        state=session.SessionState(tasks=[session.SessionTask(id="i", text="intruder")]),
    ),
    "EndSession": lambda v: session.EndSessionRequest(user=v.user, session_id=v.session_id),
    "GetContext": lambda v: session.GetContextRequest(
        user=v.user, session_id=v.session_id, query=SECRET, read_only=True
    ),
    "GetPreferences": lambda v: session.GetPreferencesRequest(user=v.user, predicates=["location"]),
    "CreateKey": lambda v: admin.CreateKeyRequest(name="intruder", roles=[admin.ROLE_ADMIN], users=[v.user]),
    "ListKeys": lambda v: admin.ListKeysRequest(),
    "RevokeKey": lambda v: admin.RevokeKeyRequest(id=str(v.key.id)),
    "GetServerInfo": lambda v: admin.GetServerInfoRequest(),
    "ListReviews": lambda v: api.ListReviewsRequest(user=v.user),
    "DecideReview": lambda v: api.DecideReviewRequest(
        user=v.user, memory_id=v.memory_id, decision=api.REVIEW_DECISION_REJECT
    ),
    "ListPredicates": lambda v: policy.ListPredicatesRequest(),
    "PutPredicate": lambda v: policy.PutPredicateRequest(
        predicate=policy.Predicate(name="intruder", kind=pb.KIND_FACT, cardinality=policy.CARDINALITY_MANY)
    ),
    "RemovePredicate": lambda v: policy.RemovePredicateRequest(name="nothing"),
    "SetUnknownPredicates": lambda v: policy.SetUnknownPredicatesRequest(unknown=policy.UNKNOWN_PREDICATES_REFUSE),
    "GetVocabularyHistory": lambda v: policy.GetVocabularyHistoryRequest(),
    "RollbackVocabulary": lambda v: policy.RollbackVocabularyRequest(),
    "ListParameters": lambda v: policy.ListParametersRequest(),
    "SetParameters": lambda v: policy.SetParametersRequest(values={"replace_ratio": 1.3}),
    "GetParameterHistory": lambda v: policy.GetParameterHistoryRequest(),
    "RollbackParameters": lambda v: policy.RollbackParametersRequest(),
    "StartExperiment": lambda v: policy.StartExperimentRequest(name="intruder", treatment="nothing", share=1),
    "StopExperiment": lambda v: policy.StopExperimentRequest(name="nothing"),
    "ListExperiments": lambda v: policy.ListExperimentsRequest(),
    "GetCalibration": lambda v: policy.GetCalibrationRequest(user=v.user),
    "ListJobs": lambda v: admin.ListJobsRequest(),
    "RunUpkeep": lambda v: admin.RunUpkeepRequest(user=v.user),
    "ListFailedJobs": lambda v: admin.ListFailedJobsRequest(),
    "RequeueJobs": lambda v: admin.RequeueJobsRequest(ids=range(1, 500)),
}
WRITER = {"Write", "BatchWrite", "Correct", "Forget", "Rollback", "ResolveConflict", "RevokeWriter", "Sync"}
WRITER |= {"DecideReview", "RecordFeedback", "Unmerge"}
WRITER |= {"CreateSession", "AppendTurns", "UpdateSession", "EndSession"}
OF_POLICIES = {method.name for method in METHODS.values() if method.input_type.file.name.endswith("policy.proto")}
ADMIN = {"CreateKey", "ListKeys", "RevokeKey", "ListJobs", "RunUpkeep", "ListFailedJobs", "RequeueJobs"} | OF_POLICIES
NAMES_USER = {name for name, method in METHODS.items() if "user" in method.input_type.fields_by_name}
NAMES_USER.add("Sync")  # in its open message

SAID_TO_STRANGERS: dict[str, tuple[str, str] | None] = {
    "Write": None,
    "BatchWrite": None,
    "Recall": None,
    "RecordFeedback": None,
    "Correct": ("NOT_FOUND", "MEMORY_NOT_FOUND"),
    "Forget": ("NOT_FOUND", "MEMORY_NOT_FOUND"),
    "GetMemory": ("NOT_FOUND", "MEMORY_NOT_FOUND"),
    "ListMemories": None,
    "GetHistory": ("NOT_FOUND", "MEMORY_NOT_FOUND"),
    "Rollback": ("NOT_FOUND", "MEMORY_NOT_FOUND"),
    "Prewarm": None,
    "ResolveConflict": ("NOT_FOUND", "MEMORY_NOT_FOUND"),
    "RevokeWriter": None,
    "Unmerge": ("NOT_FOUND", "MEMORY_NOT_FOUND"),
    "Sync": None,
    "Watch": None,
    "CreateSession": None,
    "GetSession": ("NOT_FOUND", "SESSION_NOT_FOUND"),
    "ListSessions": None,
    "AppendTurns": ("NOT_FOUND", "SESSION_NOT_FOUND"),
    "UpdateSession": ("NOT_FOUND", "SESSION_NOT_FOUND"),
    "EndSession": ("NOT_FOUND", "SESSION_NOT_FOUND"),
    "GetContext": ("NOT_FOUND", "SESSION_NOT_FOUND"),
    "GetPreferences": None,
    "CreateKey": None,
    "ListKeys": None,
    "RevokeKey": ("NOT_FOUND", "KEY_NOT_FOUND"),
    "GetServerInfo": None,
    "ListReviews": None,
    "DecideReview": ("NOT_FOUND", "MEMORY_NOT_FOUND"),
    **dict.fromkeys(OF_POLICIES),
    "RemovePredicate": ("INVALID_ARGUMENT", "UNKNOWN_PREDICATE"),
    "StartExperiment": ("INVALID_ARGUMENT", "FIELD_INVALID"),
    "StopExperiment": ("NOT_FOUND", "EXPERIMENT_NOT_FOUND"),
    "ListJobs": None,
    "RunUpkeep": None,
    "ListFailedJobs": None,
    "RequeueJobs": None,
}
"""What the admin of another tenant hears when it names the victim's ids as its own; None: it is served its own."""


@pytest.fixture(scope="module")
async def callers(service: ServiceProcess, victim: Victim) -> Callers:
    day, past = timedelta(days=1), timedelta(days=-1)
    made = await make_keys(
        service,
        ("default", Role.ADMIN, (), None),
        ("default", Role.ADMIN, (), past),
        ("default", Role.READER, (), day),
        ("default", Role.WRITER, (), None),
        ("default", Role.ADMIN, ("somebody-else",), None),
        ("another", Role.ADMIN, (), None),
    )
    async with service.raw() as raw:
        await raw.call("RevokeKey", admin.RevokeKeyRequest(id=str(made[0].id)))
    return Callers(*made)


@pytest.fixture(scope="module")
async def victim(service: ServiceProcess) -> Victim:
    user = new_user("victim")
    (key,) = await make_keys(service, ("default", Role.WRITER, (user,), None))
    async with service.raw(key.secret) as raw:
        first = await raw.call(
            "Write",
            api.WriteRequest(
                user=user,
                memory=pb.MemoryInput(text=SECRET, tags=["xylophone"], session="xylophone-session"),
                request_id="victims-request",
                dot=pb.Dot(device="victims-phone", counter=1),
            ),
        )
        second = await raw.call(
            "Write", api.WriteRequest(user=user, memory=pb.MemoryInput(text="xylophones are fun"))
        )
        page = await raw.call("ListMemories", api.ListMemoriesRequest(user=user, page_size=1))
        assert page.next_page_token
        memory = first.memory
        begun = await raw.call("CreateSession", session.CreateSessionRequest(user=user, request_id="victims-begin"))
        said = session.Turn(id="victims-turn", role=session.TURN_ROLE_USER, text=f"Let's talk about {SECRET}")
        turns = session.AppendTurnsRequest(user=user, session_id=begun.session.id, turns=[said])
        await raw.call("AppendTurns", turns)
        return Victim(
            *(user, memory.id, memory.etag, second.token, page.next_page_token, second.context, key),
            session_id=begun.session.id,
        )


@pytest.fixture
async def untouched(raw: Raw, victim: Victim):
    before = await state_of(raw, victim.user), await session_of(raw, victim)
    yield
    assert (await state_of(raw, victim.user), await session_of(raw, victim)) == before


async def session_of(raw: Raw, victim: Victim) -> tuple[bytes, list[str]]:
    """The victim's session byte by byte but for when it was used last, and all of its sessions."""
    asked = session.GetSessionRequest(user=victim.user, session_id=victim.session_id)
    found = (await raw.call("GetSession", asked)).session
    found.ClearField("last_active_at")
    listed = await raw.call("ListSessions", session.ListSessionsRequest(user=victim.user))
    return found.SerializeToString(deterministic=True), [line.id for line in listed.sessions]


def clean(everything: bytes) -> bool:
    """Whether nothing of the victim's content is in it."""
    return b"xylophone" not in everything.lower() and b"victims-" not in everything


async def attempt(raw: Raw, rpc: str, request: Message, authorization: str | None = None) -> tuple[str, str, bytes]:
    """(code, reason, all bytes) of a call, accepted or refused."""
    try:
        answer = await raw.call(rpc, request, authorization=authorization)
    except grpc.aio.AioRpcError as error:
        said = refusal(error)
        return said.code, said.reason, said.everything
    return "OK", "", answer.SerializeToString()


def test_every_rpc_has_its_cases():
    assert set(REQUESTS) == set(METHODS)
    assert set(SAID_TO_STRANGERS) == set(METHODS)
    assert set(METHODS) > WRITER | ADMIN
    assert NAMES_USER | ADMIN | {"GetServerInfo"} == set(METHODS)


@pytest.mark.parametrize("rpc", METHODS)
async def test_no_credential_but_a_good_one_is_accepted(
    rpc: str, raw: Raw, victim: Victim, callers: Callers, untouched: None
):
    request = REQUESTS[rpc](victim)
    wrong = {
        "": "CREDENTIAL_MISSING",
        "Bearer": "CREDENTIAL_INVALID",
        "Bearer ms_garbage": "CREDENTIAL_INVALID",
        "Bearer ' OR 1=1 --": "CREDENTIAL_INVALID",
        f"Bearer {victim.key.secret}x": "CREDENTIAL_INVALID",
        f"Bearer {victim.key.secret[:-1]}": "CREDENTIAL_INVALID",
        f"Bearer {'ms_' + 'A' * 6_000}": "CREDENTIAL_INVALID",
        f"Basic {victim.key.secret}": "CREDENTIAL_INVALID",
        victim.key.secret: "CREDENTIAL_INVALID",
        f"Bearer {callers.revoked.secret}": "CREDENTIAL_INVALID",
        f"Bearer {callers.expired.secret}": "CREDENTIAL_EXPIRED",
    }
    for authorization, reason in wrong.items():
        code, said, everything = await attempt(raw, rpc, request, authorization)
        assert (code, said) == ("UNAUTHENTICATED", reason), authorization[:20]
        assert clean(everything)


@pytest.mark.parametrize("rpc", METHODS)
async def test_a_role_does_what_it_may_and_no_more(
    rpc: str, raw: Raw, victim: Victim, callers: Callers, untouched: None
):
    request = REQUESTS[rpc](victim)
    if isinstance(request, api.RecallRequest):
        request.read_only = True  # a reader's recall counts as use, by right
    for name, key, forbidden in (("reader", callers.reader, WRITER | ADMIN), ("writer", callers.writer, ADMIN)):
        if rpc in forbidden:
            said = await attempt(raw, rpc, request, f"Bearer {key.secret}")
            assert said[:2] == ("PERMISSION_DENIED", "ROLE_REQUIRED"), name
            assert clean(said[2])
        elif name == "reader":
            assert (await attempt(raw, rpc, request, f"Bearer {key.secret}"))[0] == "OK"


@pytest.mark.parametrize("rpc", sorted(NAMES_USER))
async def test_a_key_bound_to_users_acts_for_no_other(
    rpc: str, raw: Raw, victim: Victim, callers: Callers, untouched: None
):
    request = REQUESTS[rpc](victim)
    code, reason, everything = await attempt(raw, rpc, request, f"Bearer {callers.other_user.secret}")
    assert (code, reason) == ("PERMISSION_DENIED", "USER_NOT_ALLOWED")
    assert clean(everything)


@pytest.mark.parametrize("rpc", sorted(NAMES_USER))
async def test_a_user_is_not_reached_by_naming_the_ids_of_another(
    rpc: str, raw: Raw, victim: Victim, callers: Callers, untouched: None
):
    """A key for every user of the tenant, asked about one user with the ids of another."""
    request = REQUESTS[rpc](dataclasses.replace(victim, user=new_user("stranger"), context=pb.VectorClock()))
    code, reason, everything = await attempt(raw, rpc, request)
    assert (code, reason) == (SAID_TO_STRANGERS[rpc] or ("OK", ""))
    assert clean(everything)


@pytest.mark.parametrize("rpc", METHODS)
async def test_a_tenant_is_not_reached_by_naming_its_users_and_ids(
    rpc: str, raw: Raw, victim: Victim, callers: Callers, untouched: None
):
    request = REQUESTS[rpc](dataclasses.replace(victim, context=pb.VectorClock()))
    code, reason, everything = await attempt(raw, rpc, request, f"Bearer {callers.other_tenant.secret}")
    assert (code, reason) == (SAID_TO_STRANGERS[rpc] or ("OK", ""))
    assert clean(everything)
    assert str(victim.key.id).encode() not in everything or rpc == "RevokeKey"
    # The victim's key still works: RevokeKey by a stranger did nothing.
    assert (await attempt(raw, "Prewarm", api.PrewarmRequest(), f"Bearer {victim.key.secret}"))[0] == "OK"


@pytest.mark.parametrize("who", ["another user", "another tenant"])
async def test_tokens_contexts_and_filters_of_another_open_nothing(
    who: str, raw: Raw, victim: Victim, callers: Callers, untouched: None
):
    mine = new_user() if who == "another user" else victim.user
    authorization = None if who == "another user" else f"Bearer {callers.other_tenant.secret}"
    fresh = pb.Consistency(at_least_as_fresh=victim.token)
    cases: list[tuple[str, Message, tuple[str, str]]] = [
        (
            "Recall",
            api.RecallRequest(user=mine, query=SECRET, consistency=fresh),
            ("INVALID_ARGUMENT", "CONSISTENCY_TOKEN_INVALID"),
        ),
        (
            "ListMemories",
            api.ListMemoriesRequest(user=mine, page_size=1, page_token=victim.page_token),
            ("INVALID_ARGUMENT", "PAGE_TOKEN_INVALID"),
        ),
        (
            "Write",
            api.WriteRequest(user=mine, memory=pb.MemoryInput(text="mine"), context=victim.context),
            ("FAILED_PRECONDITION", "CONTEXT_FROM_FUTURE"),
        ),
        ("Recall", api.RecallRequest(user=mine, filter=pb.MemoryFilter(ids=[victim.memory_id])), ("OK", "")),
        (
            "ListMemories",
            api.ListMemoriesRequest(user=mine, filter=pb.MemoryFilter(tags_any=["xylophone"])),
            ("OK", ""),
        ),
        ("Forget", api.ForgetRequest(user=mine, filter=pb.MemoryFilter(ids=[victim.memory_id])), ("OK", "")),
        (
            "Write",
            api.WriteRequest(user=mine, memory=pb.MemoryInput(text="mine too", derived_from=[victim.memory_id])),
            ("NOT_FOUND", "MEMORY_NOT_FOUND"),
        ),
        (
            "Correct",
            api.CorrectRequest(
                user=mine,
                memory_id=victim.memory_id,
                memory=pb.MemoryInput(text="intruder"),
                update_mask=field_mask_pb2.FieldMask(paths=["text"]),
            ),
            ("NOT_FOUND", "MEMORY_NOT_FOUND"),
        ),
        # The victim's names for its requests and devices are free here: a name says nothing across owners.
        (
            "Write",
            api.WriteRequest(
                user=new_user(),
                memory=pb.MemoryInput(text="mine as well"),
                request_id="victims-request",
                dot=pb.Dot(device="victims-phone", counter=1),
            ),
            ("OK", ""),
        ),
    ]
    for rpc, request, expected in cases:
        code, reason, everything = await attempt(raw, rpc, request, authorization)
        assert (code, reason) == expected, request
        assert b"vault" not in everything
        assert b"xylophone" not in everything


async def test_a_key_bound_to_one_user_needs_no_user_named(raw: Raw, victim: Victim):
    question = api.RecallRequest(query="vault", read_only=True)
    answer = await raw.call("Recall", question, authorization=f"Bearer {victim.key.secret}")
    assert [found.memory.text for found in answer.memories][:1] == [SECRET]


async def test_an_admin_sees_and_revokes_the_keys_of_its_tenant_only(
    raw: Raw, victim: Victim, callers: Callers, service: ServiceProcess
):
    theirs = await raw.call(
        "ListKeys", admin.ListKeysRequest(), authorization=f"Bearer {callers.other_tenant.secret}"
    )
    assert {key.tenant for key in theirs.keys} == {"another"}
    ours = await raw.call("ListKeys", admin.ListKeysRequest())
    assert {key.tenant for key in ours.keys} == {"default"}
    assert str(victim.key.id) in {key.id for key in ours.keys}
    secrets = [victim.key.secret, callers.writer.secret, service.key]
    assert not [secret for secret in secrets if secret.encode() in ours.SerializeToString()]


async def test_keys_are_nowhere_in_the_log(victim: Victim, callers: Callers, service: ServiceProcess):
    keys = [victim.key, *(getattr(callers, f.name) for f in dataclasses.fields(callers))]
    assert not [key for key in [service.key, *(k.secret for k in keys)] if key in service.log]
