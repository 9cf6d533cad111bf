"""What every client asked and heard, in memory and line by line on disk."""

from __future__ import annotations

import json
import time
from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TextIO

from memory_service.client import MemoryClientError
from tests.robustness.model import Act


@dataclass(slots=True)
class Ledger:
    """A memory that is corrected and rolled back under its etag: its versions follow one another."""

    versions: dict[int, str] = field(default_factory=dict)


@dataclass(slots=True)
class History:
    """Of one run.

    Attributes:
        acts: accepted changes by owner.
        maybe: texts by owner whose fate nobody heard of.
        ledgers: by owner and memory id.
        problems: what was wrong at the moment it was seen.
        acknowledged: accepted statements and other changes.
        attempts: answers and errors of single attempts, by name.
    """

    path: Path | None = None
    acts: dict[str, list[Act]] = field(default_factory=lambda: defaultdict(list))
    maybe: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    ledgers: dict[str, dict[str, Ledger]] = field(default_factory=lambda: defaultdict(lambda: defaultdict(Ledger)))
    problems: list[str] = field(default_factory=list)
    acknowledged: int = 0
    attempts: Counter[str] = field(default_factory=Counter)
    told: list[dict[str, Any]] = field(default_factory=list)
    keep: bool = False
    _file: TextIO | None = None
    _began: float = field(default_factory=time.monotonic)

    def note(self, client: str, what: str, **facts: Any) -> None:
        """One line: a request, its end, or a fault."""
        line = {"t": round(time.monotonic() - self._began, 3), "client": client, "what": what, **facts}
        if self.keep:
            self.told.append(line)
        if self.path is not None:
            if self._file is None:
                self.path.parent.mkdir(parents=True, exist_ok=True)
                self._file = self.path.open("w", encoding="utf-8")
            self._file.write(json.dumps(line, default=str) + "\n")

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None

    def failed(self, client: str, error: MemoryClientError) -> None:
        """One attempt failed."""
        self.attempts[f"{type(error).__name__} {error.reason}".strip()] += 1
        self.note(client, "error", error=type(error).__name__, reason=error.reason, message=str(error)[:200])

    def accepted(self, owner: str, client: str, act: Act) -> None:
        """A change was acknowledged."""
        self.acknowledged += 1
        self.acts[owner].append(act)
        self.note(
            client,
            "ack",
            kind=act.kind,
            dot=[act.dot.device, act.dot.counter],
            claim=list(act.claim),
            context=dict(act.context),
            drops=[list(claim) for claim in act.drops],
        )

    def version(self, owner: str, client: str, memory_id: str, version: int, text: str) -> None:
        """A ledger has this version."""
        self.acknowledged += 1
        known = self.ledgers[owner][memory_id].versions.setdefault(version, text)
        if known != text:
            self.problem(
                f"{owner}: two changes were told they made version {version} of {memory_id}: {known}, {text}"
            )
        self.note(client, "version", memory=memory_id, version=version, text=text)

    def problem(self, what: str) -> None:
        self.problems.append(what)
        self.note("checker", "problem", problem=what)


def effective(
    context: Mapping[str, int] | None, answered: Mapping[str, int], device: str, counter: int
) -> dict[str, int]:
    """What the writer of a change had seen, itself not included, as the service reads it.

    Without a context that is everything accepted before the change, which its answer tells.
    """
    seen = dict(answered if context is None else context)
    if device != "~server" or context is None:
        seen[device] = counter - 1
    return seen
