"""Bare stubs by name, and what a refusal says in every byte of it."""

from __future__ import annotations

import dataclasses
from collections.abc import Awaitable, Mapping
from dataclasses import dataclass
from typing import Any, Self

import grpc
from google.protobuf import message_factory
from google.protobuf.descriptor import MethodDescriptor
from google.protobuf.message import Message
from google.rpc import error_details_pb2, status_pb2

from memory_service.v1 import admin_service_pb2, memory_service_pb2, session_service_pb2, sync_service_pb2

SERVICES = (
    memory_service_pb2.DESCRIPTOR.services_by_name["MemoryService"],
    admin_service_pb2.DESCRIPTOR.services_by_name["AdminService"],
    sync_service_pb2.DESCRIPTOR.services_by_name["SyncService"],
    session_service_pb2.DESCRIPTOR.services_by_name["SessionService"],
)
METHODS: Mapping[str, MethodDescriptor] = {method.name: method for service in SERVICES for method in service.methods}
"""Every RPC of the API, from the descriptors."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a call failed; `everything` is all bytes that reached the caller."""

    code: str
    reason: str
    field: str
    message: str
    metadata: Mapping[str, str]
    violations: tuple[tuple[str, str], ...]
    everything: bytes = dataclasses.field(repr=False)


class Raw:
    """Calls by the RPC's name, with or without a key."""

    def __init__(self, target: str, key: str) -> None:
        self.key = key
        self._channel = grpc.aio.insecure_channel(
            target, options=[("grpc.max_send_message_length", -1), ("grpc.max_receive_message_length", -1)]
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._channel.close()

    async def call(
        self,
        rpc: str,
        request: Message | bytes,
        *,
        authorization: str | None = None,
        timeout: float = 30.0,
    ) -> Any:
        """Send a message, or bytes that may be none; `authorization` replaces the key ("" sends none)."""
        method = METHODS[rpc]
        assert method.containing_service is not None
        sent = f"Bearer {self.key}" if authorization is None else authorization
        message = request if isinstance(request, bytes) else request.SerializeToString()
        path = f"/{method.containing_service.full_name}/{rpc}"
        read = message_factory.GetMessageClass(method.output_type).FromString
        metadata = [("authorization", sent)] if sent else []
        if method.client_streaming:
            return await self._sync(path, read, message, metadata, timeout)
        if method.server_streaming:
            stream: Any = self._channel.unary_stream(path, response_deserializer=read)
            call = stream(message, metadata=metadata, timeout=timeout)
            first = await call.read()
            call.cancel()
            return first
        send: Any = self._channel.unary_unary(path, response_deserializer=read)
        return await send(message, metadata=metadata, timeout=timeout)

    async def _sync(self, path: str, read: Any, message: bytes, metadata: Any, timeout: float) -> Any:
        """Open with `message`, pull everything, and give what was told as one answer."""
        open_stream: Any = self._channel.stream_stream(path, response_deserializer=read)
        pull = sync_service_pb2.SyncRequest(pull=sync_service_pb2.SyncPull())

        # The pull waits for the answer to open: a write that meets the end of the stream hides its status.
        call = open_stream(metadata=metadata, timeout=timeout)
        await call.write(message)
        told = [await call.read()]
        await call.write(pull.SerializeToString())
        await call.done_writing()
        while (answer := await call.read()) is not grpc.aio.EOF:
            told.append(answer)
        memories = [memory for answer in told for memory in answer.page.memories]
        return sync_service_pb2.SyncResponse(page=sync_service_pb2.SyncPage(memories=memories))

    async def refused(self, rpc: str, request: Message | bytes, *, authorization: str | None = None) -> Refusal:
        """The refusal of a call that must fail."""
        try:
            answer = await self.call(rpc, request, authorization=authorization)
        except grpc.aio.AioRpcError as error:
            return refusal(error)
        raise AssertionError(f"{rpc} was accepted: {answer}")


async def refused(call: Awaitable[object]) -> Refusal:
    """The refusal of an awaitable that must fail."""
    try:
        answer = await call
    except grpc.aio.AioRpcError as error:
        return refusal(error)
    raise AssertionError(f"it was accepted: {answer}")


def refusal(error: grpc.aio.AioRpcError) -> Refusal:
    """What a gRPC error says."""
    info = error_details_pb2.ErrorInfo()
    violations: list[tuple[str, str]] = []
    seen = [(error.details() or "").encode()]
    for metadata in (error.initial_metadata(), error.trailing_metadata()):
        for key, value in metadata or ():
            raw = value if isinstance(value, bytes) else value.encode()
            seen += [key.encode(), raw]
            if key == "grpc-status-details-bin":
                for detail in status_pb2.Status.FromString(raw).details:
                    if detail.Is(error_details_pb2.ErrorInfo.DESCRIPTOR):
                        detail.Unpack(info)
                    elif detail.Is(error_details_pb2.BadRequest.DESCRIPTOR):
                        request = error_details_pb2.BadRequest()
                        detail.Unpack(request)
                        violations += [(v.field, v.reason) for v in request.field_violations]
    facts = dict(info.metadata)
    return Refusal(
        code=error.code().name,
        reason=info.reason,
        field=facts.get("field", ""),
        message=error.details() or "",
        metadata=facts,
        violations=tuple(violations),
        everything=b"\n".join(seen),
    )
