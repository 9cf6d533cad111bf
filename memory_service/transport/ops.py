"""The HTTP pages for operators: /metrics, /livez, /readyz."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route


@dataclass(frozen=True, slots=True)
class OpsSources:
    """Where the pages get their content.

    Attributes:
        exposition: the metrics, in Prometheus' text format.
        readiness: each check's name with "" when it passes or what is wrong; raises nothing.
    """

    exposition: Callable[[], bytes]
    readiness: Callable[[], Awaitable[Mapping[str, str]]]


def ops_app(sources: OpsSources) -> Starlette:
    """The operators' pages. They hold no memory content and need no key: keep the port inside."""

    async def metrics(_: Request) -> Response:
        return Response(sources.exposition(), media_type="text/plain; version=0.0.4; charset=utf-8")

    async def livez(_: Request) -> Response:
        # Touches no backend: a database outage must not make an orchestrator kill the server.
        return PlainTextResponse("ok\n")

    async def readyz(_: Request) -> Response:
        checks = await sources.readiness()
        ready = not any(checks.values())
        body = {"ready": ready, "checks": {name: problem or "ok" for name, problem in checks.items()}}
        return JSONResponse(body, status_code=200 if ready else 503)

    return Starlette(routes=[Route("/metrics", metrics), Route("/livez", livez), Route("/readyz", readyz)])
