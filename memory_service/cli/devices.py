"""Commands on what devices do to one another: watch, conflicts, resolve, revoke."""

from __future__ import annotations

import itertools
import sys
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from memory_service.cli.common import (
    Exit,
    Session,
    console,
    fail,
    parse_json,
    parse_time,
    print_json,
    with_client_options,
)

if TYPE_CHECKING:
    from memory_service.client import MemoryClientError, NewMemory, RevokeResult
    from memory_service.client.types import MemoryFields

CONFLICTS_MAX = 10_000

Reason = Annotated[str, typer.Option(help="Why; kept in the history.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]


@with_client_options
def watch(
    session: Session,
    from_start: Annotated[bool, typer.Option("--from-start", help="From the first change instead of now.")] = False,
    cursor: Annotated[str | None, typer.Option(help="Go on from here; as told by an earlier watch.")] = None,
    events: Annotated[list[str] | None, typer.Option("--event", help="Only these, e.g. superseded.")] = None,
    kinds: Annotated[list[str] | None, typer.Option("--kind", help="Only of this kind (may be repeated).")] = None,
    limit: Annotated[int, typer.Option("--limit", "-n", min=0, help="Stop after so many events; 0 is never.")] = 0,
    checkpoint_seconds: Annotated[
        float, typer.Option("--checkpoint", min=1, metavar="SECONDS", help="How often to tell where it stands.")
    ] = 10.0,
    agent: Annotated[str | None, typer.Option(help="Agent that watches.")] = None,
) -> None:
    """Tell of every state change as it happens; with --json one object a line. Breaks are waited out."""
    from memory_service.cli import render
    from memory_service.client import WatchEvent

    out = console()

    def interrupted(error: MemoryClientError) -> None:
        console(stderr=True).print(f"interrupted, going on: {error}", style="dim", markup=False)

    seen = 0
    with (
        session.client() as client,
        client.watch(
            cursor,
            from_start=from_start,
            events=events or (),
            kinds=kinds or (),
            checkpoint_seconds=checkpoint_seconds,
            on_interruption=interrupted,
            agent=agent,
        ) as watching,
    ):
        for told in watching:
            happened = isinstance(told, WatchEvent)
            if session.options.as_json:
                print_json({"type": "event" if happened else "checkpoint", **_fields_of(told)})
                sys.stdout.flush()
            else:
                render.told(out, told)
            seen += happened
            if limit and seen >= limit:
                return


def _fields_of(told: Any) -> dict[str, Any]:
    from memory_service.cli.common import to_json

    return cast("dict[str, Any]", to_json(told))


@with_client_options
def conflicts(
    session: Session,
    agent: Annotated[str | None, typer.Option(help="Agent that asks.")] = None,
) -> None:
    """List what is contested, by slot: every value, who said it, when, and what they had seen."""
    from memory_service.cli import render
    from memory_service.client import MemoryFilter, Status, contested_slots

    where = MemoryFilter(statuses=[Status.CONTESTED])
    with session.client() as client:
        every = client.list(where=where, agent=agent, page_size=500)
        found = contested_slots(itertools.islice(every, CONFLICTS_MAX))
    session.show({"conflicts": found}, lambda out: render.contested(out, found))


def merged(text: str | None, subject: str | None, predicate: str | None, value: str | None) -> NewMemory | None:
    """The statement that takes the place of all, None when none is given."""
    from memory_service.client import NewMemory

    if text is None and predicate is None:
        return None
    fields = {"subject": subject, "predicate": predicate, "object": None if value is None else parse_json(value)}
    given = {name: item for name, item in fields.items() if item is not None}
    return NewMemory(text or "", cast("MemoryFields", given))


Ids = Annotated[list[str], typer.Argument(metavar="ID…", help="The memories that contradict each other.")]
Keep = Annotated[str | None, typer.Option(metavar="ID", help="This one is right.")]
Merge = Annotated[str | None, typer.Option(metavar="TEXT", help="This takes the place of all of them.")]
MergeSubject = Annotated[str | None, typer.Option("--subject", help="Of the merged value (`user` when left out).")]
MergePredicate = Annotated[str | None, typer.Option("--predicate", help="Of the merged value, e.g. `location`.")]
MergeObject = Annotated[str | None, typer.Option("--object", help="The merged value, as JSON or plain text.")]
Dismiss = Annotated[bool, typer.Option("--dismiss", help="None of them is right.")]


@with_client_options
def resolve(
    session: Session,
    ids: Ids,
    keep: Keep = None,
    merge: Merge = None,
    subject: MergeSubject = None,
    predicate: MergePredicate = None,
    object_: MergeObject = None,
    dismiss: Dismiss = False,
    reason: Reason = "",
) -> None:
    """Settle memories that contradict each other: --keep one, --merge them into another, or --dismiss all."""
    from memory_service.cli import render

    statement = merged(merge, subject, predicate, object_)
    with session.client() as client:
        result = client.resolve_conflict(ids, keep=keep, merge=statement, dismiss=dismiss, reason=reason)
    session.show(result, lambda out: render.change(out, result))


@with_client_options
def revoke(
    session: Session,
    device: Annotated[str, typer.Option(help="Whose changes: this device's.")] = "",
    agent: Annotated[str, typer.Option(help="This agent's.")] = "",
    actor: Annotated[str, typer.Option(help="Those made with the key of this id.")] = "",
    since: Annotated[str | None, typer.Option(metavar="TIME", help="Only from then on; ISO 8601.")] = None,
    undo: Annotated[
        int | None, typer.Option(metavar="REVISION", min=1, help="Take back the revocation of this revision.")
    ] = None,
    reason: Reason = "",
    yes: Yes = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show what would be undone.")] = False,
) -> None:
    """Undo everything a device, agent or key wrote since a time, and what was derived from it."""
    from memory_service.cli import render

    named = bool(device or agent or actor)
    if named == (undo is not None):
        raise typer.BadParameter("name a writer (--device, --agent or --actor) and --since, or --undo REVISION")
    if named and since is None:
        raise typer.BadParameter("say since when: --since TIME")
    as_json = session.options.as_json
    with session.client() as client:

        def ask(*, preview: bool) -> RevokeResult:
            if undo is not None:
                return client.undo_revocation(undo, validate_only=preview, reason=reason)
            return client.revoke_writer(
                device=device,
                agent=agent,
                actor=actor,
                since=parse_time(since),
                validate_only=preview,
                reason=reason,
            )

        if dry_run or not yes:
            seen = ask(preview=True)
            if dry_run:
                session.show(seen, lambda out: render.revoked(out, seen, preview=True))
                return
            if as_json or not sys.stdin.isatty():
                raise fail("nothing was undone: say --yes to do it", code=Exit.FAILED, as_json=as_json)
            render.revoked(console(), seen, preview=True)
            typer.confirm(f"Undo {seen.changes}?", abort=True)
        result = ask(preview=False)
    session.show(result, lambda out: render.revoked(out, result, preview=False))
    if not as_json and undo is None:
        console().print(f"[dim]Take it back with: memory-service revoke --undo {result.revision}[/]")
