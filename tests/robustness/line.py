"""A loopback proxy that cuts, delays and breaks off what passes through it."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable

from tests.acceptance.service import free_port

Connect = Callable[[], Awaitable[tuple[asyncio.StreamReader, asyncio.StreamWriter]]]
_READ_BYTES = 65_536


class Line:
    """A TCP port in front of a server, on which the network's faults are made.

    Attributes:
        delay_seconds: added to every piece that passes, in both directions.
        passing: whether new connections are let through.
    """

    def __init__(self, connect: Connect, port: int | None = None) -> None:
        self.port = free_port() if port is None else port
        self.delay_seconds = 0.0
        self.passing = True
        self._connect = connect
        self._server: asyncio.Server | None = None
        self._pairs: set[tuple[asyncio.StreamWriter, asyncio.StreamWriter]] = set()
        self._bytes_left: int | None = None

    @property
    def target(self) -> str:
        return f"127.0.0.1:{self.port}"

    async def open(self) -> None:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", self.port)

    async def close(self) -> None:
        if self._server is not None:
            self._server.close()
            self.cut()
            await self._server.wait_closed()

    def cut(self) -> None:
        """Reset every connection, in both directions, with whatever is under way."""
        for pair in list(self._pairs):
            for writer in pair:
                writer.transport.abort()

    def cut_after(self, answer_bytes: int) -> None:
        """Let so many more bytes of answers through, then reset: in the middle of whichever answer that is."""
        self._bytes_left = answer_bytes

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            if not self.passing:
                raise ConnectionRefusedError
            there, back = await self._connect()
        except OSError:
            writer.transport.abort()
            return
        pair = (writer, back)
        self._pairs.add(pair)
        try:
            await asyncio.gather(self._copy(reader, back, answers=False), self._copy(there, writer, answers=True))
        finally:
            self._pairs.discard(pair)
            for end in pair:
                end.transport.abort()

    async def _copy(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, answers: bool) -> None:
        with contextlib.suppress(OSError):
            while data := await reader.read(_READ_BYTES):
                if self.delay_seconds:
                    await asyncio.sleep(self.delay_seconds)
                if answers and self._bytes_left is not None:
                    self._bytes_left -= len(data)
                    if self._bytes_left <= 0:
                        writer.write(data[: len(data) + self._bytes_left])
                        self._bytes_left = None
                        await asyncio.sleep(0)
                        self.cut()
                        return
                writer.write(data)
                await writer.drain()
        writer.close()


def to_port(port: int) -> Connect:
    """Connects to a port of this machine."""
    return lambda: asyncio.open_connection("127.0.0.1", port)


def to_socket(path: str) -> Connect:
    """Connects to a Unix socket."""
    return lambda: asyncio.open_unix_connection(path)
