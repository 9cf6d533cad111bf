"""A whole service of one's own for a while: its own process, databases and folder, all removed afterwards."""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
import tempfile
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from memory_service.bootstrap import read
from memory_service.domain.errors import Reason, Unavailable

_START_SECONDS_MAX = 120.0
_STOP_SECONDS_MAX = 30.0
_POLL_SECONDS = 0.1
_LOG_TAIL_CHARS = 2_000


@asynccontextmanager
async def temporary(extra_environment: Mapping[str, str] | None = None) -> AsyncIterator[tuple[str, str]]:
    """Start `memory-service serve` on free ports and a new data folder; gives `(target, key)`.

    The databases are as durable as ever, so what is measured against it is what a real one does.

    Raises:
        Unavailable: when it does not come up; the message has the end of its log.
    """
    folder = Path(tempfile.mkdtemp(prefix="memory-service-"))
    data_dir = folder / "data"
    log_path = folder / "serve.log"
    environment = {k: v for k, v in os.environ.items() if not k.startswith("MEMORY_SERVICE_")}
    for name in ("MEMORY_SERVICE_EMBEDDER", "MEMORY_SERVICE_EMBEDDER_THREADS", "MEMORY_SERVICE_UNKNOWN_PREDICATES"):
        if name in os.environ:
            environment[name] = os.environ[name]
    environment |= {
        "MEMORY_SERVICE_DATA_DIR": str(data_dir),
        "MEMORY_SERVICE_LISTEN": "127.0.0.1:0",
        "MEMORY_SERVICE_OPS_LISTEN": "127.0.0.1:0",
        **(extra_environment or {}),
    }
    with log_path.open("wb") as log:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "memory_service", "serve", stdout=log, stderr=log, env=environment
        )
    try:
        yield await _ready(process, data_dir, log_path)
    finally:
        await _stop(process)
        await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)


async def _ready(process: asyncio.subprocess.Process, data_dir: Path, log_path: Path) -> tuple[str, str]:
    loop = asyncio.get_running_loop()
    deadline = loop.time() + _START_SECONDS_MAX
    while loop.time() < deadline and process.returncode is None:
        # The file appears once, complete, when the API answers.
        credentials = read(data_dir)
        if credentials:
            return credentials["target"], credentials["key"]
        await asyncio.sleep(_POLL_SECONDS)
    tail = (await asyncio.to_thread(log_path.read_text, errors="replace"))[-_LOG_TAIL_CHARS:]
    raise Unavailable(Reason.DATABASE_UNAVAILABLE, f"the temporary service did not start:\n{tail}")


async def _stop(process: asyncio.subprocess.Process) -> None:
    if process.returncode is not None:
        return
    process.terminate()
    try:
        await asyncio.wait_for(process.wait(), _STOP_SECONDS_MAX)
    except TimeoutError:
        process.kill()
        await process.wait()
