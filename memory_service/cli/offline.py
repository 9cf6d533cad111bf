"""Commands of an offline device: `offline …` queue changes in its file and look at it, `sync` joins it with the
service. See `docs/devices.md`."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from memory_service.cli.common import (
    LOCAL_USER,
    Json,
    Session,
    console,
    errors_shown,
    fail,
    parse_json,
    print_json,
    to_json,
    with_client_options,
)
from memory_service.cli.devices import (
    Dismiss,
    Ids,
    Keep,
    Merge,
    MergeObject,
    MergePredicate,
    MergeSubject,
    Reason,
    merged,
)

if TYPE_CHECKING:
    from rich.console import Console

    from memory_service.client import Dot
    from memory_service.client.offline import (
        BlockingOfflineDevice,
        LocalMemory,
        RejectedChange,
        SyncProgress,
        SyncReport,
    )

ENDING = ".memory"

File = Annotated[
    Path, typer.Argument(metavar="FILE", help="The device's file; in a folder it is NAME.memory.", show_default=False)
]
DeviceName = Annotated[
    str | None, typer.Option("--device", help="The device's name; needed to make the file.", show_default=False)
]
UserName = Annotated[
    str | None,
    typer.Option("--user", "-u", envvar="MEMORY_SERVICE_USER", help="Whose memories.", show_default=False),
]
Subject = Annotated[str | None, typer.Option(help="Whom or what it is about (`user` when left out).")]
Predicate = Annotated[str | None, typer.Option(help="What it says of the subject, e.g. `allergy`.")]
Object = Annotated[str | None, typer.Option("--object", help="The value, as JSON or plain text.")]

app = typer.Typer(help="A device that works without the service; `sync` joins the two.", no_args_is_help=True)


def device_file(path: Path, device: str | None) -> Path:
    """The file meant: itself, or the device's (or the only one) in a folder."""
    if not path.is_dir():
        return path
    if device:
        return path / f"{device}{ENDING}"
    found = sorted(path.glob(f"*{ENDING}"))
    if len(found) != 1:
        names = ", ".join(one.name for one in found) or "none"
        raise typer.BadParameter(f"say which device in {path}: --device NAME (there are: {names})")
    return found[0]


@contextlib.contextmanager
def opened(
    path: Path, user: str | None, device: str | None, *, as_json: bool, makes: bool = False
) -> Iterator[BlockingOfflineDevice]:
    """The device, without a service; `makes` allows for making its file."""
    with errors_shown(as_json=as_json):
        from memory_service.client.offline import BlockingOfflineDevice

        file = device_file(path, device)
        if not file.exists():
            # Only a change makes the file; to look into it, it must be there.
            device = device if makes else None
            user = _local_user(as_json=as_json) if device and user is None else user
        with BlockingOfflineDevice(file, None, user, device) as one:
            yield one


def _local_user(*, as_json: bool) -> str:
    from memory_service.client import MemoryClientError, credentials

    with contextlib.suppress(MemoryClientError):
        if credentials.find(None, None).local:
            return LOCAL_USER
    raise fail("say whose memories they are: --user NAME", as_json=as_json)


def _queued(name: Dot, *, as_json: bool) -> None:
    if as_json:
        print_json({"dot": to_json(name)})
    else:
        console().print(f"[green]queued[/] [dim]as change {name.device}:{name.counter}; not sent yet[/]")


@app.command("write")
def write(
    file: File,
    text: Annotated[str | None, typer.Argument(help="What to remember.", show_default=False)] = None,
    subject: Subject = None,
    predicate: Predicate = None,
    object_: Object = None,
    kind: Annotated[str | None, typer.Option(help="preference, profile, fact, event, constraint, …")] = None,
    tags: Annotated[list[str] | None, typer.Option("--tag", help="Label (may be repeated).")] = None,
    device: DeviceName = None,
    user: UserName = None,
    as_json: Json = False,
) -> None:
    """Queue a statement."""
    fields = _given(subject=subject, predicate=predicate, object=object_, kind=kind, tags=tags)
    with opened(file, user, device, as_json=as_json, makes=True) as one:
        _queued(one.write(text, **fields), as_json=as_json)


def _given(**fields: Any) -> Any:
    given = {name: value for name, value in fields.items() if value is not None}
    if "object" in given:
        given["object"] = parse_json(given["object"])
    return given


@app.command("correct")
def correct(
    file: File,
    memory_id: Annotated[
        str | None, typer.Argument(metavar="ID", help="The memory; leave out with --predicate.", show_default=False)
    ] = None,
    text: Annotated[str | None, typer.Argument(help="What it should say.", show_default=False)] = None,
    subject: Subject = None,
    predicate: Predicate = None,
    object_: Object = None,
    outdated: Annotated[
        bool, typer.Option("--outdated/--wrong", help="The old value was true until now / never true.")
    ] = False,
    reason: Reason = "",
    device: DeviceName = None,
    user: UserName = None,
    as_json: Json = False,
) -> None:
    """Queue a correction."""
    from memory_service.client import Slot

    slot = Slot(subject or "user", predicate) if memory_id is None and predicate else None
    fields = _given(
        subject=None if slot else subject,
        predicate=None if slot else predicate,
        object=object_,
    )
    nature = "outdated" if outdated else "wrong"
    with opened(file, user, device, as_json=as_json, makes=True) as one:
        _queued(one.correct(memory_id, text, slot=slot, nature=nature, reason=reason, **fields), as_json=as_json)


@app.command("forget")
def forget(
    file: File,
    ids: Annotated[list[str] | None, typer.Argument(metavar="ID", help="Memories to forget.")] = None,
    says: Annotated[str | None, typer.Option(metavar="TEXT", help="Whatever says this, by any id.")] = None,
    subject: Subject = None,
    predicate: Annotated[str | None, typer.Option(help="Everything of this slot.")] = None,
    reason: Reason = "",
    device: DeviceName = None,
    user: UserName = None,
    as_json: Json = False,
) -> None:
    """Queue a Forget."""
    from memory_service.client import Slot

    slot = Slot(subject or "user", predicate) if predicate else None
    with opened(file, user, device, as_json=as_json, makes=True) as one:
        _queued(one.forget(ids or None, slot=slot, statement=says, reason=reason), as_json=as_json)


@app.command("resolve")
def resolve(
    file: File,
    ids: Ids,
    keep: Keep = None,
    merge: Merge = None,
    subject: MergeSubject = None,
    predicate: MergePredicate = None,
    object_: MergeObject = None,
    dismiss: Dismiss = False,
    reason: Reason = "",
    device: DeviceName = None,
    user: UserName = None,
    as_json: Json = False,
) -> None:
    """Queue a decision between memories that contradict each other."""
    statement = merged(merge, subject, predicate, object_)
    with opened(file, user, device, as_json=as_json, makes=True) as one:
        name = one.resolve(ids, keep=keep, merge=statement, dismiss=dismiss, reason=reason)
        _queued(name, as_json=as_json)


@app.command("list")
def list_local(file: File, device: DeviceName = None, as_json: Json = False) -> None:
    """List what the device knows, its queued changes included."""
    with opened(file, None, device, as_json=as_json) as one:
        _show_local(one.memories(), as_json=as_json)


@app.command("search")
def search_local(
    file: File,
    text: Annotated[str, typer.Argument(help="Words to look for.")],
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, help="How many at most.")] = 10,
    device: DeviceName = None,
    as_json: Json = False,
) -> None:
    """Find memories that share words with a text. Simple, and no match for `recall`."""
    with opened(file, None, device, as_json=as_json) as one:
        _show_local(one.search(text, limit=limit), as_json=as_json)


def _show_local(found: Any, *, as_json: bool) -> None:
    from memory_service.cli import render

    if as_json:
        print_json({"memories": found})
        return
    out = console()
    shown: LocalMemory
    for shown in found:
        notes = []
        if shown.pending is not None:
            notes.append(f"queued as {shown.pending.device}:{shown.pending.counter}")
        if shown.memory is not None:
            notes += [render.coloured(shown.memory.status.value), shown.memory.id]
        out.print(f"{render.plain(shown.text)}  [dim]{' · '.join(notes)}[/]")
    if not found:
        out.print("[dim]nothing[/]")


@app.command("pending")
def pending(file: File, device: DeviceName = None, as_json: Json = False) -> None:
    """List the changes that wait to be sent."""
    from memory_service.cli import render

    with opened(file, None, device, as_json=as_json) as one:
        waiting = one.pending()
    if as_json:
        print_json({"pending": waiting})
        return
    out = console()
    for change in waiting:
        what = render.plain(change.text or " ".join(change.memory_ids))
        out.print(f"{change.dot.counter:>4}  {change.operation}  {what}  [dim]{render.when(change.made_at)}[/]")
    out.print(f"[dim]{len(waiting)} to be sent[/]")


@app.command("rejected")
def rejected(
    file: File,
    clear: Annotated[bool, typer.Option("--clear", help="Drop them after showing them.")] = False,
    device: DeviceName = None,
    as_json: Json = False,
) -> None:
    """List the changes that the service refused, with why."""
    with opened(file, None, device, as_json=as_json) as one:
        found = one.rejected()
        if as_json:
            print_json({"rejected": [_refusal(change) for change in found]})
        else:
            _show_rejected(console(), found)
        if clear:
            one.clear_rejected([change.number for change in found])


def _refusal(one: RejectedChange) -> dict[str, Any]:
    error = {"reason": one.error.reason, "message": one.error.message, "field": one.error.field}
    return {"number": one.number, "change": to_json(one.change), "error": error}


def _show_rejected(out: Console, found: Any) -> None:
    from memory_service.cli import render

    for one in found:
        change = one.change
        what = render.plain(change.text or " ".join(change.memory_ids))
        out.print(f"[red]refused[/]  {change.operation}  {what}")
        out.print(f"  [dim]{render.plain(str(one.error))}[/]")


@app.command("conflicts")
def conflicts(file: File, device: DeviceName = None, as_json: Json = False) -> None:
    """List what was contested when the device last synced."""
    from memory_service.cli import render

    with opened(file, None, device, as_json=as_json) as one:
        found = one.conflicts()
    if as_json:
        print_json({"conflicts": found})
    else:
        render.contested(console(), found)


@app.command("new-incarnation")
def new_incarnation(file: File, device: DeviceName = None, as_json: Json = False) -> None:
    """Go on under a fresh device id, after the device was installed anew or came back from a backup."""
    with opened(file, None, device, as_json=as_json) as one:
        name, waiting = one.new_incarnation(), len(one.pending())
    if as_json:
        print_json({"device": name, "pending": waiting})
    else:
        console().print(f"the device is [bold]{name}[/] now; {waiting} changes wait to be sent")


@with_client_options
def sync(session: Session, file: File) -> None:
    """Send what an offline device queued, and fetch what it lacks. May be broken off and repeated at any time."""
    from memory_service.client.offline import BlockingOfflineDevice

    options = session.options
    path = device_file(file, options.device or None)
    with session.client() as client:
        user = options.user if path.exists() else session.user
        progress = None if options.as_json or not console(stderr=True).is_terminal else _progress
        with BlockingOfflineDevice(path, client, user, options.device or None) as one:
            report = one.sync(progress)
    session.show(_report(report), lambda out: _show_report(out, report))


def _progress(at: SyncProgress) -> None:
    line = f"{at.stage}: {at.accepted} sent, {at.pending} to go, {at.received} received"
    console(stderr=True).print(line, end="\n" if at.stage == "done" else "\r", style="dim")


def _report(report: SyncReport) -> dict[str, Any]:
    return {
        "accepted": report.accepted,
        "rejected": [_refusal(one) for one in report.rejected],
        "conflicts": to_json(report.conflicts),
        "received": report.received,
        "forgotten": report.forgotten,
        "interruptions": report.interruptions,
    }


def _show_report(out: Console, report: SyncReport) -> None:
    from memory_service.cli import render

    out.print(
        f"{report.accepted} sent, {report.received} received, {report.forgotten} forgotten"
        + (f", [red]{len(report.rejected)} refused[/]" if report.rejected else "")
        + (f" [dim]({report.interruptions} interruptions)[/]" if report.interruptions else "")
    )
    for met in report.conflicts:
        out.print(render.coloured(met.effect.value) + (f"  [dim]{render.plain(met.reason)}[/]" if met.reason else ""))
        for label, one in (("mine ", met.mine), ("other", met.other)):
            if one is not None:
                out.print(f"  {label}  {render.side(one)}")
    _show_rejected(out, report.rejected)
