"""Commands of sessions: working memory, seen and steered from a terminal."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Annotated, Any

import typer

from memory_service.cli.common import (
    Exit,
    Session,
    fail,
    one_line,
    parse_json,
    print_json,
    with_client_options,
)

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

    from memory_service.client import AppendResult, SessionContext, SessionPage, UpdateResult
    from memory_service.client import Session as WorkingSession

app = typer.Typer(help="Working memory: the conversations under way.", no_args_is_help=True)

Id = Annotated[str, typer.Argument(metavar="SESSION", help="Id of the session.")]
Constraints = Annotated[
    list[str] | None, typer.Option("--constraint", metavar="ID=TEXT", help="Holds in this session only (repeatable).")
]
Tasks = Annotated[list[str] | None, typer.Option("--task", metavar="ID=TEXT", help="Still to be done (repeatable).")]
Intents = Annotated[
    list[str] | None, typer.Option("--intent", help="What the user is after, the present aim last (repeatable).")
]


@app.command("create")
@with_client_options
def create(
    session: Session,
    agent: Annotated[str, typer.Option(help="The agent that talks.")] = "",
    record: Annotated[
        bool | None, typer.Option("--record/--no-record", help="Keep its turns in the episodic log.")
    ] = None,
    intents: Intents = None,
    constraints: Constraints = None,
    tasks: Tasks = None,
) -> None:
    """Begin a session."""
    with session.client() as client:
        made = client.create_session(
            agent=agent,
            record_episodes=record,
            intents=intents,
            constraints=_pairs(constraints),
            tasks=_pairs(tasks),
        )
    session.show(made, lambda out: out.print(made.id))


@app.command("show")
@with_client_options
def show(
    session: Session,
    session_id: Id,
    turns: Annotated[int, typer.Option("--turns", "-n", help="How many of its newest turns, at most 200.")] = 20,
) -> None:
    """Show a session: state, fields and newest turns."""
    with session.client() as client:
        found = client.get_session(session_id, turns=turns)
    session.show(found, lambda out: out.print(panel(found)))


@app.command("append")
@with_client_options
def append(
    session: Session,
    session_id: Id,
    text: Annotated[str, typer.Argument(help="What is said; - reads standard input.")],
    role: Annotated[str, typer.Option(help="user, assistant, tool or system.")] = "user",
    turn_id: Annotated[str, typer.Option("--id", help="The turn's id; with it a repetition is harmless.")] = "",
    tool: Annotated[str, typer.Option(help="The tool whose answer this is.")] = "",
    failed: Annotated[bool, typer.Option("--failed", help="The tool's call failed.")] = False,
) -> None:
    """Add a turn."""
    from memory_service.client import Turn

    said = sys.stdin.read().strip() if text == "-" else text
    status = ("failed" if failed else "ok") if tool else ""
    with session.client() as client:
        result = client.append_turns(session_id, [Turn(role, said, id=turn_id, tool=tool, tool_status=status)])
    session.show(result, lambda out: _appended(out, result))


@app.command("update")
@with_client_options
def update(
    session: Session,
    session_id: Id,
    intents: Intents = None,
    slots: Annotated[
        list[str] | None,
        typer.Option("--slot", metavar="NAME=VALUE@TURN", help="The user's answer, and the turn that has it."),
    ] = None,
    constraints: Constraints = None,
    tasks: Tasks = None,
    done: Annotated[list[str] | None, typer.Option(metavar="ID", help="A task that is done (repeatable).")] = None,
    remove: Annotated[
        list[str] | None, typer.Option(metavar="PATH", help="A field to remove, e.g. slots.city (repeatable).")
    ] = None,
    etag: Annotated[str, typer.Option(help="Only if no field changed since it was read.")] = "",
    seen: Annotated[int | None, typer.Option(help="The version that was read; tells what was overwritten.")] = None,
) -> None:
    """Set and remove fields."""
    from memory_service.client import SessionTask

    with session.client() as client:
        todo: dict[str, SessionTask | str] = dict(_pairs(tasks) or {})
        if done:
            known = client.get_session(session_id, turns=0).tasks
            for name in done:
                if name not in known:
                    raise fail(f"the session has no task {name!r}", code=Exit.USAGE, as_json=session.options.as_json)
            todo |= {name: SessionTask(known[name].text, "done") for name in done}
        result = client.update_session(
            session_id,
            intents=intents,
            slots=_answers(slots),
            constraints=_pairs(constraints),
            tasks=todo,
            remove=remove or (),
            etag=etag,
            seen_version=seen,
        )
    session.show(result, lambda out: _updated(out, result))


@app.command("end")
@with_client_options
def end(session: Session, session_id: Id) -> None:
    """End a session; its state block can be read for a day."""
    with session.client() as client:
        ended = client.end_session(session_id)
    session.show(ended, lambda out: out.print(panel(ended)))


@app.command("list")
@with_client_options
def list_sessions(
    session: Session,
    page_size: Annotated[int, typer.Option(help="How many, at most 500.")] = 50,
    page_token: Annotated[str, typer.Option(help="The token of the page before.")] = "",
) -> None:
    """List sessions, newest first."""
    with session.client() as client:
        page = client.list_sessions(page_size=page_size, page_token=page_token)
    session.show(page, lambda out: _listed(out, page))


@app.command("context")
@with_client_options
def context(
    session: Session,
    session_id: Id,
    query: Annotated[str, typer.Argument(help="What the turn is about; the user's last words when empty.")] = "",
    window: Annotated[int, typer.Option("--window", help="Tokens of the model's window.")] = 8192,
    limit: Annotated[int, typer.Option("--limit", "-n", help="How many memories at most.")] = 10,
    profile: Annotated[str, typer.Option(help="Ranking profile.")] = "",
    tokenizer: Annotated[str, typer.Option(help="o200k_base, cl100k_base or bytes.")] = "",
    block: Annotated[bool, typer.Option("--block", help="Print only the text for a language model.")] = False,
) -> None:
    """Show what an agent should know before its next turn."""
    with session.client() as client:
        found = client.get_context(
            session_id, query, window_tokens=window, limit=limit, profile=profile, tokenizer=tokenizer
        )
    if block and not session.options.as_json:
        print(found.block)
        return
    session.show(found, lambda out: _context(out, found))


@app.command("watch")
@with_client_options
def watch(
    session: Session,
    session_id: Id,
    interval: Annotated[float, typer.Option("--interval", min=0.1, help="Seconds between looks.")] = 1.0,
    turns: Annotated[int, typer.Option("--turns", "-n", help="How many of its newest turns.")] = 10,
    count: Annotated[int, typer.Option("--count", help="End after so many looks; 0 goes on until it ends.")] = 0,
) -> None:
    """Follow a session live until it ends or Ctrl-C. Looking does not keep it alive."""
    from memory_service.client import SessionStatus

    looks = 0
    with session.client() as client, _Screen(session) as screen:
        while True:
            found = client.get_session(session_id, turns=turns)
            screen.put(found)
            looks += 1
            if found.status is SessionStatus.ENDED or looks == count:
                return
            time.sleep(interval)


class _Screen:
    """Where a watch shows sessions: a live panel on a terminal; else one, or a line of JSON, for each change."""

    def __init__(self, session: Session) -> None:
        from rich.live import Live

        from memory_service.cli.common import console

        self._json = session.options.as_json
        self._out = console()
        on_terminal = sys.stdout.isatty() and not self._json
        self._live = Live(console=self._out, auto_refresh=False, screen=False) if on_terminal else None
        self._shown: object = None

    def __enter__(self) -> _Screen:
        if self._live is not None:
            self._live.__enter__()
        return self

    def __exit__(self, *exception: Any) -> None:
        if self._live is not None:
            self._live.__exit__(*exception)

    def put(self, found: WorkingSession) -> None:
        """Show a session, where it cannot be redrawn only when it changed."""
        state = (found.version, found.turn_count, found.status, found.block)
        if self._live is not None:
            self._live.update(panel(found), refresh=True)
        elif state != self._shown:
            if self._json:
                print_json(found)
            else:
                self._out.print(panel(found))
        self._shown = state


def panel(found: WorkingSession) -> RenderableType:
    """A session for people."""
    from rich.console import Group
    from rich.panel import Panel
    from rich.text import Text

    lines: list[RenderableType] = []

    def line(label: str, text: str, style: str = "") -> None:
        lines.append(Text.assemble((f"{label:<11}", "bold dim"), (one_line(text), style)))

    block = found.block
    if block is not None:
        for label, value in (("topic", block.topic), ("aim", block.intent)):
            if value:
                line(label, value, "cyan")
        for item in block.decisions:
            line("decided", item, "green")
        for item in block.pending:
            line("open", item, "yellow")
        if block.entities:
            line("about", ", ".join(block.entities))
    if found.intents:
        line("intents", " › ".join(intent.name for intent in found.intents))
    for name, answer in found.slots.items():
        line("answered", f"{name} = {answer.value}")
    for id_, rule in found.constraints.items():
        line("only now", f"{rule.text or rule.object}  ({id_})", "magenta")
    for id_, task in found.tasks.items():
        line("task", f"[{task.status}] {task.text}  ({id_})")
    if lines and found.turns:
        lines.append(Text(""))
    left_out = found.turn_count - len(found.turns)
    if left_out and found.turns:
        lines.append(Text(f"… {left_out} earlier turns", "dim"))
    for turn in found.turns:
        tags = f"  [{', '.join(turn.tags)}]" if turn.tags else ""
        who = f"tool {turn.tool}" if turn.tool else str(turn.role)
        lines.append(Text.assemble((f"{who:<11}", "bold"), one_line(turn.text), (tags, "yellow")))
    title = f"{found.id}  {found.status}"
    subtitle = f"{found.turn_count} turns, version {found.version}"
    return Panel(Group(*lines) if lines else Text("nothing yet", "dim"), title=title, subtitle=subtitle)


def _appended(out: Console, result: AppendResult) -> None:
    from rich.markup import escape

    for id_ in result.turn_ids:
        known = " [dim](was there already)[/]" if id_ in result.duplicates else ""
        tags = ", ".join(result.tags.get(id_, ()))
        out.print(f"{escape(id_)}{known}{f'  [yellow]{tags}[/]' if tags else ''}")
    if result.block is not None:
        block = result.block
        facts = [f"topic {block.topic}" if block.topic else "", f"aim {block.intent}" if block.intent else ""]
        facts += [f"decided {item}" for item in block.decisions[-1:]]
        facts += [f"open {item}" for item in block.pending[-1:]]
        out.print(f"[cyan]state {block.sequence}:[/] {escape('; '.join(filter(None, facts)))}")


def _updated(out: Console, result: UpdateResult) -> None:
    from rich.markup import escape

    out.print(f"version {result.version}, etag {result.etag}")
    for item in result.overwritten:
        by = f" by {item.device}" if item.device else ""
        out.print(f"[yellow]overwrote {escape(item.path)}[/], set meanwhile{escape(by)}: {escape(str(item.value))}")


def _listed(out: Console, page: SessionPage) -> None:
    from memory_service.cli.render import coloured, plain, table, when

    made = table("session", "status", "turns", "last used", "agent", "topic", fold=("topic",))
    for line in page.sessions:
        made.add_row(
            line.id,
            coloured(line.status),
            str(line.turn_count),
            when(line.last_active_at),
            plain(line.agent),
            plain(one_line(line.topic)),
        )
    out.print(made)
    if page.next_page_token:
        out.print(f"[dim]more: --page-token {page.next_page_token}[/]")


def _context(out: Console, found: SessionContext) -> None:
    from rich.markup import escape

    tokens = found.tokens
    out.print(found.block or "[dim]nothing fits[/]", markup=not found.block, highlight=False)
    out.print(
        f"[dim]{tokens.total} of {tokens.budget} tokens ({tokens.short_term} session, {tokens.recalled} memories; "
        f"{tokens.tokenizer}{'' if tokens.exact else ', at most'})[/]"
    )
    for memory in found.memories:
        if memory.overridden_by:
            out.print(
                f"[magenta]in this session {escape(memory.overridden_by)} holds instead of:[/] "
                f"{escape(one_line(memory.memory.text))}"
            )
    if found.constraints_left_out:
        out.print(f"[yellow]{found.constraints_left_out} constraints do not fit[/]")
    for missing in found.missing:
        out.print(f"[yellow]without {escape(missing)}[/]")


def _pairs(given: list[str] | None) -> dict[str, str] | None:
    """ID=TEXT options by id."""
    return None if given is None else dict(_pair(item) for item in given)


def _pair(item: str) -> tuple[str, str]:
    name, equals, text = item.partition("=")
    if not equals or not name or not text:
        raise fail(f"{item!r} has not the form ID=TEXT", code=Exit.USAGE)
    return name, text


def _answers(given: list[str] | None) -> dict[str, tuple[object, str]] | None:
    """NAME=VALUE@TURN options by name."""
    if given is None:
        return None
    answers: dict[str, tuple[object, str]] = {}
    for item in given:
        name, rest = _pair(item)
        value, at, turn = rest.rpartition("@")
        if not at or not turn:
            raise fail(f"{item!r} has not the form NAME=VALUE@TURN", code=Exit.USAGE)
        answers[name] = (parse_json(value), turn)
    return answers
