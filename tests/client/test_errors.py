"""Every failure becomes one of the client's errors, with its reason, field and facts; none shows the key."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path

import grpc
import pytest

import memory_service.client as sdk
from memory_service.client import AsyncMemoryClient, MemoryClient
from memory_service.v1 import error_reason_pb2
from tests.client.fake_server import KEY, Fail, FakeServer

CODES = {
    grpc.StatusCode.INVALID_ARGUMENT: sdk.InvalidArgument,
    grpc.StatusCode.NOT_FOUND: sdk.NotFound,
    grpc.StatusCode.ALREADY_EXISTS: sdk.AlreadyExists,
    grpc.StatusCode.ABORTED: sdk.Aborted,
    grpc.StatusCode.FAILED_PRECONDITION: sdk.FailedPrecondition,
    grpc.StatusCode.OUT_OF_RANGE: sdk.OutOfRange,
    grpc.StatusCode.RESOURCE_EXHAUSTED: sdk.ResourceExhausted,
    grpc.StatusCode.UNAUTHENTICATED: sdk.Unauthenticated,
    grpc.StatusCode.PERMISSION_DENIED: sdk.PermissionDenied,
    grpc.StatusCode.UNAVAILABLE: sdk.Unavailable,
    grpc.StatusCode.CANCELLED: sdk.Unavailable,
    grpc.StatusCode.DEADLINE_EXCEEDED: sdk.DeadlineExceeded,
    grpc.StatusCode.UNIMPLEMENTED: sdk.Unimplemented,
    grpc.StatusCode.INTERNAL: sdk.Internal,
    grpc.StatusCode.UNKNOWN: sdk.Internal,
    grpc.StatusCode.DATA_LOSS: sdk.Internal,
}


@pytest.mark.parametrize(("code", "kind"), CODES.items(), ids=lambda value: getattr(value, "name", ""))
def test_every_code_has_its_error(
    server: FakeServer, code: grpc.StatusCode, kind: type[sdk.MemoryClientError]
) -> None:
    failure = Fail(code, "ETAG_MISMATCH", "it changed", "etag", {"etag": "3-17"})
    server.next("Recall", failure)
    policy = sdk.RetryPolicy(attempts_max=1)
    with (
        MemoryClient(server.target, KEY, user="ann", retry=policy) as client,
        pytest.raises(kind) as caught,
    ):
        client.recall("q")
    error = caught.value
    assert type(error) is kind
    assert (error.reason, error.field, error.metadata["etag"]) == ("ETAG_MISMATCH", "etag", "3-17")
    assert "it changed" in str(error)
    assert "ETAG_MISMATCH" in str(error)


async def test_details_of_another_domain_are_not_ours(server: FakeServer, client: AsyncMemoryClient) -> None:
    server.next("Recall", Fail(grpc.StatusCode.NOT_FOUND))
    with pytest.raises(sdk.NotFound) as caught:
        await client.recall("q")
    assert (caught.value.reason, caught.value.metadata) == ("", {})


async def test_refused_items_of_a_batch(server: FakeServer, client: AsyncMemoryClient) -> None:
    server.refuse_text = "bad"
    told: list[tuple[int, int]] = []
    outcomes = await client.write_many(
        ["good", "bad", "also \ud800", "fine"],
        on_progress=lambda progress: told.append((progress.written, progress.refused)),
    )
    assert [type(outcome.error).__name__ for outcome in outcomes] == [
        "NoneType",
        "InvalidArgument",
        "InvalidArgument",
        "NoneType",
    ]
    assert outcomes[1].error is not None
    assert outcomes[1].error.request_id == outcomes[1].item.request_id != ""
    assert outcomes[2].error is not None
    assert outcomes[2].error.reason == "TEXT_NOT_STORABLE"
    assert outcomes[3].result is not None
    assert outcomes[3].result.token == "ann@2"
    assert told[-1] == (2, 2)


async def test_a_batch_that_fails_as_a_whole_ends_the_import(server: FakeServer, client: AsyncMemoryClient) -> None:
    server.next("BatchWrite", None, Fail(grpc.StatusCode.PERMISSION_DENIED, "USER_NOT_ALLOWED"))
    remembered: list[str] = []
    with pytest.raises(sdk.PermissionDenied):
        await client.write_many(
            [f"memory {number}" for number in range(10)],
            batch_size=2,
            on_progress=lambda progress: remembered.extend(o.item.text for o in progress.outcomes),
        )
    assert remembered == ["memory 0", "memory 1"]
    assert len(server.of("BatchWrite")) <= 3


async def test_long_texts_make_smaller_batches(server: FakeServer, client: AsyncMemoryClient) -> None:
    await client.write_many((f"{number}" + "长" * 16_000 for number in range(100)), batch_size=100)
    sizes = [request.ByteSize() for request in server.of("BatchWrite")]
    assert len(sizes) == 3
    assert max(sizes) < 4 * 2**20


def test_the_key_is_never_shown(server: FakeServer) -> None:
    secret = "ms_live_do_not_show"
    with MemoryClient(server.target, secret, user="ann") as client:
        with pytest.raises(sdk.Unauthenticated) as caught:
            client.recall("q")
        shown = [repr(client), str(caught.value), repr(caught.value), repr(vars(caught.value))]
    for broken in (secret + "\n" + secret, secret + "é", secret + " x"):
        with pytest.raises(sdk.InvalidArgument) as refused:
            MemoryClient(server.target, broken)
        shown += [str(refused.value), repr(refused.value)]
    assert not any("do_not_show" in text for text in shown)


def test_where_the_key_comes_from(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from memory_service.client import credentials

    monkeypatch.setenv("MEMORY_SERVICE_DATA_DIR", str(tmp_path))
    for name in ("MEMORY_SERVICE_KEY", "MEMORY_SERVICE_TARGET"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(sdk.Unauthenticated, match="no key") as caught:
        credentials.find(None, None)
    assert caught.value.reason == "CREDENTIAL_MISSING"
    stored = {"target": "127.0.0.1:6000", "key": "from_file", "tenant": "default"}
    (tmp_path / "credentials.json").write_text(json.dumps(stored))
    found = credentials.find(None, None)
    assert (found.target, found.key) == ("127.0.0.1:6000", "from_file")
    assert found.local
    assert "from_file" not in repr(found)
    monkeypatch.setenv("MEMORY_SERVICE_KEY", "from_env")
    assert credentials.find(None, None).key == "from_env"
    assert not credentials.find(None, None).local
    assert credentials.find("host:1", "given").key == "given"
    assert credentials.find("host:1", "given").target == "host:1"
    monkeypatch.delenv("MEMORY_SERVICE_KEY")
    (tmp_path / "credentials.json").write_text('{"key": "ms_sec')
    with pytest.raises(sdk.InvalidArgument) as broken:
        credentials.find(None, None)
    assert "ms_sec" not in str(broken.value)


def test_the_hierarchy_is_as_drawn() -> None:
    from memory_service.client import errors

    drawn = [line.split("──")[1].split()[0] for line in (errors.__doc__ or "").splitlines() if "──" in line]
    defined = [
        name
        for name, value in vars(errors).items()
        if isinstance(value, type) and issubclass(value, errors.MemoryClientError)
    ]
    assert drawn == defined[1:]
    assert all(name in sdk.__all__ for name in defined)


def test_known_reasons_are_those_of_the_api() -> None:
    """The reasons the client itself raises exist in the closed list."""
    names = {name.removeprefix("ERROR_REASON_") for name, _ in error_reason_pb2.ErrorReason.items()}
    assert {
        "FIELD_INVALID",
        "FIELD_REQUIRED",
        "FIELD_OUT_OF_RANGE",
        "TEXT_NOT_STORABLE",
        "JSON_TOO_DEEP",
        "VECTOR_INVALID",
        "CREDENTIAL_MISSING",
    } <= names


@pytest.mark.parametrize(
    ("arguments", "field", "words"),
    [
        ({"said_at": datetime(2026, 1, 1)}, "memory.said_at", "no time zone"),  # noqa: DTZ001
        ({"object": 2**53 + 1, "predicate": "p"}, "memory.assertion.object", "beyond 2\\^53"),
        ({"object": {"a": [1, -(2**60)]}, "predicate": "p"}, "memory.assertion.object.a[1]", "beyond"),
        ({"object": float("nan"), "predicate": "p"}, "memory.assertion.object", "finite"),
        ({"object": {"a": b"x"}, "predicate": "p"}, "memory.assertion.object.a", "bytes"),
        ({"kind": "fcat"}, "memory.kind", "none of"),
        ({"kind": "unknown"}, "memory.kind", "none of"),
        ({"tags": "urgent"}, "memory.tags", "list"),
        ({"tags": ["\udfff"]}, "memory.tags[0]", "surrogate"),
        ({"confidence": "high"}, "memory.confidence", "number"),
        ({"embedding": ["x"]}, "memory.embedding", "numbers"),
    ],
)
async def test_what_would_be_changed_on_the_way_is_refused(
    server: FakeServer, client: AsyncMemoryClient, arguments: dict, field: str, words: str
) -> None:
    with pytest.raises(sdk.InvalidArgument, match=words) as caught:
        await client.write("x", **arguments)
    assert caught.value.field == field
    assert isinstance(caught.value, ValueError)
    assert not server.calls


async def test_unknown_arguments_are_a_type_error(client: AsyncMemoryClient) -> None:
    with pytest.raises(TypeError, match="colour"):
        await client.write("x", colour="red")  # type: ignore[call-arg]


@pytest.mark.parametrize("targets", [{}, {"ids": "m", "slot": ("user", "diet")}])
async def test_forget_needs_exactly_one_target(client: AsyncMemoryClient, targets: dict) -> None:
    with pytest.raises(sdk.InvalidArgument, match="one of them"):
        await client.forget(**targets)
