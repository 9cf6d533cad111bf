"""`simulate`: plays months of a life in seconds, and shows what is remembered at each step."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime, timedelta
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from memory_service.cli.common import Exit, console, errors_shown, fail, print_json
from memory_service.cli.evaluate_evolution import LAST_WRITE_WINS, SERVICE, on_one_line
from memory_service.cli.evolution import Ask, Forgetting, Look, Scenario, Step, Write
from memory_service.cli.form import DatasetError
from memory_service.cli.simulation import Answered, Checked, check, figures, misses, read_lives, with_looks

if TYPE_CHECKING:
    from rich.console import Console

    from memory_service.cli.evolution import Held
    from memory_service.cli.evolution_players import Player
    from memory_service.ports.embedder import Embedder
    from memory_service.timemachine import Journey, TimeMachine

DAY: Final = timedelta(days=1)
NO_MEMORY: Final = "no_memory"
COLUMNS: Final = ("remembered", "candidate", "contested", "superseded", "archived")
"""States that the table and the plot always show; others when there are any."""
_COLOURS: Final = {
    "remembered": "green",
    "candidate": "cyan",
    "contested": "magenta",
    "superseded": "yellow",
    "archived": "blue",
    "expired": "bright_black",
    "retracted": "red",
    "forgotten": "red",
}


class Store(StrEnum):
    """Which backend holds the memories."""

    MEMORY = "memory"
    POSTGRES = "postgres"


@dataclass(frozen=True, slots=True)
class Moment:
    """What was done at one step, what came of it, and what was remembered after it.

    Attributes:
        changes: (text, state before, state after) of every memory whose state changed since the moment before, by
            the step or by the service's own upkeep; "" before for a new one, "forgotten" after for one that is gone.
        census: how many memories are in each state.
    """

    at: datetime
    did: str
    text: str = ""
    effect: str = ""
    changes: Sequence[tuple[str, str, str]] = ()
    census: Mapping[str, int] = field(default_factory=dict)
    answer: Answered | None = None
    checks: Sequence[Checked] = ()


@dataclass(slots=True)
class Played:
    """What one player came to."""

    answers: list[Answered] = field(default_factory=list)
    checks: list[Checked] = field(default_factory=list)
    moments: dict[str, list[Moment]] = field(default_factory=dict)


@dataclass(slots=True)
class Simulation:
    """What became of the lives: every answer and check by whose they are, and the moments in the service by life."""

    answers: dict[str, list[Answered]] = field(default_factory=dict)
    checks: dict[str, list[Checked]] = field(default_factory=dict)
    moments: dict[str, list[Moment]] = field(default_factory=dict)

    def add(self, player: str, played: Played) -> None:
        """Note what a player came to."""
        self.answers[player], self.checks[player] = played.answers, played.checks

    def report(self) -> dict[str, Any]:
        """Figures of all lives together and of each, and those of the controls."""
        lives = sorted({one.life for one in self.answers[SERVICE]} | {one.life for one in self.checks[SERVICE]})
        return {
            **self._figures(SERVICE),
            "controls": {name: self._figures(name) for name in self.answers if name != SERVICE},
            "by_scenario": {life: self._figures(SERVICE, life) for life in lives},
        }

    def _figures(self, player: str, life: str = "") -> dict[str, Any]:
        answers, checks = self.answers[player], self.checks[player]
        return figures(
            [one for one in answers if life in ("", one.life)], [one for one in checks if life in ("", one.life)]
        )


async def play_lives(
    lives: Sequence[Scenario], player: Player, machine: TimeMachine, journey: Journey | None, *, watched: bool
) -> Played:
    """Play all lives on one line of time; with `watched` the moments of each are kept."""
    played = Played(moments={life.id: [] for life in lives})
    before: dict[str, dict[str, Held]] = {life.id: {} for life in lives}
    async for number, place in on_one_line(lives, machine, journey):
        life, step = lives[number], lives[number].steps[place]
        moment = await _step(life.id, step, player, played)
        if not watched:
            continue
        held = {one.id: one for one in await player.held(life.id) or []}
        changes = _changes(before[life.id], held)
        before[life.id] = held
        if isinstance(step, Look) and not changes and not moment.checks and place != len(life.steps) - 1:
            moment = replace(moment, did="")
        census = Counter(one.state.value for one in held.values())
        played.moments[life.id].append(replace(moment, changes=changes, census=census))
    return played


async def _step(user: str, step: Step, player: Player, played: Played) -> Moment:
    if isinstance(step, Write):
        return Moment(step.at, "say", step.text, await player.write(user, step))
    if isinstance(step, Forgetting):
        await player.forget(user, step)
        return Moment(step.at, "forget", step.of)
    if isinstance(step, Ask):
        shown = await player.ask(user, step)
        answer = Answered(user, step, shown, await player.held(user))
        played.answers.append(answer)
        return Moment(step.at, "ask", step.query, answer=answer)
    checks = check(user, step, await player.held(user)) if step.states or step.once else []
    played.checks += checks
    return Moment(step.at, "look", checks=checks)


def _changes(before: Mapping[str, Held], after: Mapping[str, Held]) -> list[tuple[str, str, str]]:
    found = []
    for memory_id, one in after.items():
        old = before.get(memory_id)
        if old is None or old.state is not one.state:
            found.append((one.text, old.state.value if old else "", one.state.value))
    found += [(one.text, one.state.value, "forgotten") for key, one in before.items() if key not in after]
    return found


async def simulate(
    lives: Sequence[Scenario],
    *,
    in_memory: bool = True,
    controls: bool = True,
    watched: bool = True,
    upkeep_every: timedelta = DAY,
    embedder: Embedder | None = None,
    machines: Callable[[datetime], Any] | None = None,
) -> Simulation:
    """Play the lives in a service of its own, and with `controls` with no memory and with one that last writes win.

    Args:
        in_memory: hold the service's memories in this process instead of PostgreSQL.
        upkeep_every: how often the schedule of upkeep looks whether something is due.
        embedder: shared by all and left open; the one of the environment's settings when None.
        machines: makes the service's time machine at a start; `time_machine` when None.

    Raises:
        Unavailable: when the databases do not come up, or the embedding model is not installed.
    """
    from memory_service.cli.evolution_players import ControlPlayer, NoMemoryPlayer, ServicePlayer
    from memory_service.client import AsyncMemoryClient
    from memory_service.config import Settings
    from memory_service.timemachine import Journey, time_machine
    from memory_service.wiring import make_embedder

    start = min(life.steps[0].at for life in lives)
    result, settings = Simulation(), Settings()
    async with AsyncExitStack() as shared:
        if embedder is None:
            embedder = make_embedder(settings)
            shared.push_async_callback(embedder.close)
        opening = machines(start) if machines else time_machine(start, settings, embedder, in_memory=in_memory)
        async with opening as machine, AsyncMemoryClient(machine.target, machine.key) as client:
            player = ServicePlayer(client, use_slots=True, now=machine.clock.now)
            journey = Journey(machine, upkeep_every)
            played = [with_looks(life) for life in lives] if watched else lives
            service = await play_lives(played, player, machine, journey, watched=watched)
            result.add(SERVICE, service)
            result.moments = service.moments
        if not controls:
            return result
        async with (
            time_machine(start, settings, embedder, in_memory=True) as machine,
            AsyncMemoryClient(machine.target, machine.key) as client,
        ):
            last = ControlPlayer(machine, client, replaces=True, use_slots=True)
            result.add(LAST_WRITE_WINS, await play_lives(lives, last, machine, None, watched=False))
        async with time_machine(start, settings, embedder, in_memory=True) as machine:
            result.add(NO_MEMORY, await play_lives(lives, NoMemoryPlayer(), machine, None, watched=False))
    return result


def simulate_command(
    scenario: Annotated[
        Path,
        typer.Option("--scenario", exists=True, help="A scenario file, or a folder of them.", show_default=False),
    ],
    store: Annotated[Store, typer.Option(help="Which backend holds the memories.")] = Store.MEMORY,
    plot: Annotated[
        Path | None, typer.Option(dir_okay=False, help="Write the plot of one scenario here, as SVG.")
    ] = None,
    controls: Annotated[bool, typer.Option(help="Play the controls as well.")] = True,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Play months of a life in seconds: what is remembered, in dispute, superseded and archived at each step.

    The whole service runs, with its clock moved and its upkeep done day by day. Beside it the same life with no
    memory, and with one in which the last write wins. The form of a scenario is told in docs/evolution.md.
    """
    import asyncio

    from memory_service import logs
    from memory_service.client import Unavailable
    from memory_service.config import LogFormat
    from memory_service.domain import errors

    logs.configure("warning", LogFormat.AUTO)
    try:
        lives = read_lives(scenario)
    except DatasetError as error:
        raise fail(str(error), code=Exit.USAGE, as_json=as_json) from None
    if plot is not None and len(lives) != 1:
        raise fail("--plot takes one scenario", code=Exit.USAGE, as_json=as_json)
    with errors_shown(as_json=as_json):
        try:
            result = asyncio.run(simulate(lives, in_memory=store is Store.MEMORY, controls=controls))
        except errors.Unavailable as error:
            raise Unavailable(error.message, reason=error.reason.value) from None
    _shown(lives, result, plot, as_json=as_json)


def _shown(lives: Sequence[Scenario], result: Simulation, plot: Path | None, *, as_json: bool) -> None:
    drawn = plotted(lives[0], result.moments[lives[0].id]) if len(lives) == 1 else ""
    if plot is not None:
        from memory_service.cli.charts import save_svg

        save_svg(plot, drawn, lives[0].title)
    if as_json:
        moments = {name: [_as_json(moment) for moment in found] for name, found in result.moments.items()}
        print_json({**result.report(), "moments": moments})
        return
    out = console()
    if len(lives) == 1:
        from rich.text import Text

        _show_moments(out, lives[0], result.moments[lives[0].id])
        out.print(Text.from_ansi(drawn))
    _show_figures(out, result)


def plotted(life: Scenario, moments: Sequence[Moment]) -> str:
    """How many memories were in each state, over the days of a life."""
    from memory_service.cli.charts import chart

    first = moments[0].at
    others = sorted({state for moment in moments for state in moment.census} - set(COLUMNS))
    at: list[float] = []
    series: dict[str, list[float]] = {name: [] for name in (*COLUMNS, *others)}
    held: Mapping[str, int] = {}
    for moment in moments:
        # Counts stay until they change: drawn as steps, not as slopes.
        day = (moment.at - first) / DAY
        at += [day, day]
        for name, values in series.items():
            values += [held.get(name, 0), moment.census.get(name, 0)]
        held = moment.census
    ends = (moments[0], moments[len(moments) // 2], moments[-1])
    return chart(life.title, at, series, {(one.at - first) / DAY: f"{one.at:%Y-%m-%d}" for one in ends})


def _as_json(moment: Moment) -> dict[str, Any]:
    line: dict[str, Any] = {
        "at": moment.at,
        "did": moment.did or "look",
        "text": moment.text,
        "effect": moment.effect,
        "changes": [{"text": text, "before": before, "after": after} for text, before, after in moment.changes],
        "census": dict(moment.census),
    }
    if moment.answer is not None:
        line["answer"] = [
            {"facts": sorted(one.refs), "past": one.past, "contested": one.contested, "text": one.text}
            for one in moment.answer.shown
        ]
        line["misses"] = misses(moment.answer)
    if moment.checks:
        line["checks"] = [asdict(one) for one in moment.checks]
    return line


def _show_moments(out: Console, life: Scenario, moments: Sequence[Moment]) -> None:
    from rich.markup import escape

    from memory_service.cli import render

    out.print(f"[bold]{escape(life.title)}[/] [dim]({life.id}; {life.family})[/]")
    made = render.table("when", "what", *COLUMNS)
    for moment in moments:
        if not moment.did:
            continue
        made.add_row(f"{moment.at:%Y-%m-%d %H:%M}", _told(moment), *(str(moment.census.get(c, 0)) for c in COLUMNS))
    out.print(made)


def _told(moment: Moment) -> str:
    from rich.markup import escape

    effect = f" [dim]{moment.effect}[/]" if moment.effect not in ("", "created") else ""
    lines = [f"{moment.did} “{escape(moment.text)}”{effect}" if moment.text else "[dim]time passes[/]"]
    for text, before, after in moment.changes:
        if before or moment.did != "say":
            colour = _COLOURS.get(after, "white")
            lines.append(f"  [dim]{escape(text)}:[/] {before or 'new'} → [{colour}]{after}[/]")
    if moment.answer is not None:
        for place, one in enumerate(moment.answer.shown, 1):
            marks = " [dim]past[/]" if one.past else ""
            marks += " [magenta]contested[/]" if one.contested else ""
            facts = ", ".join(sorted(ref for ref in one.refs if not ref.startswith("~")))
            if facts:
                lines.append(f"  {place}. [cyan]{escape(facts)}[/]: {escape(one.text)}{marks}")
        lines += [f"  [red]{missed}[/]" for missed in misses(moment.answer)]
    for checked in moment.checks:
        colour = "green" if checked.met else "red"
        instead = "" if checked.met else f", not {checked.wanted}"
        lines.append(f"  [{colour}]{escape(checked.fact)}: {checked.found}[/]{instead}")
    return "\n".join(lines)


def _show_figures(out: Console, result: Simulation) -> None:
    from rich.markup import escape

    from memory_service.cli import render

    report = result.report()
    names = [name for name in figures([]) if name != "questions"]
    made = render.table("", "questions", *(name.replace("_", " ") for name in names))
    rows = {"service": report, **{name.replace("_", " "): row for name, row in report["controls"].items()}}
    if len(report["by_scenario"]) > 1:
        rows |= {f"  {name}": row for name, row in report["by_scenario"].items()}
    for name, row in rows.items():
        made.add_row(name, str(row["questions"]), *(_share(row[figure]) for figure in names))
    out.print(made)
    for checked in result.checks[SERVICE]:
        if not checked.met:
            where = f"{escape(checked.life)} on {checked.at:%Y-%m-%d}"
            out.print(f"[red]{escape(checked.fact)} is {checked.found}, not {checked.wanted}[/] {where}")
    for one in sorted(result.answers[SERVICE], key=lambda answered: (answered.life, answered.ask.number)):
        for missed in misses(one):
            out.print(f"[red]{missed}[/] {escape(one.life)}: “{escape(one.ask.query)}”")


def _share(share: float | None) -> str:
    return "-" if share is None else f"{share:.3f}"
