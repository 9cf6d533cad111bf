"""A stand-in for the service, run as a process of its own so that tests can kill it.

Usage: python service_script.py DATA_DIR write|wait
`write` commits rows one by one and prints the number of each committed row; `wait` waits for SIGINT, then
uses the database once more ("drained") before it stops.
"""

from __future__ import annotations

import asyncio
import signal
import sys
from pathlib import Path

import asyncpg
import uvloop

from memory_service.adapters.embedded import EmbeddedServers


async def main(data_dir: Path, mode: str) -> None:
    servers = EmbeddedServers(data_dir)
    stack = await servers.start()
    interrupted = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGINT, interrupted.set)
    connection = await asyncpg.connect(stack.database_url)
    await connection.execute("CREATE TABLE IF NOT EXISTS kept (n int PRIMARY KEY)")
    status = await servers.status()
    print("ready", *status.postgres_pids, *status.valkey_pids, flush=True)
    number = 0
    while mode == "write":
        number += 1
        await connection.execute("INSERT INTO kept VALUES ($1)", number)
        print(number, flush=True)
    await interrupted.wait()
    # Long enough for a database that got the signal too to be gone.
    count = await connection.fetchval("SELECT count(*) FROM kept, pg_sleep(0.3)")
    print("drained", count, flush=True)
    await connection.close()
    await servers.stop()


if __name__ == "__main__":
    uvloop.run(main(Path(sys.argv[1]), sys.argv[2]))
