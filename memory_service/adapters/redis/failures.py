"""What the driver raises when the server is away, slow, full or refuses."""

from __future__ import annotations

from redis.exceptions import RedisError

CAUGHT = (RedisError, OSError, TimeoutError, RuntimeError)
"""Everything that may be a failure of the server; `is_failure` says whether it is."""


def is_failure(error: BaseException) -> bool:
    """Whether it is the server or the way to it that failed, and not this program.

    A RuntimeError is what uvloop answers a write to a connection with that has just been closed under it.
    """
    return not isinstance(error, RuntimeError) or "closed" in str(error)
