"""What every other RPC refuses."""

from __future__ import annotations

import math
from typing import Any

from google.protobuf import field_mask_pb2
from google.protobuf.duration_pb2 import Duration

from memory_service.v1 import admin_service_pb2 as admin
from memory_service.v1 import memory_service_pb2 as api
from memory_service.v1 import policy_pb2 as policy
from memory_service.v1 import types_pb2 as pb
from tests.acceptance.wrong import (
    MARK,
    MAX,
    NEVER,
    NOBODYS,
    YEAR_0,
    Wrong,
    at,
    by_id,
    correct,
    feedback,
    forget,
    listing,
    recall,
    user,
)

UNKNOWN: Any = 55
"""No number of any enum."""


def word(case: str, reason: str, field: str, **fields: Any) -> Wrong:
    """A predicate that is refused."""
    given = {"name": "size", "kind": pb.KIND_FACT, "cardinality": policy.CARDINALITY_MANY, **fields}
    return Wrong(
        case,
        "PutPredicate",
        lambda _: policy.PutPredicateRequest(predicate=policy.Predicate(**given)),
        reason,
        f"predicate.{field}",
    )


def numbers(name: str, reason: str, field: str, **fields: Any) -> Wrong:
    """Parameters that are refused."""
    return Wrong(name, "SetParameters", lambda _: policy.SetParametersRequest(**fields), reason, field)


WRONG_REQUESTS: list[Wrong] = [
    # Policies
    word("word without a name", "FIELD_REQUIRED", "name", name=""),
    word("word of marks", "FIELD_INVALID", "name", name="-- --"),
    word("word with NUL", "TEXT_NOT_STORABLE", "name", name=f"{MARK}\0"),
    word("endless word", "FIELD_TOO_LONG", "name", name=MARK * 1_000),
    word("word without kind", "FIELD_REQUIRED", "kind", kind=0),
    word("word of an unknown kind", "UNKNOWN_KIND", "kind", kind=UNKNOWN),
    word("word without cardinality", "FIELD_REQUIRED", "cardinality", cardinality=0),
    word("unknown merge policy", "FIELD_INVALID", "merge", merge=UNKNOWN),
    word("tau of zero", "FIELD_OUT_OF_RANGE", "tau", tau=Duration()),
    word("negative tau", "FIELD_OUT_OF_RANGE", "tau", tau=Duration(seconds=-1)),
    word("endless tau", "FIELD_OUT_OF_RANGE", "tau", tau=Duration(seconds=MAX)),
    word("10,000 aliases", "FIELD_TOO_LONG", "aliases", aliases=[str(n) for n in range(10_000)]),
    word("alias that is another's", "FIELD_INVALID", "aliases", aliases=[MARK, "过敏"]),
    Wrong(
        "unknown predicates to nothing",
        "SetUnknownPredicates",
        lambda _: policy.SetUnknownPredicatesRequest(),
        "FIELD_REQUIRED",
        "unknown",
    ),
    Wrong(
        "word that is none",
        "RemovePredicate",
        lambda _: policy.RemovePredicateRequest(name=MARK),
        "UNKNOWN_PREDICATE",
        "name",
    ),
    Wrong(
        "word as its own replacement",
        "RemovePredicate",
        lambda _: policy.RemovePredicateRequest(name="pet", replacement="pets"),
        "FIELD_INVALID",
        "replacement",
    ),
    Wrong(
        "negative version",
        "RollbackVocabulary",
        lambda _: policy.RollbackVocabularyRequest(version=-1),
        "FIELD_OUT_OF_RANGE",
        "version",
    ),
    Wrong(
        "version that never was",
        "RollbackVocabulary",
        lambda _: policy.RollbackVocabularyRequest(version=999),
        "VERSION_NOT_FOUND",
        "version",
        "NOT_FOUND",
    ),
    Wrong(
        "history of a million",
        "GetVocabularyHistory",
        lambda _: policy.GetVocabularyHistoryRequest(limit=10**6),
        "FIELD_OUT_OF_RANGE",
        "limit",
    ),
    numbers("no such parameter", "UNKNOWN_PARAMETER", "values", values={MARK: 1.0}),
    numbers("NaN", "FIELD_OUT_OF_RANGE", "values.replace_ratio", values={"replace_ratio": math.nan}),
    numbers("half a count", "FIELD_INVALID", "values.stubborn_accesses", values={"stubborn_accesses": 1.5}),
    numbers("10,000 parameters", "FIELD_TOO_LONG", "values", values={str(n): 1.0 for n in range(10_000)}),
    numbers("endless set name", "FIELD_TOO_LONG", "set", set=MARK * 100, values={"replace_ratio": 2.0}),
    numbers("set and reset", "FIELD_INVALID", "reset", values={"replace_ratio": 2.0}, reset=["replace_ratio"]),
    Wrong(
        "experiment on nobody",
        "StartExperiment",
        lambda _: policy.StartExperimentRequest(name=MARK, treatment="t", share=0),
        "FIELD_OUT_OF_RANGE",
        "share",
    ),
    Wrong(
        "experiment of a set that is none",
        "StartExperiment",
        lambda _: policy.StartExperimentRequest(name=MARK, treatment=MARK, share=0.5),
        "FIELD_INVALID",
        "treatment",
    ),
    Wrong(
        "experiment that is none",
        "StopExperiment",
        lambda _: policy.StopExperimentRequest(name=MARK),
        "EXPERIMENT_NOT_FOUND",
        "name",
        "NOT_FOUND",
    ),
    # Reviews
    Wrong(
        "review without a decision",
        "DecideReview",
        lambda known: api.DecideReviewRequest(user=known.user, memory_id=known.memory.id),
        "FIELD_REQUIRED",
        "decision",
    ),
    Wrong(
        "review of what does not wait",
        "DecideReview",
        lambda known: api.DecideReviewRequest(
            user=known.user, memory_id=known.memory.id, decision=api.REVIEW_DECISION_ACCEPT
        ),
        "REVIEW_NOT_WAITING",
        "memory_id",
        "FAILED_PRECONDITION",
    ),
    Wrong(
        "review of nothing",
        "DecideReview",
        lambda known: api.DecideReviewRequest(
            user=known.user, memory_id=NOBODYS, decision=api.REVIEW_DECISION_REJECT
        ),
        "MEMORY_NOT_FOUND",
        "memory_id",
        "NOT_FOUND",
    ),
    Wrong(
        "reviews with a forged token",
        "ListReviews",
        lambda known: api.ListReviewsRequest(user=known.user, page_token=f"s.{MARK}"),
        "PAGE_TOKEN_INVALID",
        "page_token",
    ),
    Wrong(
        "page of a million reviews",
        "ListReviews",
        lambda known: api.ListReviewsRequest(user=known.user, page_size=10**6),
        "FIELD_OUT_OF_RANGE",
        "page_size",
    ),
    # Recall
    recall("negative limit", "FIELD_OUT_OF_RANGE", "limit", limit=-1),
    recall("limit of a million", "FIELD_OUT_OF_RANGE", "limit", limit=1_000_000),
    recall("limit of 201", "FIELD_OUT_OF_RANGE", "limit", limit=201),
    recall("negative budget", "FIELD_OUT_OF_RANGE", "token_budget", token_budget=-5),
    recall("endless budget", "FIELD_OUT_OF_RANGE", "token_budget", token_budget=2**31 - 1),
    recall("long query", "FIELD_TOO_LONG", "query", query="q" * 8_193),
    recall("NUL in query", "TEXT_NOT_STORABLE", "query", query=f"{MARK}\0"),
    recall("unknown profile", "FIELD_INVALID", "profile", profile=MARK),
    recall("as of year 0", "TIME_OUT_OF_RANGE", "as_of_valid", as_of_valid=YEAR_0),
    recall("as of year 33658", "TIME_OUT_OF_RANGE", "as_of_recorded", as_of_recorded=NEVER),
    recall("unknown zone", "FIELD_INVALID", "time_zone", time_zone="Mars/Olympus"),
    recall("NUL in agent", "TEXT_NOT_STORABLE", "agent", agent="a\0"),
    recall(
        "forged token",
        "CONSISTENCY_TOKEN_INVALID",
        "consistency.at_least_as_fresh",
        consistency=pb.Consistency(at_least_as_fresh=f"{MARK}AAAAAAAAAAAAAAAAAAAAAA"),
    ),
    recall(
        "token that is no text of ours",
        "CONSISTENCY_TOKEN_INVALID",
        "consistency.at_least_as_fresh",
        consistency=pb.Consistency(at_least_as_fresh="ünï=/+\0"),
    ),
    recall(
        "endless token",
        "CONSISTENCY_TOKEN_INVALID",
        "consistency.at_least_as_fresh",
        consistency=pb.Consistency(at_least_as_fresh="A" * 100_000),
    ),
    # Filters
    recall(
        "filter of 10,000 tags",
        "FIELD_TOO_LONG",
        "filter.tags_any",
        filter=pb.MemoryFilter(tags_any=map(str, range(10_000))),
    ),
    recall(
        "filter of 10,000 subjects",
        "FIELD_TOO_LONG",
        "filter.subjects",
        filter=pb.MemoryFilter(subjects=map(str, range(10_000))),
    ),
    recall(
        "filter of 10,000 predicates",
        "FIELD_TOO_LONG",
        "filter.predicates",
        filter=pb.MemoryFilter(predicates=map(str, range(10_000))),
    ),
    recall("filter of 10,000 ids", "FIELD_TOO_LONG", "filter.ids", filter=pb.MemoryFilter(ids=[MARK] * 10_000)),
    recall(
        "filter of 10,000 kinds",
        "FIELD_TOO_LONG",
        "filter.kinds",
        filter=pb.MemoryFilter(kinds=[pb.KIND_FACT] * 10_000),
    ),
    recall(
        "filter of 10,000 slots",
        "FIELD_TOO_LONG",
        "filter.slots",
        filter=pb.MemoryFilter(slots=[pb.Slot(topic=MARK)] * 10_000),
    ),
    recall("filter by unknown kind", "UNKNOWN_KIND", "filter.kinds", filter=pb.MemoryFilter(kinds=[UNKNOWN])),
    recall(
        "filter by unknown status", "FIELD_INVALID", "filter.statuses", filter=pb.MemoryFilter(statuses=[UNKNOWN])
    ),
    recall(
        "filter by unknown predicate",
        "UNKNOWN_PREDICATE",
        "filter.slots[0].predicate",
        filter=pb.MemoryFilter(slots=[pb.Slot(subject="user", predicate=MARK)]),
    ),
    recall(
        "filter by half a slot",
        "FIELD_INVALID",
        "filter.slots[0]",
        filter=pb.MemoryFilter(slots=[pb.Slot(subject=MARK)]),
    ),
    recall("filter by no id", "FIELD_INVALID", "filter.ids", filter=pb.MemoryFilter(ids=[MARK])),
    recall("NUL in filter", "TEXT_NOT_STORABLE", "filter.sessions", filter=pb.MemoryFilter(sessions=["s\0"])),
    recall(
        "importance not a number",
        "FIELD_OUT_OF_RANGE",
        "filter.importance_min",
        filter=pb.MemoryFilter(importance_min=math.nan),
    ),
    recall("said in year 0", "TIME_OUT_OF_RANGE", "filter.said_from", filter=pb.MemoryFilter(said_from=YEAR_0)),
    recall(
        "said until before from",
        "TIME_OUT_OF_RANGE",
        "filter.said_until",
        filter=pb.MemoryFilter(said_from=at(9), said_until=at(8)),
    ),
    # Lists
    listing("negative page", "FIELD_OUT_OF_RANGE", "page_size", page_size=-1),
    listing("page of a million", "FIELD_OUT_OF_RANGE", "page_size", page_size=1_000_000),
    listing("forged page token", "PAGE_TOKEN_INVALID", "page_token", page_token=f"{MARK}AAAAAAAAAAAAAAAA"),
    listing("odd page token", "PAGE_TOKEN_INVALID", "page_token", page_token="\0=/é"),
    Wrong(
        "page token of another list",
        "ListMemories",
        lambda k: api.ListMemoriesRequest(
            user=k.user, page_token=k.page_token, filter=pb.MemoryFilter(tags_any=["x"])
        ),
        "PAGE_TOKEN_INVALID",
        "page_token",
    ),
    Wrong(
        "consistency token as page token",
        "ListMemories",
        lambda k: api.ListMemoriesRequest(user=k.user, page_token=k.token),
        "PAGE_TOKEN_INVALID",
        "page_token",
    ),
    # Feedback
    feedback("no feedback", "FIELD_REQUIRED", "items"),
    feedback("201 memories judged", "FIELD_TOO_LONG", "items", *[(NOBODYS, 1)] * 201),
    feedback("judged without an outcome", "FIELD_REQUIRED", "items[0].outcome", ("", 0)),
    feedback("unknown outcome", "FIELD_REQUIRED", "items[1].outcome", (NOBODYS, 1), ("", 77)),
    feedback("judged by no id", "FIELD_INVALID", "items[0].memory_id", (MARK, 1)),
    feedback("judged twice", "FIELD_INVALID", "items[1].memory_id", ("", 1), ("", 2)),
    # Ids
    listing("as of year 0", "TIME_OUT_OF_RANGE", "as_of_valid", as_of_valid=YEAR_0),
    listing("believed in year 33658", "TIME_OUT_OF_RANGE", "as_of_recorded", as_of_recorded=NEVER),
    *[by_id(rpc, "", "FIELD_REQUIRED") for rpc in ("GetMemory", "GetHistory", "Rollback", "Unmerge")],
    *[
        by_id(rpc, f"{MARK}-not-a-uuid", "FIELD_INVALID")
        for rpc in ("GetMemory", "GetHistory", "Rollback", "Unmerge")
    ],
    *[by_id(rpc, "9" * 100_000, "FIELD_INVALID") for rpc in ("GetMemory", "GetHistory", "Rollback", "Unmerge")],
    *[
        by_id(rpc, NOBODYS, "MEMORY_NOT_FOUND", "NOT_FOUND")
        for rpc in ("GetMemory", "GetHistory", "Rollback", "Unmerge")
    ],
    Wrong(
        "version 0",
        "Rollback",
        lambda k: api.RollbackRequest(user=k.user, memory_id=k.memory.id),
        "FIELD_OUT_OF_RANGE",
        "version",
    ),
    Wrong(
        "version never made",
        "Rollback",
        lambda k: api.RollbackRequest(user=k.user, memory_id=k.memory.id, version=MAX),
        "VERSION_NOT_FOUND",
        "version",
        "NOT_FOUND",
    ),
    Wrong(
        "version past 63 bits",
        "Rollback",
        lambda k: api.RollbackRequest(user=k.user, memory_id=k.memory.id, version=2**64 - 1),
        "FIELD_OUT_OF_RANGE",
        "version",
    ),
    # Correct
    correct("no target", "FIELD_REQUIRED", "memory_id", memory_id=None),
    correct("no content", "FIELD_REQUIRED", "memory", memory=pb.MemoryInput()),
    correct("mask of nonsense", "FIELD_INVALID", "update_mask", update_mask=field_mask_pb2.FieldMask(paths=[MARK])),
    correct("mask of the id", "FIELD_INVALID", "update_mask", update_mask=field_mask_pb2.FieldMask(paths=["id"])),
    correct(
        "mask with an empty path", "FIELD_INVALID", "update_mask", update_mask=field_mask_pb2.FieldMask(paths=[""])
    ),
    correct(
        "endless mask",
        "FIELD_INVALID",
        "update_mask",
        update_mask=field_mask_pb2.FieldMask(paths=[f"{MARK}{i}" * 50 for i in range(2_000)]),
    ),
    correct(
        "mask that empties the text",
        "FIELD_REQUIRED",
        "memory.text",
        memory=pb.MemoryInput(),
        update_mask=field_mask_pb2.FieldMask(paths=["text"]),
    ),
    correct("unknown nature", "FIELD_INVALID", "nature", nature=44),
    correct("old etag", "ETAG_MISMATCH", "etag", "ABORTED", etag="99-99"),
    correct("long etag", "FIELD_TOO_LONG", "etag", etag="e" * 257),
    correct("long reason", "FIELD_TOO_LONG", "reason", reason="r" * 513),
    correct("changed in year 0", "TIME_OUT_OF_RANGE", "changed_at", changed_at=YEAR_0),
    correct("id that is none", "FIELD_INVALID", "memory_id", memory_id=MARK),
    correct("memory of nobody", "MEMORY_NOT_FOUND", "memory_id", "NOT_FOUND", memory_id=NOBODYS),
    correct(
        "slot and topic",
        "FIELD_INVALID",
        "slot",
        memory_id=None,
        slot=pb.Slot(subject="a", predicate="pet", topic=MARK),
    ),
    correct("half a slot", "FIELD_INVALID", "slot", memory_id=None, slot=pb.Slot(subject=MARK)),
    correct(
        "unknown slot",
        "UNKNOWN_PREDICATE",
        "slot.predicate",
        memory_id=None,
        slot=pb.Slot(subject="a", predicate=MARK),
    ),
    correct(
        "slot of nothing",
        "MEMORY_NOT_FOUND",
        "slot",
        "NOT_FOUND",
        memory_id=None,
        slot=pb.Slot(subject="user", predicate="budget"),
    ),
    correct("NUL in the new text", "TEXT_NOT_STORABLE", "memory.text", memory=pb.MemoryInput(text=f"{MARK}\0")),
    # Forget
    forget("no target", "FIELD_REQUIRED", "memories"),
    forget("no ids", "FIELD_REQUIRED", "memories", memories=api.MemoryIds()),
    forget("501 ids", "FIELD_TOO_LONG", "memories.ids", memories=api.MemoryIds(ids=[NOBODYS] * 501)),
    forget("id that is none", "FIELD_INVALID", "memories.ids", memories=api.MemoryIds(ids=[MARK])),
    forget(
        "memory of nobody",
        "MEMORY_NOT_FOUND",
        "memories.ids",
        "NOT_FOUND",
        memories=api.MemoryIds(ids=[NOBODYS]),
    ),
    forget("everything", "FIELD_REQUIRED", "filter", filter=pb.MemoryFilter()),
    forget(
        "nothing that holds of everything",
        "FIELD_REQUIRED",
        "filter",
        filter=pb.MemoryFilter(kinds=[pb.KIND_UNSPECIFIED]),
    ),
    forget("half a slot", "FIELD_INVALID", "slot", slot=pb.Slot(predicate="pet")),
    forget("no slot", "FIELD_INVALID", "slot", slot=pb.Slot()),
    forget("long reason", "FIELD_TOO_LONG", "reason", filter=pb.MemoryFilter(tags_any=["x"]), reason="r" * 513),
    # Batches
    Wrong(
        "501 items",
        "BatchWrite",
        lambda k: api.BatchWriteRequest(
            user=k.user, items=[api.BatchWriteItem(memory=pb.MemoryInput(text=MARK))] * 501
        ),
        "FIELD_TOO_LONG",
        "items",
    ),
    # Users and keys
    user("none", "", "FIELD_REQUIRED"),
    user("NUL", "u\0", "TEXT_NOT_STORABLE"),
    user("long", "u" * 257, "FIELD_TOO_LONG"),
    user("spaces", "   ", "FIELD_REQUIRED"),
    Wrong(
        "key without a name",
        "CreateKey",
        lambda _: admin.CreateKeyRequest(roles=[admin.ROLE_READER]),
        "FIELD_REQUIRED",
        "name",
    ),
    Wrong("key without roles", "CreateKey", lambda _: admin.CreateKeyRequest(name=MARK), "FIELD_REQUIRED", "roles"),
    Wrong(
        "key of an unknown role",
        "CreateKey",
        lambda _: admin.CreateKeyRequest(name=MARK, roles=[UNKNOWN]),
        "FIELD_INVALID",
        "roles",
    ),
    Wrong(
        "key of the past",
        "CreateKey",
        lambda _: admin.CreateKeyRequest(name=MARK, roles=[admin.ROLE_READER], expires_at=at(1)),
        "TIME_OUT_OF_RANGE",
        "expires_at",
    ),
    Wrong(
        "key of the far future",
        "CreateKey",
        lambda _: admin.CreateKeyRequest(name=MARK, roles=[admin.ROLE_READER], expires_at=NEVER),
        "TIME_OUT_OF_RANGE",
        "expires_at",
    ),
    Wrong(
        "key for 10,000 users",
        "CreateKey",
        lambda _: admin.CreateKeyRequest(name=MARK, roles=[admin.ROLE_READER], users=map(str, range(10_000))),
        "FIELD_TOO_LONG",
        "users",
    ),
    Wrong(
        "key for nobody",
        "CreateKey",
        lambda _: admin.CreateKeyRequest(name=MARK, roles=[admin.ROLE_READER], users=[""]),
        "FIELD_REQUIRED",
        "users[0]",
    ),
    Wrong("key that is none", "RevokeKey", lambda _: admin.RevokeKeyRequest(id=MARK), "FIELD_INVALID", "id"),
    Wrong(
        "key of nobody",
        "RevokeKey",
        lambda _: admin.RevokeKeyRequest(id=NOBODYS),
        "KEY_NOT_FOUND",
        "id",
        "NOT_FOUND",
    ),
    # Background work
    Wrong(
        "step of upkeep that there is not",
        "RunUpkeep",
        lambda k: admin.RunUpkeepRequest(user=k.user, steps=[MARK]),
        "FIELD_INVALID",
        "steps[0]",
    ),
    Wrong(
        "step without a name",
        "RunUpkeep",
        lambda k: admin.RunUpkeepRequest(user=k.user, steps=[""]),
        "FIELD_REQUIRED",
        "steps[0]",
    ),
    Wrong(
        "257 steps",
        "RunUpkeep",
        lambda k: admin.RunUpkeepRequest(user=k.user, steps=[MARK] * 257),
        "FIELD_TOO_LONG",
        "steps",
    ),
    Wrong(
        "negative page of failed jobs",
        "ListFailedJobs",
        lambda _: admin.ListFailedJobsRequest(page_size=-1),
        "FIELD_OUT_OF_RANGE",
        "page_size",
    ),
    Wrong("501 jobs", "RequeueJobs", lambda _: admin.RequeueJobsRequest(ids=range(501)), "FIELD_TOO_LONG", "ids"),
]
