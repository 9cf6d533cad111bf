"""Commands on background work: what there is of it, run upkeep now, what failed and trying that again."""

from __future__ import annotations

import sys
import time
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Annotated

import typer

from memory_service.cli.common import Exit, Session, console, fail, print_json, with_client_options

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console, RenderableType

    from memory_service.client import FailedJob, JobKind, JobsView, MemoryClient

_FAILED_MAX = 500

app = typer.Typer(help="Background work: the schedule, what waits, runs and failed.", invoke_without_command=True)


@app.callback()
@with_client_options
def jobs(
    session: Session,
    context: typer.Context,
    failed: Annotated[bool, typer.Option("--failed", help="List jobs that failed for good instead.")] = False,
    watch: Annotated[bool, typer.Option("--watch", "-w", help="Go on showing it until Ctrl-C.")] = False,
    every: Annotated[float, typer.Option(min=0.2, metavar="SECONDS", help="How often, with --watch.")] = 2.0,
    count: Annotated[int, typer.Option(min=0, help="With --watch, stop after so many times; 0 is never.")] = 0,
) -> None:
    """Show each kind of background job: how often, when next, what waits, runs and failed."""
    if context.invoked_subcommand is not None:
        return
    with session.client() as client:
        if failed:
            listed = client.list_failed_jobs(limit=_FAILED_MAX)
            session.show({"jobs": listed}, lambda out: _show_failed(out, listed))
        elif watch:
            _watch(session, client, every, count)
        else:
            view = client.list_jobs()
            session.show(view, lambda out: out.print(_picture(view)))


@app.command("run")
@with_client_options
def run(
    session: Session,
    steps: Annotated[list[str] | None, typer.Option("--step", "-s", help="Only this step (repeatable).")] = None,
) -> None:
    """Run upkeep for one user (--user) now, whatever the schedule says."""
    from memory_service.cli import render

    with session.client() as client:
        runs = client.run_upkeep(*(steps or ()))
    made = render.table("step", "changed", "result", fold=["result"])
    for one in runs:
        result = f"[red]{render.plain(f'{one.error_reason}: {one.error_message}')}[/]" if one.error_reason else "done"
        made.add_row(one.step, str(one.changed), result)
    session.show({"runs": runs}, lambda out: out.print(made if runs else "[dim]there are no steps of upkeep[/]"))
    if any(one.error_reason for one in runs):
        raise typer.Exit(Exit.FAILED)


@app.command("requeue")
@with_client_options
def requeue(
    session: Session,
    ids: Annotated[list[int] | None, typer.Argument(metavar="[ID]...", help="As `jobs --failed` lists them.")] = None,
    everything: Annotated[bool, typer.Option("--all", help="All of them, up to 500.")] = False,
) -> None:
    """Let jobs that failed for good be tried again."""
    if everything == bool(ids):
        raise fail("name jobs by id, or give --all", code=Exit.USAGE, as_json=session.options.as_json)
    with session.client() as client:
        chosen = [job.id for job in client.list_failed_jobs(limit=_FAILED_MAX)] if everything else list(ids or ())
        count = client.requeue_jobs(chosen) if chosen else 0
    session.show({"requeued": count}, lambda out: out.print(f"{count} wait{'s' if count == 1 else ''} again"))


def _watch(session: Session, client: MemoryClient, every: float, count: int) -> None:
    """Show the work again and again: a picture that changes in a terminal, else one after the other."""
    shown = 0

    def next_view() -> JobsView:
        nonlocal shown
        if shown:
            time.sleep(every)
        shown += 1
        return client.list_jobs()

    if session.options.as_json or not sys.stdout.isatty():
        while not count or shown < count:
            view = next_view()
            if session.options.as_json:
                print_json(view)
            else:
                console().print(_picture(view))
            sys.stdout.flush()
        return
    from rich.live import Live

    with Live(console=console(), auto_refresh=False, screen=True) as live:
        while not count or shown < count:
            live.update(_picture(next_view()), refresh=True)


def _picture(view: JobsView) -> RenderableType:
    from rich.console import Group

    from memory_service.cli import render

    made = render.table(
        "job", "every", "last run", "next due", "due", "waiting", "oldest", "running", "failed", "done", "changed"
    )
    for job in view.jobs:
        made.add_row(*_cells(job, view.now))
    workers = f"{view.workers} worker{'' if view.workers == 1 else 's'}"
    if not view.workers:
        workers = "[red]no worker: start one with `memory-service worker`[/]"
    return Group(made if view.jobs else "[dim]there are no jobs[/]", f"[dim]{workers}[/]")


def _cells(job: JobKind, now: datetime | None) -> list[str]:
    failed = f"[red]{job.failed}[/]" if job.failed else "0"
    return [
        job.name,
        _span(job.every) if job.every is not None else "on change",
        _ago(job.last_run_at, now),
        _until(job.next_due_at, now),
        f"{job.due:,}",
        f"{job.waiting:,}",
        _span(job.oldest_waiting) if job.waiting else "",
        f"{job.running:,}",
        failed,
        f"{job.runs_done:,}",
        f"{job.changed:,}",
    ]


def _span(span: timedelta) -> str:
    """A span in its two greatest units."""
    seconds = max(0, int(span.total_seconds()))
    parts = []
    for unit, size in (("d", 86_400), ("h", 3_600), ("min", 60), ("s", 1)):
        amount, seconds = divmod(seconds, size)
        if amount:
            parts.append(f"{amount} {unit}")
    return " ".join(parts[:2]) or "0 s"


def _ago(time_then: datetime | None, now: datetime | None) -> str:
    return f"{_span(now - time_then)} ago" if time_then and now else "never"


def _until(time_then: datetime | None, now: datetime | None) -> str:
    if time_then is None or now is None:
        return ""
    return f"in {_span(time_then - now)}" if time_then > now else "now"


def _show_failed(out: Console, listed: Sequence[FailedJob]) -> None:
    from memory_service.cli import render

    if not listed:
        out.print("[dim]no job failed for good[/]")
        return
    made = render.table("id", "job", "user", "failed", "attempts", "reason", fold=["reason"])
    for job in listed:
        reason = render.plain(job.reason)
        made.add_row(
            str(job.id), job.name, render.plain(job.user), render.when(job.failed_at), str(job.attempts + 1), reason
        )
    out.print(made)
    out.print("[dim]try again: memory-service jobs requeue ID…, or --all[/]")
