"""Commands of the service itself: serve, migrate, version."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from memory_service.cli.common import Exit, Json, fail, print_json

if TYPE_CHECKING:
    from memory_service.config import Settings

DataDir = Annotated[Path | None, typer.Option(help="Folder of the embedded databases and the first key.")]
DatabaseUrl = Annotated[str | None, typer.Option(help="PostgreSQL with pgvector; an embedded one without it.")]
RedisUrl = Annotated[str | None, typer.Option(help="Redis or Valkey; an embedded Valkey without it.")]
LogLevel = Annotated[str | None, typer.Option(help="debug, info, warning or error.")]


def settings_from(**given: Any) -> Settings:
    """The settings: what was given on the command line, then the environment, then the defaults.

    Raises:
        typer.Exit: USAGE, after naming each setting at fault (never its value, which may be a secret).
    """
    from pydantic import ValidationError

    from memory_service.config import Settings

    try:
        return Settings(**{name: value for name, value in given.items() if value is not None})
    except ValidationError as error:
        wrong = [
            f"{'.'.join(str(part) for part in fault['loc'])}: {fault['msg']}"
            for fault in error.errors(include_input=False, include_url=False, include_context=False)
        ]
        raise fail("wrong settings: " + "; ".join(wrong), code=Exit.USAGE) from None


def serve(
    data_dir: DataDir = None,
    listen: Annotated[str | None, typer.Option(metavar="HOST:PORT", help="Where the gRPC API listens.")] = None,
    ops_listen: Annotated[
        str | None, typer.Option(metavar="HOST:PORT", help="Where /metrics, /livez and /readyz listen.")
    ] = None,
    database_url: DatabaseUrl = None,
    redis_url: RedisUrl = None,
    embedder: Annotated[str | None, typer.Option(help="Embedding model; see docs/evaluation.md.")] = None,
    log_level: LogLevel = None,
) -> None:
    """Run the service. Every other setting comes from the environment (MEMORY_SERVICE_…)."""
    settings = settings_from(
        data_dir=data_dir,
        listen=listen,
        ops_listen=ops_listen,
        database_url=database_url,
        redis_url=redis_url,
        embedder=embedder,
        log_level=log_level,
    )
    from memory_service import server

    raise typer.Exit(server.run(settings))


def worker(
    data_dir: DataDir = None,
    ops_listen: Annotated[
        str | None,
        typer.Option(metavar="HOST:PORT", help="Where /metrics, /livez and /readyz listen; a free port without it."),
    ] = None,
    database_url: DatabaseUrl = None,
    redis_url: RedisUrl = None,
    embedder: Annotated[str | None, typer.Option(help="Embedding model; as the servers have it.")] = None,
    log_level: LogLevel = None,
) -> None:
    """Work on background jobs without serving, beside servers on the same databases."""
    if ops_listen is None and "MEMORY_SERVICE_OPS_LISTEN" not in os.environ:
        ops_listen = "127.0.0.1:0"
    settings = settings_from(
        data_dir=data_dir,
        ops_listen=ops_listen,
        database_url=database_url,
        redis_url=redis_url,
        embedder=embedder,
        log_level=log_level,
        worker=True,
    )
    from memory_service import server

    raise typer.Exit(server.run(settings, worker_only=True))


def migrate(
    data_dir: DataDir = None,
    database_url: DatabaseUrl = None,
    log_level: LogLevel = None,
) -> None:
    """Bring the database's schema to this release's."""
    settings = settings_from(data_dir=data_dir, database_url=database_url, log_level=log_level)
    from memory_service import server

    raise typer.Exit(server.migrate(settings) or Exit.OK)


def version(as_json: Json = False) -> None:
    """Print the version of this program."""
    from memory_service.cli.versions import program_version

    if as_json:
        print_json({"version": program_version(), "python": sys.version.split()[0]})
    else:
        print(f"memory-service {program_version()} (Python {sys.version.split()[0]})")
