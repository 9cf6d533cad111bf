"""Health, reflection and the operators' pages: open to anybody, and tell nothing of anybody."""

from __future__ import annotations

import json
from typing import Any

import grpc
import pytest
from google.protobuf import descriptor_pb2
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc

from memory_service.v1 import memory_service_pb2 as api
from memory_service.v1 import types_pb2 as pb
from tests.acceptance.raw import METHODS
from tests.acceptance.service import ServiceProcess
from tests.acceptance.world import new_user

OURS = ("MemoryService", "AdminService", "SyncService", "SessionService")
SECRET = "nobody must know of the wombat farm"


@pytest.fixture
async def said(service: ServiceProcess) -> str:
    """A user whose name and memories must not be seen."""
    user = new_user("wombat")
    async with service.raw() as raw:
        await raw.call("Write", api.WriteRequest(user=user, memory=pb.MemoryInput(text=SECRET, tags=["wombat"])))
        await raw.call("Recall", api.RecallRequest(user=user, query="wombat"))
        await raw.refused("GetMemory", api.GetMemoryRequest(user=user, memory_id="wombat"))
    return user


@pytest.mark.parametrize("name", ["", *(f"memory_service.v1.{name}" for name in OURS)])
async def test_health_needs_no_key(name: str, service: ServiceProcess):
    async with grpc.aio.insecure_channel(service.target) as channel:
        stub: Any = health_pb2_grpc.HealthStub(channel)
        answer = await stub.Check(health_pb2.HealthCheckRequest(service=name))
        assert answer.status == health_pb2.HealthCheckResponse.SERVING
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await stub.Check(health_pb2.HealthCheckRequest(service="none"))
        assert caught.value.code() is grpc.StatusCode.NOT_FOUND


async def test_reflection_describes_every_rpc_and_needs_no_key(service: ServiceProcess):
    async with grpc.aio.insecure_channel(service.target) as channel:
        stub: Any = reflection_pb2_grpc.ServerReflectionStub(channel)  # type: ignore[arg-type]
        ask: Any = reflection_pb2.ServerReflectionRequest
        asked = [
            ask(list_services=""),
            *[ask(file_containing_symbol=f"memory_service.v1.{name}") for name in OURS],
        ]
        answers = [answer async for answer in stub.ServerReflectionInfo(iter(asked))]
    names = {found.name for found in answers[0].list_services_response.service}
    assert {f"memory_service.v1.{name}" for name in OURS} | {"grpc.health.v1.Health"} <= names
    described = set()
    for answer in answers[1:]:
        for raw in answer.file_descriptor_response.file_descriptor_proto:
            file = descriptor_pb2.FileDescriptorProto.FromString(raw)
            described |= {method.name for found in file.service for method in found.method}
    assert described == set(METHODS)


async def test_an_unknown_method_is_unknown_to_everybody(service: ServiceProcess):
    async with grpc.aio.insecure_channel(service.target) as channel:
        unknown: Any = channel.unary_unary("/memory_service.v1.MemoryService/DropEverything")
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await unknown(b"")
        assert caught.value.code() is grpc.StatusCode.UNIMPLEMENTED


async def test_the_operators_pages_tell_nothing_of_anybody(service: ServiceProcess, said: str):
    status, metrics = await service.page("/metrics")
    assert status == 200
    assert 'memory_service_rpc_requests_total{code="OK",rpc="Write"}' in metrics
    assert 'code="INVALID_ARGUMENT",rpc="GetMemory"' in metrics
    ready, body = await service.page("/readyz")
    assert (ready, json.loads(body)["ready"]) == (200, True)
    live, word = await service.page("/livez")
    assert (live, word) == (200, "ok\n")
    missing, nothing = await service.page("/etc/passwd")
    assert missing == 404
    for page in (metrics, body, word, nothing):
        assert "wombat" not in page
        assert said not in page
        assert service.key not in page
        assert "default" not in page.replace("default_", "")


async def test_the_log_has_requests_and_no_content(service: ServiceProcess, said: str):
    assert '"rpc": "GetMemory"' in service.log
    assert "FIELD_INVALID" in service.log
    assert "wombat" not in service.log
    assert said not in service.log
