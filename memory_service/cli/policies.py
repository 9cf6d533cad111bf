"""Commands on what a tenant decides for itself: vocabulary, parameters, experiments, calibration."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from memory_service.cli.common import Session, with_client_options

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console
    from rich.table import Table

    from memory_service.client import Calibration, Experiment, PolicyVersion

DAY_SECONDS = 86_400.0

Why = Annotated[str, typer.Option("--reason", help="Why; kept with the version.")]
Expected = Annotated[
    int, typer.Option("--expect", min=0, metavar="VERSION", help="Refuse unless this is the version in force.")
]
Limit = Annotated[int, typer.Option("--limit", "-n", min=1, max=500, help="At most so many.")]
Set = Annotated[str, typer.Option("--set", help="Parameter set; `default` when left out.")]


# Vocabulary -------------------------------------------------------------------------------------------------


@with_client_options
def vocabulary_list(session: Session) -> None:
    """List the predicates in force."""
    from memory_service.cli import render

    with session.client() as client:
        words = client.vocabulary()
    made = render.table("predicate", "kind", "values", "concurrent", "tau", "sensitive", "aliases", fold=["aliases"])
    for word in words.predicates:
        tau = "never" if word.never_decays else span(word.tau) if word.tau else ""
        sensitive = "yes" if word.sensitivity.value == "sensitive" else ""
        made.add_row(
            word.name,
            word.kind.value,
            word.cardinality.value,
            word.merge.value,
            tau,
            sensitive,
            render.plain(", ".join(word.aliases)),
        )

    def shown(out: Console) -> None:
        out.print(made)
        out.print(f"[dim]version {words.version}; other predicates: {words.unknown.value}[/]")

    session.show(words, shown)


_DAYS_MAX = 36_500


@with_client_options
def vocabulary_put(
    session: Session,
    name: Annotated[str, typer.Argument(help="The predicate, e.g. `shoe_size`.")],
    kind: Annotated[str, typer.Option(help="Kind of a statement with it, e.g. `profile`.")],
    one: Annotated[bool, typer.Option("--one/--many", help="Whether a new value takes the old one's place.")] = False,
    merge: Annotated[
        str | None, typer.Option(help="Concurrent values: union, intersection, highest_confidence or confirm.")
    ] = None,
    tau_days: Annotated[float | None, typer.Option(help="How fast it fades, instead of its kind's tau.")] = None,
    never: Annotated[bool, typer.Option("--never-decays", help="It does not fade.")] = False,
    aliases: Annotated[list[str] | None, typer.Option("--alias", help="Another name (repeatable).")] = None,
    sensitive: Annotated[
        bool, typer.Option("--sensitive", help="What was inferred of it waits for a person.")
    ] = False,
    expected: Expected = 0,
    reason: Why = "",
) -> None:
    """Add a predicate, or change the one of this name: what is left out is emptied."""
    if tau_days is not None and not 0 < tau_days <= _DAYS_MAX:  # NaN is neither
        raise typer.BadParameter(f"must be more than 0 and at most {_DAYS_MAX:,}", param_hint="--tau-days")
    with session.client() as client:
        kept = client.put_predicate(
            name,
            kind=kind,
            cardinality="one" if one else "many",
            merge=merge,
            tau=None if tau_days is None else timedelta(days=tau_days),
            never_decays=never,
            aliases=aliases or (),
            sensitive=sensitive,
            expected_version=expected,
            reason=reason,
        )
    session.show(kept, lambda out: out.print(f"[green]{kept.name}[/] is in the vocabulary"))


@with_client_options
def vocabulary_remove(
    session: Session,
    name: Annotated[str, typer.Argument(help="The predicate.")],
    replacement: Annotated[
        str, typer.Option("--replacement", help="Takes over its names and memories; needed when it has some.")
    ] = "",
    expected: Expected = 0,
    reason: Why = "",
) -> None:
    """Take a predicate out; refused while memories have it, unless another takes over."""
    with session.client() as client:
        version = client.remove_predicate(name, replacement=replacement, expected_version=expected, reason=reason)
    _in_force(session, version)


@with_client_options
def vocabulary_unknown(
    session: Session,
    unknown: Annotated[str, typer.Argument(help="`refuse` or `map`.")],
    reason: Why = "",
) -> None:
    """Say what happens to predicates outside the vocabulary."""
    with session.client() as client:
        version = client.set_unknown_predicates(unknown, reason=reason)
    _in_force(session, version)


@with_client_options
def vocabulary_history(session: Session, limit: Limit = 20) -> None:
    """List the vocabulary's versions, newest first."""
    with session.client() as client:
        found = client.vocabulary_history(limit=limit)
    session.show({"versions": found}, lambda out: out.print(_versions(found)))


@with_client_options
def vocabulary_rollback(
    session: Session,
    version: Annotated[int, typer.Argument(min=0, help="Which; 0 is what the service starts with.")],
    reason: Why = "",
) -> None:
    """Bring a version back, as the next one."""
    with session.client() as client:
        now = client.rollback_vocabulary(version, reason=reason)
    _in_force(session, now)


# Parameters -------------------------------------------------------------------------------------------------


@with_client_options
def parameters_list(session: Session, name: Set = "") -> None:
    """List every tunable number, with what the set has for it."""
    from memory_service.cli import render

    with session.client() as client:
        found = client.parameters(name)
    made = render.table("parameter", "value", "default", "from", "to", "row", "purpose", fold=["purpose"])
    for one in found.parameters:
        value = f"{one.value:g}" if one.value == one.default else f"[bold cyan]{one.value:g}[/]"
        bounds = (f"{one.default:g}", f"{one.minimum:g}", f"{one.maximum:g}")
        made.add_row(one.name, value, *bounds, one.requirement, render.plain(one.purpose))
    sets = ", ".join(f"{set_name} (version {version})" for set_name, version in sorted(found.sets.items()))

    def shown(out: Console) -> None:
        out.print(made)
        out.print(f"[dim]sets: {render.plain(sets)}[/]")

    session.show(found, shown)


@with_client_options
def parameters_set(
    session: Session,
    values: Annotated[list[str] | None, typer.Argument(metavar="NAME=VALUE…", help="New values.")] = None,
    name: Set = "",
    reset: Annotated[list[str] | None, typer.Option("--reset", help="Gets its default back (repeatable).")] = None,
    expected: Expected = 0,
    reason: Why = "",
) -> None:
    """Change numbers of a parameter set."""
    if not values and not reset:
        raise typer.BadParameter("give NAME=VALUE or --reset NAME")
    with session.client() as client:
        version = client.set_parameters(
            dict(map(_assignment, values or ())),
            name=name,
            reset=reset or (),
            expected_version=expected,
            reason=reason,
        )
    _in_force(session, version)


@with_client_options
def parameters_history(session: Session, name: Set = "", limit: Limit = 20) -> None:
    """List a set's versions, newest first."""
    with session.client() as client:
        found = client.parameter_history(name, limit=limit)
    session.show({"versions": found}, lambda out: out.print(_versions(found)))


@with_client_options
def parameters_rollback(
    session: Session,
    version: Annotated[int, typer.Argument(min=0, help="Which; 0 is the defaults.")],
    name: Set = "",
    reason: Why = "",
) -> None:
    """Bring a version of a set back, as the next one."""
    with session.client() as client:
        now = client.rollback_parameters(version, name=name, reason=reason)
    _in_force(session, now)


# Experiments ------------------------------------------------------------------------------------------------


@with_client_options
def experiments(
    session: Session,
    start: Annotated[str, typer.Option("--start", metavar="NAME", help="Begin an experiment of this name.")] = "",
    stop: Annotated[str, typer.Option("--stop", metavar="NAME", help="End it.")] = "",
    treatment: Annotated[str, typer.Option(help="The parameter set on trial.")] = "",
    control: Annotated[str, typer.Option(help="The other set; `default` when left out.")] = "",
    share: Annotated[float, typer.Option(help="Share of users that get the treatment.")] = 0.5,
    reason: Why = "",
) -> None:
    """List experiments with what was counted on their sides; or --start or --stop one."""
    from memory_service.cli import render

    if start and stop:
        raise typer.BadParameter("either --start or --stop")
    if start and not treatment:
        raise typer.BadParameter("say which set is on trial: --treatment SET")
    with session.client() as client:
        if start:
            client.start_experiment(start, treatment, share=share, control=control, reason=reason)
        if stop:
            client.stop_experiment(stop, reason=reason)
        found = client.experiments()
    made = render.table("experiment", "side", "set", "share", "from", "to", *MEASURES)
    for one in found:
        _sides(made, one)
    session.show({"experiments": found}, lambda out: out.print(made if found else "no experiments"))


MEASURES = ("writes", "recalls", "recalled", "corrections", "contested", "adopted", "rejected")
_COUNTED = ("write", "recall", "recalled", "correction", "contested", "adopted", "rejected")


def _sides(made: Table, one: Experiment) -> None:
    from memory_service.cli import render

    for side, counts in one.counts.items():
        treated = side.value == "treatment"
        share = one.share if treated else 1 - one.share
        numbers = (str(counts.get(name, 0)) for name in _COUNTED)
        made.add_row(
            render.plain(one.name) if not treated else "",
            side.value,
            render.plain(one.treatment if treated else one.control),
            f"{share:.0%}",
            render.when(one.started_at),
            render.when(one.stopped_at) or "[green]running[/]",
            *numbers,
        )


# Calibration ------------------------------------------------------------------------------------------------


@with_client_options
def calibrate(
    session: Session,
    user: Annotated[str, typer.Option("--user", help="Of this user; of all of the tenant's when left out.")] = "",
    plot: Annotated[Path | None, typer.Option(help="Draw the intervals into this file (.svg).")] = None,
    apply: Annotated[
        list[str] | None, typer.Option("--apply", metavar="KIND", help="Put the suggested tau in force (repeatable).")
    ] = None,
) -> None:
    """Show how long memories lie unused before they are recalled again, and the tau that suggests (1.4 x)."""
    from memory_service.cli import calibration

    if plot is not None and plot.suffix != ".svg":
        raise typer.BadParameter("a plot is written as .svg")
    with session.client() as client:
        found = client.calibration(user)
        values = {f"tau_seconds.{kind}": _suggested(found, kind) for kind in apply or ()}
        version = client.set_parameters(values, reason="calibrated") if values else None
    if plot is not None:
        calibration.write_plot(found, plot)
    answer = {"calibrations": found, "applied": values, "version": version}
    session.show(answer, lambda out: calibration.show(out, found, values))


def _suggested(found: Sequence[Calibration], kind: str) -> float:
    for one in found:
        if one.kind.value == kind and not one.predicate:
            return one.suggested_tau.total_seconds()
    raise typer.BadParameter(f"no intervals of {kind} were seen: nothing suggests a tau", param_hint="--apply")


def span(value: timedelta) -> str:
    """A time span in the unit that suits it."""
    seconds = value.total_seconds()
    if seconds >= DAY_SECONDS:
        return f"{seconds / DAY_SECONDS:.1f} d"
    return f"{seconds / 3600:.1f} h" if seconds >= 3600 else f"{seconds / 60:.0f} min"


def _in_force(session: Session, version: int) -> None:
    session.show({"version": version}, lambda out: out.print(f"version [bold]{version}[/] is in force"))


def _versions(found: Sequence[PolicyVersion]) -> Table:
    from memory_service.cli import render

    made = render.table("version", "when", "by", "why", "values", fold=["why", "values"])
    for one in found:
        values = ", ".join(f"{name}={value:g}" for name, value in (one.values or {}).items())
        made.add_row(str(one.version), render.when(one.at), one.actor, render.plain(one.reason), render.plain(values))
    return made


def _assignment(text: str) -> tuple[str, float]:
    name, mark, value = text.partition("=")
    try:
        if mark:
            return name, float(value)
    except ValueError:
        pass
    raise typer.BadParameter(f"{text!r} is not of the form NAME=NUMBER")
