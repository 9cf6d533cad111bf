"""`load`: imports statements from a file; resumable, and harmless to repeat."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from memory_service.cli import dataset
from memory_service.cli.common import Exit, Session, console, fail, print_json, to_json, with_client_options
from memory_service.cli.form import DatasetError, lines_of

if TYPE_CHECKING:
    from memory_service.client import BatchProgress, NewMemory

REFUSALS_SHOWN_MAX = 10


class DoneList:
    """Request ids of what was loaded, one a line, appended and flushed after every batch."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.known: frozenset[str] = frozenset()
        if path.exists():
            self.known = frozenset(path.read_text(encoding="ascii").split())

    def add(self, request_ids: list[str]) -> None:
        """Remember that these are done."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with self._path.open("a", encoding="ascii") as out:
            out.write("".join(f"{request_id}\n" for request_id in request_ids))

    def clear(self) -> None:
        """Forget what was done."""
        self._path.unlink(missing_ok=True)
        self.known = frozenset()


def done_path(file: Path, target: str, prefix: str) -> Path:
    """Where the done-list of one file, target and prefix is kept: in the data directory."""
    from memory_service.client.credentials import data_directory

    named = json.dumps([str(file.resolve()), target, prefix])
    return data_directory() / "load" / f"{hashlib.blake2b(named.encode(), digest_size=8).hexdigest()}.done"


def request_id(statement: dataset.Statement, user: str, occurrence: int) -> str:
    """An id that the same statement in the same place always has, whatever comes before it in the file.

    `occurrence` tells apart statements that are equal in everything.
    """
    content = json.dumps(
        [user, statement.text, to_json(dict(statement.fields)), occurrence], sort_keys=True, ensure_ascii=True
    )
    return f"load-{hashlib.blake2b(content.encode(), digest_size=12).hexdigest()}"


def items(file: Path, *, user: str, prefix: str, done: frozenset[str]) -> Iterator[NewMemory]:
    """The statements of a file that are not done yet.

    Raises:
        DatasetError: naming the line.
    """
    from memory_service.client import NewMemory

    seen: Counter[str] = Counter()
    process = ""
    for _, line in dataset.read_lines(lines_of(file)):
        if line.name("type", "") == "set":
            process = dataset.process_of(line)
        statement = dataset.statement(line, process)
        if statement is None:
            continue
        owner = prefix + (statement.user if statement.user is not None else user)
        first = request_id(statement, owner, 0)
        identity = statement.request_id or request_id(statement, owner, seen[first])
        seen[first] += 1
        if identity not in done:
            fields: Any = dict(statement.fields)
            yield NewMemory(statement.text, fields, user=owner, request_id=identity)


@with_client_options
def load(
    session: Session,
    file: Annotated[Path, typer.Argument(exists=True, dir_okay=False, help="JSONL of statements.")],
    prefix: Annotated[str, typer.Option(help="Put before the name of every user.")] = "",
    batch_size: Annotated[int, typer.Option(min=1, max=500, help="Statements in one commit.")] = 100,
    concurrency: Annotated[int, typer.Option(min=1, max=16, help="Users loaded at once.")] = 2,
    state: Annotated[Path | None, typer.Option(help="Where to note what is done.", show_default=False)] = None,
    again: Annotated[bool, typer.Option("--again", help="Do not skip what an earlier run loaded.")] = False,
) -> None:
    """Import statements: the evaluation form, or lines such as {"user": "ann", "text": "…"}.

    A second run goes on where the first stopped, and loading the same file twice changes nothing.
    """
    from rich.progress import Progress

    as_json = session.options.as_json
    refusals: list[dict[str, str]] = []
    effects: Counter[str] = Counter()
    with session.client() as client:
        done = DoneList(state or done_path(file, client.target, prefix))
        if again:
            done.clear()
        total = _count(file)
        with Progress(console=console(stderr=True), transient=True, disable=as_json) as bars:
            task = bars.add_task("loading", total=total)
            bars.advance(task, min(total, len(done.known)))

            def told(progress: BatchProgress) -> None:
                finished = [outcome for outcome in progress.outcomes if outcome.error is None]
                done.add([outcome.item.request_id for outcome in finished])
                effects.update(outcome.result.effect.value for outcome in finished if outcome.result)
                refusals.extend(
                    {"user": progress.user, "reason": outcome.error.reason, "message": outcome.error.message}
                    for outcome in progress.outcomes
                    if outcome.error is not None
                )
                bars.advance(task, len(progress.outcomes))

            waiting = items(file, user=session.user, prefix=prefix, done=done.known)
            try:
                client.write_many(waiting, batch_size=batch_size, concurrency=concurrency, on_progress=told)
            except DatasetError as error:
                raise fail(f"{file}: {error}", code=Exit.USAGE, as_json=as_json) from None
    report = {
        "loaded": sum(effects.values()),
        "skipped": len(done.known),
        "refused": len(refusals),
        "effects": dict(sorted(effects.items())),
        "refusals": refusals[:REFUSALS_SHOWN_MAX],
    }
    _show(report, as_json=as_json)
    if refusals:
        raise typer.Exit(Exit.FAILED)


def _count(file: Path) -> int:
    with file.open("rb") as lines:
        return sum(1 for line in lines if line.strip())


def _show(report: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        print_json(report)
        return
    out = console()
    effects = ", ".join(f"{count} {name}" for name, count in report["effects"].items())
    out.print(f"loaded {report['loaded']}" + (f" ({effects})" if effects else ""))
    if report["skipped"]:
        out.print(f"[dim]{report['skipped']} were loaded before[/]")
    for refusal in report["refusals"]:
        out.print(f"[red]refused[/] {refusal['user']}: {refusal['message']} ({refusal['reason']})", markup=True)
    if report["refused"] > len(report["refusals"]):
        out.print(f"[red]and {report['refused'] - len(report['refusals'])} more were refused[/]")
