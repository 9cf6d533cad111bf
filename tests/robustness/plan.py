"""What a run does, as data made from a seed: who writes what in which order, and what is broken when."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace

KINDS = {
    "device": ("put", "put", "put", "say", "say", "look", "look", "correct", "forget_slot", "forget_id",
               "forget_said", "resolve", "amend", "roll", "again"),
    "server": ("put", "put", "say", "say", "look", "correct", "forget_id", "forget_said", "resolve", "amend", "roll",
               "again", "lost"),
    "offline": ("put", "put", "put", "say", "say", "correct", "forget_slot", "forget_id", "forget_said", "resolve",
                "sync"),
    "batch": ("many",),
}  # fmt: skip
"""What each sort of client does: a device that numbers its changes, a caller whom the server numbers, a device
that works offline and syncs, and an importer."""

FAULTS = (
    "kill first", "kill second", "kill second", "kill postgres", "kill backend", "kill valkey", "kill valkey",
    "freeze first", "freeze second", "freeze postgres", "freeze valkey",
    "cut 0", "cut 1", "half 0", "half 1", "slow 0", "slow 1", "cut cache", "slow cache",
)  # fmt: skip
KILLS = (
    "kill first", "kill second", "kill second", "kill postgres", "kill postgres", "kill backend", "kill backend",
    "kill valkey", "kill valkey", "kill everything",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Op:
    """One thing a client does; `pick` is what chooses among whatever there is to choose from then."""

    kind: str
    pick: int


@dataclass(frozen=True, slots=True)
class Script:
    """All that one client does to one owner's memories."""

    owner: int
    name: str
    role: str
    ops: tuple[Op, ...]


@dataclass(frozen=True, slots=True)
class Fault:
    """Something broken, so many seconds after the fault before was over."""

    after_seconds: float
    what: str
    strength: float


@dataclass(frozen=True, slots=True)
class Plan:
    """A whole run. `seconds` ends it before the scripts do; `pause` is how long a client rests between ops."""

    seed: int
    scripts: tuple[Script, ...]
    faults: tuple[Fault, ...]
    seconds: float
    pause: float = 0.0
    batch: int = 40

    @property
    def size(self) -> int:
        return sum(len(script.ops) for script in self.scripts)

    def without_empty(self) -> Plan:
        return replace(self, scripts=tuple(script for script in self.scripts if script.ops))


def make_plan(
    seed: int,
    *,
    seconds: float,
    owners: int,
    importers: int,
    ops: int,
    pause: float,
    calm: float,
    batch: int = 40,
    kills_only: bool = False,
) -> Plan:
    """A plan; the same for the same arguments.

    Args:
        owners: with two devices, one nameless caller and two offline devices each.
        importers: owners beside those, with two importers each.
        ops: of each client, at most.
        calm: mean seconds between two faults.
    """
    chance = random.Random(seed)
    scripts: list[Script] = []
    for owner in range(owners):
        for role, count in (("device", 2), ("server", 1), ("offline", 2)):
            scripts += [_script(chance, owner, f"{role}{n}", role, ops) for n in range(count)]
    for owner in range(owners, owners + importers):
        scripts += [_script(chance, owner, f"batch{n}", "batch", ops) for n in range(2)]
    names: Sequence[str] = KILLS if kills_only else FAULTS
    faults = tuple(
        Fault(chance.uniform(0.4, 1.6) * calm, chance.choice(names), chance.random())
        for _ in range(int(seconds / calm) + 1)
    )
    return Plan(seed, tuple(scripts), faults, seconds, pause, batch)


def _script(chance: random.Random, owner: int, name: str, role: str, ops: int) -> Script:
    made = tuple(Op(chance.choice(KINDS[role]), chance.getrandbits(30)) for _ in range(ops))
    return Script(owner, name, role, made)
