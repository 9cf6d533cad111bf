"""What adapters to HTTP services that speak OpenAI's API have in common: the address, the key and the connection.

When a call is worth another try is told here too; how often, and what a failure means, is each adapter's own.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from typing import Any, Final
from urllib.parse import urlsplit

import aiohttp

PASSING: Final = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})
"""Status codes worth another try."""


def check_address(base_url: str, model: str) -> None:
    """Refuse what cannot be the address of a service, or a model of no name.

    Raises:
        ValueError: naming the setting; never with what it holds.
    """
    parts = urlsplit(base_url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError("base_url must be an http or https address")
    if parts.username or parts.password:
        raise ValueError("base_url must not carry a user or password; use api_key")
    if not model:
        raise ValueError("model must be named")


def backoff_seconds(first: float, attempt: int, jitter: float) -> float:
    """The pause after the `attempt`-th try, from 0: doubled each time, half of it by a `jitter` in 0..1."""
    return first * 2.0**attempt * (0.5 + 0.5 * jitter)


class HttpApi:
    """Connections to one service, made at the first use: they belong to the running loop."""

    def __init__(self, base_url: str, api_key: str, *, seconds_max: float) -> None:
        """`seconds_max` is for one call; the key is sent as a bearer token when there is one."""
        self._base_url = base_url.rstrip("/")
        self._api_key = api_key
        self._seconds_max = seconds_max
        self._session: aiohttp.ClientSession | None = None
        self.closed = False

    def post(self, path: str, body: Mapping[str, Any]) -> AbstractAsyncContextManager[aiohttp.ClientResponse]:
        """Call a method of the service; not to be asked for once closed. Raises what aiohttp raises."""
        if self._session is None:
            self._session = aiohttp.ClientSession(
                timeout=aiohttp.ClientTimeout(total=self._seconds_max),
                headers={"Authorization": f"Bearer {self._api_key}"} if self._api_key else {},
            )
        return self._session.post(f"{self._base_url}/{path}", json=body, allow_redirects=False)

    async def close(self) -> None:
        """Close the connections. Idempotent."""
        self.closed = True
        session, self._session = self._session, None
        if session is not None:
            await session.close()
