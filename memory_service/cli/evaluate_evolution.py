"""`eval-evolution`: plays a set of scenarios with the clock moved, and prints how well memory copes with change."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import AsyncExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from memory_service.cli.common import Exit, console, errors_shown, fail, print_json
from memory_service.cli.evolution import (
    EXPECTATIONS,
    Ask,
    Forgetting,
    Scenario,
    Verdict,
    Write,
    control_figures,
    figures,
    judge,
    read_scenarios,
)
from memory_service.cli.form import DatasetError, lines_of

if TYPE_CHECKING:
    from rich.console import Console

    from memory_service.cli.evolution_players import Player
    from memory_service.ports.embedder import Embedder
    from memory_service.timemachine import Journey, TimeMachine

SERVICE, APPEND_ONLY, LAST_WRITE_WINS = "service", "append_only", "last_write_wins"
Progressed = Callable[[str], None]


@dataclass(slots=True)
class Outcome:
    """What became of every ask, by who answered."""

    verdicts: dict[str, list[Verdict]] = field(default_factory=dict)

    def report(self) -> dict[str, Any]:
        """The figures, in the form of the command's JSON."""
        controls = {name: control_figures(found) for name, found in self.verdicts.items() if name != SERVICE}
        return {**figures(self.verdicts.get(SERVICE, ())), "controls": controls}


async def play(
    scenarios: Sequence[Scenario],
    player: Player,
    machine: TimeMachine,
    journey: Journey | None,
    progressed: Callable[[], None] = lambda: None,
) -> list[Verdict]:
    """Play all scenarios on one line of time, each as its own user, so that the clock never goes backwards.

    Without a `journey` time only passes: nothing is kept up. Verdicts come in the order of the scenarios.
    """
    verdicts: dict[tuple[int, int], Verdict] = {}
    async for number, place in on_one_line(scenarios, machine, journey):
        scenario = scenarios[number]
        user, step = scenario.id, scenario.steps[place]
        if isinstance(step, Write):
            await player.write(user, step)
        elif isinstance(step, Forgetting):
            await player.forget(user, step)
        elif isinstance(step, Ask):
            verdicts[number, place] = judge(scenario, step, await player.ask(user, step))
        progressed()
    return [verdicts[key] for key in sorted(verdicts)]


async def on_one_line(
    scenarios: Sequence[Scenario], machine: TimeMachine, journey: Journey | None
) -> AsyncIterator[tuple[int, int]]:
    """Every step as (scenario, step) numbers in the order of time, with the machine's clock there already."""
    line = sorted(
        (step.at, number, place)
        for number, scenario in enumerate(scenarios)
        for place, step in enumerate(scenario.steps)
    )
    for at, number, place in line:
        user = scenarios[number].id
        if journey is None:
            machine.move(at)
        else:
            await journey.to(at, user)
        yield number, place
        if journey is not None and place == len(scenarios[number].steps) - 1:
            journey.leave(user)


async def evaluate_evolution(
    scenarios: Sequence[Scenario],
    *,
    use_slots: bool = False,
    controls: bool = True,
    in_memory: bool = False,
    embedder: Embedder | None = None,
    progressed: Progressed = lambda _: None,
) -> Outcome:
    """Play the scenarios against a service of its own, and against the controls.

    Args:
        in_memory: hold the service's memories in this process instead of PostgreSQL, as those of the controls are.
        embedder: shared by all and left open; the one of the environment's settings when None.
        progressed: told who has done one more step.
    """
    from memory_service.cli.evolution_players import ControlPlayer, ServicePlayer
    from memory_service.client import AsyncMemoryClient
    from memory_service.config import Settings
    from memory_service.domain.vocabulary import UnknownPredicates
    from memory_service.timemachine import Journey, time_machine
    from memory_service.wiring import make_embedder

    outcome = Outcome()
    if not scenarios:
        return outcome
    start = min(scenario.steps[0].at for scenario in scenarios if scenario.steps)
    # Predicates in the sets are free words.
    settings = Settings(unknown_predicates=UnknownPredicates.MAP) if use_slots else Settings()
    async with AsyncExitStack() as shared:
        if embedder is None:
            embedder = make_embedder(settings)
            shared.push_async_callback(embedder.close)
        async with (
            time_machine(start, settings, embedder, in_memory=in_memory) as machine,
            AsyncMemoryClient(machine.target, machine.key) as client,
        ):
            outcome.verdicts[SERVICE] = await play(
                scenarios,
                ServicePlayer(client, use_slots, machine.clock.now),
                machine,
                Journey(machine),
                partial(progressed, SERVICE),
            )
        for name in (APPEND_ONLY, LAST_WRITE_WINS) if controls else ():
            async with (
                time_machine(start, settings, embedder, in_memory=True) as machine,
                AsyncMemoryClient(machine.target, machine.key) as client,
            ):
                control = ControlPlayer(machine, client, name == LAST_WRITE_WINS, use_slots)
                outcome.verdicts[name] = await play(scenarios, control, machine, None, partial(progressed, name))
    return outcome


def eval_evolution(
    file: Annotated[Path, typer.Argument(exists=True, dir_okay=False, help="A set of scenarios, one JSON a line.")],
    use_slots: Annotated[
        bool, typer.Option("--use-slots", help="Pass a write's slot where it has one; count scenarios that have any.")
    ] = False,
    only: Annotated[
        str, typer.Option(help="Only this family, or the scenario of this id.", metavar="FAMILY|ID")
    ] = "",
    controls: Annotated[bool, typer.Option(help="Play the controls as well.")] = True,
    verbose: Annotated[bool, typer.Option("--verbose", help="Print every failed ask and what came back.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Measure how memory copes with facts that change, lapse, repeat, clash or are taken back.

    Every scenario is its own user of a service that is started for the occasion, whose clock stands at each step's
    time and whose memories are kept up day by day in between. Two controls answer the same questions through the
    same retrieval: `append_only` keeps every write as plain text for ever; `last_write_wins` has a write take the
    place of the most similar earlier one (with --use-slots: of what was said of its slot). With --json, failed asks
    of --verbose go to standard error.
    """
    import asyncio

    from memory_service import logs
    from memory_service.client import Unavailable
    from memory_service.config import LogFormat
    from memory_service.domain import errors

    logs.configure("warning", LogFormat.AUTO)
    try:
        scenarios = read_scenarios(lines_of(file), only, slotted_only=use_slots)
    except DatasetError as error:
        raise fail(f"{file}: {error}", code=Exit.USAGE, as_json=as_json) from None
    if not scenarios:
        raise fail(f"{file} has no such scenario", code=Exit.USAGE, as_json=as_json)
    with errors_shown(as_json=as_json):
        try:
            with _progress(scenarios, controls=controls) as progressed:
                outcome = asyncio.run(
                    evaluate_evolution(scenarios, use_slots=use_slots, controls=controls, progressed=progressed)
                )
        except errors.Unavailable as error:
            raise Unavailable(error.message, reason=error.reason.value) from None
    if verbose:
        show_failures(console(stderr=as_json), outcome.verdicts[SERVICE])
    if as_json:
        print_json(outcome.report())
    else:
        _show(console(), outcome.report())


@contextmanager
def _progress(scenarios: Sequence[Scenario], *, controls: bool) -> Iterator[Progressed]:
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    steps = sum(len(scenario.steps) for scenario in scenarios)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console(stderr=True), transient=True) as bars:
        names = (SERVICE, APPEND_ONLY, LAST_WRITE_WINS) if controls else (SERVICE,)
        tasks = {name: bars.add_task(name.replace("_", " "), total=steps) for name in names}
        yield lambda name: bars.advance(tasks[name])


def show_failures(out: Console, verdicts: Sequence[Verdict]) -> None:
    """Every failed ask: what was expected, what came back, why it did, and its scores."""
    from rich.markup import escape

    for verdict in verdicts:
        if verdict.passed:
            continue
        ask = verdict.ask
        as_of = f" (as of {ask.as_of.isoformat()})" if ask.as_of else ""
        out.print(f"\n[bold]{verdict.scenario.id}[/] ask {ask.number} at {ask.at.isoformat()}{as_of}")
        out.print(f"  “{escape(ask.query)}”" + (f" [dim]{escape(ask.note)}[/]" if ask.note else ""))
        for name, met in verdict.met.items():
            wanted = ", ".join(sorted(getattr(ask, name)))
            out.print(f"  [{'green' if met else 'red'}]{name} {wanted}: {'met' if met else 'missed'}[/]")
        _show_answer(out, verdict)


def _show_answer(out: Console, verdict: Verdict) -> None:
    from rich.markup import escape

    for place, one in enumerate(verdict.shown, 1):
        marks = "".join((" past" if one.past else "", " contested" if one.contested else ""))
        refs = ",".join(sorted(one.refs)) or "-"
        out.print(f"  {place}. {escape(f'[{refs}]')}{marks} {one.score:.3f} {escape(one.text)}", soft_wrap=True)
        if one.note:
            out.print(f"     [dim]{escape(one.note)}[/]", soft_wrap=True)
    if not verdict.shown:
        out.print("  nothing came back")


def _show(out: Console, report: dict[str, Any]) -> None:
    from memory_service.cli import render

    made = render.table("", "asks", "passed", "pass rate")
    rows = {"all": report}
    rows |= {f"  {name}": row for name, row in report["by_language"].items()}
    rows |= {f"  {name}": row for name, row in report["by_family"].items()}
    for name, row in rows.items():
        made.add_row(name, str(row["asks"]), str(row["passed"]), _share(row["pass_rate"]))
    out.print(made)
    compared = render.table("", "pass rate", *(name.removeprefix("expect_") for name in EXPECTATIONS))
    for name, row in {"service": report, **report["controls"]}.items():
        shares = [row["pass_rate"], *(row[expectation] for expectation in EXPECTATIONS)]
        compared.add_row(name.replace("_", " "), *(_share(share) for share in shares))
    out.print(compared)


def _share(share: float | None) -> str:
    return "-" if share is None else f"{share:.3f}"
