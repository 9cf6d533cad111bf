"""What can go wrong while the embedded servers start. Both are kinds of `Unavailable`.

Unavailable
├── DataDirectoryInUse     another process serves this data directory (its pid is named)
└── EmbeddedStartFailed    a server did not start; says what to do and carries the tail of its log
"""

from __future__ import annotations

from pathlib import Path

from memory_service.domain.errors import Reason, Unavailable


class DataDirectoryInUse(Unavailable):
    """Another process holds the data directory. `pid` is 0 when the holder has not written its number yet."""

    def __init__(self, data_dir: Path, pid: int) -> None:
        holder = f"process {pid}" if pid else "another process"
        super().__init__(
            Reason.DATABASE_UNAVAILABLE,
            f"the data directory {data_dir} is in use by {holder}: stop it, or choose another data directory",
            metadata={"data_dir": str(data_dir), "pid": str(pid)},
        )
        self.pid = pid


class EmbeddedStartFailed(Unavailable):
    """An embedded server could not be prepared or started.

    Args:
        problem: what is wrong, one clause.
        remedy: what the operator can do about it, one clause.
        log_tail: the last lines of the server's own log ("" when there are none).
        reason: the closed-list reason.
    """

    def __init__(
        self, problem: str, remedy: str, *, log_tail: str = "", reason: Reason = Reason.DATABASE_UNAVAILABLE
    ) -> None:
        message = f"{problem}. What to do: {remedy}."
        if log_tail:
            message += f"\nLast lines of the log:\n{log_tail}"
        super().__init__(reason, message, metadata={"problem": problem, "remedy": remedy})
        self.problem = problem
        self.remedy = remedy
        self.log_tail = log_tail
