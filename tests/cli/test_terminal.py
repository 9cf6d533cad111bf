"""What others wrote is shown on the terminal and never obeyed by it."""

from __future__ import annotations

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Group, RenderableType
from rich.markup import escape
from rich.panel import Panel
from rich.text import Text

from memory_service.cli import render
from memory_service.cli.common import console
from memory_service.cli.terminal import SafeConsole, shown

EVIL = "\x1b]0;owned\x07\x1b[2J\x9b31m\x08\x7f\u202eabc"
CONTROL = {chr(n) for n in (*range(0x20), *range(0x7F, 0xA0))} - {"\n"} | {"\u202e"}


def printed(what: RenderableType) -> str:
    out = io.StringIO()
    SafeConsole(file=out, width=200, highlight=False).print(what)
    return out.getvalue()


@given(st.text(st.sampled_from([*EVIL, "\r", "\t", "\x00", "a", "中", " "])))
def test_no_text_reaches_the_terminal_as_a_command(text: str):
    made = render.table("one", "two", fold=("two",))
    made.add_row(render.plain(text), escape(text))
    for what in (escape(text), Text(text), made, Panel(Group(Text.assemble((text, "bold"))), title=escape(text))):
        assert not CONTROL & set(printed(what))


def test_control_characters_are_written_out():
    assert shown(EVIL) == r"\x1b]0;owned\x07\x1b[2J\x9b31m\x08\x7f\u202eabc"
    assert r"\x1b[2J" in printed(Text(EVIL))


def test_every_command_prints_through_it(capsys: pytest.CaptureFixture[str]):
    console().print(escape(EVIL))
    assert not CONTROL & set(capsys.readouterr().out)
