"""A worker as a process of its own, beside a server on the same databases."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path

from tests.acceptance.service import ServiceProcess

PATIENCE_SECONDS = 60


async def test_a_worker_joins_the_server_is_seen_and_leaves_in_order(service: ServiceProcess, tmp_path: Path):
    stack = service.stack()
    kept = {name: value for name, value in os.environ.items() if not name.startswith("MEMORY_SERVICE_")}
    worker = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "memory_service", "worker"),
        stdout=asyncio.subprocess.PIPE,
        env={
            **kept,
            "MEMORY_SERVICE_EMBEDDER": "hash",
            "MEMORY_SERVICE_DATA_DIR": str(tmp_path / "worker"),
            "MEMORY_SERVICE_DATABASE_URL": stack.database_url,
            "MEMORY_SERVICE_REDIS_URL": stack.redis_url,
        },
    )
    try:
        assert worker.stdout is not None
        async with asyncio.timeout(PATIENCE_SECONDS), service.client("default") as client:
            assert (await worker.stdout.readline()).startswith(b"working on jobs: metrics and health on http://127")
            while (view := await client.list_jobs()).workers < 2:  # noqa: ASYNC110 - it is seen, not told
                await asyncio.sleep(0.1)
            assert view.now is not None
            assert await client.list_failed_jobs() == []
            assert [run.error_reason for run in await client.run_upkeep()] == [""] * len(
                [job for job in view.jobs if job.every is not None]
            )
            worker.send_signal(signal.SIGTERM)
            said, _ = await worker.communicate()
    finally:
        if worker.returncode is None:
            worker.kill()
            await worker.wait()
    assert worker.returncode == 0
    assert said.decode().splitlines() == ["stopping: waiting for open jobs", "stopped"]
