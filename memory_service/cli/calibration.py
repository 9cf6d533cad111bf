"""How calibration looks: a table, a plot in the terminal, and the same plot as a file."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from pathlib import Path

from rich.console import Console
from rich.text import Text

from memory_service.cli import render
from memory_service.cli.policies import span
from memory_service.client import Calibration

_WIDTH, _HEIGHT = 78, 14


def show(out: Console, found: Sequence[Calibration], applied: Mapping[str, float]) -> None:
    """Table, plot of each kind, and what was applied."""
    if not found:
        out.print("no memory was recalled again after half an hour or more: nothing to go by yet")
        return
    made = render.table("kind", "predicate", "intervals", "most often", "suggests tau", "tau in force")
    for one in found:
        few = "" if one.enough else " [yellow](few)[/]"
        made.add_row(
            one.kind.value,
            render.plain(one.predicate),
            f"{one.intervals}{few}",
            span(one.dominant),
            span(one.suggested_tau),
            span(one.tau) if one.tau else "never",
        )
    out.print(made)
    for one in found:
        if not one.predicate:
            out.print(plotted(one))
    for name, seconds in applied.items():
        out.print(f"[green]in force:[/] {name} = {seconds:.0f}")


def plotted(one: Calibration) -> Text:
    """How many intervals there are of each length."""
    from plotext import figure

    figure.clear()
    figure.theme("colorless")
    figure.plot_size(_WIDTH, _HEIGHT)
    figure.title(f"{one.kind.value}: intervals between uses (suggested tau {span(one.suggested_tau)})")
    figure.draw(figure.bar([span(start) for start, _ in one.counts], [count for _, count in one.counts]))
    return Text.from_ansi(str(figure.build()))


def write_plot(found: Sequence[Calibration], file: Path) -> None:
    """The table and plots as an SVG picture."""
    picture = Console(record=True, width=_WIDTH + 2, file=io.StringIO())
    show(picture, found, {})
    file.write_text(picture.export_svg(title="calibration"), encoding="utf-8")
