"""An encrypted connection, with the command line and both clients."""

from __future__ import annotations

import asyncio
import shutil
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import grpc
import pytest
from typer.testing import CliRunner

from memory_service.cli.app import app
from memory_service.client import AsyncMemoryClient, MemoryClient, Tls, Unavailable
from memory_service.v1 import memory_service_pb2_grpc as api_grpc
from tests.client.conftest import QUICK, TWICE
from tests.client.fake_server import KEY, FakeServer

pytestmark = pytest.mark.skipif(shutil.which("openssl") is None, reason="makes its certificate with openssl")


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("tls")
    key, chain = folder / "key.pem", folder / "chain.pem"
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    command += ["-keyout", str(key), "-out", str(chain), "-days", "2", "-subj", "/CN=localhost"]
    command += ["-addext", "subjectAltName=DNS:localhost"]
    subprocess.run(command, check=True, capture_output=True)
    return key, chain


@pytest.fixture
def target(server: FakeServer, certificate: tuple[Path, Path]) -> Iterator[str]:
    key, chain = certificate
    secure = grpc.server(ThreadPoolExecutor(4))
    api_grpc.add_MemoryServiceServicer_to_server(server, secure)
    credentials = grpc.ssl_server_credentials([(key.read_bytes(), chain.read_bytes())])
    port = secure.add_secure_port("localhost:0", credentials)
    secure.start()
    yield f"localhost:{port}"
    secure.stop(None).wait()


async def test_a_trusted_authority(target: str, certificate: tuple[Path, Path]) -> None:
    tls = Tls(certificate[1].read_bytes())
    async with AsyncMemoryClient(target, KEY, user="ann", tls=tls, retry=QUICK) as client:
        assert (await client.write("encrypted")).memory is not None

    def blocking() -> int:
        with MemoryClient(target, KEY, user="ann", tls=tls, retry=QUICK) as client:
            return len(client.recall("encrypted"))

    assert await asyncio.to_thread(blocking) == 1


@pytest.mark.parametrize("tls", [None, True])
async def test_plain_text_and_unknown_authorities_are_refused(
    server: FakeServer, target: str, tls: bool | None
) -> None:
    async with AsyncMemoryClient(target, KEY, tls=tls, timeout_seconds=20, retry=TWICE) as client:
        with pytest.raises(Unavailable):
            await client.recall("x")
    assert not server.calls, "the key never left in a way the server would have answered"


def test_the_command_line(target: str, certificate: tuple[Path, Path]) -> None:
    arguments = ["write", "encrypted", "--target", target, "--user", "ann", "--key", KEY]
    done = CliRunner().invoke(app, [*arguments, "--ca", str(certificate[1])])
    assert done.exit_code == 0, done.output
    assert CliRunner().invoke(app, [*arguments, "--tls", "--timeout", "1"]).exit_code == 3
