"""How much of a model's window memory may take (S3)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

SHORT_TERM_PERCENT: Final = 40
RECALLED_PERCENT: Final = 20
ALL_PERCENT: Final = 60


@dataclass(frozen=True, slots=True)
class WindowBudget:
    """Most tokens, of a window, for the session's own state and turns, for recalled memories, and for both."""

    short_term: int
    recalled: int
    everything: int

    @classmethod
    def of(cls, window_tokens: int) -> WindowBudget:
        """40% for the session, 20% for what is recalled, 60% for all; each rounded down, so never over."""
        return cls(
            window_tokens * SHORT_TERM_PERCENT // 100,
            window_tokens * RECALLED_PERCENT // 100,
            window_tokens * ALL_PERCENT // 100,
        )
