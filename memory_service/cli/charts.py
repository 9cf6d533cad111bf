"""Plots for a terminal, and the same as a picture."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from pathlib import Path

WIDTH_CELLS, HEIGHT_CELLS = 110, 20


def chart(title: str, at: Sequence[float], series: Mapping[str, Sequence[float]], ticks: Mapping[float, str]) -> str:
    """Named series over the same points, drawn with terminal colour codes; `ticks` label the x axis."""
    import plotext

    colours = ("green", "orange", "magenta", "red", "blue", "cyan", "gray", "black")
    figure = plotext.figure
    figure.clear()
    figure.plot_size(WIDTH_CELLS, HEIGHT_CELLS)
    figure.title(title)
    for (name, values), colour in zip(series.items(), colours, strict=False):
        marker = plotext.marker("hd", plotext.pixel(colour))
        signal = figure.signal(list(at), list(values), marker=marker)
        signal.lines()
        signal.label(name)
        figure.draw(signal)
    # Room on the left, which the legend covers.
    figure.ruler("x").lim(min(at) - 0.25 * max(max(at) - min(at), 1), max(at))
    figure.ruler("x").ticks(list(ticks), list(ticks.values()))
    return str(figure.build().string())


def save_svg(path: Path, drawn: str, title: str) -> None:
    """Write what `chart` made as an SVG picture."""
    from rich.console import Console
    from rich.text import Text

    text = Text.from_ansi(drawn)
    width = max((len(line) for line in text.plain.splitlines()), default=WIDTH_CELLS)
    recorder = Console(record=True, width=width, file=io.StringIO(), force_terminal=True)
    recorder.print(text)
    path.write_text(recorder.export_svg(title=title), encoding="utf-8")
